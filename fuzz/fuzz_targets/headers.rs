//! Every header parser: what parses and is written again parses to the same.
#![no_main]

use wire::ipv6::extension;
use wire::{arp, ethernet, group, icmpv4, icmpv6, ipv4, ipv6, ndp, tcp, udp};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok((header, _)) = ethernet::Header::parse(bytes) {
        let mut out = vec![0; header.len()];
        header.emit(&mut out);
        assert_eq!(ethernet::Header::parse(&out).expect("parses").0, header);
    }
    if let Ok(message) = arp::Message::parse(bytes) {
        let mut out = vec![0; arp::LEN];
        message.emit(&mut out);
        assert_eq!(arp::Message::parse(&out), Ok(message));
    }
    if let Ok((mut header, _)) = tcp::Header::parse(bytes) {
        let again = |header: &tcp::Header| {
            let mut out = vec![0; header.len()];
            header.emit(&mut out);
            tcp::Header::parse(&out).expect("parses").0
        };
        // We pad options, so that fewer SACK blocks may fit than have come.
        let once = again(&header);
        header.options.sack.truncate(once.options.sack.as_slice().len());
        assert_eq!(once, header);
        assert_eq!(again(&once), once);
    }
    if let Ok(header) = ipv6::Header::parse(bytes) {
        let mut out = vec![0; ipv6::LEN];
        header.emit(&mut out);
        assert_eq!(ipv6::Header::parse(&out), Ok(header));
        let rest = &bytes[ipv6::LEN..];
        if let Ok(chain) = extension::walk(rest, header.next_header) {
            assert!(chain.len <= rest.len());
        }
        ipv6::View::new(bytes).map(|view| (view.flow(), view.quoted().map(|q| q.flow())));
    }
    if let Ok(message) = ndp::Message::parse(bytes)
        && !matches!(message, ndp::Message::Router(_))
    {
        let mut out = vec![0; message.len()];
        message.emit(&mut out);
        assert_eq!(ndp::Message::parse(&out), Ok(message));
    }
    let _ = icmpv6::Message::parse(bytes);
    let _ = group::Message::parse_mld(bytes);
    if bytes.len() >= 4 {
        // With a right sum, or nothing would be read.
        let mut igmp = bytes.to_vec();
        igmp[2..4].fill(0);
        let sum = !wire::checksum::sum(&igmp);
        igmp[2..4].copy_from_slice(&sum.to_be_bytes());
        assert_ne!(group::Message::parse_igmp(&igmp), Err(wire::Malformed::Checksum));
    }
    let _ = (ipv4::Header::parse(bytes), udp::Header::parse(bytes), icmpv4::Message::parse(bytes));
});
