//! For `scripts/dispatch-cost`: an organization chosen at run time, by its name.

mod load;

fn main() {
    load::run(|setup| {
        let name = std::env::var("ORGANIZATION").expect("ORGANIZATION");
        organizations::catalog::start(&name, setup).expect("a name in the catalog")
    });
}
