use super::*;
use std::net::Ipv4Addr;
use wire::Endpoint;

/// A flow from our first address to a server.
fn server(n: u32) -> FlowKey {
    from(1, n)
}

fn from(ours: u32, server: u32) -> FlowKey {
    let end = |bits: u32, port| Endpoint { address: Ipv4Addr::from_bits(bits).into(), port };
    FlowKey { local: end(0xc000_0200 + ours, 1024), remote: end(0x0a00_0000 + server, 80) }
}

fn cookie(n: u32) -> Option<Cookie> {
    Cookie::new(&n.to_be_bytes())
}

fn answer(cookie: Option<Cookie>, mss: u16, refused: bool) -> Answer {
    Answer { cookie, mss, arrived: true, refused }
}

#[test]
fn what_servers_say_is_kept_for_so_many() {
    // RFC 7413 4.1.3/1
    let known = FastOpen::default();
    let now = Instant::from_millis(1);
    assert_eq!(known.server(&server(0), now), FastOpenServer::Unknown);
    for n in 0..3 * MOST as u32 {
        known.answered(&server(n), answer(cookie(n), 1000, false));
        let told = FastOpenServer::Known(cookie(7).expect("one"), 1000);
        assert_eq!(known.server(&server(7), now) == told, n >= 7, "it is always asked for");
    }
    assert_eq!(known.servers().entries.len(), MOST);
    assert_eq!(known.server(&server(8), now), FastOpenServer::Unknown);
    // A new cookie takes the place of the old, none does not, and another MSS counts.
    known.answered(&server(7), answer(cookie(1), 1400, false));
    known.answered(&server(7), answer(None, 1300, false));
    let told = FastOpenServer::Known(cookie(1).expect("one"), 1300);
    assert_eq!(known.server(&server(7), now), told);
    known.answered(&server(7), answer(None, 1300, true));
    assert_eq!(known.server(&server(7), now), FastOpenServer::Unknown);
}

#[test]
fn a_server_that_does_not_hear_it_is_spared_for_longer_and_longer() {
    // RFC 7413 4.1.3/3
    let known = FastOpen::default();
    let mut now = Instant::from_millis(1);
    known.answered(&server(1), answer(cookie(1), 1000, false));
    known.lost(&server(1), now);
    assert_ne!(known.server(&server(1), now), FastOpenServer::Deaf, "one may be lost");
    for pause in [120, 240, 480] {
        known.lost(&server(1), now);
        now += Duration::from_secs(pause - 1);
        assert_eq!(known.server(&server(1), now), FastOpenServer::Deaf);
        now += Duration::from_secs(1);
        assert_ne!(known.server(&server(1), now), FastOpenServer::Deaf);
    }
    known.answered(&server(1), answer(None, 1000, false));
    known.lost(&server(1), now);
    assert_ne!(known.server(&server(1), now), FastOpenServer::Deaf);
    (0..100).for_each(|_| known.lost(&server(1), now));
    assert_eq!(known.server(&server(1), now + PAUSE * 1000), FastOpenServer::Deaf);
    assert_ne!(known.server(&server(1), now + PAUSE * 1025), FastOpenServer::Deaf);
}

/// A cookie shows that it was given to an address, so another of ours has none.
#[test]
fn a_cookie_is_of_both_addresses() {
    // RFC 7413 4.1.3/1
    let known = FastOpen::default();
    let now = Instant::from_millis(1);
    known.answered(&from(1, 1), answer(cookie(1), 1000, false));
    known.answered(&from(2, 1), answer(cookie(2), 1000, false));
    for (ours, of) in [(1, 1), (2, 2)] {
        let told = FastOpenServer::Known(cookie(of).expect("one"), 1000);
        assert_eq!(known.server(&from(ours, 1), now), told);
    }
    assert_eq!(known.server(&from(3, 1), now), FastOpenServer::Unknown);
}
