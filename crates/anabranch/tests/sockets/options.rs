//! Options of connections, by their effect.

use super::{PATIENCE, SERVER, pair};
use anabranch::device::memory;
use anabranch::{CongestionAlgorithm, EcnMode, Keepalive, Stack};
use anabranch::{TcpListener, TcpOptions, TcpStream};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

const HTTP: &str = "10.0.0.1:80";

/// A stream each, opened with these options.
fn streams(stacks: &(Stack, Stack), options: &TcpOptions) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind(&stacks.0, HTTP).expect("bind");
    listener.set_options(options).expect("options");
    let there = TcpStream::connect_with(&stacks.1, options, HTTP).expect("connect");
    let (here, _) = listener.accept().expect("accept");
    (here, there)
}

/// Two stacks under this organization.
fn of(organization: anabranch::Organization) -> (Stack, Stack) {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, address: &str| {
        let stack = Stack::builder().device(device).address(format!("{address}/24").as_str());
        stack.organization(organization).drain(Duration::ZERO).start().expect("a stack")
    };
    (start(left, SERVER), start(right, "10.0.0.2"))
}

#[test]
fn a_segment_size_counts_for_both_ends_of_every_organization() {
    for organization in anabranch::Organization::all() {
        let stacks = of(organization);
        let options = TcpOptions::default().with_max_segment(Some(612));
        let (mut here, mut there) = streams(&stacks, &options);
        there.write_all(&[7; 10_000]).expect("write");
        here.read_exact(&mut [0; 10_000]).expect("read");
        for stream in [&here, &there] {
            assert_eq!(stream.info().expect("open").mss, 600, "{organization}");
        }
    }
}

/// Counters of marks (RFC 9768) where both ends want them, and what is left of it otherwise;
/// in every organization, with everything that stands between device and connection.
#[test]
fn marks_are_counted_where_both_want_it() {
    for organization in anabranch::Organization::all() {
        let stacks = of(organization);
        let listener = TcpListener::bind(&stacks.0, HTTP).expect("bind");
        for (server, ecn, counts) in [
            (EcnMode::AcceptAccurate, true, true),
            (EcnMode::Accept, true, false),
            (EcnMode::Off, false, false),
        ] {
            let with = |mode| TcpOptions::default().with_ecn(Some(mode));
            listener.set_options(&with(server)).expect("options");
            let client = with(EcnMode::AskAccurate);
            let mut there = TcpStream::connect_with(&stacks.1, &client, HTTP).expect("connect");
            let (mut here, _) = listener.accept().expect("accept");
            here.set_read_timeout(Some(PATIENCE)).expect("not zero");
            there.write_all(&[7; 50_000]).expect("write");
            here.read_exact(&mut [0; 50_000]).expect("read");
            // An answer, so that the client has heard of all.
            here.write_all(&[7; 100]).expect("write");
            there.read_exact(&mut [0; 100]).expect("read");
            for stream in [&here, &there] {
                let info = stream.info().expect("open");
                assert_eq!(
                    (info.ecn, info.accurate_ecn.is_some()),
                    (ecn, counts),
                    "{organization}"
                );
            }
            if counts {
                let of = |stream: &TcpStream| stream.info().expect("open").accurate_ecn;
                let (came, sent) = (of(&here).expect("counters"), of(&there).expect("counters"));
                assert!(came.capable && sent.capable && sent.options, "{organization}");
                assert!((1..=50_000).contains(&came.received_ect_0), "{organization}");
                assert_eq!((came.received_ce, sent.delivered_ce), (0, 0), "{organization}");
            }
        }
    }
}

#[test]
fn what_is_corked_comes_with_what_follows() {
    let stacks = pair();
    let (here, mut there) = streams(&stacks, &TcpOptions::default().with_nodelay(true));
    assert!(there.nodelay().expect("a value"));
    there.set_cork(true).expect("an option");
    assert!(there.cork().expect("a value"));
    let mut here = here;
    here.set_read_timeout(Some(PATIENCE)).expect("not zero");
    for byte in 0..100 {
        there.write_all(&[byte]).expect("write");
    }
    assert_eq!(there.write_more(&[100]).expect("room"), 1);
    there.set_cork(false).expect("an option");
    there.write_all(&[101]).expect("write");
    let mut all = [0; 102];
    here.read_exact(&mut all).expect("read");
    assert!(all.iter().copied().eq(0..102));
}

#[test]
fn an_option_can_be_read_back_where_there_is_one() {
    let stacks = pair();
    let minute = Some(Duration::from_secs(60));
    let options = TcpOptions::default()
        .with_tos(0xb8)
        .with_user_timeout(minute)
        .with_congestion(Some(CongestionAlgorithm::NewReno))
        .with_keepalive(Some(Keepalive::new(Duration::from_secs(9))));
    let (here, there) = streams(&stacks, &options);
    for stream in [&here, &there] {
        assert_eq!(stream.tos().expect("a value"), 0xb8);
        assert_eq!(stream.user_timeout().expect("a value"), minute);
        assert_eq!(stream.info().expect("open").congestion, CongestionAlgorithm::NewReno);
    }
    here.set_congestion(CongestionAlgorithm::Cubic).expect("an option");
    here.set_user_timeout(None).expect("an option");
    assert_eq!(here.info().expect("open").congestion, CongestionAlgorithm::Cubic);
    assert_eq!(here.user_timeout().expect("a value"), None);
}

#[test]
fn what_was_never_sent_is_bounded() {
    let stacks = pair();
    let (here, there) = streams(&stacks, &TcpOptions::default().with_notsent_lowat(Some(20_000)));
    there.set_nonblocking(true).expect("an option");
    let mut written = 0;
    let mut refused = 0;
    // The reader reads nothing: its window and the bound take so much and no more.
    while refused < 50 {
        match (&there).write(&[1; 10_000]) {
            Ok(n) => written += n,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                refused += 1;
                there.info().expect("open");
            }
        }
    }
    let info = there.info().expect("open");
    assert!(info.unsent <= 30_000, "{} bytes were never sent", info.unsent);
    let reader = std::thread::spawn(move || {
        let mut got = 0;
        let mut here = here;
        loop {
            match here.read(&mut [0; 65_536]).expect("read") {
                0 => break got,
                n => got += n,
            }
        }
    });
    there.set_nonblocking(false).expect("an option");
    (&there).write_all(&vec![1; 3_000_000]).expect("write");
    drop(there);
    assert_eq!(reader.join().expect("no panic"), written + 3_000_000);
}

#[test]
fn a_deferred_connection_is_accepted_with_its_data() {
    let stacks = pair();
    let listener = TcpListener::bind(&stacks.0, HTTP).expect("bind");
    let hour = Some(Duration::from_secs(3600));
    listener.set_options(&TcpOptions::default().with_defer_accept(hour)).expect("options");
    let mut there = TcpStream::connect(&stacks.1, HTTP).expect("connect");
    // It is open for whoever opened it, and has had its time to be accepted.
    there.info().expect("open");
    listener.set_nonblocking(true).expect("an option");
    assert_eq!(listener.accept().expect_err("nothing came").kind(), ErrorKind::WouldBlock);
    there.write_all(b"now").expect("write");
    listener.set_nonblocking(false).expect("an option");
    let (mut here, _) = listener.accept().expect("accept");
    let mut bytes = [0; 3];
    here.read_exact(&mut bytes).expect("read");
    assert_eq!(&bytes, b"now");
}

/// Before, a time of zero ended a connection whose peer was further away than a few milliseconds.
#[test]
fn a_keepalive_of_nothing_is_refused() {
    let stacks = pair();
    let (here, _there) = streams(&stacks, &TcpOptions::default());
    let second = Keepalive::new(Duration::from_secs(1));
    here.set_keepalive_with(Some(second)).expect("an option");
    let errors = [
        here.set_keepalive(Some(Duration::ZERO)),
        here.set_keepalive_with(Some(second.with_interval(Duration::ZERO))),
        here.set_keepalive_with(Some(second.with_probes(0))),
    ];
    for error in errors {
        assert_eq!(error.expect_err("nothing").kind(), ErrorKind::InvalidInput);
    }
}
