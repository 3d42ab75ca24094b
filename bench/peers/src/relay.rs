//! A path of 20 ms: two TUN devices, and two threads each way that hold packets for 10 ms and
//! lose some of them, the same in every run. Where none is lost, what a device takes or gives at
//! once may be more than the MTU, so that the path is not what limits the stacks.

use anabranch::device::{Batch, Packet, Receive, Transmit, tun};
use rustix::event::{PollFd, PollFlags, poll};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The ends: the client's, and that to the stack.
pub const ENDS: [&str; 2] = ["ana-path0", "ana-path1"];
const DELAY: Duration = Duration::from_millis(10);
/// Packets that are on their way at most.
const QUEUE: usize = 50_000;
/// Packets that are taken at once at most.
const BATCH: usize = 64;

/// Carries packets until it is killed; `lost` of a thousand do not arrive.
pub fn run(lost: u32) {
    let [near, far] = ENDS.map(|name| {
        let config = tun::Config::default().with_name(name).with_mtu(crate::run::MTU);
        let device = tun::open(&config.with_offload(lost == 0)).expect("a device");
        let queue = device.queues.into_iter().next().expect("it has one");
        (queue.receive, queue.transmit)
    });
    println!("ready");
    let there = std::thread::spawn(move || carry(near.0, far.1, lost, 1));
    carry(far.0, near.1, lost, 2);
    there.join().expect("no panic");
}

fn carry(mut from: Box<dyn Receive>, to: Box<dyn Transmit>, lost: u32, seed: u64) {
    let (sender, packets) = mpsc::sync_channel(QUEUE);
    std::thread::spawn(move || give(&packets, to));
    let (mut arrived, mut state) = (Vec::with_capacity(BATCH), seed);
    while arrives(&mut *from, &mut arrived) {
        let due = Instant::now() + DELAY;
        for packet in arrived.drain(..) {
            // Knuth's MMIX.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) % 1000 >= u64::from(lost) {
                // What there is no room for is lost.
                let _ = sender.try_send((due, packet));
            }
        }
    }
}

/// Waits for packets; `false` if the device is gone.
pub fn arrives(from: &mut dyn Receive, into: &mut Vec<Packet>) -> bool {
    while from.receive(into, BATCH) == 0 {
        let descriptor = from.wait_fd().expect("the device is there");
        let mut waits = [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)];
        let _ = poll(&mut waits, None);
        if waits[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL) {
            return false;
        }
    }
    true
}

fn give(packets: &mpsc::Receiver<(Instant, Packet)>, mut to: Box<dyn Transmit>) {
    let (mut batch, mut next) = (Batch::new(), None);
    while let Some((due, packet)) = next.take().or_else(|| packets.recv().ok()) {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        batch.extend([packet]);
        while batch.len() < BATCH && next.is_none() {
            match packets.try_recv() {
                Ok((due, packet)) if due <= now => batch.extend([packet]),
                Ok(early) => next = Some(early),
                Err(_) => break,
            }
        }
        to.transmit(&mut batch);
        // What does not fit is lost.
        batch.clear();
    }
}
