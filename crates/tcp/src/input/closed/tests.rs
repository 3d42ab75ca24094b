use super::*;
use crate::harness::{IRS, ISS, header};

#[test]
fn the_reset_is_acceptable_to_its_receiver() {
    // Flags of the segment, its payload; what is answered: flags, SEQ, ACK.
    let table = [
        ("R", 0, None),
        ("R.", 5, None),
        (".", 7, Some(("R", ISS.wrapping_add(30), 0))),
        ("F.", 0, Some(("R", ISS.wrapping_add(30), 0))),
        ("S.", 0, Some(("R", ISS.wrapping_add(30), 0))),
        ("S", 0, Some(("R.", 0, IRS + 10 + 1))),
        ("", 7, Some(("R.", 0, IRS + 10 + 7))),
        ("SF", 7, Some(("R.", 0, IRS + 10 + 9))),
    ];
    for (letters, len, expected) in table {
        let mut h = header(letters, 10, 30, 9);
        (h.source_port, h.destination_port) = (1, 2);
        let reply = reply(&h, len);
        let got = reply.map(|r| (r.flags, r.seq.0, r.ack.0));
        let expected = expected.map(|(f, seq, ack)| (crate::harness::flags(f), seq, ack));
        assert_eq!(got, expected, "{letters} {len}");
        assert!(reply.is_none_or(|r| (r.source_port, r.destination_port) == (2, 1)));
    }
}
