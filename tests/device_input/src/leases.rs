//! Bytes as what DHCP servers say and as the time that passes: the clients of `dhcp`, and what they
//! must keep to.

use crate::Bytes;
use dhcp::v4::{Client, Config, Event, Kind, Message, State};
use dhcp::v6;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::Instant;

/// Our Ethernet address.
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Steps of one run, at most.
const STEPS: usize = 500;
/// What is due at one moment, at most.
const ROUNDS: usize = 16;

/// Drives a new client as `bytes` say: that of IPv4, or of IPv6. Returns how many messages it took.
///
/// # Panics
/// If the client violates an invariant.
pub fn run(bytes: &[u8]) -> usize {
    let mut bytes = Bytes::new(bytes);
    match bytes.u8() & 1 {
        0 => World::new(&mut bytes).run(&mut bytes),
        _ => run_v6(&mut bytes),
    }
}

/// A time that passes.
fn time(bytes: &mut Bytes<'_>) -> Duration {
    match bytes.below(4) {
        0 => Duration::from_millis(bytes.u8().into()),
        1 => Duration::from_secs(bytes.u8().into()),
        2 => Duration::from_secs(bytes.u16().into()),
        _ => Duration::from_secs(u64::from(bytes.u16()) * 1000),
    }
}

/// The client for IPv4, and what is known of it.
struct World {
    client: Client,
    now: Instant,
    /// Names the exchange that goes on.
    xid: [u8; 4],
    /// The address that it has said to use.
    used: Option<Ipv4Addr>,
    taken: usize,
}

impl World {
    fn new(bytes: &mut Bytes<'_>) -> World {
        let shape = bytes.u8();
        let config = Config {
            host_name: (shape & 1 != 0).then(|| "x".repeat(300)),
            client_id: (shape & 2 != 0).then(|| vec![shape; 20]),
            previous: (shape & 4 != 0).then_some(Ipv4Addr::new(10, 0, 0, 50)),
            start_delay: Duration::from_secs((shape >> 3 & 3).into()),
            check: Duration::from_secs((shape >> 5).into()),
            ..Config::new(MAC, shape.into())
        };
        let now = Instant::from_millis(1000);
        World { client: Client::new(config, now), now, xid: [0; 4], used: None, taken: 0 }
    }

    fn run(mut self, bytes: &mut Bytes<'_>) -> usize {
        for _ in 0..STEPS {
            if bytes.is_empty() {
                break;
            }
            match bytes.u8() % 16 {
                0..=7 => self.message(bytes),
                8 | 9 => self.now += time(bytes),
                10..=12 => self.now = self.now.max(self.client.next_timeout().unwrap_or(self.now)),
                13 => {
                    let len = bytes.u8().into();
                    let _ = self.client.input(bytes.take(len), self.now);
                }
                14 if bytes.u8() & 3 == 0 => self.client.conflict(self.now),
                15 if bytes.u8() & 15 == 0 => self.client.release(self.now),
                _ => {}
            }
            self.settle();
        }
        self.client.release(self.now);
        self.settle();
        assert_eq!((self.client.state(), self.used), (State::Released, None));
        assert_eq!(self.client.next_timeout(), None);
        self.taken
    }

    /// A message of a server, mostly as it should be.
    fn message(&mut self, bytes: &mut Bytes<'_>) {
        let (kind, shape) = (bytes.u8(), bytes.u8());
        let mut said = vec![0; 236];
        said[..3].copy_from_slice(&[2, 1, 6]);
        said[4..8].copy_from_slice(&self.xid);
        let last = if shape & 1 == 0 { 50 } else { bytes.u8() };
        said[16..20].copy_from_slice(&[10, 0, 0, last]);
        said[28..34].copy_from_slice(&MAC);
        said.extend([99, 130, 83, 99, 53, 1]);
        said.push(if shape & 2 == 0 { [2, 5, 5, 6][usize::from(kind & 3)] } else { kind });
        said.extend([54, 4, 10, 0, 0, if shape & 4 == 0 { 1 } else { 2 }]);
        if shape & 8 == 0 {
            said.extend([51, 4]);
            said.extend((u32::from(bytes.u16()) << (shape >> 6)).to_be_bytes());
        }
        if shape & 16 == 0 {
            said.extend([1, 4, 255, 255, 255, 0, 3, 4, 10, 0, 0, 1]);
        }
        if shape & 32 != 0 {
            let len = bytes.u8().into();
            said.extend(bytes.take(len));
        }
        if kind > 250 {
            let at = usize::from(bytes.u16()) % said.len();
            said[at] ^= bytes.u8();
        }
        self.taken += usize::from(self.client.input(&said, self.now).is_ok());
    }

    /// Lets it do what is due, and looks at what it says and wants.
    fn settle(&mut self) {
        let mut rounds = 0;
        while self.client.next_timeout().is_some_and(|at| at <= self.now) {
            self.client.on_timeout(self.now);
            rounds += 1;
            assert!(rounds < ROUNDS, "it never rests: {:?}", self.client.state());
        }
        let mut said = 0;
        while let Some(mut message) = self.client.poll_transmit() {
            said += 1;
            self.xid.copy_from_slice(&message.payload[4..8]);
            // As a server reads it.
            message.payload[0] = 2;
            let parsed = Message::parse(&message.payload).expect("it is right");
            assert!(message.payload.len() >= 300 && parsed.chaddr == MAC);
            let has = matches!(parsed.kind, Kind::Release) || !message.source.is_unspecified();
            assert!(has || message.destination == Ipv4Addr::BROADCAST, "{parsed:?}");
            assert!(parsed.options.lease.is_none(), "{parsed:?}");
        }
        assert!(said <= ROUNDS);
        while let Some(event) = self.client.poll_event() {
            match event {
                Event::Check(_) | Event::Declined(_) => assert_eq!(self.used, None),
                Event::Acquired(lease) => assert_eq!(self.used.replace(lease.address), None),
                Event::Renewed(lease) => assert_eq!(self.used, Some(lease.address)),
                Event::Lost(address, _) => assert_eq!(self.used.take(), Some(address)),
            }
        }
        assert_eq!(self.client.lease().map(|lease| lease.address), self.used);
    }
}

fn run_v6(bytes: &mut Bytes<'_>) -> usize {
    let mut now = Instant::from_millis(1000);
    let mut client = v6::Client::new(MAC, bytes.u8().into(), now);
    let (mut transaction, mut taken) = ([0; 3], 0);
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        match bytes.u8() % 8 {
            0..=3 => {
                let mut said = vec![7];
                said.extend(transaction);
                said.extend([0, 1, 0, 10, 0, 3, 0, 1, 2, 0, 0, 0, 0, 1, 0, 2, 0, 1, 9]);
                let (len, shape) = (bytes.u8().into(), bytes.u8());
                said.extend(bytes.take(len));
                if shape > 200 {
                    let at = usize::from(bytes.u16()) % said.len();
                    said[at] ^= bytes.u8();
                }
                if let Ok(servers) = client.input(&said, now) {
                    taken += 1;
                    assert!(servers.len() <= 8);
                    assert!(client.next_timeout().is_none_or(|at| at > now));
                }
            }
            4 => now += time(bytes),
            5 | 6 => now = now.max(client.next_timeout().unwrap_or(now)),
            _ => {
                let len = bytes.u8().into();
                let _ = client.input(bytes.take(len), now);
            }
        }
        if client.next_timeout().is_some_and(|at| at <= now) {
            client.on_timeout(now);
            assert!(client.next_timeout().is_some_and(|at| at > now), "it never rests");
        }
        if let Some(request) = client.poll_transmit() {
            transaction.copy_from_slice(&request[1..4]);
            assert_eq!((request[0], client.poll_transmit()), (11, None));
        }
    }
    taken
}
