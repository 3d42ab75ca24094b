//! For `scripts/dispatch-cost`: the program with this organization alone.

#[path = "dispatch/load.rs"]
mod load;

fn main() {
    load::run(organizations::uniprocessor::start);
}
