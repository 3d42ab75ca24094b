use super::super::message::Route;
use super::super::message::tests::{from_server, offer};
use super::*;

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const GIVEN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 50);
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const NONE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// A client, and the time there.
struct World {
    client: Client,
    now: Instant,
}

/// A message of the client's, as a server reads it: who from, who to, and what.
type Said = (Ipv4Addr, Ipv4Addr, Message);

impl World {
    fn new(tune: impl FnOnce(&mut Config)) -> World {
        let mut config = Config::new(MAC, 7);
        tune(&mut config);
        let now = Instant::from_millis(1000);
        World { client: Client::new(config, now), now }
    }

    /// Lets time pass until the next thing is due; how long that was.
    fn due(&mut self) -> Duration {
        let at = self.client.next_timeout().expect("something is due");
        let wait = at.since(self.now);
        self.now = at;
        self.client.on_timeout(at);
        wait
    }

    /// The next message of the client's, which is the only one.
    fn said(&mut self) -> Said {
        let Transmit { source, destination, mut payload } =
            self.client.poll_transmit().expect("it says something");
        assert_eq!(self.client.poll_transmit(), None);
        payload[0] = 2;
        (source, destination, Message::parse(&payload).expect("it is right"))
    }

    fn say(&mut self, kind: Kind, change: impl FnOnce(&mut Message)) -> Result<(), Ignored> {
        let mut message = Message { kind, xid: self.client.xid, ..offer() };
        change(&mut message);
        self.client.input(&from_server(&message), self.now)
    }

    fn event(&mut self) -> Option<Event> {
        self.client.poll_event()
    }

    /// A client that has an address for an hour.
    fn bound() -> World {
        let mut world = World::new(|_| ());
        world.due();
        world.said();
        world.say(Kind::Offer, |_| ()).expect("an offer");
        world.said();
        world.say(Kind::Ack, |_| ()).expect("an address");
        assert!(matches!(world.event(), Some(Event::Acquired(_))));
        assert_eq!(world.client.state(), State::Bound);
        world
    }
}

#[test]
fn discover_offer_request_ack() {
    // RFC 2131 3.1/1
    let mut world = World::new(|config| config.host_name = Some("here".into()));
    assert_eq!(world.due(), Duration::ZERO);
    let (source, destination, discover) = world.said();
    assert_eq!((source, destination), (NONE, Ipv4Addr::BROADCAST));
    assert_eq!((discover.kind, discover.broadcast, discover.chaddr), (Kind::Discover, true, MAC));
    assert_eq!(discover.options.host_name.as_deref(), Some("here"));
    world.say(Kind::Offer, |_| ()).expect("an offer");
    let (_, destination, request) = world.said();
    assert_eq!((request.kind, destination), (Kind::Request, Ipv4Addr::BROADCAST));
    assert_eq!((request.options.requested, request.options.server), (Some(GIVEN), Some(SERVER)));
    assert_eq!((request.ciaddr, request.xid), (NONE, discover.xid));
    // Another offer comes too late.
    assert_eq!(world.say(Kind::Offer, |_| ()), Err(Ignored::Unexpected));
    world.say(Kind::Ack, |_| ()).expect("an address");
    let Some(Event::Acquired(lease)) = world.event() else { panic!("no address") };
    assert_eq!((lease.address, lease.prefix, lease.routers), (GIVEN, 24, vec![SERVER]));
    assert_eq!(lease.dns.len(), 2);
    assert_eq!(lease.renewal, Some(world.now + Duration::from_secs(1800)));
    assert_eq!(lease.rebinding, Some(world.now + Duration::from_secs(3150)));
    assert_eq!(lease.end, Some(world.now + Duration::from_secs(3600)));
    assert_eq!(world.client.next_timeout(), lease.renewal);
}

#[test]
fn without_offers_it_asks_at_doubled_intervals() {
    // RFC 2131 4.1/1
    let mut world = World::new(|_| ());
    world.due();
    world.said();
    for seconds in [4, 8, 16, 32, 64, 64, 64] {
        let wait = world.due().as_secs_f64();
        assert!((wait - f64::from(seconds)).abs() <= 1.0, "{wait} for {seconds}");
        assert_eq!(world.said().2.kind, Kind::Discover);
    }
    // A late offer does.
    world.say(Kind::Offer, |_| ()).expect("an offer");
    // The server does not answer: four requests, and from the start.
    for _ in 0..3 {
        assert_eq!(world.said().2.kind, Kind::Request);
        world.due();
    }
    assert_eq!(world.said().2.kind, Kind::Request);
    world.due();
    assert_eq!(world.said().2.kind, Kind::Discover);
}

#[test]
fn a_lease_is_renewed_by_its_server() {
    // RFC 2131 4.4.5/1
    let mut world = World::bound();
    assert_eq!(world.due(), Duration::from_secs(1800));
    let (source, destination, request) = world.said();
    assert_eq!((source, destination), (GIVEN, SERVER));
    assert_eq!((request.kind, request.ciaddr, request.broadcast), (Kind::Request, GIVEN, false));
    assert_eq!((request.options.requested, request.options.server), (None, None));
    // The answer takes a second: time counts from the question.
    let asked = world.now;
    world.now += Duration::from_secs(1);
    world.say(Kind::Ack, |message| message.options.lease = Some(7200)).expect("more time");
    let Some(Event::Renewed(lease)) = world.event() else { panic!("not renewed") };
    assert_eq!(lease.end, Some(asked + Duration::from_secs(7200)));
    assert_eq!(world.client.next_timeout(), Some(asked + Duration::from_secs(3600)));
}

#[test]
fn without_an_answer_any_server_is_asked_and_then_it_ends() {
    // RFC 2131 4.4.5/1, 4.4.5/2, 4.4.5/3
    let mut world = World::bound();
    let end = world.client.lease().and_then(|lease| lease.end).expect("an hour");
    let (mut renewals, mut rebindings) = (0, 0);
    while world.client.state() != State::Selecting {
        let wait = world.due();
        let (_, destination, message) = world.said();
        match (world.client.state(), destination) {
            (State::Renewing, SERVER) => renewals += 1,
            (State::Rebinding, Ipv4Addr::BROADCAST) => rebindings += 1,
            (State::Selecting, _) => {
                assert_eq!(message.kind, Kind::Discover);
                break;
            }
            other => panic!("{other:?}"),
        }
        // The first message to any server comes when its time has come.
        let is_first = (renewals, rebindings) == (1, 0) || rebindings == 1;
        assert!(is_first || wait >= LEAST, "{wait:?}");
    }
    assert_eq!(world.now, end);
    assert!(renewals >= 3 && rebindings >= 3, "{renewals} {rebindings}");
    assert_eq!(world.event(), Some(Event::Lost(GIVEN, Lost::Expired)));
    assert_eq!(world.client.lease(), None);
}

#[test]
fn another_server_may_give_more_time_and_a_refusal_ends_it() {
    // RFC 2131 4.4.5/4
    let mut world = World::bound();
    while world.client.state() != State::Rebinding {
        world.due();
        world.said();
    }
    let other = Ipv4Addr::new(10, 0, 0, 3);
    world.say(Kind::Ack, |message| message.options.server = Some(other)).expect("more time");
    assert!(matches!(world.event(), Some(Event::Renewed(lease)) if lease.server == other));
    world.due();
    assert_eq!(world.said().1, other);
    // Not by a server that did not give it.
    assert_eq!(world.say(Kind::Nak, |_| ()), Err(Ignored::Unexpected));
    world.say(Kind::Nak, |message| message.options.server = Some(other)).expect("refused");
    assert_eq!(world.event(), Some(Event::Lost(GIVEN, Lost::Refused)));
    world.due();
    assert_eq!(world.said().2.kind, Kind::Discover);
}

#[test]
fn a_server_that_refuses_what_it_offers_is_asked_ever_more_rarely() {
    let mut world = World::new(|_| ());
    let mut waits = Vec::new();
    for _ in 0..7 {
        waits.push(world.due().as_secs());
        world.said();
        world.say(Kind::Offer, |_| ()).expect("an offer");
        world.said();
        world.say(Kind::Nak, |_| ()).expect("refused");
        assert_eq!(world.event(), None);
    }
    assert_eq!(waits, [0, 1, 2, 4, 8, 16, 16]);
}

#[test]
fn an_address_that_somebody_has_is_declined() {
    // RFC 2131 3.1/2, 3.1/3, 3.1/4
    let mut world = World::new(|config| config.check = Duration::from_secs(2));
    world.due();
    world.said();
    world.say(Kind::Offer, |_| ()).expect("an offer");
    world.said();
    world.say(Kind::Ack, |_| ()).expect("an address");
    assert_eq!(world.event(), Some(Event::Check(GIVEN)));
    assert_eq!(world.client.lease(), None, "not yet");
    world.client.conflict(world.now);
    let (source, destination, decline) = world.said();
    assert_eq!((source, destination), (NONE, Ipv4Addr::BROADCAST));
    assert_eq!((decline.kind, decline.ciaddr), (Kind::Decline, NONE));
    assert_eq!((decline.options.requested, decline.options.server), (Some(GIVEN), Some(SERVER)));
    assert_eq!(world.event(), Some(Event::Declined(GIVEN)));
    assert_eq!(world.event(), None);
    assert_eq!(world.due(), REST);
    world.said();
    world.say(Kind::Offer, |_| ()).expect("an offer");
    world.said();
    world.say(Kind::Ack, |_| ()).expect("an address");
    assert_eq!(world.event(), Some(Event::Check(GIVEN)));
    assert_eq!(world.due(), Duration::from_secs(2));
    assert!(matches!(world.event(), Some(Event::Acquired(_))));
    // And later, in use.
    world.client.conflict(world.now);
    assert_eq!(world.event(), Some(Event::Lost(GIVEN, Lost::Conflict)));
    assert_eq!(world.said().2.kind, Kind::Decline);
}

#[test]
fn the_address_of_before_is_asked_for_first() {
    let again = |config: &mut Config| config.previous = Some(GIVEN);
    let mut world = World::new(again);
    world.due();
    let (_, _, request) = world.said();
    assert_eq!((request.kind, request.ciaddr), (Kind::Request, NONE));
    assert_eq!((request.options.requested, request.options.server), (Some(GIVEN), None));
    let other = Ipv4Addr::new(10, 0, 0, 51);
    assert_eq!(world.say(Kind::Ack, |m| m.yiaddr = other), Err(Ignored::Unexpected));
    world.say(Kind::Ack, |_| ()).expect("it is ours");
    assert!(matches!(world.event(), Some(Event::Acquired(_))));

    let mut world = World::new(again);
    world.due();
    world.said();
    world.say(Kind::Nak, |_| ()).expect("no longer");
    world.due();
    assert_eq!(world.said().2.kind, Kind::Discover);
    // Nobody answers: from the start, too.
    let mut world = World::new(again);
    (0..4).for_each(|_| {
        world.due();
        assert_eq!(world.said().2.kind, Kind::Request);
    });
    world.due();
    assert_eq!(world.said().2.kind, Kind::Discover);
}

#[test]
fn what_is_released_is_told_and_nothing_follows() {
    let mut world = World::bound();
    world.client.release(world.now);
    let (source, destination, release) = world.said();
    assert_eq!((source, destination), (GIVEN, SERVER));
    assert_eq!((release.kind, release.ciaddr), (Kind::Release, GIVEN));
    assert_eq!(release.options.requested, None);
    assert_eq!(world.event(), Some(Event::Lost(GIVEN, Lost::Released)));
    assert_eq!((world.client.next_timeout(), world.client.state()), (None, State::Released));
    assert_eq!(world.say(Kind::Ack, |_| ()), Err(Ignored::Unexpected));
    // Without an address there is nothing to say.
    let mut world = World::new(|_| ());
    world.client.release(world.now);
    assert_eq!(world.client.poll_transmit(), None);
}

#[test]
fn offers_that_cannot_be_used_are_passed_over() {
    // RFC 2131 4.1/2, 4.4.1/2
    let mut world = World::new(|_| ());
    world.due();
    world.said();
    type Change = fn(&mut Message);
    let unusable: [Change; 9] = [
        |m| m.yiaddr = NONE,
        |m| m.yiaddr = Ipv4Addr::new(224, 0, 0, 5),
        |m| m.yiaddr = Ipv4Addr::new(127, 0, 0, 5),
        |m| m.yiaddr = Ipv4Addr::new(10, 0, 0, 255),
        |m| m.options.server = None,
        |m| m.options.server = Some(Ipv4Addr::BROADCAST),
        |m| m.options.lease = None,
        |m| m.options.lease = Some(0),
        |m| m.options.mask = Some(Ipv4Addr::new(255, 0, 255, 0)),
    ];
    for (n, change) in unusable.into_iter().enumerate() {
        assert_eq!(world.say(Kind::Offer, change), Err(Ignored::Unusable), "{n}");
    }
    assert_eq!(world.say(Kind::Offer, |m| m.xid ^= 1), Err(Ignored::Foreign));
    assert_eq!(world.say(Kind::Offer, |m| m.chaddr[5] ^= 1), Err(Ignored::Foreign));
    assert_eq!(world.say(Kind::Ack, |_| ()), Err(Ignored::Unexpected));
    assert_eq!(world.client.poll_transmit(), None);
    // Odd values that can be made sense of.
    world
        .say(Kind::Offer, |m| {
            m.options.routers = vec![Ipv4Addr::new(10, 9, 9, 9), SERVER];
            (m.options.mask, m.options.mtu) = (None, Some(68));
        })
        .expect("an offer");
    world.said();
    world
        .say(Kind::Ack, |m| {
            (m.options.renewal, m.options.rebinding) = (Some(5000), Some(10));
            (m.options.lease, m.options.mtu) = (Some(u32::MAX), Some(68));
        })
        .expect("an address");
    let Some(Event::Acquired(lease)) = world.event() else { panic!("no address") };
    assert_eq!((lease.end, lease.mtu, world.client.next_timeout()), (None, None, None));
}

/// Clouds give addresses without a network: no router is in it.
#[test]
fn an_address_without_a_network_has_a_router_beyond_it() {
    let mut world = World::new(|_| ());
    world.due();
    world.said();
    let alone = |message: &mut Message| {
        message.options.mask = Some(Ipv4Addr::BROADCAST);
        message.options.routers = vec![GIVEN, SERVER];
    };
    world.say(Kind::Offer, alone).expect("an offer");
    world.said();
    world.say(Kind::Ack, alone).expect("an address");
    let Some(Event::Acquired(lease)) = world.event() else { panic!("no address") };
    assert_eq!((lease.prefix, lease.routers), (32, vec![SERVER]), "and we are none");
}

/// RFC 3442: routes count in place of routers. One that goes by what is not on the link does not count, nor one that
/// says that half of the world is.
#[test]
fn routes_count_in_place_of_routers() {
    let mut world = World::new(|_| ());
    world.due();
    world.said();
    let route = |network: [u8; 4], prefix, router: Option<[u8; 4]>| Route {
        network: network.into(),
        prefix,
        router: router.map(Ipv4Addr::from),
    };
    let by = SERVER.octets();
    let (all, beside) = (route([0; 4], 0, Some(by)), route([192, 0, 2, 1], 32, None));
    let next = route([198, 51, 100, 0], 24, Some([192, 0, 2, 1]));
    let said = |message: &mut Message| {
        let far = route([198, 18, 0, 0], 15, Some([203, 0, 113, 1]));
        let ours = route([198, 18, 0, 0], 15, Some(GIVEN.octets()));
        let half = route([128, 0, 0, 0], 1, None);
        message.options.routers = vec![SERVER];
        message.options.routes = Some(vec![all, far, beside, ours, next, half]);
    };
    world.say(Kind::Offer, said).expect("an offer");
    world.said();
    world.say(Kind::Ack, said).expect("an address");
    let Some(Event::Acquired(lease)) = world.event() else { panic!("no address") };
    assert_eq!((lease.routers, lease.routes), (vec![], vec![all, beside, next]));
}

/// A lease that is over before it is known that nobody else has the address.
#[test]
fn an_address_whose_time_is_over_is_not_used() {
    let mut world = World::new(|config| config.check = Duration::from_secs(4));
    world.due();
    world.said();
    let brief = |message: &mut Message| message.options.lease = Some(3);
    world.say(Kind::Offer, brief).expect("an offer");
    world.said();
    world.say(Kind::Ack, brief).expect("an address");
    assert_eq!(world.event(), Some(Event::Check(GIVEN)));
    world.due();
    assert_eq!((world.event(), world.client.lease()), (None, None));
    assert_eq!((world.client.state(), world.said().2.kind), (State::Selecting, Kind::Discover));
}

/// Time counts from the request: an answer may come when all of it is over.
#[test]
fn an_answer_that_comes_too_late_is_passed_over() {
    let mut world = World::new(|_| ());
    world.due();
    world.said();
    let brief = |message: &mut Message| message.options.lease = Some(3);
    world.say(Kind::Offer, brief).expect("an offer");
    world.said();
    world.now += Duration::from_secs(3);
    assert_eq!(world.say(Kind::Ack, brief), Err(Ignored::Unusable));
    assert_eq!((world.event(), world.client.lease()), (None, None));
    // It asks again, as where no answer comes.
    world.due();
    assert_eq!(world.said().2.kind, Kind::Request);
}
