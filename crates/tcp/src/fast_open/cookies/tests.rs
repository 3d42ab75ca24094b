use super::*;
use std::net::{Ipv4Addr, Ipv6Addr};

const EPOCH: Duration = Duration::from_secs(1_700_000_000);

fn v4(last: u8) -> Address {
    Ipv4Addr::new(192, 0, 2, last).into()
}

fn after(hours: u64) -> Instant {
    Instant::from_millis(hours * 3_600_000)
}

fn hex(option: FastOpen) -> String {
    option.cookie().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key as it is written for Linux.
fn linux(words: [u32; 4]) -> FastOpenKey {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    FastOpenKey(bytes.try_into().expect("16 bytes"))
}

#[test]
fn a_cookie_is_of_both_addresses_and_of_the_host() {
    // RFC 7413 4.1.2/1, 4.1.2/2
    let ours = FastOpenCookies::new([1; 16], None);
    let ask =
        |cookies: &FastOpenCookies, option, pair| cookies.judge(option, pair, after(1), EPOCH);
    let pair = (v4(1), v4(2));
    let told = ask(&ours, FastOpen::REQUEST, pair);
    assert!(!told.open, "a request opens nothing");
    let cookie = told.cookie.expect("a cookie");
    assert_eq!(ask(&ours, cookie, pair), Verdict { open: true, cookie: None });
    let v6: Address = Ipv6Addr::LOCALHOST.into();
    for other in [(v4(3), v4(2)), (v4(1), v4(3)), (v4(2), v4(1)), (v6, v6)] {
        let verdict = ask(&ours, cookie, other);
        assert!(!verdict.open && verdict.cookie.is_some_and(|fresh| fresh != cookie), "{other:?}");
    }
    let others = FastOpenCookies::new([2; 16], None);
    assert!(!ask(&others, cookie, pair).open);
}

#[test]
fn a_cookie_is_renewed_and_then_forgotten() {
    // RFC 7413 4.1.2/3
    let cookies = FastOpenCookies::new([1; 16], None);
    let pair = (v4(1), v4(2));
    let first = cookies.judge(FastOpen::REQUEST, pair, after(0), EPOCH).cookie.expect("a cookie");
    let verdicts: Vec<_> =
        (0..30).map(|hour| cookies.judge(first, pair, after(hour), EPOCH)).collect();
    let renewed = verdicts.iter().position(|v| v.cookie.is_some()).expect("it is renewed");
    let over = verdicts.iter().position(|v| !v.open).expect("it is forgotten");
    assert!(renewed <= 12 && over == renewed + 12, "{renewed} {over}");
    assert_ne!(verdicts[renewed].cookie, Some(first));
}

#[test]
fn a_key_that_is_given_makes_the_cookies_of_linux_and_stays() {
    let key = linux([0xa1a1a1a1, 0xb2b2b2b2, 0xc3c3c3c3, 0xd4d4d4d4]);
    let cookies = FastOpenCookies::new([1; 16], Some(key));
    let pair = (v4(1), Ipv4Addr::new(192, 168, 0, 1).into());
    let cookie = cookies.judge(FastOpen::REQUEST, pair, after(0), EPOCH).cookie.expect("a cookie");
    // What Linux answers with this key, as packetdrill's scripts for it show.
    assert_eq!(hex(cookie), "3021b9d889017eeb");
    let later = cookies.judge(cookie, pair, after(1000), EPOCH);
    assert_eq!(later, Verdict { open: true, cookie: None });
    assert!(!format!("{cookies:?} {key:?}").contains("161"), "no key is shown");
}
