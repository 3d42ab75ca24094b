//! What the kernel had to drop before it came to a socket, and would not send.

use super::socket::Socket;
use crate::Report;
use platform::Mutex;
use std::sync::{Arc, Weak};

/// The counts of all sockets of a device, also of those that are closed.
#[derive(Default)]
pub(super) struct Lost(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    /// Of sockets that are closed.
    ended: [u64; 3],
    sockets: Vec<Weak<Socket>>,
}

impl Lost {
    /// Counts what this socket loses.
    pub(super) fn watch(&self, socket: &Arc<Socket>) {
        self.0.lock().sockets.push(Arc::downgrade(socket));
    }

    /// This socket is about to be closed.
    pub(super) fn ends(&self, socket: &Arc<Socket>) {
        let mut counted = self.0.lock();
        add(&mut counted.ended, socket);
        counted.sockets.retain(|other| other.as_ptr() != Arc::as_ptr(socket));
    }
}

fn add(sum: &mut [u64; 3], socket: &Socket) {
    let [dropped, _, invalid, full, ..] = socket.statistics();
    sum.iter_mut().zip([dropped, full, invalid]).for_each(|(sum, n)| *sum += n);
}

impl Report for Lost {
    fn name(&self) -> &'static str {
        "xdp"
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let counted = self.0.lock();
        let mut sum = counted.ended;
        counted.sockets.iter().filter_map(Weak::upgrade).for_each(|socket| add(&mut sum, &socket));
        ["no_frame_free", "ring_full", "not_sendable"].into_iter().zip(sum).collect()
    }
}
