use super::*;
use crate::mailbox::thread_per_connection::tests::{Nobody, end};
use net::ConnId;

/// The units that `router` gives `call` to.
fn units(router: &Router, call: Call<Nobody>) -> Vec<u16> {
    let mut units = Vec::new();
    router.route(call, |unit, _| units.push(unit));
    units
}

fn router() -> Router {
    Router::new(&Arc::new(Config::new(Vec::new(), 7)), 3)
}

fn connect() -> Call<Nobody> {
    Call::Connect { remote: end(2, 80), local: None, connection: () }
}

#[test]
fn ports_and_the_end_are_for_all_units() {
    let router = router();
    for call in [
        Call::Listen(end(1, 80), ()),
        Call::Unlisten(end(1, 80)),
        Call::BindUdp(end(1, 53), end(1, 53)),
        Call::UnbindUdp(end(1, 53)),
        Call::Reset,
    ] {
        assert_eq!(units(&router, call), [0, 1, 2]);
    }
}

#[test]
fn active_opens_take_turns() {
    let router = router();
    let opened: Vec<_> = (0..4).flat_map(|_| units(&router, connect())).collect();
    assert_eq!(opened, [0, 1, 2, 0]);
}

#[test]
fn a_socket_sends_from_one_unit_and_a_connection_is_notified_in_its_own() {
    let router = router();
    for _ in 0..2 {
        assert_eq!(units(&router, Call::FlushUdp(end(1, 53))), [53 % 3]);
        let id = ConnId { unit: 2, slot: 7, generation: 1 };
        assert_eq!(units(&router, Call::Notify(id)), [2]);
    }
}

#[test]
fn a_connection_with_both_ends_given_opens_where_it_steers_to() {
    let router = router();
    for port in 1000..1100 {
        let (local, remote) = (end(1, port), end(2, 80));
        let call = Call::Connect { remote, local: Some(local), connection: () };
        let unit = router.config.steering.flow(&FlowKey { local, remote }) % 3;
        assert_eq!(units(&router, call), [unit as u16]);
    }
}

/// Before, units had active opens in turn, whether a port of theirs was left or not: of 65,535 units
/// with the usual 28,232 ports, two in three have none towards a destination, and the open failed.
#[test]
fn where_ports_are_few_units_open_as_often_as_they_have_some() {
    for (ports, units) in [((40_000, 40_009), 4), ((32_768, 60_999), 4_096)] {
        let mut config = Config::new(Vec::new(), 7);
        config.ephemeral_ports = ports;
        let router = Router::new(&Arc::new(config), units);
        let unit = |port| {
            let flow = FlowKey { local: end(1, port), remote: end(2, 80) };
            router.config.steering.flow(&flow) as usize % units
        };
        let (mut opened, mut have) = (vec![0; units], vec![0; units]);
        (ports.0..=ports.1).for_each(|port| have[unit(port)] += 1);
        for _ in ports.0..=ports.1 {
            let local = Some(end(1, 0));
            let call = Call::Connect { remote: end(2, 80), local, connection: () };
            self::units(&router, call).iter().for_each(|unit| opened[usize::from(*unit)] += 1);
        }
        assert_eq!(opened, have, "{units} units");
    }
}
