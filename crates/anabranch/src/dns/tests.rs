use crate::servers::{Origin, server};
use crate::{Stack, UdpSocket};
use ::device::memory;
use std::net::IpAddr;

/// The stack goes to another network while it is asked about a name: the answer is the old one's.
#[test]
fn an_answer_of_the_network_before_is_not_kept() {
    let (left, right) = memory::pair(memory::Config::default());
    let other = Stack::builder().device(left).address("10.0.0.1/24").start().expect("a stack");
    let ours = Stack::builder().device(right).address("10.0.0.2/24").dns([[10, 0, 0, 1]]);
    let ours = ours.start().expect("a stack");
    let socket = UdpSocket::bind(&other, "10.0.0.1:53").expect("bind");
    let asked = ours.clone();
    std::thread::spawn(move || {
        let mut bytes = [0; 1500];
        for number in 0.. {
            let Ok((len, from)) = socket.recv_from(&mut bytes) else { return };
            if number < 2 {
                // One question for each family.
                let next: IpAddr = format!("10.0.0.{}", 7 + number).parse().expect("an address");
                asked.servers().set(Origin::Dhcp(0), vec![server(next, 0)]);
            }
            // One name of one label and `test`.
            let end = 12 + bytes[12..len].iter().position(|byte| *byte == 0).expect("a root");
            let is_v4 = bytes[end + 2] == 1;
            let head = [0x81, 0x80, 0, 1, 0, is_v4.into(), 0, 0, 0, 0];
            let mut said = [&bytes[..2], &head, &bytes[12..end + 5]].concat();
            if is_v4 {
                said.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 10, 0, 0, 9]);
            }
            socket.send_to(&said, from).expect("send");
        }
    });
    let look_up = || ours.resolver().resolve(("there.test", 80)).expect("found");
    let expected: std::net::SocketAddr = "10.0.0.9:80".parse().expect("an address");
    assert_eq!(look_up(), [expected.into()]);
    assert_eq!(ours.servers().answers.get("there.test"), None, "it is of the network before");
    look_up();
    assert!(ours.servers().answers.get("there.test").is_some(), "nothing has changed meanwhile");
    other.stop();
}
