//! What a stack is not started with.

use anabranch::device::EthernetAddress;
use anabranch::device::{Medium, memory};
use anabranch::{Stack, TcpListener, TcpStream};
use std::ops::RangeInclusive;

fn start(queues: usize, processors: usize) -> Result<Stack, anabranch::Error> {
    let (left, _) = memory::pair(memory::Config::default().with_queues(queues));
    let builder = Stack::builder().device(left).address("10.0.0.1/24");
    builder.organization("global-lock").processors(processors).start()
}

/// What comes to a queue that nobody serves would be lost.
#[test]
fn surplus_queues_are_refused() {
    start(2, 2).expect("as many");
    let error = start(3, 2).expect_err("one too many").to_string();
    assert!(error.contains("3 queues") && error.contains("2 processors"), "{error}");
}

/// A router has to be a neighbour.
#[test]
fn a_gateway_outside_all_networks_is_refused() {
    let start = |gateway: [u8; 4]| {
        let (left, _) = memory::pair(memory::Config::default());
        let builder = Stack::builder().device(left).address("10.0.0.1/24");
        builder.gateway(gateway).start()
    };
    start([10, 0, 0, 254]).expect("a neighbour");
    for gateway in [[10, 0, 1, 1], [10, 0, 0, 1], [10, 0, 0, 255]] {
        let error = start(gateway).expect_err("no neighbour").to_string();
        assert!(error.contains("gateway") && error.contains("10.0.0.1/24"), "{error}");
    }
}

/// An interface has so many addresses at most, whoever gives them.
#[test]
fn too_many_addresses_are_told() {
    let most = anabranch::host::MAX_ADDRESSES;
    let start = |v4: usize, v6: usize| {
        let (left, _) = memory::pair(memory::Config::default());
        let four = (1..=v4).map(|n| format!("10.0.0.{n}/24"));
        let six = (1..=v6).map(|n| format!("fd00::{n:x}/64"));
        let builder = Stack::builder().device(left);
        four.chain(six).fold(builder, |builder, address| builder.address(address)).start()
    };
    start(most, 0).expect("as many as there may be");
    // With the link-local one.
    start(0, most - 1).expect("as many as there may be");
    for (v4, v6) in [(most + 1, 0), (0, most), (most, 1)] {
        let error = start(v4, v6).expect_err("too many").to_string();
        assert!(error.contains("addresses: give it 64 at most"), "{error}");
    }
}

/// Each wrong argument is told when the stack starts, with what would be right.
#[test]
fn wrong_arguments_are_told() {
    let builder = || {
        let (left, _) = memory::pair(memory::Config::default());
        Stack::builder().device(left).address("10.0.0.1/24")
    };
    let of_no_vlan = || {
        let (mut left, _) = memory::pair(memory::Config::default());
        left.capabilities.vlan = false;
        Stack::builder().device(left).address("10.0.0.1/24")
    };
    let of_mtu = |mtu| {
        let (left, _) = memory::pair(memory::Config::default().with_mtu(mtu));
        Stack::builder().device(left).address("10.0.0.1/24")
    };
    of_mtu(usize::MAX).start().expect("more than there is need of");
    for (builder, why) in [
        (of_mtu(67), "make it with 68 or more"),
        (of_mtu(0).mtu(100), "make it with 68 or more"),
        (Stack::builder(), "a stack needs a device"),
        (builder().address("10.0.0.0/24"), "the network itself"),
        (builder().address("127.0.0.1/8"), "127.0.0.0/8"),
        (builder().organization("up"), "choose one of uniprocessor"),
        (builder().mtu(1501), "choose 68 to 1500"),
        (builder().mtu(67), "choose 68 to 1500"),
        (builder().vlan(4095), "choose 1 to 4094"),
        (of_no_vlan().vlan(7), "AF_XDP"),
        (builder().ethernet(EthernetAddress([1, 0, 0, 0, 0, 1])), "one station"),
        (builder().route("10.1.0.0/16"), "is not a route"),
        (builder().route("10.1.0.0/16 via 10.2.0.1"), "not a neighbour"),
        (builder().processors(0), "processors"),
        (builder().ephemeral_ports(0..=0), "choose 1 to 65535"),
        (builder().ephemeral_ports(0..=60999), "choose 1 to 65535"),
        (builder().ephemeral_ports(RangeInclusive::new(5, 3)), "choose 1 to 65535"),
    ] {
        let error = builder.start().expect_err(why);
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}

/// Two stacks in a VLAN, over a link whose frames may be larger than they use.
#[test]
fn settings_of_an_interface_count() {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, address, last| {
        let ethernet = EthernetAddress([2, 0, 0, 0, 7, last]);
        let stack = Stack::builder().address(address).vlan(7).mtu(600).ethernet(ethernet);
        stack.device(device).start().expect("a stack")
    };
    let (server, client) = (start(left, "10.0.0.1/24", 1), start(right, "10.0.0.2/24", 2));
    let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
    TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
    listener.accept().expect("accept");
    drop(client);
}

/// A host with an address of its own and no network reaches others without a router, over
/// a medium of bare datagrams and over Ethernet.
#[test]
fn an_address_alone_has_a_way_to_all_without_a_router() {
    for medium in [Medium::Ip, Medium::Ethernet] {
        let (left, right) = memory::pair(memory::Config::default().with_medium(medium));
        let start = |device, address: &str| Stack::builder().device(device).address(address);
        let server = start(left, "10.0.0.1/32").default_on_link().start().expect("a stack");
        let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
        let alone = memory::pair(memory::Config::default()).0;
        let alone = start(alone, "192.168.7.7/32").start().expect("a stack");
        let error = TcpStream::connect(&alone, "10.0.0.1:80").expect_err("no way");
        assert_eq!(error.kind(), std::io::ErrorKind::NetworkUnreachable);
        let client = start(right, "192.168.7.7/32").default_on_link().start().expect("a stack");
        let stream = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
        let (_, from) = listener.accept().expect("accept");
        assert_eq!(from, stream.local_addr().expect("open"));
        assert_eq!(from.ip().to_string(), "192.168.7.7");
        drop(client);
    }
}
