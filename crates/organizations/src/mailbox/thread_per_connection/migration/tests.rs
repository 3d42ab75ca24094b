use super::super::tests::{Nobody, config, end, flow, fragment, frame};
use super::*;
use std::sync::Arc;
use wire::{Packet, protocol};

struct Fixture {
    table: FlowTable<Nobody>,
    config: Arc<Config>,
}

fn fixture() -> Fixture {
    let config = config();
    Fixture { table: FlowTable::new(&config, 0), config }
}

impl Fixture {
    fn handle(&self) -> UnitHandle<Nobody> {
        self.table.reserve().expect("room").0
    }

    /// A socket of UDP or, for all that matters here, a connection moves in.
    fn migrate_in(&self, migrants: &[(ConnKey, UnitHandle<Nobody>)], taken: Vec<Frame>) -> usize {
        let migrant = |(key, handle): &(ConnKey, UnitHandle<Nobody>)| Migrant {
            key: *key,
            handle: handle.clone(),
            message: Message::Call(Call::BindUdp(end(1, 53), end(1, 53))),
        };
        let mut taken = taken.into();
        let migrants = migrants.iter().map(migrant).collect();
        let refused = migrate_in(&self.table, &self.config, migrants, &mut taken);
        assert!(taken.is_empty());
        refused.len()
    }
}

/// The `n`th frame of the flow of a peer's port: it is `n` bytes longer than the
/// shortest.
fn nth(port: u16, n: usize) -> Frame {
    let mut bytes = frame(&flow(port), protocol::TCP).to_vec();
    bytes.resize(bytes.len() + n, 0);
    Frame { packet: Packet::copy_of(&bytes), ..Frame::reassembled(Packet::new()) }
}

fn whole(frame: Frame) -> Frame {
    Frame { whole: true, ..frame }
}

fn post(mailbox: &Mailbox<Nobody>, frame: Frame) {
    assert!(matches!(mailbox.post(frame), crate::mailbox::Posted::Done));
}

/// Peers' ports and numbers of the frames in a mailbox.
fn numbers(mailbox: &Mailbox<Nobody>) -> Vec<(u16, usize)> {
    let frames = std::mem::take(&mut mailbox.inbox.lock().frames);
    let port = |at: &Packet| u16::from_be_bytes([at.front()[20], at.front()[21]]);
    frames.iter().map(|f| (port(&f.packet), f.packet.len() - 28)).collect()
}

#[test]
fn what_has_come_before_goes_first() {
    let fixture = fixture();
    let migrants = [1000, 2000].map(|port| (ConnKey::Flow(flow(port)), fixture.handle()));
    let [(_, one), (_, two)] = &migrants;
    // Dispatchers may know the migrant as soon as it is known.
    post(&one.mailbox, whole(nth(1000, 4)));
    let control = &fixture.table.control;
    for frame in [nth(1000, 2), nth(3000, 2), nth(2000, 1), nth(1000, 3)] {
        post(control, whole(frame));
    }
    let taken = vec![whole(nth(3000, 1)), whole(nth(1000, 1))];
    let version = fixture.table.version();
    assert_eq!(fixture.migrate_in(&migrants, taken), 0);
    assert_ne!(fixture.table.version(), version);
    assert_eq!(numbers(&one.mailbox), [(1000, 1), (1000, 2), (1000, 3), (1000, 4)]);
    assert_eq!(numbers(&two.mailbox), [(2000, 1)]);
    assert_eq!(numbers(control), [(3000, 1), (3000, 2)]);
}

#[test]
fn calls_come_behind_the_connection() {
    let fixture = fixture();
    let (key, handle) = (ConnKey::Port(end(1, 53)), fixture.handle());
    let mailbox = handle.mailbox.clone();
    fixture.migrate_in(&[(key, handle)], Vec::new());
    let known = fixture.table.port(&end(1, 53)).expect("it is known");
    assert!(known.mailbox.send(Message::Call(Call::FlushUdp(end(1, 53)))).is_ok());
    let messages = std::mem::take(&mut mailbox.inbox.lock().messages);
    assert!(matches!(messages.front(), Some(Message::Call(Call::BindUdp(..)))));
    assert_eq!(messages.len(), 2);
}

#[test]
fn who_finds_the_thread_stopped_comes_back_and_is_not_known() {
    let fixture = fixture();
    let migrants = [1000, 2000].map(|port| (ConnKey::Flow(flow(port)), fixture.handle()));
    migrants[0].1.mailbox.close();
    let control = &fixture.table.control;
    (0..2).for_each(|n| post(control, whole(nth(1000, n))));
    assert_eq!(fixture.migrate_in(&migrants, Vec::new()), 1);
    assert!(fixture.table.with_flow(&flow(1000), |_| ()).is_none());
    assert!(fixture.table.with_flow(&flow(2000), |_| ()).is_some());
    assert_eq!(numbers(control), [(1000, 0), (1000, 1)]);
}

#[test]
fn what_the_home_has_put_together_and_fragments_stay_there() {
    let fixture = fixture();
    let migrant = (ConnKey::Flow(flow(1000)), fixture.handle());
    let control = &fixture.table.control;
    post(control, nth(1000, 1));
    post(control, whole(Frame::reassembled(fragment(&flow(1000)))));
    fixture.migrate_in(std::slice::from_ref(&migrant), Vec::new());
    assert_eq!(numbers(&migrant.1.mailbox), []);
    assert_eq!(numbers(control).len(), 2);
}

#[test]
fn datagrams_move_to_their_socket() {
    let fixture = fixture();
    let socket = (ConnKey::Port(end(1, 80)), fixture.handle());
    let control = &fixture.table.control;
    post(control, whole(Frame::reassembled(frame(&flow(7), protocol::UDP))));
    post(control, whole(nth(8, 0)));
    fixture.migrate_in(std::slice::from_ref(&socket), Vec::new());
    assert_eq!(numbers(&socket.1.mailbox), [(7, 0)]);
    assert_eq!(numbers(control), [(8, 0)]);
}

#[test]
fn what_is_left_goes_home_in_order() {
    let fixture = fixture();
    let migrant = (ConnKey::Flow(flow(1000)), fixture.handle());
    fixture.migrate_in(std::slice::from_ref(&migrant), Vec::new());
    let (key, handle) = migrant;
    handle.mailbox.inbox.lock().messages.clear();
    for frame in [whole(nth(1000, 1)), nth(1000, 9), whole(nth(1000, 2))] {
        post(&handle.mailbox, frame);
    }
    let call = Call::FlushUdp(end(1, 53));
    assert!(handle.mailbox.send(Message::Call(call)).is_ok());
    let left = migrate_out(&fixture.table, (key, handle.index), &handle.mailbox, Vec::new());
    assert_eq!((left.calls.len(), left.lost, left.reassembled), (0, 0, 1));
    assert!(fixture.table.with_flow(&flow(1000), |_| ()).is_none());
    assert!(handle.mailbox.inbox.lock().closed);
    let control = &fixture.table.control;
    assert_eq!(numbers(control), [(1000, 1), (1000, 2)]);
    let messages = std::mem::take(&mut control.inbox.lock().messages);
    assert!(matches!(messages.front(), Some(Message::Call(Call::FlushUdp(_)))));
}

#[test]
fn what_finds_the_home_closed_or_full_is_counted() {
    for closed in [true, false] {
        let fixture = fixture();
        let (key, handle) = (ConnKey::Flow(flow(1000)), fixture.handle());
        fixture.table.register(key, &handle);
        (0..3).for_each(|n| post(&handle.mailbox, whole(nth(1000, n))));
        let control = &fixture.table.control;
        while !closed && control.inbox.lock().room() > 1 {
            post(control, whole(nth(1, 0)));
        }
        if closed {
            control.close();
            let call = Message::Call(Call::FlushUdp(end(1, 53)));
            assert!(handle.mailbox.send(call).is_ok());
        }
        let left = migrate_out(&fixture.table, (key, handle.index), &handle.mailbox, Vec::new());
        let expected = if closed { (1, 3) } else { (0, 2) };
        assert_eq!((left.calls.len(), left.lost), expected, "closed: {closed}");
    }
}
