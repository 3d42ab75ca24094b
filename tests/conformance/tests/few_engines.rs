//! Packet engines where there are fewer of them than processors: what a thread of the application
//! leaves to be done later is done by one of those that there are.

use anabranch::device::{fault, memory};
use anabranch::{Options, Stack, TcpConfig, TcpListener, TcpStream};
use anabranch_conformance::{CLIENT, SERVER, within};
use std::io::{Read, Write};
use std::time::Duration;

const PROCESSORS: usize = 3;
/// Threads of the application: each uses a context by its name, and all contexts are used.
const THREADS: usize = 12;
const BYTES: usize = 20_000;

fn pair(organization: &str) -> (Stack, Stack) {
    let (left, right) = memory::pair(memory::Config::default().with_queues(PROCESSORS));
    let left = fault::wrap(left, &"loss=5%".parse().expect("faults"), 7);
    let start = |device, address: &str| {
        Stack::builder()
            .device(device)
            .express(anabranch_conformance::express())
            .address(format!("{address}/24"))
            .organization(organization)
            .processors(PROCESSORS)
            .options(Options::default().with_engines((1, 1)))
            .tcp(TcpConfig::default().with_min_rto(Duration::from_millis(20)))
            .start()
            .expect("a stack")
    };
    (start(left, SERVER), start(right, CLIENT))
}

/// Messages there and back, over a link that loses the last segment of some: then a timer has to go
/// off that was set in the turn of the thread that wrote.
fn echo(organization: &str) {
    let (server, client) = pair(organization);
    let listener = TcpListener::bind(&server, (SERVER, 80)).expect("listen");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            let mut there = TcpStream::connect(&client, (SERVER, 80)).expect("connect");
            let (mut here, _) = listener.accept().expect("accept");
            scope.spawn(move || {
                let mut bytes = vec![0; BYTES];
                while here.read_exact(&mut bytes).is_ok() {
                    here.write_all(&bytes).expect("echo");
                }
            });
            scope.spawn(move || {
                let mut bytes = vec![7; BYTES];
                for _ in 0..20 {
                    there.write_all(&bytes).expect("write");
                    there.read_exact(&mut bytes).expect("read");
                }
            });
        }
    });
    client.stop();
    server.stop();
}

#[test]
fn what_an_applications_thread_leaves_is_done_by_an_engine() {
    for organization in ["engines", "engines-early", "engines-sched"] {
        within(organization, || echo(organization));
    }
}
