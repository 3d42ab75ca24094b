use super::super::flow_table::{ConnKey, UnitHandle};
use super::super::tests::{Nobody, config, end, flow, fragment, frame};
use super::*;
use wire::{FlowKey, protocol};

struct Fixture {
    table: Arc<FlowTable<Nobody>>,
    flows: FlowDemux<Nobody>,
}

fn fixture() -> Fixture {
    let config = config();
    let table = Arc::new(FlowTable::new(&config, 0));
    let flows = FlowDemux::new(&config, &table);
    Fixture { table, flows }
}

impl Fixture {
    fn migrant(&self, key: ConnKey) -> UnitHandle<Nobody> {
        let (handle, _) = self.table.reserve().expect("room");
        self.table.register(key, &handle);
        handle
    }

    /// A batch comes; none is lost.
    fn batch(&mut self, frames: Vec<Packet>) {
        frames.into_iter().for_each(|frame| self.flows.classify(frame));
        assert_eq!(self.flows.post(TraceStamp::NONE, &QueueWatch::default()), 0);
    }
}

/// The peers' ports of the frames in a mailbox.
fn ports(mailbox: &Mailbox<Nobody>) -> Vec<u16> {
    let frames = std::mem::take(&mut mailbox.inbox.lock().frames);
    let port = |at: &Packet| u16::from_be_bytes([at.front()[20], at.front()[21]]);
    frames.iter().map(|frame| port(&frame.packet)).collect()
}

#[test]
fn each_connection_gets_its_own_and_home_the_rest() {
    let mut fixture = fixture();
    let one = fixture.migrant(ConnKey::Flow(flow(1000)));
    let two = fixture.migrant(ConnKey::Flow(flow(2000)));
    let dns = fixture.migrant(ConnKey::Port(end(1, 53)));
    let tcp = |port| frame(&flow(port), protocol::TCP);
    let query = FlowKey { local: end(1, 53), remote: end(9, 4000) };
    fixture.batch(vec![
        tcp(1000),
        tcp(1000),
        tcp(2000),
        tcp(3000),
        frame(&query, protocol::UDP),
        // The same ports, but another protocol, or of a fragment.
        frame(&flow(1000), protocol::UDP),
        fragment(&flow(2000)),
        tcp(1000),
    ]);
    assert_eq!(ports(&one.mailbox), [1000, 1000, 1000]);
    assert_eq!(ports(&two.mailbox), [2000]);
    assert_eq!(ports(&dns.mailbox), [4000]);
    assert_eq!(ports(&fixture.table.control), [3000, 1000, 2000]);
}

#[test]
fn errors_are_their_flows_however_they_lie_in_memory() {
    let mut fixture = fixture();
    let one = fixture.migrant(ConnKey::Flow(flow(1000)));
    // An unreachable port, about what we sent to the peer's port 1000.
    let sent = frame(&flow(1000).reversed(), protocol::TCP).to_vec();
    let mut head = frame(&flow(0), protocol::ICMP).to_vec();
    head[20..24].copy_from_slice(&[3, 3, 0, 0]);
    let whole = Packet::copy_of(&[head.clone(), sent.clone()].concat());
    let mut scattered = Packet::copy_of(&head);
    scattered.parts_mut().push(wire::Slice::copy_of(&sent));
    fixture.batch(vec![whole, scattered]);
    assert_eq!(ports(&one.mailbox).len(), 2);
}

#[test]
fn what_comes_too_late_goes_home() {
    let mut fixture = fixture();
    let gone = fixture.migrant(ConnKey::Flow(flow(1000)));
    gone.mailbox.close();
    // The table has told of it, and will have forgotten it when asked again.
    let table = fixture.table.clone();
    let forgetting = std::thread::spawn(move || {
        table.unregister(ConnKey::Flow(flow(1000)), gone.index);
    });
    let tcp = |port| frame(&flow(port), protocol::TCP);
    fixture.batch(vec![tcp(1000), tcp(2000), tcp(1000)]);
    forgetting.join().expect("no panic");
    let mut control = ports(&fixture.table.control);
    control.sort_unstable();
    assert_eq!(control, [1000, 1000, 2000]);
    // Nothing of it is left for the next batch.
    fixture.batch(vec![tcp(3000)]);
    assert_eq!(ports(&fixture.table.control), [3000]);
}

#[test]
fn when_all_is_closed_nothing_stays() {
    let mut fixture = fixture();
    fixture.table.control.close();
    fixture.batch(vec![frame(&flow(1000), protocol::TCP)]);
    assert!(ports(&fixture.table.control).is_empty());
}

#[test]
fn a_full_mailbox_loses_frames_and_says_how_many() {
    let mut fixture = fixture();
    let one = fixture.migrant(ConnKey::Flow(flow(1000)));
    let mut lost = 0;
    for _ in 0..40 {
        (0..64).for_each(|_| fixture.flows.classify(frame(&flow(1000), protocol::TCP)));
        lost += fixture.flows.post(TraceStamp::NONE, &QueueWatch::default());
    }
    assert_eq!(ports(&one.mailbox).len() as u64 + lost, 40 * 64);
    assert!(lost > 0);
}
