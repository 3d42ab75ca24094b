//! User-space stacks behind a TUN device, side by side, with the kernel's TCP as the client:
//! bulk each way, echo, connections, UDP, HTTP, idle connections, and a long path with losses.
//!
//! ```sh
//! cd bench/peers && sudo -E cargo run --release -- all --rounds 5
//! ```
//!
//! A sample is a fresh process of the stack in a network namespace of its own; samples of one
//! load go round all stacks in turn. The table has medians with ranges, and the ratio of
//! Anabranch's median to the best of the others.

mod client;
mod relay;
mod run;
mod services;
mod stacks;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["all"] => run::all(3, ""),
        ["all", "--rounds", n] => run::all(n.parse().expect("a number of rounds"), ""),
        ["all", "--rounds", n, "--load", part] => {
            run::all(n.parse().expect("a number of rounds"), part);
        }
        ["relay", lost] => relay::run(lost.parse().expect("so many of a thousand")),
        ["stack", name] => stacks::serve(name),
        ["client", load] => client::run(load),
        _ => {
            eprintln!(
                "usage: all [--rounds N [--load PART]] | stack NAME | client LOAD | relay LOST"
            );
            std::process::exit(2);
        }
    }
}
