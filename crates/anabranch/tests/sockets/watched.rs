//! Two hosts with a cable between them, and what each has sent by it.

use anabranch::device::custom::{self, PacketIo, Wake};
use anabranch::{Organization, Stack};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};

/// A datagram of IPv4 that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    header: [u8; 20],
    /// Bytes of all of it.
    pub len: usize,
}

impl Sent {
    /// Hops.
    pub fn ttl(&self) -> u8 {
        self.header[8]
    }

    /// Do routers leave it whole?
    pub fn dont_fragment(&self) -> bool {
        self.header[6] & 0x40 != 0
    }

    pub fn identification(&self) -> [u8; 2] {
        [self.header[4], self.header[5]]
    }
}

/// One end of a cable that notes what is sent by it.
struct End {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    peer: Arc<OnceLock<Wake>>,
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl PacketIo for End {
    fn receive(&mut self, deliver: &mut dyn FnMut(&[u8])) {
        self.from.try_iter().for_each(|packet| deliver(&packet));
    }

    fn transmit(&mut self, packet: &[u8]) -> bool {
        let header = *packet.first_chunk().expect("a header");
        self.sent.lock().expect("no panic").push(Sent { header, len: packet.len() });
        // The other stack may have ended.
        let _ = self.to.send(packet.to_vec());
        self.peer.get().expect("set up").wake();
        true
    }
}

/// A server, 10.0.0.1, and a client, 10.0.0.2, under `organization`, and what each of them has
/// sent.
pub fn hosts(organization: Organization) -> [(Stack, Arc<Mutex<Vec<Sent>>>); 2] {
    let ((to_right, from_left), (to_left, from_right)) = (channel(), channel());
    let wakes: [Arc<OnceLock<Wake>>; 2] = Default::default();
    let make = |to, from, own: usize, address: &str| {
        let sent = Arc::default();
        let io = End { to, from, peer: wakes[1 - own].clone(), sent: Arc::clone(&sent) };
        let (device, wake) = custom::open(io, custom::Config::ip()).expect("a device");
        assert!(wakes[own].set(wake).is_ok());
        let stack = Stack::builder().device(device).address(address).organization(organization);
        // The way to groups.
        (stack.gateway([10, 0, 0, 9]), sent)
    };
    let server = make(to_right, from_right, 0, "10.0.0.1/24");
    let client = make(to_left, from_left, 1, "10.0.0.2/24");
    [server, client].map(|(stack, sent)| (stack.start().expect("a stack"), sent))
}

/// Takes what has been sent.
pub fn take(sent: &Mutex<Vec<Sent>>) -> Vec<Sent> {
    std::mem::take(&mut *sent.lock().expect("no panic"))
}
