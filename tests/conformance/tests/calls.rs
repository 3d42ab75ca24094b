//! Calls keep their order relative to packets from the device.

use anabranch::device::{Device, Packet, Queue, Receive, memory};
use anabranch::{Options, Stack, TcpListener, TcpStream};
use anabranch_conformance::{CLIENT, SERVER, within};
use organizations::CATALOG;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

/// A hook that runs once, when a TCP segment is taken from the device.
type Hook = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// A queue that runs a hook before it hands out the first segment.
struct Hooked {
    queue: Box<dyn Receive>,
    hook: Hook,
}

impl Receive for Hooked {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let before = into.len();
        let received = self.queue.receive(into, max);
        // Ethernet with IPv4, and in that TCP.
        let is_segment = |frame: &Packet| frame.front()[12..14] == [8, 0] && frame.front()[23] == 6;
        if into[before..].iter().any(is_segment) {
            let hook = self.hook.lock().expect("no panic").take();
            hook.into_iter().for_each(|hook| hook());
        }
        received
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.queue.wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.queue.arm()
    }

    fn disarm(&mut self) {
        self.queue.disarm();
    }
}

fn hooked(device: Device, hook: &Hook) -> Device {
    let queues = device.queues.into_iter().map(|queue| Queue {
        receive: Box::new(Hooked { queue: queue.receive, hook: hook.clone() }),
        transmit: queue.transmit,
    });
    Device { queues: queues.collect(), ..device }
}

fn start(organization: &str, processors: usize, device: Device, address: &str) -> Stack {
    Stack::builder()
        .organization(organization)
        .processors(processors)
        .options(Options::default().with_groups(2).with_virtual_processors(2))
        .device(device)
        .express(anabranch_conformance::express())
        .address(format!("{address}/24"))
        .start()
        .expect("a stack")
}

/// The port is bound while the SYN is in the hands of the thread that took it from
/// the device, and so before it comes to the transport layer.
#[test]
fn a_port_bound_before_a_syn_goes_up_is_open() {
    for entry in CATALOG {
        for processors in 1..=(if entry.single { 1 } else { 2 }) {
            within(entry.name, move || {
                let queues = memory::Config::default().with_queues(processors);
                let (left, right) = memory::pair(queues);
                let hook = Hook::default();
                let server = start(entry.name, processors, hooked(left, &hook), SERVER);
                let client = start("processor-per-connection", processors, right, CLIENT);
                let listener = Arc::new(Mutex::new(None));
                let (host, place) = (server.clone(), listener.clone());
                *hook.lock().expect("no panic") = Some(Box::new(move || {
                    let bound = TcpListener::bind(&host, (SERVER, 80)).expect("listen");
                    *place.lock().expect("no panic") = Some(bound);
                }));
                TcpStream::connect(&client, (SERVER, 80)).expect(entry.name);
                let listener = listener.lock().expect("no panic").take().expect("bound");
                listener.accept().expect(entry.name);
            });
        }
    }
}
