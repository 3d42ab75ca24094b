//! A stack of a program opens a control socket, and others look into it.
#![cfg(not(shuttle))]

use anabranch::control::{CaptureRequest, Client, Config, Control, Stopper};
use anabranch::device::memory;
use anabranch::{Organization, Stack, TcpListener, TcpStream, capture};
use serde_json::Value;
use std::io::{Read, Write};
use std::time::Duration;

/// A stack that talks to itself.
fn stack(organization: Organization, control: Option<&str>) -> Stack {
    let processors = if organization.is_single() { 1 } else { 2 };
    let (device, _peer) = memory::pair(memory::Config::default().with_queues(processors));
    let builder = Stack::builder()
        .device(device)
        .address("10.0.0.1/24")
        .organization(organization)
        .processors(processors);
    let builder = match control {
        Some(name) => builder.control(name),
        None => builder,
    };
    builder.start().expect("a stack")
}

/// A name that no other test has.
fn name(of: &str) -> String {
    format!("{of}-{}", std::process::id())
}

/// Runs `look` beside a stack that talks to itself.
fn under_load<T: Send>(stack: &Stack, look: impl FnOnce() -> T + Send) -> T {
    let listener = TcpListener::bind(stack, "127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("bound");
    let mut there = TcpStream::connect(stack, address).expect("connect");
    let (mut here, _) = listener.accept().expect("accept");
    std::thread::scope(|scope| {
        let looking = scope.spawn(look);
        while !looking.is_finished() {
            there.write_all(b"hello").expect("write");
            here.read_exact(&mut [0; 5]).expect("read");
            here.write_all(b"world").expect("write");
            there.read_exact(&mut [0; 5]).expect("read");
        }
        looking.join().expect("no panic")
    })
}

#[test]
fn every_organization_shows_its_rates_and_can_be_captured() {
    for organization in Organization::all() {
        let name = name(organization.name());
        let stack = stack(organization, Some(&name));
        let (mut rates, mut told) = (Vec::new(), 0);
        let packets = under_load(&stack, || {
            let client = Client::connect(Some(&name)).expect("a control socket");
            // On a busy machine nothing may move for so long: those do not count.
            let each = |line: &str| {
                told += 1;
                let value = serde_json::from_str::<Value>(line).expect("JSON");
                rates.extend(Some(value).filter(moves));
                Ok(rates.len() < 2 && told < 100)
            };
            client.rates(Duration::from_millis(100), each).expect("rates");
            // It comes and goes, twice.
            let request = CaptureRequest::new("tcp and net 127.0.0.0/8 and greater 41");
            [3, 5].map(|count| {
                let client = Client::connect(Some(&name)).expect("a control socket");
                let mut file = Vec::new();
                let request = request.clone().with_count(Some(count));
                let counts = client.capture(&request, &mut file).expect("captured");
                assert_eq!((counts.captured, counts.dropped), (count, 0), "{organization}");
                packets(&file)
            })
        });
        assert_eq!(rates.len(), 2, "{organization}: of {told}");
        for rates in &rates {
            assert_eq!(rates["organization"], organization.name());
            assert_eq!(rates["connections"], 2, "both ends are here");
        }
        assert_eq!(packets.map(|packets| packets.len()), [3, 5], "{organization}");
    }
}

/// Do packets come in, by what the stack has counted and by what its threads have?
fn moves(rates: &Value) -> bool {
    let threads = rates["instruments"]["threads"].as_array().expect("threads");
    let sum = |key| threads.iter().filter_map(|t| t[key].as_f64()).sum::<f64>();
    let counted = rates["rates"]["packets_in"].as_f64();
    sum("packets_in") > 0.0 && sum("rounds") > 0.0 && counted > Some(0.0)
}

/// The packets of a file in pcapng, each an IP datagram or a frame. Blocks are type,
/// length, content and length again.
fn packets(file: &[u8]) -> Vec<Vec<u8>> {
    let word = |at: usize| u32::from_ne_bytes(file[at..at + 4].try_into().expect("four")) as usize;
    let (mut at, mut found) = (0, Vec::new());
    while at < file.len() {
        let (kind, len) = (word(at), word(at + 4));
        if kind == 6 {
            found.push(file[at + 28..at + 28 + word(at + 20)].to_vec());
        }
        assert_eq!(word(at + len - 4), len);
        at += len;
    }
    found
}

/// A file that stops its capture when it has so much.
struct Stops {
    stopper: Stopper,
    file: Vec<u8>,
}

impl Write for Stops {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.extend(bytes);
        if self.file.len() > 100_000 {
            self.stopper.stop();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_capture_has_what_passed_and_is_stopped_from_outside() {
    let name = name("stopped");
    let stack = stack(Organization::GROUP_LOCKS, Some(&name));
    let client = Client::connect(Some(&name)).expect("a control socket");
    let stopper = client.stopper().expect("a descriptor");
    let mut to = Stops { stopper, file: Vec::new() };
    let counts = under_load(&stack, || {
        let request = CaptureRequest::new("tcp").with_snaplen(Some(48));
        client.capture(&request, &mut to).expect("captured")
    });
    let packets = packets(&to.file);
    assert!(packets.len() > 100);
    assert_eq!(packets.len() as u64, counts.captured);
    for packet in &packets {
        assert!(packet.len() <= 48 && packet[0] == 0x45, "{packet:?}");
    }
    let said = |text: &[u8]| packets.iter().any(|packet| packet.ends_with(text));
    // Its headers are 20 bytes of IP and 32 of TCP: the text is cut off.
    assert!(!said(b"hello"));
}

#[test]
fn a_socket_goes_with_what_opened_it() {
    let name = name("goes");
    let stack = stack(Organization::UNIPROCESSOR, None);
    assert!(Client::connect(Some(&name)).is_err());
    let config = Config::new(&name).with_counts(|| vec![("wishes".into(), 7)]);
    let control = Control::open(&stack, &config).expect("a control socket");
    let connect = || Client::connect(Some(&name));
    assert_eq!(connect().expect("open").connections().expect("said"), r#"{"connections":[]}"#);
    let mut rates = String::new();
    let once = |line: &str| {
        rates = line.to_owned();
        Ok(false)
    };
    connect().expect("open").rates(Duration::from_millis(1), once).expect("rates");
    let rates: Value = serde_json::from_str(&rates).expect("JSON");
    assert_eq!(rates["program"]["wishes"], 0.0);
    assert!(rates["instruments"].is_null(), "it is not observable");
    let error = connect().expect("open").capture(&CaptureRequest::new(""), &mut Vec::new());
    assert!(error.expect_err("neither").to_string().contains("not observable"));
    let error = stack.capture(capture::Options::default()).expect_err("not observable");
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);

    // Who looks for long is told when it closes.
    let client = connect().expect("open");
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| client.rates(Duration::from_secs(3600), |_| Ok(true)));
        std::thread::sleep(Duration::from_millis(20));
        drop(control);
        assert!(watching.join().expect("no panic").is_err());
    });
    assert!(connect().is_err());
    assert!(Control::open(&stack, &"a/b".into()).is_err());
}

#[test]
fn what_nobody_reads_is_memory_and_what_was_never_set_is_not_shown() {
    let name = name("unread");
    let stack = stack(Organization::UNIPROCESSOR, Some(&name));
    let listener = TcpListener::bind(&stack, "127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("bound");
    let mut there = TcpStream::connect(&stack, address).expect("connect");
    let (_here, _) = listener.accept().expect("accept");
    there.write_all(&[7; 100_000]).expect("there is room");
    let shown = || {
        let client = Client::connect(Some(&name)).expect("a control socket");
        let text = client.connections().expect("said");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let all = value["connections"].as_array().expect("connections").clone();
        all.into_iter().find(|one| one["local"] == address.to_string()).expect("it is there")
    };
    let connection = loop {
        let connection = shown();
        if connection["receive_queue"] == 100_000 {
            break connection;
        }
        std::thread::yield_now();
    };
    assert!(connection["memory"].as_u64() >= Some(100_000), "{connection}");
    // No loss has set it.
    assert!(connection["slow_start_threshold"].is_null(), "{connection}");
}

#[test]
fn what_a_client_says_does_no_harm() {
    let name = name("nonsense");
    let stack = stack(Organization::UNIPROCESSOR, Some(&name));
    let capture = |filter: &str| {
        let client = Client::connect(Some(&name)).expect("open");
        let request = CaptureRequest::new(filter).with_count(Some(0));
        client.capture(&request, &mut Vec::new())
    };
    for filter in ["prot 80", "tcp and", "(", "\u{e4}"] {
        assert!(capture(filter).is_err(), "{filter}");
    }
    assert_eq!(capture(" \n").expect("all packets, none of them").captured, 0);
    let taken = Stack::builder()
        .device(memory::pair(memory::Config::default()).0)
        .control("not a name")
        .start();
    let error = taken.expect_err("no such name").to_string();
    assert!(error.starts_with("no control socket `not a name`"), "{error}");
    drop(stack);
}

/// A view does not keep a stack alive, nor what it has not delivered from being
/// delivered.
#[test]
fn a_view_keeps_nothing_alive() {
    let name = name("alive");
    let stack = stack(Organization::MESSAGE_PARALLEL, Some(&name));
    let client = Client::connect(Some(&name)).expect("open");
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| client.rates(Duration::from_millis(10), |_| Ok(true)));
        std::thread::sleep(Duration::from_millis(50));
        drop(stack);
        assert!(watching.join().expect("no panic").is_err(), "it has ended");
    });
    assert!(Client::connect(Some(&name)).is_err());
}

/// Counts of the program's that panic end the answer to one client. Before, each kept its place, and after sixteen of
/// them nobody could look into the stack.
#[test]
fn counts_that_panic_leave_room_for_other_clients() {
    let name = name("panics");
    let stack = stack(Organization::UNIPROCESSOR, None);
    let counts = || panic!("counts that panic, as the test wants it");
    let config = Config::new(&name).with_counts(counts);
    let _control = Control::open(&stack, &config).expect("a control socket");
    for _ in 0..16 {
        let client = Client::connect(Some(&name)).expect("a control socket");
        let rates = client.rates(Duration::from_millis(1), |_| Ok(true));
        rates.expect_err("there are none");
    }
    // The thread of the last may not have ended.
    let connections = || Client::connect(Some(&name)).expect("open").connections();
    let tries = || std::iter::repeat_with(connections).take(100).find_map(Result::ok);
    assert_eq!(tries().expect("said"), r#"{"connections":[]}"#);
}
