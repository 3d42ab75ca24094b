mod play;

use super::*;
use play::Play;
use proptest::prelude::*;

/// Looks a name up, with these bytes as what servers answer.
fn played(bytes: &[u8]) -> io::Result<(Vec<IpAddr>, Instant)> {
    let runtime = ::tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let servers = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|server| SocketAddr::from((server, 53)));
    runtime.block_on(lookup(Play::new(bytes), &servers, "host.test"))
}

/// Bytes that answer a question by UDP with these addresses, both with a lifetime of a minute.
fn both(v4: [u8; 4], v6: [u8; 16]) -> Vec<u8> {
    let record = |kind, data: &[u8]| [&[0, kind, 0, 0, 60], data].concat();
    [&[0, 0, 0, 2, 0, 0][..], &record(0, &v4), &record(1, &v6)].concat()
}

#[test]
fn what_is_played_is_understood() {
    let host = [10, 1, 2, 3];
    let v6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
    // Two questions, for each family.
    let (mut addresses, until) = played(&both(host, v6).repeat(2)).expect("an answer");
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses, [IpAddr::from(host), IpAddr::from(v6)]);
    assert!(until > Instant::now() + Duration::from_secs(30));
    // No host has them.
    let nobody = both([239, 0, 0, 1], [0; 16]).repeat(2);
    assert_eq!(played(&nobody).expect_err("none").kind(), io::ErrorKind::NotFound);
    let silence = played(&[]).expect_err("nobody answers").to_string();
    assert!(silence.contains("host.test"), "{silence}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn servers_answers_are_addresses_or_one_line(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        play::check(&played(&bytes), MOST_ADDRESSES);
    }
}
