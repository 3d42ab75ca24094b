use super::*;
use proptest::prelude::*;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A client that has asked, when, and what it sent.
fn asking() -> (Client, Instant, Vec<u8>) {
    let mut client = Client::new(MAC, 1, Instant::ZERO);
    let now = client.next_timeout().expect("it begins");
    assert!(now < Instant::ZERO + Duration::from_secs(1));
    client.on_timeout(now);
    let sent = client.poll_transmit().expect("it asks");
    (client, now, sent)
}

fn reply(asked: &[u8], more: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![REPLY];
    bytes.extend(&asked[1..4]);
    put(&mut bytes, CLIENT_ID, &[&[0, 3, 0, 1][..], &MAC].concat());
    put(&mut bytes, SERVER_ID, &[9; 10]);
    more.iter().for_each(|(code, value)| put(&mut bytes, *code, value));
    bytes
}

#[test]
fn it_asks_is_told_and_asks_again_when_that_is_old() {
    let (mut client, now, sent) = asking();
    assert_eq!(sent[0], INFORMATION_REQUEST);
    let server: Ipv6Addr = "2001:db8::53".parse().expect("one");
    let answer = reply(&sent, &[(DNS, &server.octets()), (REFRESH, &900_u32.to_be_bytes())]);
    assert_eq!(client.input(&answer, now), Ok(vec![server]));
    assert_eq!(client.input(&answer, now), Err(Ignored::Foreign), "it waits for none");
    let due = now + Duration::from_secs(900);
    assert_eq!(client.next_timeout(), Some(due));
    client.on_timeout(due);
    let again = client.poll_transmit().expect("it asks again");
    assert_ne!(again[1..4], sent[1..4], "another exchange");
}

#[test]
fn without_an_answer_it_waits_twice_as_long_up_to_an_hour() {
    let (mut client, mut now, first) = asking();
    let mut last = Duration::ZERO;
    for n in 0..20 {
        let at = client.next_timeout().expect("it goes on");
        let wait = at.since(now);
        let (low, high) = (last.mul_f64(1.7), last.mul_f64(2.3));
        let is_long = wait >= LONGEST.mul_f64(0.89) && wait <= LONGEST.mul_f64(1.11);
        assert!(n == 0 || is_long || (low..=high).contains(&wait), "{n}: {last:?} {wait:?}");
        now = at;
        client.on_timeout(now);
        let sent = client.poll_transmit().expect("it asks");
        assert_eq!(sent[1..4], first[1..4]);
        last = wait;
    }
    assert!(last >= LONGEST.mul_f64(0.89));
}

#[test]
fn others_answers_and_wrong_ones_change_nothing() {
    let (mut client, now, sent) = asking();
    let timer = client.next_timeout();
    let good = reply(&sent, &[]);
    let mut other = good.clone();
    other[2] ^= 1;
    assert_eq!(client.input(&other, now), Err(Ignored::Foreign));
    let mut another = good.clone();
    another[17] ^= 1;
    assert_eq!(client.input(&another, now), Err(Ignored::Foreign), "another's identifier");
    let without_server = [&sent[..4], &good[4..18]].concat();
    let without_server = [&[REPLY][..], &without_server[1..]].concat();
    assert_eq!(client.input(&without_server, now), Err(Ignored::Malformed));
    assert_eq!(client.input(&good[..good.len() - 1], now), Err(Ignored::Malformed));
    assert_eq!(client.input(&reply(&sent, &[(DNS, &[1; 17])]), now), Err(Ignored::Malformed));
    assert_eq!(client.input(&reply(&sent, &[(STATUS, &[0, 1])]), now), Err(Ignored::Unusable));
    assert_eq!(client.input(&[1, 0, 0, 0], now), Err(Ignored::Unexpected));
    assert_eq!(client.next_timeout(), timer);
    // Groups and IPv4 in disguise are no servers; and not more than eight are kept.
    let bad: Ipv6Addr = "ff02::1".parse().expect("one");
    let mapped: Ipv6Addr = "::ffff:9.9.9.9".parse().expect("one");
    let list = [&bad.octets()[..], &mapped.octets(), &[0x20; 16 * 20]].concat();
    assert_eq!(client.input(&reply(&sent, &[(DNS, &list)]), now).expect("told").len(), MOST);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), ours in any::<bool>()) {
        let (mut client, now, sent) = asking();
        let answer = if ours { [reply(&sent, &[]), bytes].concat() } else { bytes };
        if let Ok(servers) = client.input(&answer, now) {
            prop_assert!(servers.len() <= MOST);
            prop_assert!(client.next_timeout().is_none_or(|at| at > now));
        }
    }
}
