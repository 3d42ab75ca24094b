use super::*;

const CE: u8 = ipv4::CE;
const ECT_0: u8 = ipv4::ECT_0;
const ECT_1: u8 = ipv4::ECT_1;
const MSS: u32 = 1000;

fn feedback(ace: u32, option: Option<AccEcn>) -> Feedback {
    Feedback { ace: (ace & 7) as u8, option, fresh: true }
}

/// What `sender` learns from r.cep and r.ceb, `ceb` only if an option says it.
fn learn(sender: &mut Sender, cep: u32, ceb: Option<u32>, delivered: u32) -> (u32, u32) {
    let option = ceb.map(|ceb| AccEcn::new(false, 2, [1, ceb, 1]));
    let marks = sender.decode(&feedback(cep, option), (delivered, MSS), true);
    let marks = marks.expect("not mangled");
    (marks.packets, marks.bytes)
}

#[test]
fn the_counter_goes_round_and_no_mark_is_lost() {
    // RFC 9768 3.2.2.2/1, 3.2.2.2/2
    let (mut receiver, mut sender) = (Receiver::default(), Sender::default());
    let mut sum = 0;
    for n in 0..100 {
        let marked = n % 8;
        receiver.count(CE, marked * MSS, marked, true);
        let ace = receiver.tell().ace();
        let got = learn(&mut sender, ace.into(), None, 7 * MSS);
        assert_eq!(got, (marked, marked * MSS));
        sum += marked;
    }
    assert_eq!(sender.packets, 5 + sum);
    assert_eq!((receiver.packets, receiver.told), (5 + sum, 5 + sum));
}

/// Appendix A.2: what the counter cannot say is taken to be the worst that is likely.
#[test]
fn where_it_may_have_gone_round_the_safest_likely_case_counts() {
    // RFC 9768 3.2.2.5.2/1, 3.2.3.2.3/1
    for (acked, ace, packets) in [(7, 3, 3), (8, 0, 8), (10, 3, 3), (11, 3, 11), (20, 4, 20)] {
        let mut sender = Sender::default();
        let got = learn(&mut sender, 5 + ace, None, acked * MSS);
        assert_eq!(got, (packets, packets * MSS), "{acked} {ace}");
    }
    // Nothing was marked lately, and the counter says the same: nothing is likely.
    let mut sender = Sender::default();
    let marks = sender.decode(&feedback(5, None), (20 * MSS, MSS), false);
    assert_eq!(marks, Ok(Marks::default()));
    // More than were acknowledged is right: of others, too, the peer has counted marks.
    // RFC 9768 3.2.2.5.2/2
    assert_eq!(learn(&mut sender, 10, None, MSS), (5, MSS));
}

#[test]
fn an_option_says_it_exactly() {
    // RFC 9768 3.2.1/2, 3.2.3.1/2, 3.2.3.2.5/1
    let mut sender = Sender::default();
    // 20 of 44 at once: the counter alone would say 4 or 44.
    assert_eq!(learn(&mut sender, 5 + 20, Some(20 * MSS), 44 * MSS), (20, 20 * MSS));
    // Small packets: as many as the counter says.
    assert_eq!(learn(&mut sender, 25 + 6, Some(20 * MSS + 60), 60), (6, 60));
    // Without an option an estimate, which the next option puts right.
    assert_eq!(learn(&mut sender, 31 + 2, None, 3 * MSS), (2, 2 * MSS));
    assert_eq!(learn(&mut sender, 33 + 1, Some(20 * MSS + 60 + 2500), 2 * MSS), (1, 500));
    assert_eq!(sender.packets, 34);
    // An older option says nothing new.
    assert_eq!(learn(&mut sender, 34, Some(20 * MSS), MSS), (0, 0));
}

/// The counters of bytes have 24 bits, and are followed beyond them.
#[test]
fn counters_of_bytes_go_round_too() {
    // RFC 9768 3.2.3.1/1, 3.2.3.1/2
    let (mut receiver, mut sender) = (Receiver::default(), Sender::default());
    for _ in 0..50 {
        receiver.count(CE, 1_000_000, 4, true);
        receiver.count(ECT_0, 500_000, 2, true);
        let option = receiver.option(40).expect("news");
        let ace = receiver.tell().ace().into();
        let marks = sender.decode(&feedback(ace, Some(option)), (1_500_000, 300_000), true);
        assert_eq!(marks, Ok(Marks { packets: 4, bytes: 1_000_000 }));
    }
    assert_eq!(sender.bytes, [25_000_001, 50_000_000, 1]);
    assert_eq!(sender.bytes, receiver.bytes);
}

#[test]
fn bytes_without_packets_are_mangled() {
    // RFC 9768 3.2.3.2.5/2
    let mut sender = Sender::default();
    let option = Some(AccEcn::new(false, 2, [1, MSS, 1]));
    let marks = sender.decode(&feedback(5, option), (2 * MSS, MSS), true);
    assert_eq!(marks, Err(Mangled));
    // Not where the counter may have gone round since the last option.
    let mut sender = Sender::default();
    learn(&mut sender, 5, None, 9 * MSS);
    let option = Some(AccEcn::new(false, 2, [1, 8 * MSS, 1]));
    assert!(sender.decode(&feedback(5, option), (2 * MSS, MSS), true).is_ok());
}

#[test]
fn options_that_begin_with_zero_are_ignored() {
    // RFC 9768 3.2.3.2.4/1
    let mut sender = Sender::default();
    assert_eq!(sender.take_option(&AccEcn::new(false, 3, [0, 0, 1])), None);
    assert!(sender.ignored && !sender.options);
    assert_eq!(learn(&mut sender, 6, Some(9000), MSS), (1, MSS), "by the counter alone");
    // Whatever else they begin with is good.
    let mut sender = Sender::default();
    sender.take_option(&AccEcn::new(true, 3, [7, 0, 9]));
    assert!(sender.options && !sender.ignored);
}

#[test]
fn acknowledgments_that_marks_trigger() {
    // RFC 9768 3.2.2.5.1/1, 3.2.2.5.1/2
    let mut r = Receiver::default();
    assert!(!r.count(ECT_0, 1000, 1, true));
    assert!(r.count(CE, 1000, 1, true), "the first mark");
    r.tell();
    assert!(!r.count(CE, 1000, 1, true));
    assert!(r.count(CE, 1000, 1, true), "the second since");
    r.tell();
    // Acknowledgments that are marked: every third.
    let marks: Vec<bool> = (0..3).map(|_| r.count(CE, 0, 1, false)).collect();
    assert_eq!(marks, [false, false, true]);
    r.tell();
    assert!(!r.count(0, 0, 1, false));
    assert!(r.count(CE, 1, 1, true), "data with a mark after what had none");
    assert_eq!(r.bytes, [1001, 3001, 1]);
}

#[test]
fn options_say_what_has_ever_changed_and_fit_if_they_can() {
    // RFC 9768 3.2.1/1, 3.2.3.3/2, 3.2.3.3/3, 3.2.3.3/4
    let mut r = Receiver::default();
    let first = r.option(40).expect("a test of the path");
    assert_eq!(first.counters(), [Some(1), Some(0), Some(1)]);
    assert_eq!(r.option(40), None, "nothing has changed");
    r.count(ECT_0, 9, 1, true);
    assert_eq!(r.option(40).map(|o| o.counters()), Some([Some(10), None, None]));
    r.count(CE, 5, 1, true);
    r.count(ECT_0, 1, 1, true);
    assert_eq!(r.option(40).map(|o| o.counters()), Some([Some(11), Some(5), None]));
    r.count(ECT_0, 1, 1, true);
    assert_eq!(r.option(8).map(|o| o.counters()), Some([Some(12), Some(5), None]));
    r.count(ECT_1, 1, 1, true);
    assert_eq!(r.option(40).map(|o| o.counters()), Some([Some(12), Some(5), Some(2)]));
    // Little room: what has changed since, in the shorter order.
    r.count(ECT_1, 1, 1, true);
    let short = r.option(8).expect("it fits");
    assert_eq!((short.reversed, short.counters()), (true, [None, None, Some(3)]));
    // None, rather than one without what has changed.
    r.count(ECT_0, 1, 1, true);
    r.count(ECT_1, 1, 1, true);
    assert_eq!(r.option(8), None);
    assert_eq!(r.option(12).map(|o| o.counters()), Some([Some(13), Some(5), Some(4)]));
    // Switched off it says nothing.
    r.count(CE, 1, 1, true);
    r.options = false;
    assert_eq!(r.option(40), None);
}

/// Where each segment has an option, what has not changed makes room, and a third SACK block
/// for what has.
#[test]
fn an_option_with_every_segment_says_what_fits() {
    // RFC 9768 3.2.3.3/1
    const MOST: usize = 40;
    let mut receiver = Accurate::new(CounterOptions::Always).receiver;
    let with = |receiver: &mut Receiver, blocks: u32| {
        let mut options = Options { timestamps: Some((1, 1)), ..Options::NONE };
        (0..blocks).for_each(|n| options.sack.push(Seq(n * 10), Seq(n * 10 + 5)));
        receiver.add_always(&mut options, MOST);
        let counters = options.acc_ecn.map(|option| option.counters());
        (counters, options.sack.as_slice().len())
    };
    assert_eq!(with(&mut receiver, 0), (Some([Some(1), Some(0), Some(1)]), 0));
    receiver.count(ECT_1, 1000, 1, true);
    assert_eq!(with(&mut receiver, 2), (Some([None, Some(0), Some(1001)]), 2));
    receiver.count(CE, 1000, 1, true);
    assert_eq!(with(&mut receiver, 3), (Some([None, Some(1000), Some(1001)]), 2));
    assert_eq!(with(&mut receiver, 3), (None, 3), "nothing has changed");
    // The counter of ECT(0) is the last: it is told once there is room.
    receiver.count(ECT_0, 1000, 1, true);
    assert_eq!(with(&mut receiver, 3), (None, 3));
    assert_eq!(with(&mut receiver, 1), (Some([Some(1001), Some(1000), Some(1001)]), 1));
    let mut never = Accurate::new(CounterOptions::Never).receiver;
    assert_eq!(with(&mut never, 0), (None, 0));
}
