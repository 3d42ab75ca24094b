//! What the programs are told.

use crate::load::{Load, transfer};
use organizations::{Running, Setup, StartError};
use std::sync::Arc;

/// Runs the load that the arguments say, `in|out BYTES [PROCESSORS]`, on what
/// `start` starts, and prints how many packets with data went by. `cargo bench`, which says none,
/// gets 20 MB inwards.
pub fn run(start: impl FnOnce(Setup<Load>) -> Result<Arc<dyn Running<Load>>, StartError>) {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (way, bytes, processors) = match arguments[..] {
        [] => ("in", "20000000", "1"),
        [way @ ("in" | "out"), bytes] => (way, bytes, "1"),
        [way @ ("in" | "out"), bytes, processors] => (way, bytes, processors),
        _ => panic!("in|out BYTES [PROCESSORS]"),
    };
    let bytes = bytes.parse().expect("a number of bytes");
    let processors = processors.parse().expect("a number of processors");
    println!("{}", transfer(way == "out", bytes, processors, start));
}
