//! For `scripts/dispatch-cost`: the program with this organization alone.

#[path = "dispatch/load.rs"]
mod load;

fn main() {
    load::run(organizations::processor_per_connection::start);
}
