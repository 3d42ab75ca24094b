use super::*;
use crate::Config;
use crate::harness::*;

fn time_wait(config: Config) -> (TimeWait, Instant) {
    let mut p = Peer::at(State::TimeWait, Config { timestamps: false, ..config });
    p.out();
    (TimeWait::new(&p.tcb).expect("TIME-WAIT"), p.now)
}

#[test]
fn it_is_small_and_made_in_time_wait_only() {
    assert!(size_of::<TimeWait>() <= 64);
    assert!(TimeWait::new(&Peer::established(bare()).tcb).is_none());
}

#[test]
fn each_segment_has_its_answer() {
    // RCV.NXT is 2, SND.NXT is 2.
    enum Is {
        Ignored,
        Answered,
        New,
    }
    use Is::*;
    let table = [
        ("F.", 1, 2, 0, Answered),
        ("R", 2, 0, 0, Ignored),
        ("R.", 2, 2, 0, Ignored),
        (".", 2, 2, 0, Ignored),
        (".", 1, 2, 10, Answered),
        (".", 2, 1, 0, Answered),
        ("S", 3, 0, 0, New),
        ("S", 1, 0, 0, Answered),
        ("S.", 3, 2, 0, Answered),
    ];
    for (letters, seq, ack, len, is) in table {
        let (mut wait, now) = time_wait(bare());
        let action = wait.input(&header(letters, seq, ack, 9), len, now);
        let right = match (is, action) {
            (Ignored, Action::Ignore) => true,
            (Answered, Action::Reply(h)) => {
                h.flags == Flags::ACK && h.seq == Seq(ISS) + 2 && h.ack == Seq(IRS) + 2
            }
            (New, Action::Reopen { isn_after }) => isn_after == Seq(ISS) + 2,
            _ => false,
        };
        assert!(right, "{letters} {seq} {len}: {action:?}");
    }
}

#[test]
fn a_fin_prolongs_it_and_then_it_ends() {
    let (mut wait, now) = time_wait(bare());
    let later = now + Duration::from_secs(50);
    wait.input(&header("F.", 1, 2, 9), 0, later);
    assert_eq!(wait.expires(), later + Duration::from_secs(60));
    wait.input(&header("R", 2, 2, 9), 0, later);
    let end = wait.expires();
    assert_eq!(wait.input(&header("F.", 1, 2, 9), 0, end), Action::Close);
}

#[test]
fn answers_are_limited() {
    // RFC 5961 7/1
    let (mut wait, now) = time_wait(Config { challenge_acks_per_second: 4, ..bare() });
    let answers =
        (0..100).filter(|_| wait.input(&header(".", 1, 2, 9), 9, now) != Action::Ignore).count();
    assert_eq!(answers, 4);
}

#[test]
fn with_timestamps_a_later_one_opens_anew() {
    // RFC 9293 SHLD-4
    let (mut wait, now) = time_wait(bare());
    (wait.timestamps, wait.ts_recent) = (true, 100);
    for (value, seq, opens) in [(101, 1, true), (100, 3, true), (100, 1, false), (99, 3, false)] {
        let mut syn = header("S", seq, 0, 9);
        syn.options.timestamps = Some((value, 0));
        let action = wait.input(&syn, 0, now);
        assert_eq!(matches!(action, Action::Reopen { .. }), opens, "{value} {seq}");
    }
}

#[test]
fn its_timestamps_do_not_go_back() {
    let (mut wait, now) = time_wait(bare());
    (wait.timestamps, wait.ts_recent) = (true, 5000);
    let mut fin = header("F.", 1, 2, 9);
    fin.options.timestamps = Some((5000, 0));
    let stamp = |action| match action {
        Action::Reply(h) => h.options.timestamps.unwrap().0,
        other => panic!("{other:?}"),
    };
    let last = now.as_millis() as u32;
    assert_eq!(stamp(wait.input(&fin, 0, now - Duration::from_millis(9))), last);
    assert_eq!(stamp(wait.input(&fin, 0, now + Duration::from_millis(9))), last + 9);
    assert_eq!(stamp(wait.input(&fin, 0, now)), last + 9);
}

/// A host that does not know the connection any more, and begins one whose numbers say nothing:
/// it learns that there was one, resets that, and asks again. Before, it was shut out until the end
/// of TIME-WAIT.
#[test]
fn a_reset_that_answers_a_challenge_of_a_syn_ends_it() {
    let (mut wait, now) = time_wait(bare());
    assert!(matches!(wait.input(&header(".", 1, 1, 9), 10, now), Action::Reply(_)));
    assert_eq!(wait.input(&header("R", 2, 0, 9), 0, now), Action::Ignore, "of no SYN");
    let Action::Reply(challenge) = wait.input(&header("S", 1, 0, 9), 0, now) else { panic!() };
    assert_eq!(wait.input(&header("R", 1, 0, 9), 0, now), Action::Ignore, "not that one");
    let reset = Header { seq: challenge.ack, ..header("R", 0, 0, 0) };
    assert_eq!(wait.input(&reset, 0, now), Action::Close);
}
