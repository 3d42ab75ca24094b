//! For `scripts/dispatch-cost`: an organization chosen at run time, by its name.

extern crate anabranch_organizations as organizations;

mod arguments;
mod load;

fn main() {
    arguments::run(|setup| {
        let name = std::env::var("ORGANIZATION").expect("ORGANIZATION");
        organizations::start(&name, setup).expect("a name in the catalog")
    });
}
