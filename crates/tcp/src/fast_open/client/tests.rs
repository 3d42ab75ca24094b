use super::Server;
use crate::harness::*;
use crate::{Config, Error, State};
use wire::tcp::FastOpen;

fn cookie() -> FastOpen {
    FastOpen::new(&[1, 2, 3, 4, 5, 6, 7, 8]).expect("of this length there are")
}

/// A client that knows the cookie of a server with this MSS, and has queued so much.
fn client(config: Config, mss: u16, queued: usize) -> Peer {
    let mut p = Peer::connecting(config);
    p.tcb.want_fast_open();
    assert!(p.tcb.wants_fast_open());
    p.tcb.begin_fast_open(Server::Known(cookie(), mss));
    assert!(p.out().is_empty(), "the SYN waits for data");
    if queued > 0 {
        p.send(queued);
    }
    p
}

/// The server's SYN-ACK, which acknowledges up to `ack`.
fn answer(p: &mut Peer, ack: u32) {
    let h = Peer::syn("S.", ack, &bare());
    p.input(h, 0);
}

#[test]
fn what_is_written_first_goes_with_the_syn() {
    // RFC 7413 4.2.2/6
    let mut p = client(bare(), 1460, 300);
    assert!(p.tcb.is_open() && !p.tcb.is_synchronized());
    assert_eq!(p.out(), [s("S", 0, 300, 0)]);
    assert_eq!(p.tcb.syn_option(), Some(cookie()));
    // What is written then waits for the answer.
    p.send(50);
    assert!(p.out().is_empty());
    answer(&mut p, 301);
    assert_eq!(p.out(), [s("P.", 301, 50, 1)]);
    assert!(p.tcb.info().syn_data);
    p.say(".", 1, 351, 0);
    assert_eq!((p.tcb.queued(), p.tcb.next_timeout()), (0, None));
}

#[test]
fn no_more_goes_than_the_server_takes_beside_options() {
    for (mss, len) in [(1460, 960), (700, 660), (1, 8)] {
        let mut p = client(bare(), mss, 3000);
        assert_eq!(p.out(), [s("S", 0, len, 0)], "{mss}");
        answer(&mut p, 1 + len as u32);
        assert_eq!(p.out()[0].1, 1 + len as u32);
    }
}

#[test]
fn what_the_syn_ack_does_not_acknowledge_goes_again_at_once() {
    // RFC 7413 4.2.2/7
    for acked in [0, 100, 999] {
        let mut p = client(bare(), 1460, 960);
        assert_eq!(p.out(), [s("S", 0, 960, 0)]);
        let acked = acked.min(959);
        answer(&mut p, 1 + acked);
        assert_eq!(p.out(), [s("P.", 1 + acked, 960 - acked as usize, 1)], "{acked}");
        assert_eq!(p.tcb.info().syn_data, acked > 0);
        p.say(".", 1, 961, 0);
        assert_eq!((p.tcb.queued(), p.tcb.next_timeout()), (0, None));
    }
    let mut p = client(bare(), 1460, 960);
    p.out();
    answer(&mut p, 962);
    assert_eq!(p.out(), [s("R", 962, 0, 0)], "that was never sent");
    assert_eq!(p.tcb.state(), State::SynSent);
}

#[test]
fn the_syn_goes_again_without_option_and_data() {
    // RFC 7413 4.1.3/2
    let mut p = client(bare(), 1460, 300);
    p.out();
    assert_eq!(p.tcb.asks_fast_open(), Some(true));
    p.timeout();
    assert!(p.tcb.has_lost_fast_open());
    assert_eq!(p.out(), [s("S", 0, 0, 0)]);
    assert_eq!(p.tcb.syn_option(), None);
    p.timeout();
    assert!(!p.tcb.has_lost_fast_open(), "that is told once");
    assert_eq!(p.out(), [s("S", 0, 0, 0)]);
    // The first may have come all the same.
    let mut late = client(bare(), 1460, 300);
    late.out();
    late.timeout();
    late.out();
    answer(&mut late, 301);
    assert_eq!(late.out(), [s(".", 301, 0, 1)]);
    answer(&mut p, 1);
    assert_eq!(p.out(), [s("P.", 1, 300, 1)]);
}

#[test]
fn without_a_cookie_the_syn_asks_for_one_and_goes_at_once() {
    // RFC 7413 4.2.1/2
    let mut p = Peer::connecting(bare());
    p.tcb.want_fast_open();
    p.tcb.begin_fast_open(Server::Unknown);
    p.send(300);
    assert_eq!(p.out(), [s("S", 0, 0, 0)]);
    assert!(!p.tcb.is_open());
    assert!(p.tcb.syn_option().is_some_and(|option| option.is_request()));
    answer(&mut p, 1);
    assert_eq!(p.out(), [s("P.", 1, 300, 1)]);
    assert!(!p.tcb.info().syn_data);
    let mut p = Peer::connecting(bare());
    p.tcb.want_fast_open();
    p.tcb.begin_fast_open(Server::Deaf);
    assert_eq!(p.out(), [s("S", 0, 0, 0)]);
    assert_eq!((p.tcb.syn_option(), p.tcb.asks_fast_open()), (None, None));
}

#[test]
fn closing_comes_behind_what_was_written() {
    let mut p = client(bare(), 1460, 300);
    p.tcb.release();
    assert_eq!(p.out(), [s("S", 0, 300, 0)]);
    answer(&mut p, 301);
    assert_eq!(p.out(), [s("F.", 301, 0, 1)]);
    // Where nothing was written, nothing is sent.
    let mut p = client(bare(), 1460, 0);
    p.tcb.release();
    assert!(p.out().is_empty());
    assert_eq!(p.tcb.state(), State::Closed);
}

#[test]
fn closing_before_anything_was_written_opens_all_the_same() {
    // What the server says is to be heard.
    let mut p = client(bare(), 1460, 0);
    p.tcb.shutdown_write();
    assert_eq!(p.out(), [s("S", 0, 0, 0)]);
    assert_eq!(p.tcb.syn_option(), Some(cookie()));
    answer(&mut p, 1);
    assert_eq!(p.out(), [s("F.", 1, 0, 1)]);
    assert_eq!(p.tcb.state(), State::FinWait1);
    // Nobody is there to hear it.
    let mut p = client(bare(), 1460, 0);
    p.tcb.release();
    assert!(p.out().is_empty());
    assert_eq!(p.tcb.state(), State::Closed);
}

#[test]
fn a_refusal_is_one() {
    let mut p = client(bare(), 1460, 300);
    p.out();
    p.say("R.", 0, 301, 0);
    assert_eq!(p.tcb.error(), Some(Error::Refused));
}

#[test]
fn both_may_open_at_once() {
    let mut p = client(bare(), 1460, 300);
    p.out();
    let h = Peer::syn("S", 0, &bare());
    p.input(h, 0);
    assert_eq!(p.out(), [s("S.", 0, 0, 1)]);
    assert_eq!(p.tcb.syn_option(), None, "the cookie is not ours to give");
    p.send(10);
    assert!(p.out().is_empty());
    p.say(".", 1, 301, 0);
    assert_eq!(p.tcb.state(), State::Established);
    assert_eq!(p.out(), [s("P.", 301, 10, 1)]);
}
