use super::*;

fn address(text: &str) -> Address {
    text.parse::<std::net::IpAddr>().expect("an address").into()
}

fn igmp(mut bytes: Vec<u8>) -> Result<Message, Malformed> {
    let sum = !checksum::sum(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    Message::parse_igmp(&bytes)
}

#[test]
fn queries_of_all_versions() {
    let of = |version, millis, group: &str, sources: &[&str]| {
        Ok(Message::Query(Query {
            version,
            group: address(group),
            max_response: Duration::from_millis(millis),
            sources: sources.iter().map(|s| address(s)).collect(),
        }))
    };
    let v1 = vec![0x11, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(igmp(v1), of(Version::V1, 10_000, "0.0.0.0", &[]));
    let v2 = vec![0x11, 20, 0, 0, 239, 1, 2, 3];
    assert_eq!(igmp(v2), of(Version::V2, 2_000, "239.1.2.3", &[]));
    let v3 = vec![0x11, 0x8f, 0, 0, 239, 1, 2, 3, 2, 125, 0, 1, 10, 0, 0, 9];
    // 0x8f: (15 | 16) << 3 tenths.
    assert_eq!(igmp(v3), of(Version::V3, 24_800, "239.1.2.3", &["10.0.0.9"]));

    let mut old = vec![130, 0, 0, 0, 0x27, 0x10, 0, 0];
    old.extend([0; 16]);
    assert_eq!(Message::parse_mld(&old), of(Version::V2, 10_000, "::", &[]));
    let mut new = vec![130, 0, 0, 0, 0x80, 0x00, 0, 0];
    put(&mut new, address("ff02::fb"));
    new.extend([2, 125, 0, 1]);
    put(&mut new, address("2001:db8::9"));
    assert_eq!(Message::parse_mld(&new), of(Version::V3, 32_768, "ff02::fb", &["2001:db8::9"]));
}

#[test]
fn what_makes_no_sense_is_refused() {
    assert_eq!(Message::parse_igmp(&[0x11, 0, 0, 0]), Err(Malformed::Truncated));
    assert_eq!(Message::parse_igmp(&[0x11, 1, 0, 0, 0, 0, 0, 0]), Err(Malformed::Checksum));
    assert_eq!(igmp(vec![0x11, 1, 0, 0, 10, 0, 0, 1]), Err(Malformed::Field));
    assert_eq!(igmp(vec![0x16, 0, 0, 0, 10, 0, 0, 1]), Err(Malformed::Field));
    assert_eq!(igmp(vec![0x11, 1, 0, 0, 0, 0, 0, 0, 2, 125]), Err(Malformed::Truncated));
    // It says two sources, and has one; and sources of no group.
    let many = vec![0x11, 1, 0, 0, 239, 1, 2, 3, 2, 125, 0, 2, 10, 0, 0, 9];
    assert_eq!(igmp(many), Err(Malformed::Truncated));
    let of_none = vec![0x11, 1, 0, 0, 0, 0, 0, 0, 2, 125, 0, 1, 10, 0, 0, 9];
    assert_eq!(igmp(of_none), Err(Malformed::Field));
    assert_eq!(Message::parse_mld(&[130; 23]), Err(Malformed::Truncated));
    assert_eq!(Message::parse_mld(&[130; 26]), Err(Malformed::Truncated));
    assert_eq!(igmp(vec![0x42, 0, 0, 0, 0, 0, 0, 0]), Ok(Message::Other));
}

#[test]
fn reports_are_as_the_rfcs_draw_them() {
    let record = Record { kind: Kind::ToExclude, group: address("239.1.2.3"), sources: Vec::new() };
    let bytes = report(std::slice::from_ref(&record), true);
    assert!(checksum::is_right(checksum::sum(&bytes)));
    assert_eq!([bytes[0], bytes[7]], [0x22, 1]);
    assert_eq!(bytes[8..], [4, 0, 0, 0, 239, 1, 2, 3]);
    assert_eq!(bytes.len(), 8 + record.len());

    let sources = vec![address("2001:db8::1")];
    let record = Record { kind: Kind::Allow, group: address("ff05::7"), sources };
    let bytes = report(std::slice::from_ref(&record), false);
    assert_eq!((bytes[0], bytes[8], bytes[11], bytes.len()), (143, 5, 1, 8 + record.len()));

    let old = old_report(Version::V2, address("239.1.2.3"), false).expect("it leaves");
    assert_eq!((old[0], old.len()), (0x17, 8));
    assert_eq!(old_report(Version::V1, address("239.1.2.3"), false), None);
    let done = old_report(Version::V2, address("ff05::7"), true).expect("it reports");
    assert_eq!((done[0], done.len()), (131, 24));
    assert_eq!(Message::parse_mld(&done), Ok(Message::Report(address("ff05::7"))));
}
