use crate::harness::*;
use crate::{Config, Cookies, EcnMode, Isn, State, Tcb};
use std::sync::Arc;
use std::time::Duration;
use wire::tcp::{Flags, Header, Options};
use wire::{Endpoint, FlowKey, Instant, Parts, Seq};

fn flow(port: u16) -> FlowKey {
    let end = |port| Endpoint { address: std::net::Ipv4Addr::new(10, 0, 0, 1).into(), port };
    FlowKey { local: end(80), remote: end(port) }
}

const ISN: Isn = Isn { seq: Seq(77), timestamp_offset: 0xdead_beef };

/// The answer to a SYN with these options, and the acknowledgment that a peer sends.
fn exchange(config: &Arc<Config>, options: Options, now: Instant) -> (Header, Header, Header) {
    let mut syn = header("S", 0, 0, 50_000);
    syn.options = options;
    if config.ecn == EcnMode::Ask {
        syn.flags = syn.flags.with(Flags::ECE).with(Flags::CWR);
    }
    let answer = Cookies::new([7; 16]).answer(config, &flow(9), &syn, ISN, 1460, now);
    let mut ack = Header { seq: syn.seq + 1, ack: answer.seq + 1, ..header(".", 1, 1, 1000) };
    let echo = answer.options.timestamps.map(|(value, _)| (6000, value));
    ack.options.timestamps = echo;
    (syn, answer, ack)
}

#[test]
fn what_was_agreed_comes_back() {
    let config = Arc::new(Config { ecn: EcnMode::Ask, ..Config::default() });
    for (mss, told) in [(1460, 1460), (1400, 1360), (9000, 8960), (40, 48), (600, 536)] {
        for scale in [None, Some(0), Some(7), Some(14)] {
            for sack_permitted in [false, true] {
                let options = Options {
                    mss: Some(mss),
                    window_scale: scale,
                    sack_permitted,
                    timestamps: Some((5000, 0)),
                    ..Options::NONE
                };
                let now = Instant::from_millis(1_000_000);
                let (syn, answer, ack) = exchange(&config, options, now);
                assert_eq!(answer.options.window_scale.is_some(), scale.is_some());
                let (again, isn) =
                    Cookies::new([7; 16]).check(&flow(9), &ack, ISN, now).expect("ours");
                assert_eq!((again.seq, again.flags), (syn.seq, syn.flags));
                assert_eq!(again.options.mss, Some(told));
                assert_eq!(again.options.window_scale, scale);
                assert_eq!(again.options.sack_permitted, sack_permitted);
                assert_eq!(isn.seq, answer.seq);
                let mut tcb = Tcb::accept(&config, isn, 1460, &again, now);
                // What the listener wants for its connections came after the answer.
                tcb.set_receive_buffer(20_000);
                tcb.was_answered(now);
                assert_eq!(tcb.info().receive_shift, answer.options.window_scale.unwrap_or(0));
                assert_eq!(tcb.info().receive_window, answer.window.into());
                tcb.input(&ack, Parts::new(), now);
                let info = tcb.info();
                assert_eq!(tcb.state(), State::Established);
                assert_eq!((info.sack, info.ecn, info.timestamps), (sack_permitted, true, true));
                assert_eq!(info.send_window, 1000 << scale.unwrap_or(0));
                tcb.check_invariants();
                // Our clock never goes back behind what the answer has told.
                let (told, _) = answer.options.timestamps.expect("both speak them");
                tcb.send(b"x").expect("room");
                let data = tcb.poll_transmit(now, Default::default()).expect("data");
                let (value, _) = data.header.options.timestamps.expect("both speak them");
                assert!(value.wrapping_sub(told) < 1000);
                assert!(info.srtt < Duration::from_millis(100), "{:?}", info.srtt);
            }
        }
    }
}

#[test]
fn without_time_stamps_only_the_segment_size_comes_back() {
    let config = Arc::new(Config::default());
    let options =
        Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Options::NONE };
    let now = Instant::from_millis(5);
    let (_, answer, ack) = exchange(&config, options, now);
    assert_eq!(answer.options.window_scale, None, "it could not be kept");
    assert!(!answer.options.sack_permitted);
    let (again, _) = Cookies::new([7; 16]).check(&flow(9), &ack, ISN, now).expect("ours");
    assert_eq!(again.options, Options { mss: Some(1460), ..Options::NONE });
}

#[test]
fn nothing_else_is_a_cookie() {
    let config = Arc::new(Config::default());
    let options = Options { mss: Some(1460), ..Options::NONE };
    let now = Instant::from_millis(200_000);
    let (_, _, ack) = exchange(&config, options, now);
    let cookies = Cookies::new([7; 16]);
    let check = |ack: &Header, now| cookies.check(&flow(9), ack, ISN, now).is_some();
    assert!(check(&ack, now) && check(&ack, now + Duration::from_secs(60)));
    assert!(!check(&ack, now + Duration::from_secs(150)), "too old");
    // The five bits of its tick are the same again then.
    for rounds in 1..=3 {
        assert!(
            !check(&ack, now + rounds * Duration::from_secs(32 * 64)),
            "{rounds} rounds too old"
        );
    }
    assert!(!check(&ack, Instant::from_millis(1)), "of a time to come");
    assert!(!check(&Header { seq: ack.seq + 1, ..ack }, now));
    assert!(!check(&Header { flags: Flags::ACK.with(Flags::RST), ..ack }, now));
    assert!(!check(&Header { flags: Flags::RST, ..ack }, now));
    assert!(cookies.check(&flow(10), &ack, ISN, now).is_none(), "another flow");
    assert!(Cookies::new([8; 16]).check(&flow(9), &ack, ISN, now).is_none(), "another key");
    let hits = (0..200_000u32)
        .filter(|n| check(&Header { ack: Seq(n.wrapping_mul(0x9e37_79b9)), ..ack }, now))
        .count();
    assert!(hits <= 2, "{hits} of 200,000 guesses");
}
