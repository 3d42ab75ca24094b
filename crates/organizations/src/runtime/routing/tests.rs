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
