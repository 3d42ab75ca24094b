//! What is no plain segment, but has nothing unusual below TCP, goes past IP and link.

use super::*;
use wire::tcp::Flags;

/// The flags of what came to the server past the layers below TCP, but was not plain: a client
/// closes a connection and opens others.
fn past(link: Link) -> Vec<Flags> {
    let [mut client, mut server] = [false, true].map(|ours| Host::new(link, ours, 4, true));
    let (mut to_client, mut now, mut past) = (Vec::new(), Instant::from_millis(1000), Vec::new());
    for round in 0..200 {
        now += Duration::from_micros(300);
        if round == 100 {
            connect(&mut client.domain, link, now, &mut client.egress);
        }
        let to_server = client.step(to_client, now);
        for frame in &to_server {
            let Domain { link, ip, .. } = &server.domain;
            let mut plain = crate::express::Plain::EMPTY;
            if plain.read(&Look::at(frame), link.interface(0), ip).is_none()
                && let Ok(segment) = plain.segment_of(frame.clone())
            {
                let (header, _) = wire::tcp::Header::parse(segment.front()).expect("a segment");
                past.push(header.flags);
            }
        }
        to_client = server.step(to_server, now);
    }
    past
}

#[test]
fn a_syn_from_a_host_that_is_known_goes_past_ip() {
    for link in [PLAIN, Link { v6: true, ..PLAIN }, Link { vlan: Some(7), ..PLAIN }] {
        let past = past(link);
        assert!(past.iter().any(|flags| flags.syn()), "{past:?}");
    }
}
