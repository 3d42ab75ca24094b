//! Whether routers may cut what streams send, seen on the wire.

use super::watched::{hosts, take};
use anabranch::device::{Batch, Transmit, memory};
use anabranch::{Stack, TcpListener, TcpOptions, TcpStream};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

/// Moves some, and waits until it has come.
fn moved(from: &mut TcpStream, to: &mut TcpStream) {
    from.write_all(&[7; 30_000]).expect("write");
    to.read_exact(&mut [0; 30_000]).expect("read");
    to.write_all(&[8]).expect("write");
    from.read_exact(&mut [0]).expect("read");
}

#[test]
fn a_stream_says_whether_routers_may_cut_what_it_sends() {
    for organization in ["uniprocessor", "group-locks", "layer-parallel", "thread-per-connection"] {
        let [(server, from_server), (client, from_client)] =
            hosts(organization.parse().expect("in the catalog"));
        let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
        let mut there = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
        let (mut here, _) = listener.accept().expect("accept");
        moved(&mut there, &mut here);
        for sent in [take(&from_client), take(&from_server)] {
            assert!(
                sent.len() > 2 && sent.iter().all(|sent| sent.dont_fragment()),
                "{organization}: {sent:?}"
            );
        }
        assert!(!there.allow_fragments().expect("a value"));
        there.set_allow_fragments(true).expect("an option");
        moved(&mut there, &mut here);
        // Fragments of different datagrams must not be taken for one (RFC 6864 4.3).
        let sent = take(&from_client);
        let names: HashSet<[u8; 2]> = sent.iter().map(|sent| sent.identification()).collect();
        assert!(sent.iter().all(|sent| !sent.dont_fragment()), "{organization}: {sent:?}");
        assert_eq!(names.len(), sent.len(), "{organization}: {sent:?}");
        assert!(take(&from_server).iter().all(|sent| sent.dont_fragment()));
        there.set_allow_fragments(false).expect("an option");
        moved(&mut there, &mut here);
        let sent = take(&from_client);
        assert!(sent.iter().all(|sent| sent.dont_fragment()), "{organization}: {sent:?}");
    }
}

#[test]
fn a_listener_says_it_from_the_first_segment_on() {
    let [(server, from_server), (client, _)] =
        hosts("uniprocessor".parse().expect("in the catalog"));
    let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
    let options = TcpOptions::default().with_allow_fragments(true);
    listener.set_options(&options).expect("options");
    let mut there = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
    let (mut here, _) = listener.accept().expect("accept");
    moved(&mut here, &mut there);
    let sent = take(&from_server);
    assert!(sent.len() > 3 && sent.iter().all(|sent| !sent.dont_fragment()), "{sent:?}");
}

/// A transmitter whose packets are noted: bytes of the segments that the device makes of each, and
/// how long each is.
struct Noting {
    device: Box<dyn Transmit>,
    noted: Arc<Mutex<Vec<(u16, usize)>>>,
}

impl Transmit for Noting {
    fn transmit(&mut self, batch: &mut Batch) {
        let mut noted = self.noted.lock().expect("no panic");
        noted.extend(batch.iter().map(|packet| (packet.meta().gso_size, packet.len())));
        self.device.transmit(batch);
    }

    fn room(&self) -> usize {
        self.device.room()
    }
}

/// Stands for a transmitter while it is wrapped.
struct Nothing;

impl Transmit for Nothing {
    fn transmit(&mut self, batch: &mut Batch) {
        batch.clear();
    }
}

/// Segments that a device makes of one have one identification, and routers could cut them.
#[test]
fn what_may_be_cut_is_not_made_into_segments_by_a_device() {
    let (mut left, right) = memory::pair(memory::Config::default().with_segmentation(65_000));
    let noted = Arc::new(Mutex::new(Vec::new()));
    for queue in &mut left.queues {
        let device = std::mem::replace(&mut queue.transmit, Box::new(Nothing));
        queue.transmit = Box::new(Noting { device, noted: noted.clone() });
    }
    let start = |device, address: &str| {
        Stack::builder().device(device).address(address).start().expect("a stack")
    };
    let (server, client) = (start(left, "10.0.0.1/24"), start(right, "10.0.0.2/24"));
    let listener = TcpListener::bind(&server, "10.0.0.1:80").expect("bind");
    let mut there = TcpStream::connect(&client, "10.0.0.1:80").expect("connect");
    let (mut here, _) = listener.accept().expect("accept");
    for (allow, whole) in [(false, false), (true, true)] {
        here.set_allow_fragments(allow).expect("an option");
        noted.lock().expect("no panic").clear();
        moved(&mut here, &mut there);
        let noted = noted.lock().expect("no panic").clone();
        assert_eq!(noted.iter().all(|(segment, _)| *segment == 0), whole, "{noted:?}");
        assert_eq!(noted.iter().all(|(_, len)| *len < 1600), whole, "{noted:?}");
    }
}
