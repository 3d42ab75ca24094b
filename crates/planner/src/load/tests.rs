use super::*;
use proptest::prelude::*;

fn load(text: &str) -> Load {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn what_the_documents_show() {
    let rr = Load {
        work: Work::TcpRr,
        bytes: 64,
        connections: 20_000,
        rate_per_s: Some(400_000.0),
        pattern: Pattern::Poisson,
    };
    for text in [
        "tcp rr 64B, 20k connections, 400k/s",
        "400/ms,20_000 connections,rr,64 bytes,tcp",
        "TCP RR 20 k connections 0.4M/s poisson",
        "tcp rr 64 B 20000 sockets 400 k/s",
        "tcp rr, 20k flows, 204.8 Mbit/s",
        "tcp rr, 20k flows, 25.6 MB/s",
    ] {
        assert_eq!(load(text), rr, "{text}");
    }
    let send = Load {
        work: Work::UdpSend,
        bytes: 1400,
        connections: 64,
        rate_per_s: Some(2e6),
        pattern: Pattern::Bursty(32),
    };
    assert_eq!(load("udp send 1400B, 64 flows, 2M/s, bursty 32"), send);
    let bulk = load("tcp bulk, 16 connections, 40 Gbit/s, steady");
    assert_eq!((bulk.work, bulk.bytes, bulk.pattern), (Work::TcpSend, 1448, Pattern::Steady));
    assert_eq!(bulk.rate_per_s, Some(5e9 / 1448.0));
    assert_eq!(load("tcp send, 3k connections").rate_per_s, None);
    let short = load("tcp crr, 8 connections, 1k/s");
    assert_eq!((short.work, short.bytes), (Work::TcpCrr, 64));
    assert_eq!(load("udp receive 4KiB, 1 flow").bytes, 4096);
    assert_eq!(load("udp receive 4KB, 1 flow").bytes, 4000);
}

#[test]
fn errors_name_the_word() {
    for (text, part) in [
        ("", "lacks the protocol"),
        ("tcp", "lacks what connections do"),
        ("tcp rr", "lacks how many connections"),
        ("tcp rr 64B, 20k connectons", "`20k`: a number of what?"),
        ("tcp rr 64B, 20k", "`20k`: a number of what?"),
        ("tcp rr 64, 20k connections", "`64`: a number of what?"),
        ("quic rr", "`quic` is no word of a load: tcp or udp"),
        ("tcp udp rr", "`udp` gives the load's protocol a second time"),
        ("tcp rr 1B 2B 1 flow", "`2B` gives the load's bytes a second time"),
        ("tcp rr 20,000 connections", "a comma between digits"),
        ("udp crr 64B, 1 flow", "UDP has none"),
        ("tcp rr 0 connections", "a load has 1 to"),
        ("tcp rr 999G connections", "a load has 1 to"),
        ("tcp rr 1.5 connections", "whole number"),
        ("tcp rr 1 connection 0B", "1 to 1448 bytes"),
        ("tcp rr 1 connection 64KiB", "1 to 1448 bytes"),
        ("udp send 1 flow 1MB", "1 to 65495 bytes"),
        ("tcp rr 1 connection 0/s", "a rate is more than 0"),
        ("tcp rr 1 connection 1e9/s", "a number of what?"),
        ("tcp rr 1 connection 999G/s", "a rate is more than 0"),
        ("tcp rr 1 connection bursty", "`bursty` wants"),
        ("tcp rr 1 connection bursty 0 1/s", "a burst has 1 to"),
        ("tcp rr 1 connection steady", "goes with a rate"),
        ("tcp rr 1.2.3 connections", "is no number"),
        ("tcp rr 1 connection -5/s", "`-5/s` is no word"),
        ("tcp rr 1 connection 5/h", "a number of what?"),
        ("tcp rr 1 connection 5 Gbit", "a number of what?"),
    ] {
        let error = text.parse::<Load>().expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let long = "tcp ".repeat(1000);
    assert!(long.parse::<Load>().is_err());
}

fn any_load() -> impl Strategy<Value = Load> {
    let rate = proptest::option::of((1u64..=10_000_000_000, 0u32..1000));
    let pattern = prop_oneof![
        Just(Pattern::Poisson),
        Just(Pattern::Steady),
        (1..=MOST_BURST).prop_map(Pattern::Bursty)
    ];
    (0..Work::ALL.len(), 1usize..=MOST_BYTES, 1..=MOST_CONNECTIONS, rate, pattern).prop_map(
        |(work, bytes, connections, rate, pattern)| {
            let work = Work::ALL[work];
            let bytes = if work.is_transactions() { 1 + bytes % MOST_MESSAGE_BYTES } else { bytes };
            let rate_per_s = rate.map(|(n, part)| (n as f64 - f64::from(part) / 1000.0).max(0.001));
            let pattern = if rate_per_s.is_some() { pattern } else { Pattern::Poisson };
            Load { work, bytes, connections, rate_per_s, pattern }
        },
    )
}

proptest! {
    #[test]
    fn what_is_shown_is_read(load in any_load()) {
        let text = load.to_string();
        prop_assert_eq!(text.parse::<Load>(), Ok(load), "{}", text);
    }

    #[test]
    fn no_text_is_too_strange(text in "\\PC*") {
        let _ = text.parse::<Load>();
    }

    #[test]
    fn nor_are_words_in_any_order(words in proptest::collection::vec(
        prop_oneof![
            Just("tcp"), Just("rr"), Just("64B"), Just("20"), Just("k"), Just("connections"),
            Just("400k/s"), Just("Gbit/s"), Just("bursty"), Just("32"), Just("/"), Just("µ/s"),
        ],
        0..9,
    )) {
        if let Ok(load) = words.join(" ").parse::<Load>() {
            prop_assert!(load.check().is_ok());
        }
    }
}
