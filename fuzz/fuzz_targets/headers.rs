//! Every header parser: what parses and is written again parses to the same.
#![no_main]

use wire::{arp, ethernet, icmpv4, ipv4, tcp, udp};

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
    let _ = (ipv4::Header::parse(bytes), udp::Header::parse(bytes), icmpv4::Message::parse(bytes));
});
