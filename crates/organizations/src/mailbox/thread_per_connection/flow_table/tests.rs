use super::super::tests::{Nobody, config, end, flow};
use super::*;
use std::io;

fn registry(limit: usize) -> Registry<Nobody> {
    Registry::new(&config(), limit)
}

/// Moves in with a thread that has nothing to do.
fn move_in(registry: &Registry<Nobody>) -> io::Result<(u16, u32)> {
    let (place, generation) = registry.reserve()?;
    let place = registry.occupy(place, std::thread::Builder::new().spawn(|| ()))?;
    Ok((place.index, generation))
}

#[test]
fn units_are_used_again_and_their_names_are_not() {
    let registry = registry(0);
    assert_eq!(move_in(&registry).expect("room"), (1, 0));
    assert_eq!(move_in(&registry).expect("room"), (2, 0));
    assert!(registry.mailbox(1).is_some() && registry.mailbox(0).is_none());
    let mut counted = Counters::default();
    counted.delivered += 7;
    registry.move_out(1, &counted);
    assert!(registry.mailbox(1).is_none());
    assert_eq!(move_in(&registry).expect("room"), (1, 1));
    let mut sum = Counters::default();
    registry.add_counters(&mut sum);
    assert_eq!(sum.delivered, 7, "what the dead have counted is not forgotten");
}

#[test]
fn there_is_a_limit_and_the_place_comes_back() {
    let registry = registry(2);
    for _ in 0..2 {
        move_in(&registry).expect("room");
    }
    assert!(registry.is_full());
    assert!(move_in(&registry).is_err());
    registry.move_out(2, &Counters::default());
    // The system gives no thread: nothing has happened.
    let (place, _) = registry.reserve().expect("room");
    let failed = registry.occupy(place, Err(io::ErrorKind::WouldBlock.into()));
    assert!(failed.is_err());
    assert_eq!(registry.live(), 1);
    assert_eq!(move_in(&registry).expect("room").0, 2);
}

#[test]
fn nobody_moves_in_once_all_is_stopped() {
    let registry = registry(0);
    move_in(&registry).expect("room");
    let (place, _) = registry.reserve().expect("room");
    let mailbox = place.mailbox.clone();
    assert_eq!(registry.stop().len(), 1);
    assert!(registry.occupy(place, std::thread::Builder::new().spawn(|| ())).is_err());
    // It was told to end, and has.
    assert!(matches!(mailbox.close().messages.pop_front(), Some(Message::Stop)));
    assert!(registry.reserve().is_err());
}

#[test]
fn sockets_are_found_by_address_then_by_port() {
    let registry = registry(0);
    let (special, _) = registry.reserve().expect("room");
    let (general, _) = registry.reserve().expect("room");
    let any = Endpoint { address: Address::UNSPECIFIED_V4, port: 53 };
    registry.register(Tenancy::Port(any), &general);
    registry.register(Tenancy::Port(end(1, 53)), &special);
    let unit = |local| registry.with_port(&local, |place| place.index);
    assert_eq!(unit(end(1, 53)), Some(special.index));
    assert_eq!(unit(end(3, 53)), Some(general.index));
    assert_eq!(unit(end(1, 54)), None);
    // One that is gone does not take its successor's entry along.
    registry.register(Tenancy::Port(any), &special);
    registry.unregister(Tenancy::Port(any), general.index);
    assert_eq!(unit(end(3, 53)), Some(special.index));
    // A connection is another matter.
    let tuple = FiveTuple { protocol: protocol::TCP, flow: flow(53) };
    assert_eq!(registry.with(&tuple, |place| place.index), None);
    registry.register(Tenancy::Flow(flow(53)), &general);
    assert_eq!(registry.with(&tuple, |place| place.index), Some(general.index));
    registry.unregister(Tenancy::Flow(flow(53)), general.index);
    assert_eq!(registry.with(&tuple, |place| place.index), None);
}
