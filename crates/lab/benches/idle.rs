//! What an idle established connection costs in memory: 100,000 of them, or as
//! many as the first argument says.

extern crate anabranch_lab as lab;

fn main() {
    let number = std::env::args().skip(1).find_map(|a| a.parse().ok());
    match lab::idle::measure(number.unwrap_or(100_000)) {
        Ok(idle) => println!(
            "{} idle connections: {:.0} bytes each with both ends, {:.0} bytes at one end",
            idle.connections, idle.both_ends, idle.one_end
        ),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}
