use super::*;
use std::net::SocketAddr;

fn flow(local: &str, remote: &str) -> FlowKey {
    let end = |s: &str| s.parse::<SocketAddr>().unwrap().into();
    FlowKey { local: end(local), remote: end(remote) }
}

#[test]
fn the_number_grows_by_one_every_4_microseconds_for_a_flow() {
    // RFC 9293 MUST-8
    let g = Generator::new([7; 16], Duration::from_secs(1_000_000));
    let f = flow("10.0.0.1:80", "10.0.0.2:1234");
    let at = |us: u64| g.isn(&f, Instant::from_nanos(us * 1000));
    assert_eq!(at(4).seq, at(0).seq + 1);
    assert_eq!(at(4_000_000).seq, at(0).seq + 1_000_000);
    assert_eq!(at(4).timestamp_offset, at(0).timestamp_offset);
}

#[test]
fn flows_and_keys_have_numbers_that_do_not_tell_of_each_other() {
    // RFC 9293 SHLD-1, MUST-9
    // RFC 7323 7.1/1
    let (g, h) = (Generator::new([7; 16], Duration::ZERO), Generator::new([8; 16], Duration::ZERO));
    let f = flow("10.0.0.1:80", "10.0.0.2:1234");
    let now = Instant::ZERO;
    let mut all = vec![g.isn(&f, now), h.isn(&f, now), g.isn(&f.reversed(), now)];
    all.push(g.isn(&flow("10.0.0.1:80", "10.0.0.2:1235"), now));
    all.push(g.isn(&flow("10.0.0.1:81", "10.0.0.2:1234"), now));
    all.push(g.isn(&flow("[::1]:80", "[::2]:1234"), now));
    for (i, a) in all.iter().enumerate() {
        for b in &all[..i] {
            assert_ne!(a.seq, b.seq);
            assert_ne!(a.timestamp_offset, b.timestamp_offset);
        }
    }
    assert!(!format!("{g:?}").contains('7'), "the key is nobody's business");
}
