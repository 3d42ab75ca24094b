//! "System": no stack at all, but what sing-box and others call one. Packets of a connection are
//! rewritten so that they come to a listener of the kernel, whose answers are rewritten back. TCP
//! only.

use crate::{relay, run, services, stacks};
use anabranch::device::{Batch, ChecksumState, Packet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// Of the kernel's listener: no client has such a port (`ip_local_port_range`).
const LISTENER: u16 = 1023;
/// The kernel's addresses, which the listener has; and others, from which connections seem to come.
const LOCAL: (Ipv4Addr, &str) = (Ipv4Addr::new(10, 200, 0, 1), "fd00:200::1");
const SEEMING: (Ipv4Addr, &str) = (Ipv4Addr::new(10, 200, 0, 3), "fd00:200::3");
const TCP: u8 = 6;
/// Where the checksum stands in a TCP header.
const CHECKSUM: usize = 16;

/// The ends of a connection, as addresses of 4 or 16 bytes and ports.
#[derive(Clone, Default)]
struct Ends {
    client: (Vec<u8>, u16),
    server: (Vec<u8>, u16),
}

/// By the client's port, which a connection keeps: there is one client.
type Table = Arc<Mutex<Vec<Ends>>>;

/// Serves until it is killed.
pub async fn serve() {
    let mut device = anabranch::device::tun::open(&stacks::our_config()).expect("a device");
    let table: Table = Arc::new(Mutex::new(vec![Ends::default(); 65_536]));
    let connections = table.clone();
    let mut queue = device.queues.remove(0);
    std::thread::spawn(move || {
        let (mut arrived, mut batch) = (Vec::new(), Batch::new());
        while relay::arrives(&mut *queue.receive, &mut arrived) {
            let mut table = connections.lock().expect("no panic");
            batch.extend(arrived.drain(..).filter_map(|packet| rewritten(packet, &mut table)));
            drop(table);
            queue.transmit.transmit(&mut batch);
        }
    });
    let listener = TcpListener::bind(("::", LISTENER)).await.expect("a port");
    run::ready();
    while let Ok((stream, peer)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let port = table.lock().expect("no panic")[usize::from(peer.port())].server.1;
        tokio::spawn(services::serve(stream, port));
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// `packet` with other ends; `None` if it is no TCP.
fn rewritten(mut packet: Packet, table: &mut [Ends]) -> Option<Packet> {
    let is_partial = packet.meta().checksum == ChecksumState::Partial;
    let bytes = packet.parts_mut().first_mut()?.get_mut()?;
    let is_v4 = bytes.first()? >> 4 == 4;
    let (addresses, len, tcp, protocol) = match is_v4 {
        true => (12, 4, usize::from(bytes[0] & 15) * 4, bytes[9]),
        false => (8, 16, 40, *bytes.get(6)?),
    };
    if protocol != TCP || bytes.len() < tcp + 20 {
        return None;
    }
    let address = |at: usize| bytes[at..at + len].to_vec();
    let (source, destination) = (address(addresses), address(addresses + len));
    let ports = (word(bytes, tcp), word(bytes, tcp + 2));
    let of = |(v4, v6): (Ipv4Addr, &str)| match is_v4 {
        true => v4.octets().to_vec(),
        false => v6.parse::<Ipv6Addr>().expect("an address").octets().to_vec(),
    };
    let (from, to) = if ports.0 == LISTENER {
        let ends = table[usize::from(ports.1)].clone();
        (ends.server, ends.client)
    } else {
        let port = ports.0;
        table[usize::from(port)] =
            Ends { client: (source, ports.0), server: (destination, ports.1) };
        ((of(SEEMING), port), (of(LOCAL), LISTENER))
    };
    if from.0.len() != len || to.0.len() != len {
        return None;
    }
    let addresses_now = [from.0, to.0].concat();
    let ports_now = [from.1.to_be_bytes(), to.1.to_be_bytes()].concat();
    let change = replaced(&mut bytes[addresses..addresses + 2 * len], &addresses_now);
    let of_ports = replaced(&mut bytes[tcp..tcp + 4], &ports_now);
    if is_v4 {
        let sum = !word(bytes, 10);
        bytes[10..12].copy_from_slice(&(!added(sum, change)).to_be_bytes());
    }
    let sum = word(bytes, tcp + CHECKSUM);
    // What is not filled in has the sum of the addresses only, and is no complement.
    let sum = match is_partial {
        true => added(sum, change),
        false => !added(added(!sum, change), of_ports),
    };
    bytes[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    packet.meta_mut().destination = match is_v4 {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    };
    Some(packet)
}

/// Writes `new` over `old`; returns by how much the Internet checksum's sum changes (RFC 1624).
fn replaced(old: &mut [u8], new: &[u8]) -> u16 {
    let change = (0..old.len())
        .step_by(2)
        .fold(0, |sum, at| added(added(sum, !word(old, at)), word(new, at)));
    old.copy_from_slice(new);
    change
}

/// Of two ones' complement numbers.
fn added(a: u16, b: u16) -> u16 {
    let (sum, carries) = a.overflowing_add(b);
    sum + u16::from(carries)
}
