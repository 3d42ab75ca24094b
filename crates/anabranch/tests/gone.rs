//! Interfaces of the kernel that go away, or are down for a while, under a stack that has another, too.
//! Without the rights for them the tests say so and pass.
#![cfg(not(shuttle))]

use anabranch::device::tun;
use anabranch::host::Event;
use anabranch::{Organization, Stack, TcpListener};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::thread::spawn;
use std::time::Duration;

/// Long enough for whatever is to come.
const PATIENCE: Duration = Duration::from_secs(30);

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).status();
    assert!(done.is_ok_and(|status| status.success()), "ip {arguments}");
}

/// A stack of this organization at 10.98.n.2 on two TUN devices, `ana-gone1` and `ana-gone2`, that echoes.
fn stack(organization: Organization) -> Option<Stack> {
    let mut builder = Stack::builder().organization(organization).processors(1);
    for n in 1..=2 {
        let config = tun::Config::default().with_name(format!("ana-gone{n}"));
        let device = match tun::open(&config.with_kernel_address([10, 98, n, 1], 24)) {
            Ok(device) => device,
            Err(
                error @ (tun::Error::NoDriver | tun::Error::NoAccess | tun::Error::NotAllowed(_)),
            ) => {
                println!("skipped: {error}");
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        builder = builder.device(device).address(format!("10.98.{n}.2/24").as_str());
    }
    let stack = builder.start().expect("a stack");
    let listener = TcpListener::bind(&stack, "0.0.0.0:7").expect("bind");
    spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(n @ 1..) = stream.read(&mut bytes) {
                    let _ = stream.write_all(&bytes[..n]);
                }
            });
        }
    });
    Some(stack)
}

fn connect(n: u8) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::new(10, 98, n, 2), 7)).expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream
}

fn converse(stream: &mut TcpStream) {
    let mut bytes = [0; 1000];
    stream.write_all(&[7; 1000]).expect("written");
    stream.read_exact(&mut bytes).expect("echoed");
    assert_eq!(bytes, [7; 1000]);
}

/// Runs `test` on a stack of each organization.
fn each(test: impl Fn(Stack) + Copy + Send) {
    for organization in Organization::all() {
        let made = device::namespace::in_private(move || {
            if let Some(stack) = stack(organization) {
                test(stack);
            }
        });
        if let Err(error) = made {
            return println!("skipped: {error}");
        }
    }
}

#[test]
fn who_watches_hears_that_a_device_is_gone_and_the_other_goes_on() {
    each(|stack| {
        let (mut first, mut second) = (connect(1), connect(2));
        converse(&mut first);
        converse(&mut second);
        let events = stack.host().watch();
        ip("link delete ana-gone1");
        let event = events.next(PATIENCE);
        assert_eq!(event, Some(Event::DeviceGone(0)));
        assert_eq!(stack.host().interfaces()[0].name, "ana-gone1");
        converse(&mut second);
        converse(&mut connect(2));
        assert_eq!(events.next(Duration::ZERO), None, "it is told once");
    });
}

#[test]
fn a_connection_outlives_that_its_interface_is_down() {
    each(|stack| {
        let (mut first, mut second) = (connect(1), connect(2));
        converse(&mut first);
        let events = stack.host().watch();
        ip("link set ana-gone1 down");
        converse(&mut second);
        // Neither gets what is sent meanwhile.
        first.write_all(&[7; 1000]).expect("it waits");
        ip("link set ana-gone1 up");
        let mut bytes = [0; 1000];
        first.read_exact(&mut bytes).expect("it is sent again");
        converse(&mut first);
        converse(&mut connect(1));
        assert_eq!(events.next(Duration::ZERO), None, "it is there still");
    });
}
