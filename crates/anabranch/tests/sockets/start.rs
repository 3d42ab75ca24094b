//! What a stack is not started with.

use anabranch::device::EthernetAddress;
use anabranch::device::memory;
use anabranch::{Stack, TcpListener, TcpStream};

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

/// Each wrong argument is told when the stack starts, with what would be right.
#[test]
fn wrong_arguments_are_told() {
    let builder = || {
        let (left, _) = memory::pair(memory::Config::default());
        Stack::builder().device(left).address("10.0.0.1/24")
    };
    for (builder, why) in [
        (Stack::builder(), "a stack needs a device"),
        (builder().address("10.0.0.0/24"), "the network itself"),
        (builder().address("127.0.0.1/8"), "127.0.0.0/8"),
        (builder().organization("up"), "choose one of uniprocessor"),
        (builder().mtu(1501), "choose 68 to 1500"),
        (builder().mtu(67), "choose 68 to 1500"),
        (builder().vlan(4095), "choose 1 to 4094"),
        (builder().ethernet(EthernetAddress([1, 0, 0, 0, 0, 1])), "one station"),
        (builder().route("10.1.0.0/16"), "is not a route"),
        (builder().route("10.1.0.0/16 via 10.2.0.1"), "not a neighbour"),
        (builder().processors(0), "processors"),
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
