use super::*;
use scheduler::weights::Pending;
use wire::{Address, Endpoint};

fn connection(generation: u32) -> (FlowKey, ConnId) {
    let end = Endpoint { address: Address::UNSPECIFIED_V4, port: 1 };
    (FlowKey { local: end, remote: end }, ConnId { unit: 0, slot: 3, generation })
}

#[test]
fn a_full_queue_drops_early() {
    let queue = ReceiveQueue::new();
    let put = || queue.put(Packet::copy_of(&[1; 60]), TraceStamp::NONE);
    assert!((0..CAPACITY).all(|_| put().is_ok()));
    assert!(put().is_err());
    let mut out = Vec::new();
    queue.take(10, &mut out);
    assert_eq!((out.len(), queue.len()), (10, CAPACITY - 10));
    assert!(put().is_ok());
}

#[test]
fn a_segment_that_ends_a_connection_raises_it_once() {
    let queue = ReceiveQueue::new();
    let first = connection(0);
    assert_eq!(queue.class(first, false), Class::Wait, "new");
    queue.turned(Class::Ready, 0);
    assert_eq!(queue.class(first, true), Class::Control);
    assert_eq!(queue.class(first, true), Class::Ready, "no second time");
    let next = connection(1);
    assert_eq!(queue.class(next, false), Class::Wait, "another connection");
    assert_eq!(queue.class(next, true), Class::Control);
    assert_eq!(queue.take(1, &mut Vec::new()).0, Some(next));
}

#[test]
fn a_ring_goes_with_its_connection_but_not_with_packets() {
    let queue = ReceiveQueue::new();
    let put = || queue.put(Packet::copy_of(&[1; 60]), TraceStamp::NONE);
    assert!(put().is_ok());
    queue.retire();
    assert_eq!(queue.len(), 1, "the next connection's, perhaps");
    queue.take(1, &mut Vec::new());
    queue.retire();
    assert!(queue.output.with(|output| output.consumer.is_none()));
    // It is made again for the next packet.
    assert!(put().is_ok() && queue.len() == 1);
}

#[test]
fn more_packets_weigh_more() {
    let queue = ReceiveQueue::new();
    let pending = Pending {
        send_bytes: 0,
        receive_bytes: 0,
        segment: 1460,
        max_send_bytes: 1 << 20,
        max_receive_bytes: 1 << 16,
        ..Pending::default()
    };
    queue.turned(Class::Ready, pending.buffers(&LARGEST));
    let before = queue.weight(queue.len());
    assert!(queue.put(Packet::copy_of(&[1; 60]), TraceStamp::NONE).is_ok());
    assert_eq!(queue.weight(queue.len()), before + 1);
    // A socket that does not read weighs less.
    let full = Pending { receive_bytes: 1 << 16, ..pending };
    queue.turned(Class::Ready, full.buffers(&LARGEST));
    assert!(queue.weight(queue.len()) < before);
}
