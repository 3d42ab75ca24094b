use crate::Config;
use crate::harness::*;
use std::time::Duration;

/// A connection over a path of so many milliseconds, after four rounds of slow start that it has
/// filled; and SND.UNA. There is more to send.
fn filled(config: Config, round: u64) -> (Peer, u32) {
    let mut p = Peer::established(Config { send_buffer: 4 << 20, ..config });
    let mut una = 1;
    p.send(3_000_000);
    for segments in [10, 20, 40, 80] {
        let mut sent = p.out().len();
        p.wait(round);
        while sent < segments {
            p.tcb.on_timeout(p.now);
            sent += p.out().len();
        }
        una += 1000 * segments as u32;
        // With a window for all of it.
        p.input(header(".", 1, una, u16::MAX), 0);
    }
    (p, una)
}

fn wide() -> Config {
    Config { window_scaling: true, pacing: true, ..sack() }
}

#[test]
fn what_a_window_lets_go_of_leaves_over_a_round_trip_on_a_long_path() {
    let (mut p, _) = filled(wide(), 100);
    let info = p.tcb.info();
    assert_eq!(info.cwnd, 160_000);
    // Of slow start: two windows in a round trip.
    let rate = 2 * 160_000 * 1_000_000 / info.srtt.as_micros() as u64;
    assert!(info.pacing_rate.abs_diff(rate) < rate / 100, "{}", info.pacing_rate);
    // A little goes at once, as after a pause.
    let began = p.now;
    let mut sent = p.out().len();
    assert!((65..90).contains(&sent), "{sent}");
    let left = 160 - sent as u32;
    let mut most = 0;
    while sent < 160 {
        p.timeout();
        let now = p.out().len();
        (sent, most) = (sent + now, most.max(now));
    }
    let (took, whole) = (p.now.since(began), info.srtt / 2 * left / 160);
    assert!(took > whole * 8 / 10 && took < whole * 12 / 10, "{took:?} of {:?}", info.srtt);
    assert!(most <= 24, "{most} at once");
    assert_eq!((p.tcb.info().timeouts, p.tcb.info().retransmits), (0, 0));
}

#[test]
fn on_a_short_path_or_if_not_wanted_it_goes_at_once() {
    for (config, round) in [(wide(), 4), (Config { pacing: false, ..wide() }, 100)] {
        let (mut p, _) = filled(config, round);
        assert_eq!(p.tcb.info().pacing_rate, 0);
        assert_eq!(p.out().len(), 160, "{round}");
    }
}

#[test]
fn where_round_trips_end_so_does_the_pace() {
    let (mut p, una) = filled(wide(), 100);
    p.out();
    assert!(p.tcb.info().pacing_rate > 0);
    p.now += Duration::from_millis(250);
    p.input(header(".", 1, una, u16::MAX), 0);
    p.tcb.on_timeout(p.now);
    assert_eq!(p.tcb.info().pacing_rate, 0);
}
