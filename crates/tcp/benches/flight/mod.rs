//! 6 MiB in flight in segments of 36 bytes of payload: the peer announces an MSS of 48, with time
//! stamps.

use std::sync::Arc;
use std::time::Duration;
use tcp::{Config, Isn, Tcb, TransmitOffload};
use wire::tcp::{Flags, Header, Options};
use wire::{Instant, Seq};

pub const FLIGHT: u32 = 6 << 20;
pub const SEGMENT: u32 = 36;

/// The peer's header, with these numbers.
pub fn header(seq: u32, ack: Seq, flags: Flags) -> Header {
    Header {
        source_port: 1,
        destination_port: 2,
        seq: Seq(seq),
        ack,
        flags,
        window: u16::MAX,
        urgent: 0,
        options: Options { timestamps: Some((1, 1000)), ..Options::NONE },
    }
}

/// A sender with all of it in flight, sent one after another by so much, and its first sequence
/// number.
pub fn sender(now: &mut Instant, offload: TransmitOffload, apart: Duration) -> (Tcb, Seq) {
    let config = Config::default()
        .with_send_buffer(8 << 20)
        .with_receive_buffer(8 << 20)
        .with_initial_window(FLIGHT / SEGMENT)
        .with_checksum(false)
        .with_chunk(32 * 1024);
    let isn = Isn { seq: Seq(0xffc0_0000), timestamp_offset: 0 };
    let mut tcb = Tcb::connect(&Arc::new(config), isn, 1460, *now);
    tcb.poll_transmit(*now, offload).expect("a SYN");
    let mut syn = header(0, isn.seq + 1, Flags::SYN.with(Flags::ACK));
    syn.options.mss = Some(48);
    syn.options.window_scale = Some(14);
    syn.options.sack_permitted = true;
    tcb.input(&syn, Default::default(), *now);
    tcb.input(&header(1, isn.seq + 1, Flags::ACK), Default::default(), *now);
    tcb.send(&vec![7; FLIGHT as usize]).expect("room");
    while tcb.poll_transmit(*now, offload).is_some() {
        *now += apart;
    }
    assert!(tcb.in_flight() as u32 > FLIGHT - 100, "{:?}", tcb.info());
    *now += Duration::from_millis(50);
    (tcb, isn.seq + 1)
}
