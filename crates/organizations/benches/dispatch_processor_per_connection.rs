//! For `scripts/dispatch-cost`: the program with this organization alone.

extern crate anabranch_organizations as organizations;

#[path = "dispatch/arguments.rs"]
mod arguments;
#[path = "dispatch/load.rs"]
mod load;

fn main() {
    arguments::run(organizations::owned::processor_per_connection::start);
}
