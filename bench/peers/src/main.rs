//! User-space stacks behind a TUN device, side by side, with the kernel's TCP as the client:
//! bulk each way, echo, connections, UDP.
//!
//! ```sh
//! cd bench/peers && sudo -E cargo run --release -- all --rounds 5
//! ```
//!
//! A sample is a fresh process of the stack in a network namespace of its own; samples of one
//! load go round all stacks in turn. The table has medians with ranges, and the ratio of
//! Anabranch's median to the best of the others.

mod client;
mod run;
mod services;
mod stacks;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["all"] => run::all(3),
        ["all", "--rounds", n] => run::all(n.parse().expect("a number of rounds")),
        ["stack", name] => stacks::serve(name),
        ["client", load] => client::run(load),
        _ => {
            eprintln!("usage: all [--rounds N] | stack NAME | client LOAD");
            std::process::exit(2);
        }
    }
}
