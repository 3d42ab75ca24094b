//! For `scripts/dispatch-cost`: an organization chosen at run time, by its name.

extern crate anabranch_organizations as organizations;

mod arguments;
mod load;

fn main() {
    arguments::run(|setup| {
        let name = std::env::var("ORGANIZATION").unwrap_or_else(|_| "uniprocessor".into());
        organizations::start(&name, setup).expect("a name in the catalog")
    });
}
