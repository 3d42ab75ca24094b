//! User-space stacks behind a TUN device, side by side, with the kernel's TCP as the client:
//! bulk each way, echo, connections, UDP, HTTP, idle connections, and a long path with losses.
//!
//! ```sh
//! cd bench/peers && sudo -E cargo run --release -- all --rounds 5
//! ```
//!
//! A sample is a fresh process of the stack in a network namespace of its own; samples of one
//! load go round all stacks in turn. `--stack NAME`, which may be said several times, takes those
//! alone, `--load PART` the loads whose titles have this in them. `--shares yes` adds how busy the client was. The table has medians with ranges, and the ratio of
//! Anabranch's median to the best of the others.

mod askers;
mod bound;
mod client;
mod relay;
mod run;
mod services;
mod stacks;
mod system;
mod tunnels;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["all", ref rest @ ..] => run::all(&options(rest)),
        ["relay", lost] => relay::run(lost.parse().expect("so many of a thousand")),
        ["stack", name] => stacks::serve(name),
        ["client", load] => client::run(load),
        _ => {
            eprintln!(
                "usage: all [--rounds N] [--load PART] [--stack NAME] [--shares yes] | stack NAME | client LOAD | relay LOST"
            );
            std::process::exit(2);
        }
    }
}

/// Pairs of an option and its value.
fn options<'a>(mut words: &[&'a str]) -> run::Options<'a> {
    let mut options = run::Options::default();
    while let [name, value, rest @ ..] = words {
        match *name {
            "--rounds" => options.rounds = value.parse().expect("a number of rounds"),
            "--load" => options.loads.push(value),
            "--stack" => options.stacks.push(value),
            "--shares" => options.shares = *value == "yes",
            _ => panic!("there is no option {name}"),
        }
        words = rest;
    }
    assert!(words.is_empty(), "{words:?} has no value");
    options
}
