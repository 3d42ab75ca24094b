use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

fn limit(per_second: u32) -> RateLimit {
    RateLimit::new(&Config::new(Vec::new(), 7), per_second)
}

fn host(network: u16, host: u8) -> Address {
    Ipv4Addr::new(10, (network >> 8) as u8, network as u8, host).into()
}

const START: Instant = Instant::from_millis(5000);

fn answers(limit: &RateLimit, source: Address, packets: usize, at: Instant) -> usize {
    (0..packets).filter(|_| limit.allows(source, at)).count()
}

#[test]
fn a_source_and_a_network_have_their_share() {
    let limit = limit(800);
    assert_eq!(answers(&limit, host(1, 1), 1000, START), 100);
    let others: usize = (2..200).map(|n| answers(&limit, host(1, n), 1000, START)).sum();
    // 400 in all, but for what varies.
    assert!((180..=330).contains(&others), "{others}");
    // Half a second later half of each is there again.
    let later = START + Duration::from_millis(500);
    assert_eq!(answers(&limit, host(1, 1), 1000, later), 50);
}

#[test]
fn all_together_have_a_limit_that_varies() {
    let mut sums = std::collections::HashSet::new();
    let limit = limit(1000);
    for second in 0..20 {
        let at = START + Duration::from_secs(2 * second);
        let sum: usize = (0..1000).map(|n| answers(&limit, host(n, 1), 5, at)).sum();
        assert!((700..1100).contains(&sum), "{sum}");
        sums.insert(sum);
    }
    assert!(sums.len() > 10, "{sums:?}");
}

#[test]
fn in_the_long_run_it_is_what_it_says() {
    let limit = limit(100);
    let mut sum = 0;
    for step in 0..10_000u64 {
        let at = START + Duration::from_millis(step);
        sum += answers(&limit, host((step % 500) as u16, 1), 1, at);
    }
    assert!((950..1150).contains(&sum), "{sum}");
}

#[test]
fn small_limits_and_other_families() {
    assert_eq!(answers(&limit(0), host(1, 1), 10, START), 0);
    assert_eq!(answers(&limit(1), host(1, 1), 10, START), 1);
    let limit = limit(800);
    let v6 = |last| Address::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last));
    let each: Vec<usize> = (0..20).map(|last| answers(&limit, v6(last), 200, START)).collect();
    assert_eq!(each[..2], [100, 100], "neighbours do not see each other");
    let sum: usize = each.iter().sum();
    assert!((280..=430).contains(&sum), "a /64 is one network: {sum}");
}
