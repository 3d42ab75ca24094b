use super::super::tests::{Nobody, config, end, flow};
use super::*;
use std::io;

fn table(limit: usize) -> FlowTable<Nobody> {
    FlowTable::new(&config(), limit)
}

/// Moves in with a thread that has nothing to do.
fn migrate_in(table: &FlowTable<Nobody>) -> io::Result<(u16, u32)> {
    let (handle, generation) = table.reserve()?;
    let handle = table.occupy(handle, std::thread::Builder::new().spawn(|| ()))?;
    Ok((handle.index, generation))
}

#[test]
fn units_are_used_again_and_their_names_are_not() {
    let table = table(0);
    assert_eq!(migrate_in(&table).expect("room"), (1, 0));
    assert_eq!(migrate_in(&table).expect("room"), (2, 0));
    assert!(table.mailbox(1).is_some() && table.mailbox(0).is_none());
    let mut counted = Counters::default();
    counted.delivered += 7;
    table.vacate(1, &counted);
    assert!(table.mailbox(1).is_none());
    assert_eq!(migrate_in(&table).expect("room"), (1, 1));
    let mut sum = Counters::default();
    table.add_counters(&mut sum);
    assert_eq!(sum.delivered, 7, "what the dead have counted is not forgotten");
}

#[test]
fn there_is_a_limit_and_the_place_comes_back() {
    let table = table(2);
    for _ in 0..2 {
        migrate_in(&table).expect("room");
    }
    assert!(table.is_full());
    assert!(migrate_in(&table).is_err());
    table.vacate(2, &Counters::default());
    // The system gives no thread: nothing has happened.
    let (handle, _) = table.reserve().expect("room");
    let failed = table.occupy(handle, Err(io::ErrorKind::WouldBlock.into()));
    assert!(failed.is_err());
    assert_eq!(table.live(), 1);
    assert_eq!(migrate_in(&table).expect("room").0, 2);
}

#[test]
fn nobody_moves_in_once_all_is_stopped() {
    let table = table(0);
    migrate_in(&table).expect("room");
    let (handle, _) = table.reserve().expect("room");
    let mailbox = handle.mailbox.clone();
    assert_eq!(table.stop().len(), 1);
    assert!(table.occupy(handle, std::thread::Builder::new().spawn(|| ())).is_err());
    // It was told to end, and has.
    assert!(matches!(mailbox.close().messages.pop_front(), Some(Message::Stop)));
    assert!(table.reserve().is_err());
}

#[test]
fn sockets_are_found_by_address_then_by_port() {
    let table = table(0);
    let (special, _) = table.reserve().expect("room");
    let (general, _) = table.reserve().expect("room");
    let any = Endpoint { address: wire::Address::UNSPECIFIED_V4, port: 53 };
    table.register(ConnKey::Port(any), &general);
    table.register(ConnKey::Port(end(1, 53)), &special);
    let unit = |local| table.with_port(&local, |handle| handle.index);
    assert_eq!(unit(end(1, 53)), Some(special.index));
    assert_eq!(unit(end(3, 53)), Some(general.index));
    assert_eq!(unit(end(1, 54)), None);
    // One that is gone does not take its successor's entry along.
    table.register(ConnKey::Port(any), &special);
    table.unregister(ConnKey::Port(any), general.index);
    assert_eq!(unit(end(3, 53)), Some(special.index));
    // A connection is another matter.
    let tuple = FiveTuple { protocol: protocol::TCP, flow: flow(53) };
    assert_eq!(table.with(&tuple, |handle| handle.index), None);
    table.register(ConnKey::Flow(flow(53)), &general);
    assert_eq!(table.with(&tuple, |handle| handle.index), Some(general.index));
    table.unregister(ConnKey::Flow(flow(53)), general.index);
    assert_eq!(table.with(&tuple, |handle| handle.index), None);
}
