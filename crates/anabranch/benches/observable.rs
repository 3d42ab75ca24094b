//! What it costs that a stack is observable while nobody looks: echoes of 64 bytes over
//! sixteen connections between two stacks in memory. Arguments: `plain` or `observable`, an
//! organization, how many rounds of sixteen echoes.
//!
//! Clocks do not see a difference as small as this; instructions are counted:
//! `valgrind --tool=callgrind --callgrind-out-file=/dev/null PROGRAM observable uniprocessor 3000`,
//! and the same with `plain`.

use anabranch::device::memory;
use anabranch::{Stack, TcpListener, TcpStream};
use std::io::{Read, Write};

const CONNECTIONS: usize = 16;

fn stack(device: anabranch::device::Device, address: &str, organization: &str, how: &str) -> Stack {
    let builder = Stack::builder().device(device).address(address).organization(organization);
    let builder = if how == "observable" { builder.observable() } else { builder };
    builder.start().expect("a stack")
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let word = |at: usize, default: &'static str| words.get(at).map_or(default, String::as_str);
    let (how, organization) = (word(0, "observable"), word(1, "uniprocessor"));
    let rounds: usize = word(2, "1000").parse().expect("a number of rounds");
    let (left, right) = memory::pair(memory::Config::default());
    let server = stack(left, "10.0.0.1/24", organization, how);
    let client = stack(right, "10.0.0.2/24", organization, how);
    let listener = TcpListener::bind(&server, "10.0.0.1:7").expect("bind");
    let mut pairs: Vec<(TcpStream, TcpStream)> = (0..CONNECTIONS)
        .map(|_| {
            let there = TcpStream::connect(&client, "10.0.0.1:7").expect("connect");
            (there, listener.accept().expect("accept").0)
        })
        .collect();
    let mut bytes = [0; 64];
    for _ in 0..rounds {
        pairs.iter_mut().for_each(|(there, _)| there.write_all(&bytes).expect("write"));
        for (_, here) in &mut pairs {
            here.read_exact(&mut bytes).expect("read");
            here.write_all(&bytes).expect("write");
        }
        pairs.iter_mut().for_each(|(there, _)| there.read_exact(&mut bytes).expect("read"));
    }
    println!("{} echoes, {how}, {organization}", rounds * CONNECTIONS);
}
