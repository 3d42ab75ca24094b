//! Connections that begin and end all the time, by either way: their SYNs, FINs and
//! acknowledgments alone.

use super::*;
use wire::tcp::{Flags, Header};

/// On how many seeds this is tried: each has many connections.
const BRIEF_SEEDS: u64 = 6;

fn hosts(link: Link, seed: u64, express: bool) -> [Host; 2] {
    [false, true].map(|ours| {
        let mut host = Host::new(link, ours, seed, express);
        host.domain.app.brief = true;
        host
    })
}

fn same_of_brief_ones(link: Link) {
    let (mut opened, mut closed) = (0, 0);
    for seed in 1..=BRIEF_SEEDS {
        let pairs = [true, false].map(|express| hosts(link, seed, express));
        for host in same(seed, link, pairs) {
            opened += host.domain.counters.opened_passive;
            closed += host.domain.counters.closed;
        }
    }
    assert!(opened > BRIEF_SEEDS * 50 && closed > BRIEF_SEEDS * 50, "{opened} {closed}");
}

#[test]
fn short_connections_are_the_same_by_either_way() {
    same_of_brief_ones(PLAIN);
    same_of_brief_ones(Link { v6: true, ..PLAIN });
    same_of_brief_ones(Link { vlan: Some(7), ..PLAIN });
    same_of_brief_ones(Link { ethernet: false, ..PLAIN });
    same_of_brief_ones(Link { checksum: true, segmentation: 65_000, ..PLAIN });
}

/// Of the SYNs and SYN-ACKs that come when the ways are known, how many are read at once, and
/// how many are not.
fn syns(link: Link) -> (u32, u32) {
    // (Its connections have time stamps, and do not ask for ECN.)
    let [mut client, mut server] = hosts(link, 1, true);
    let (mut to_client, mut now) = (Vec::new(), Instant::from_millis(1000));
    let (mut read, mut others) = (0, 0);
    for round in 0..200 {
        now += Duration::from_micros(300);
        if round % 2 == 0 {
            connect(&mut client.domain, link, now, &mut client.egress);
        }
        let to_server = client.step(to_client, now);
        to_client = server.step(to_server.clone(), now);
        if round < 20 {
            continue;
        }
        for (frames, host) in [(&to_server, &server), (&to_client, &client)] {
            for frame in frames {
                let (is_syn, is_read) = syn(frame, &host.domain);
                read += u32::from(is_read);
                others += u32::from(is_syn && !is_read);
                assert!(is_syn || !is_read);
            }
        }
    }
    (read, others)
}

/// Is it a SYN, and is it read at once?
fn syn(frame: &Packet, domain: &Domain<Talker>) -> (bool, bool) {
    let mut plain = crate::express::Plain::EMPTY;
    let look = Look::at(frame);
    let plainly = plain.read(&look, domain.link.interface(0), &domain.ip).is_some();
    let is_read = !plainly && plain.read_syn(&look);
    let header = plain.segment.header;
    plain.forget_syn();
    let Ok(segment) = plain.segment_of(frame.clone()) else { return (false, false) };
    let (known, _) = Header::parse(segment.front()).expect("a segment");
    assert!(!is_read || known == header, "{known:?} {header:?}");
    (known.flags.has(Flags::SYN), is_read)
}

#[test]
fn a_usual_syn_is_read_at_once_as_the_layers_read_it() {
    for link in [PLAIN, Link { v6: true, ..PLAIN }, Link { vlan: Some(7), ..PLAIN }] {
        let (read, others) = syns(link);
        assert!(read > 100 && others == 0, "{read} {others}");
    }
}
