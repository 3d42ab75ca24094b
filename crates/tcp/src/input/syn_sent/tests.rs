use crate::harness::*;
use crate::{Config, Error, Events, State};
use std::time::Duration;

#[test]
fn the_first_segment_decides() {
    use State::*;
    // Flags, ACK of the segment; the state then, the error, what is sent.
    let refused = Some(Error::Refused);
    let table = [
        ("S.", 1, Established, None, Some(s(".", 1, 0, 1))),
        ("S", 0, SynReceived, None, Some(s("S.", 0, 0, 1))),
        ("R.", 1, Closed, refused, None),
        ("R", 1, SynSent, None, None),
        ("R.", 0, SynSent, None, None),
        ("R.", 2, SynSent, None, None),
        (".", 1, SynSent, None, None),
        (".", 0, SynSent, None, Some(s("R", 0, 0, 0))),
        ("S.", 2, SynSent, None, Some(s("R", 2, 0, 0))),
        ("F.", 1, SynSent, None, None),
    ];
    for (letters, ack, state, error, reply) in table {
        let mut p = Peer::connecting(bare());
        assert_eq!(p.out(), [s("S", 0, 0, 0)]);
        p.input(Peer::syn(letters, ack, &bare()), 5);
        assert_eq!((p.tcb.state(), p.tcb.error()), (state, error), "{letters} {ack}");
        assert_eq!(p.out(), Vec::from_iter(reply), "{letters} {ack}");
    }
}

#[test]
fn options_count_only_if_both_have_them() {
    // RFC 9293 SHLD-5
    // RFC 7323 2.2/2, 2.2/3, 3.2/1
    // RFC 6691 2/1, 2/2
    // RFC 2018 3/1
    for bits in 0..64 {
        let bit = |n: u8| bits >> n & 1 == 1;
        let ours = Config {
            window_scaling: bit(0),
            timestamps: bit(1),
            sack: bit(2),
            receive_buffer: 1 << 20,
            ..Config::default()
        };
        let theirs =
            Config { window_scaling: bit(3), timestamps: bit(4), sack: bit(5), ..ours.clone() };
        let mut p = Peer::connecting(ours);
        let syn = &p.outgoing()[0].header;
        assert_eq!(syn.options.mss, Some(MSS));
        assert_eq!(syn.options.window_scale, bit(0).then_some(7));
        assert_eq!(syn.options.timestamps.is_some(), bit(1));
        assert_eq!(syn.options.sack_permitted, bit(2));
        assert_eq!(syn.window, 65535, "not scaled");
        p.input(Peer::syn("S.", 1, &theirs), 0);
        let info = p.tcb.info();
        let scales = bit(0) && bit(3);
        assert_eq!((info.send_shift, info.receive_shift), if scales { (3, 7) } else { (0, 0) });
        assert_eq!(info.timestamps, bit(1) && bit(4));
        assert_eq!(info.sack, bit(2) && bit(5));
        assert_eq!(info.mss, if info.timestamps { MSS - 12 } else { MSS });
        assert_eq!(info.send_window, 50_000, "not scaled");
        let ack = &p.outgoing()[0].header;
        assert_eq!(ack.options.timestamps.map(|t| t.1), info.timestamps.then_some(5000));
    }
}

#[test]
fn a_shift_beyond_14_is_14_and_a_tiny_mss_is_48() {
    // RFC 7323 2.3/2
    let mut p = Peer::connecting(Config::default());
    p.out();
    let mut syn = Peer::syn("S.", 1, &Config::default());
    syn.options.window_scale = Some(255);
    syn.options.mss = Some(0);
    p.input(syn, 0);
    assert_eq!((p.tcb.info().send_shift, p.tcb.info().mss), (14, 36));
}

#[test]
fn the_syn_is_sent_again_with_back_off_and_measured_once_only() {
    // RFC 9293 MUST-22
    // RFC 6298 5.7/1
    let mut p = Peer::connecting(bare());
    p.out();
    let times: Vec<u64> = (0..3)
        .map(|_| {
            let after = p.timeout();
            assert_eq!(p.out(), [s("S", 0, 0, 0)]);
            after
        })
        .collect();
    assert_eq!(times, [1000, 2000, 4000]);
    p.input(Peer::syn("S.", 1, &bare()), 0);
    assert!(p.tcb.take_events().has(Events::CONNECTED));
    // Karn: no measurement, and RFC 6298 5.7: 3 s.
    assert_eq!((p.tcb.info().srtt.as_millis(), p.tcb.info().rto.as_millis()), (0, 3000));
}

/// What answers the last of several SYNs is measured. What answers one before may have been sent again after a
/// second or more; before, that was a round trip.
#[test]
fn an_answer_to_a_syn_before_the_last_is_not_measured() {
    // RFC 6298 3/1, 5.7/1
    let config = Config { timestamps: true, ..bare() };
    for (nth, srtt) in [(2, 30), (1, 0), (0, 0)] {
        let mut p = Peer::connecting(config.clone());
        let mut stamps = Vec::new();
        for n in 0..3 {
            if n > 0 {
                p.timeout();
            }
            stamps.push(p.tcb.timestamp(p.now));
            p.out();
        }
        p.wait(30);
        let mut answer = Peer::syn("S.", 1, &config);
        answer.options.timestamps = Some((5000, stamps[nth]));
        p.input(answer, 0);
        let info = p.tcb.info();
        assert_eq!((info.srtt.as_millis(), info.state), (srtt, State::Established));
        assert!(info.rto <= Duration::from_secs(3), "{info:?}");
    }
}

#[test]
fn data_waits_for_the_handshake() {
    let mut p = Peer::connecting(bare());
    p.send(10);
    assert_eq!(p.out(), [s("S", 0, 0, 0)]);
    p.input(Peer::syn("S.", 1, &bare()), 0);
    assert_eq!(p.out(), [s("P.", 1, 10, 1)]);
}

#[test]
fn closing_before_the_answer_ends_it() {
    let mut p = Peer::connecting(bare());
    p.out();
    p.tcb.release();
    assert_eq!((p.tcb.state(), p.tcb.error()), (State::Closed, None));
    assert!(p.out().is_empty() && p.tcb.take_events().has(Events::CLOSED));
}

#[test]
fn the_initial_window_is_one_segment_after_two_lost_syns() {
    // RFC 5681 3.1/4
    for (lost, cwnd) in [(0, 10_000), (1, 10_000), (2, 1000), (5, 1000)] {
        let mut p = Peer::connecting(bare());
        p.out();
        for _ in 0..lost {
            p.timeout();
            p.out();
        }
        p.input(Peer::syn("S.", 1, &bare()), 0);
        assert_eq!(p.tcb.info().cwnd, cwnd, "{lost}");

        let mut p = Peer::accepting(bare());
        p.out();
        for _ in 0..lost {
            p.timeout();
            p.out();
        }
        p.say(".", 1, 1, 0);
        assert_eq!(p.tcb.info().cwnd, cwnd, "{lost}");
    }
}
