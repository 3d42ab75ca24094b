use super::*;
use std::task::{Context, Poll};
use std::time::Duration;
use wire::tcp::{Flags, Header, Options};
use wire::{Instant, Parts, Seq, Slice};

const LIMIT: usize = 100_000;
/// Blocks that are being filled: one in each queue, and the one that comes.
const BLOCKS: usize = 3 * 4096;

/// An established connection whose peer the test plays, and its socket.
struct Receiver {
    socket: TcpShared,
    tcb: Tcb,
    now: Instant,
    ours: Seq,
}

fn header(flags: Flags, seq: u32, ack: Seq) -> Header {
    Header {
        source_port: 1,
        destination_port: 2,
        seq: Seq(seq),
        ack,
        flags,
        window: 50_000,
        urgent: 0,
        options: Options::NONE,
    }
}

fn byte_of(seq: u32) -> u8 {
    (seq % 251) as u8
}

impl Receiver {
    fn new() -> Receiver {
        Receiver::with(LIMIT, Duration::ZERO)
    }

    /// With such a send buffer, over a path whose round trip takes this long.
    fn with(send_buffer: usize, round: Duration) -> Receiver {
        let config = tcp::Config::default()
            .with_receive_buffer(LIMIT)
            .with_send_buffer(send_buffer)
            .with_window_scaling(false)
            .with_timestamps(false);
        let now = Instant::from_nanos(1_000_000);
        let isn = tcp::Isn { seq: Seq(77), timestamp_offset: 0 };
        let syn = header(Flags::SYN, 0, Seq(0));
        let tcb = Tcb::accept(&Arc::new(config), isn, 1460, &syn, now);
        let socket = TcpShared::opening(Arc::default(), None);
        let mut receiver = Receiver { socket, tcb, now, ours: Seq(78) };
        receiver.acknowledge();
        receiver.now += round;
        receiver.tcb.input(&header(Flags::ACK, 1, receiver.ours), Parts::new(), receiver.now);
        receiver.exchange();
        receiver
    }

    /// A segment in a block of 2048 bytes, as a device with frames of 1500 has them.
    fn segment(&mut self, seq: u32, len: u32) {
        let mut slice = Slice::with_capacity(2048);
        slice.append(&(seq..seq + len).map(byte_of).collect::<Vec<_>>());
        self.tcb.input(&header(Flags::ACK, seq, self.ours), Parts::from_iter([slice]), self.now);
        self.acknowledge();
        let held = self.tcb.footprint() + self.socket.state.lock().unread.footprint();
        assert!(held <= 2 * LIMIT + BLOCKS, "{held} bytes of memory after {seq}");
    }

    fn acknowledge(&mut self) {
        let offload = tcp::TransmitOffload { segmentation: 0, want_sum: false };
        while self.tcb.poll_transmit(self.now, offload).is_some() {}
    }

    fn exchange(&mut self) {
        self.socket.exchange(&mut self.tcb, &mut Vec::new());
    }

    /// Reads all, and says how much that was.
    fn read(&mut self) -> u32 {
        let mut seq = 1;
        loop {
            self.exchange();
            let Poll::Ready(Ok((parts, _))) = self.socket.poll_read(None, 1000, false) else {
                return seq - 1;
            };
            for byte in parts.iter().flat_map(|part| part.to_vec()) {
                assert_eq!(byte, byte_of(seq));
                seq += 1;
            }
        }
    }
}

/// Whatever the peer does, and wherever the bytes lie: with nobody reading they hold
/// twice the receive buffer together. The first `socket` bytes come to the socket, the
/// others stay in the TCB: some in order, and some behind a hole, which come before
/// those or after.
#[test]
fn segments_of_one_byte_hold_no_more_than_twice_the_buffer() {
    for disorder_first in [true, false] {
        for (socket, in_order) in [(0, 45_000), (45_000, 0), (30_000, 15_000), (10_000, 5000)] {
            let mut receiver = Receiver::new();
            for seq in 1..=socket {
                receiver.segment(seq, 1);
                receiver.exchange();
            }
            let hole = 1 + socket + in_order;
            let (front, mut behind) = (1 + socket..hole, hole + 1);
            let mut disorder = |receiver: &mut Receiver| {
                while behind < 60_000 {
                    let len = if behind % 2 == 0 { 1025 } else { 1 };
                    receiver.segment(behind, len);
                    behind += len;
                }
            };
            if disorder_first {
                disorder(&mut receiver);
            }
            front.for_each(|seq| receiver.segment(seq, 1));
            disorder(&mut receiver);
            assert_eq!(receiver.read(), hole - 1);
        }
    }
}

/// What is read makes room: memory is given back, and the window with it.
#[test]
fn what_is_read_counts_no_more() {
    let mut receiver = Receiver::new();
    let mut seq = 1;
    for _ in 0..5 {
        for _ in 0..20_000 {
            receiver.segment(seq, 1);
            seq += 1;
        }
        receiver.exchange();
        let cx = Context::from_waker(Waker::noop());
        while let Poll::Ready(read) = receiver.socket.poll_read(Some(&cx), 777, false) {
            assert!(read.is_ok());
        }
        receiver.exchange();
        assert_eq!(receiver.tcb.unread(), 0);
        assert_eq!(receiver.socket.state.lock().unread.footprint(), 0);
    }
}

/// Whoever reads all that is there tells TCP of it, though less may wait than when the connection was opened.
/// Before, its peer got on by probes of the window: a few segments in 200 ms.
#[test]
fn a_window_that_has_become_smaller_opens_for_who_reads_all() {
    let smaller: [fn(&mut Receiver); 4] = [
        |receiver| assert!(receiver.socket.set(Setting::ReceiveBuffer(8000)).is_some()),
        |receiver| assert!(receiver.socket.set(Setting::ReceiveBuffer(700)).is_some()),
        |receiver| receiver.tcb.set_pressure(tcp::Pressure::up_to(1)),
        |receiver| receiver.tcb.set_pressure(tcp::Pressure::FULL),
    ];
    for (n, shrink) in smaller.into_iter().enumerate() {
        let mut receiver = Receiver::new();
        receiver.socket.state.lock().id = Some(ConnId { unit: 0, slot: 0, generation: 0 });
        shrink(&mut receiver);
        receiver.exchange();
        let (mut acked, mut edge) = (1, 1 + u16::MAX as u32);
        let mut told = |receiver: &mut Receiver| {
            let offload = tcp::TransmitOffload { segmentation: 0, want_sum: false };
            while let Some(segment) = receiver.tcb.poll_transmit(receiver.now, offload) {
                acked = segment.header.ack.0;
                edge = acked + u32::from(segment.header.window);
            }
            (acked, edge)
        };
        for round in 0..200 {
            // What was refused goes again.
            let (mut seq, up_to) = told(&mut receiver);
            assert!(up_to > seq, "{n}: the window is shut after {round} rounds");
            while seq < up_to {
                let len = 1460.min(up_to - seq);
                let bytes: Vec<u8> = (seq..seq + len).map(byte_of).collect();
                let segment = Parts::from_iter([Slice::copy_of(&bytes)]);
                receiver.tcb.input(&header(Flags::ACK, seq, receiver.ours), segment, receiver.now);
                seq += len;
            }
            told(&mut receiver);
            receiver.exchange();
            while let Poll::Ready(Ok((_, notify))) = receiver.socket.poll_read(None, 1000, false) {
                if notify.is_some() {
                    receiver.exchange();
                }
            }
        }
    }
}

/// A look at bytes leaves them there.
#[test]
fn a_look_takes_nothing() {
    let mut receiver = Receiver::new();
    (1..=50).for_each(|seq| receiver.segment(seq, 1));
    receiver.exchange();
    for max in [3, 100] {
        let Poll::Ready(Ok((parts, None))) = receiver.socket.poll_read(None, max, true) else {
            panic!("50 bytes wait");
        };
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
        assert_eq!(bytes, (1..=max.min(50) as u32).map(byte_of).collect::<Vec<_>>());
    }
    assert_eq!(receiver.read(), 50);
}

/// Many small writes, more than TCP has room for: none of them is lost, and they stay in order.
#[test]
fn what_tcp_has_no_room_for_waits_for_its_turn() {
    const LEN: u32 = 600_000;
    let mut end = Receiver::new();
    let written: Vec<u8> = (0..LEN).map(byte_of).collect();
    end.socket.write(written.chunks(500).map(|bytes| (Slice::copy_of(bytes), None)), false);
    let mut arrived = Vec::new();
    let offload = tcp::TransmitOffload { segmentation: 0, want_sum: false };
    while arrived.len() < written.len() {
        end.exchange();
        let before = arrived.len();
        while let Some(segment) = end.tcb.poll_transmit(end.now, offload) {
            segment.payload.iter().for_each(|part| arrived.extend_from_slice(part));
        }
        assert!(arrived.len() > before, "{before} bytes came, and no more");
        end.now += Duration::from_millis(1);
        let ack = header(Flags::ACK, 1, end.ours + arrived.len() as u32);
        end.tcb.input(&ack, Parts::new(), end.now);
    }
    assert!(arrived == written);
    assert_eq!(end.socket.state.lock().unsent_bytes, 0);
}

/// A stream that is gone lets go of its connection, also where TCP had no room for all that was
/// written. Before, the connection was no orphan then: nothing bounded how long it stayed where the
/// peer's window was closed, or how many there were.
#[test]
fn a_stream_that_is_gone_leaves_an_orphan_whatever_waits() {
    let mut end = Receiver::new();
    let written = [7; 500].map(|byte| (Slice::copy_of(&[byte; 500]), None));
    end.socket.write(written.into_iter(), false);
    end.exchange();
    assert!(!end.socket.state.lock().unsent.is_empty(), "more than there is room for");
    end.socket.release(false);
    end.exchange();
    assert!(end.tcb.is_orphan());
    let state = end.socket.state.lock();
    assert_eq!((state.unsent.is_empty(), state.unsent_bytes), (true, 0));
    assert_eq!(end.tcb.queued(), 250_000);
}

/// As on Linux: no bound, and not one that nothing gets past.
#[test]
fn a_bound_of_nothing_that_was_never_sent_is_none() {
    let end = Receiver::new();
    assert!(matches!(end.socket.poll_room(None), Poll::Ready(Ok(_))));
    end.socket.set_notsent_lowat(Some(0));
    assert!(matches!(end.socket.poll_room(None), Poll::Ready(Ok(_))));
    let options = Some(Arc::new(TcpOptions::default().with_notsent_lowat(Some(0))));
    let socket = TcpShared::opening(Arc::default(), options);
    assert_eq!(socket.state.lock().notsent_lowat, usize::MAX);
}

/// Before, who went on setting an option of a connection that had ended filled memory with it.
#[test]
fn a_connection_that_has_ended_keeps_no_settings() {
    let mut receiver = Receiver::new();
    receiver.socket.set(Setting::QuickAck(true));
    assert_eq!(receiver.socket.state.lock().rare().settings.len(), 1);
    receiver.exchange();
    receiver.tcb.abort();
    receiver.socket.closed(&mut receiver.tcb, &mut Vec::new());
    for _ in 0..1000 {
        assert_eq!(receiver.socket.set(Setting::QuickAck(true)), None);
    }
    assert!(receiver.socket.state.lock().rare().settings.is_empty());
}

/// A domain gives the socket what it has before it closes a connection. A writer that asks in between
/// hears why the connection is no more, as one that asks later does. Before, it heard of a broken pipe.
#[test]
fn who_asks_between_a_reset_and_the_close_hears_of_the_reset() {
    let mut end = Receiver::new();
    end.tcb.input(&header(Flags::RST, 1, end.ours), Parts::new(), end.now);
    end.exchange();
    let wrote = || match end.socket.poll_room(None) {
        Poll::Ready(Err(error)) => error.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(wrote(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(wrote(), std::io::ErrorKind::BrokenPipe);
    // It is told once, but for the reader.
    end.socket.closed(&mut end.tcb, &mut Vec::new());
    let Poll::Ready(Err(read)) = end.socket.poll_read(None, 10, false) else { panic!("no error") };
    assert_eq!(read.kind(), std::io::ErrorKind::ConnectionReset);
    let wrote = end.socket.poll_room(None).map_err(|error| error.kind());
    assert!(matches!(wrote, Poll::Ready(Err(std::io::ErrorKind::BrokenPipe))), "{wrote:?}");
}

/// Before, the writer slept until a third of the buffer was free, wherever it was: over 250 ms, where all that is
/// queued is in flight, a connection had seven tenths of what its buffer allows.
#[test]
fn a_writer_that_a_long_path_waits_for_is_woken_early() {
    const BUFFER: usize = 40_000;
    // What has to be acknowledged before a writer is woken that had filled the buffer, which is in flight.
    let woken_after = |round: Duration| {
        let mut end = Receiver::with(BUFFER, round);
        let mut acknowledged = 0;
        let write = |end: &mut Receiver| {
            while let Poll::Ready(Ok(limits)) = end.socket.poll_room(None) {
                let slice = Slice::copy_of(&vec![7; limits.room.min(1000)]);
                end.socket.write([(slice, None)].into_iter(), false);
            }
            end.exchange();
            end.acknowledge();
        };
        let acknowledge = |end: &mut Receiver, up_to: usize| {
            let ack = header(Flags::ACK, 1, end.ours + up_to as u32);
            end.tcb.input(&ack, Parts::new(), end.now);
        };
        // Until the congestion window is larger than the buffer.
        for _ in 0..6 {
            write(&mut end);
            acknowledged += end.tcb.queued() - end.tcb.unsent();
            end.now += round;
            acknowledge(&mut end, acknowledged);
            end.exchange();
            // What is paced.
            end.now += round;
            end.tcb.on_timeout(end.now);
            end.acknowledge();
        }
        write(&mut end);
        end.now += round;
        end.tcb.on_timeout(end.now);
        end.acknowledge();
        assert!(end.tcb.unsent() < 1460, "{:?}", end.tcb.info());
        let woken = Arc::new(AtomicBool::new(false));
        let waker = std::task::Waker::from(Arc::new(Flag(woken.clone())));
        assert!(end.socket.poll_room(Some(&Context::from_waker(&waker))).is_pending());
        let full = end.tcb.queued();
        while !woken.load(Ordering::Relaxed) {
            acknowledged += 500;
            acknowledge(&mut end, acknowledged);
            let mut wakes = Vec::new();
            end.socket.exchange(&mut end.tcb, &mut wakes);
            wakes.into_iter().for_each(std::task::Waker::wake);
        }
        full - end.tcb.queued()
    };
    let far = woken_after(Duration::from_millis(250));
    assert!(far <= BUFFER / 16 + 1460, "{far}");
    let near = woken_after(Duration::from_millis(1));
    assert!(near >= BUFFER / 3 - 1460, "{near}");
}

struct Flag(Arc<AtomicBool>);

impl std::task::Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
