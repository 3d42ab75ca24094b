use super::*;
use std::net::Ipv4Addr;

fn datagram(protocol: u8) -> RawDatagram {
    let address = Ipv4Addr::LOCALHOST.into();
    RawDatagram {
        source: address,
        destination: address,
        protocol,
        ttl: 0,
        payload: wire::Parts::from_iter([wire::Slice::copy_of(b"data")]),
    }
}

#[test]
fn what_was_sent_leaves_although_the_socket_is_gone() {
    let (raw, wakes) = (RawShared::default(), &mut Vec::new());
    raw.take(10_000).expect("free");
    assert!(matches!(raw.poll_send(None, || datagram(99)), Poll::Ready(Ok(()))));
    assert!(raw.arrived(datagram(7), wakes));
    raw.release();
    raw.take(10_000).expect("free again");
    assert!(matches!(raw.poll_receive(None), Poll::Ready(Err(_))), "what came for another");
    assert_eq!(raw.next(wakes).map(|d| d.protocol), Some(99));
    assert!(raw.next(wakes).is_none());
    assert_eq!(raw.state.lock().leaving.bytes(), 0);
}
