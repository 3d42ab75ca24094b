use super::*;

fn packet() -> Packet {
    let mut p = Packet::copy_of(b"payload");
    p.parts_mut().push(Slice::copy_of(b" and more"));
    p.push(4).copy_from_slice(b"tcp ");
    p.push(3).copy_from_slice(b"ip ");
    p
}

#[test]
fn headers_are_pushed_in_front_and_pulled_off() {
    let mut p = packet();
    assert_eq!(p.to_vec(), b"ip tcp payload and more");
    assert_eq!(p.front(), b"ip tcp ");
    p.pull(3);
    assert_eq!(p.front(), b"tcp ");
    p.pull(4);
    assert_eq!(p.front(), b"payload");
    p.pull(7);
    assert_eq!(p.to_vec(), b" and more");
}

#[test]
fn truncate_cuts_the_payload() {
    for len in 7..=23 {
        let mut p = packet();
        p.truncate(len);
        assert_eq!(p.to_vec(), b"ip tcp payload and more"[..len]);
    }
}

#[test]
fn the_sum_runs_over_parts_of_odd_length() {
    let p = packet();
    let bytes = p.to_vec();
    for start in 0..bytes.len() {
        assert_eq!(p.sum_from(start), sum::sum(&bytes[start..]), "from {start}");
    }
}

#[test]
fn a_recycled_packet_is_empty() {
    let mut p = packet();
    p.meta_mut().gso_size = 3;
    drop(p);
    let p = Packet::new();
    assert_eq!((p.len(), p.meta().gso_size), (0, 0));
}
