use super::*;
use std::net::Ipv4Addr;
use std::sync::atomic::AtomicU32;
use sync::spin::Spin;

type Table = SharedTable<Spin, u32>;

fn config() -> Config {
    let mut config = Config::new(Vec::new(), 7);
    config.max_connections = 1000;
    config
}

fn flow(n: u16) -> FlowKey {
    let end = |last, port| Endpoint { address: Ipv4Addr::new(10, 0, 0, last).into(), port };
    FlowKey { local: end(1, 80), remote: end(2, n) }
}

fn tcb(flow: &FlowKey) -> Tcb {
    let now = Instant::from_millis(1000);
    let isn = tcp::isn::Generator::new([1; 16], std::time::Duration::ZERO).isn(flow, now);
    Tcb::connect(&Arc::new(tcp::Config::default()), isn, 1460, now)
}

#[test]
fn opens_finds_and_closes() {
    let table = Arc::new(Table::new(&config(), 4, Spin::default));
    let mut conns = SharedRef::new(table);
    let now = Instant::from_millis(1000);
    let id = conns.open(flow(1), tcb(&flow(1)), 11).expect("room");
    assert_eq!(conns.open(flow(1), tcb(&flow(1)), 12), Err((OpenError::Exists, 12)));
    assert_eq!(conns.with_flow(&flow(1), |c| (c.id, c.user)), Some((id, 11)));
    assert_eq!(conns.with_flow(&flow(2), |c| c.user), None);
    conns.hold(Some((flow(1), id)));
    assert_eq!(conns.with_flow(&flow(1), |c| c.user), Some(11));
    assert_eq!((conns.len(), conns.ids()), (1, vec![id]));
    assert_eq!(conns.close(id, now).map(|c| c.user), Some(11));
    assert!(conns.close(id, now).is_none());
    // A name is never another connection's, though its slot is.
    let other = conns.open(flow(2), tcb(&flow(2)), 13).expect("room");
    assert_eq!(other.slot, id.slot);
    assert_eq!(conns.with_id(id, |c| c.user), None);
    assert_eq!(conns.with_flow(&flow(1), |c| c.user), None, "held, but gone");
    assert_eq!(conns.len(), 1);
}

#[test]
fn holds_as_many_as_it_may() {
    let mut conns = SharedRef::new(Arc::new(Table::new(&config(), 4, Spin::default)));
    for n in 0..1000 {
        conns.open(flow(n), tcb(&flow(n)), n.into()).expect("room");
    }
    assert_eq!(conns.open(flow(1000), tcb(&flow(1000)), 5), Err((OpenError::TableFull, 5)));
    assert_eq!(conns.ids().len(), 1000);
}

/// Threads open, look up and close the same few flows: each connection is closed
/// once, and whoever finds one finds the one that was asked for.
#[test]
fn threads_see_one_connection_or_none() {
    let table = Arc::new(Table::new(&config(), 2, Spin::default));
    let (opened, closed) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..4u16 {
            let mut conns = SharedRef::new(table.clone());
            let (opened, closed) = (&opened, &closed);
            scope.spawn(move || {
                let now = Instant::from_millis(1000);
                for round in 0..3000u16 {
                    let flow = flow((round.wrapping_mul(7) ^ thread) % 5);
                    let mark = u32::from(flow.remote.port);
                    if let Ok(id) = conns.open(flow, tcb(&flow), mark) {
                        opened.fetch_add(1, Ordering::Relaxed);
                        conns.with_id(id, |c| assert_eq!(c.user, mark));
                    }
                    let found = conns.with_flow(&flow, |c| {
                        assert_eq!((c.flow, c.user), (flow, mark));
                        c.id
                    });
                    if let Some(id) = found
                        && let Some(c) = conns.close(id, now)
                    {
                        assert_eq!(c.user, mark);
                        closed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut conns = SharedRef::new(table);
    for id in conns.ids() {
        assert!(conns.close(id, Instant::from_millis(1000)).is_some());
        closed.fetch_add(1, Ordering::Relaxed);
    }
    assert_eq!(opened.into_inner(), closed.into_inner());
    assert!(conns.is_empty());
}

/// One thread opens while another closes all that it can name: what is named is
/// found by its flow or gone, and no lookup waits for what is never taken out.
#[test]
fn what_is_being_opened_has_no_name() {
    let table = Arc::new(Table::new(&config(), 2, Spin::default));
    let now = Instant::from_millis(1000);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut closing = SharedRef::new(table.clone());
        let done = &done;
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                for id in closing.ids() {
                    closing.close(id, now);
                }
            }
        });
        let mut conns = SharedRef::new(table.clone());
        for round in 0..20_000u16 {
            let flow = flow(round % 3);
            let _ = conns.open(flow, tcb(&flow), 1);
            conns.with_flow(&flow, |c| assert_eq!(c.flow, flow));
        }
        done.store(true, Ordering::Relaxed);
    });
    let mut conns = SharedRef::new(table);
    for id in conns.ids() {
        assert!(conns.close(id, now).is_some());
    }
    assert!(conns.is_empty() && (0..3).all(|n| conns.with_flow(&flow(n), |_| ()).is_none()));
}

#[test]
fn ports_come_back_and_are_nobody_elses() {
    let mut conns = SharedRef::new(Arc::new(Table::new(&config(), 4, Spin::default)));
    let remote = flow(9).remote;
    let port = conns.allocate_port(remote, |_| true).expect("free");
    assert_ne!(conns.allocate_port(remote, |_| true), Some(port));
    let mut flow = flow(9);
    flow.local.port = port;
    let id = conns.open(flow, tcb(&flow), 1).expect("room");
    conns.with_id(id, |c| c.port_allocated = true);
    conns.close(id, Instant::from_millis(1000)).expect("there");
    let (first, last) = config().ephemeral_ports;
    let rest = usize::from(last - first) + 1 - 2;
    let all: std::collections::HashSet<_> =
        (0..=rest).map(|_| conns.allocate_port(remote, |_| true).expect("free")).collect();
    assert!(all.contains(&port) && all.len() == rest + 1);
    assert_eq!(conns.allocate_port(remote, |_| true), None);
}
