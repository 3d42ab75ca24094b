use super::*;
use crate::{TcpListener, UdpSocket};
use device::memory;
use std::collections::HashMap as Counts;

fn stack() -> Stack {
    let (device, _) = memory::pair(memory::Config::default());
    let built = Stack::builder().device(device).address("10.0.0.1/24").start();
    built.expect("a stack over a device in memory starts")
}

fn most_common_step(ports: &[u16]) -> usize {
    let mut steps: Counts<u16, usize> = Counts::new();
    for pair in ports.windows(2) {
        *steps.entry(pair[1].wrapping_sub(pair[0])).or_default() += 1;
    }
    steps.into_values().max().unwrap_or(0)
}

fn is_varied(ports: &[u16]) {
    let different: HashSet<&u16> = ports.iter().collect();
    assert!(different.len() >= ports.len() / 2, "{}", different.len());
    assert!(most_common_step(ports) < ports.len() / 50, "{}", most_common_step(ports));
}

/// RFC 6056: neither the last port nor a step says what the next one will be.
#[test]
fn ports_of_sockets_do_not_follow_from_each_other() {
    let stack = stack();
    let any = Endpoint { address: Address::UNSPECIFIED_V4, port: 0 };
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let bind = || stack.bind(protocol, any).expect("a port").port;
        let one_at_a_time: Vec<u16> = (0..10_000)
            .map(|_| {
                let port = bind();
                stack.unbind(protocol, Endpoint { port, ..any });
                port
            })
            .collect();
        is_varied(&one_at_a_time);
        let together: Vec<u16> = (0..10_000).map(|_| bind()).collect();
        assert_eq!(together.iter().collect::<HashSet<_>>().len(), 10_000);
        is_varied(&together);
    }
}

#[test]
fn ports_asked_for_by_number_do_not_mix_with_those_that_are_chosen() {
    let stack = stack();
    let fixed = UdpSocket::bind(&stack, "0.0.0.0:40000").expect("free");
    drop(fixed);
    let sockets: Vec<_> =
        (0..100).map(|_| UdpSocket::bind(&stack, "0.0.0.0:0").expect("free")).collect();
    let ports: HashSet<u16> =
        sockets.iter().map(|s| s.local_addr().expect("bound").port()).collect();
    assert_eq!(ports.len(), 100);
    TcpListener::bind(&stack, "10.0.0.1:0").expect("free");
}
