use super::*;
use proptest::prelude::*;

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

/// What can be done to a packet, and to the vector that it should equal.
#[derive(Clone, Debug)]
enum Step {
    Push(Vec<u8>),
    Append(Vec<u8>),
    Pull(usize),
    Truncate(usize),
    Clone,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
    let step = prop_oneof![
        bytes(40).prop_map(Step::Push),
        bytes(300).prop_map(Step::Append),
        (0usize..100).prop_map(Step::Pull),
        (0usize..600).prop_map(Step::Truncate),
        Just(Step::Clone),
    ];
    prop::collection::vec(step, 0..20)
}

proptest! {
    #[test]
    fn a_packet_is_its_bytes(steps in steps()) {
        let (mut packet, mut bytes) = (Packet::new(), Vec::new());
        for step in steps {
            match step {
                Step::Push(new) if packet.head().len() + new.len() <= HEAD => {
                    packet.push(new.len()).copy_from_slice(&new);
                    bytes.splice(..0, new);
                }
                Step::Push(_) => {}
                Step::Append(new) => {
                    packet.parts_mut().push(Slice::copy_of(&new));
                    bytes.extend(new);
                }
                Step::Pull(n) => {
                    let n = n.min(bytes.len());
                    packet.pull(n);
                    bytes.drain(..n);
                }
                Step::Truncate(len) => {
                    packet.truncate(len);
                    bytes.truncate(len.max(packet.head().len()));
                }
                Step::Clone => packet = packet.clone(),
            }
            prop_assert_eq!(packet.to_vec(), bytes.clone());
            prop_assert_eq!(packet.len(), bytes.len());
            prop_assert_eq!(packet.is_empty(), bytes.is_empty());
            prop_assert!(bytes.starts_with(packet.front()));
            let joined: Vec<u8> = packet.slices().flatten().copied().collect();
            prop_assert_eq!(&joined, &bytes);
            let middle = bytes.len() / 2;
            prop_assert_eq!(packet.sum_from(middle), sum::sum(&bytes[middle..]));
        }
    }
}

#[test]
fn bytes_of_more_than_a_block_make_several_parts() {
    let bytes: Vec<u8> = (0..150_000u32).map(|i| i as u8).collect();
    let packet = Packet::copy_of(&bytes);
    assert!(packet.parts().len() > 1);
    assert_eq!(packet.to_vec(), bytes);
}

#[test]
fn an_empty_part_behind_takes_nothing_with_it() {
    let mut packet = Packet::copy_of(b"payload");
    packet.parts_mut().push(Slice::copy_of(b""));
    packet.pull(3);
    assert_eq!(packet.to_vec(), b"load");
    packet.pull(4);
    assert!(packet.is_empty() && packet.parts().is_empty());
}

#[test]
fn the_payload_is_what_is_left_when_headers_are_pulled_off() {
    let bytes = |parts: Parts| parts.iter().flat_map(|part| part.to_vec()).collect::<Vec<u8>>();
    for n in 0..=23 {
        let mut pulled = packet();
        pulled.pull(n);
        assert_eq!(bytes(packet().into_payload(n)), bytes(pulled.into_parts()), "{n}");
    }
    // No empty part is left behind whole headers.
    let mut empty = Packet::from_parts(Parts::from_buf([Slice::copy_of(b"")]));
    empty.push(4);
    assert!(empty.into_payload(4).is_empty());
}

#[test]
fn a_packet_of_one_part_gives_it_back_without_its_head() {
    let meta = Meta { ttl: 7, ..Meta::EMPTY };
    let packet = Packet::headed(
        &meta,
        || Parts::from_buf([Slice::copy_of(b"payload")]),
        |head: &mut [u8; 4]| {
            *head = *b"head";
        },
    );
    assert_eq!((packet.to_vec(), packet.meta().ttl), (b"headpayload".to_vec(), 7));
    let Some((head, part)) = packet.head_and_part() else { panic!("it has one part") };
    assert_eq!((head, part.as_slice()), (&b"head"[..], &b"payload"[..]));
    assert_eq!(packet.into_part().unwrap().as_slice(), b"payload");
    // Of several parts there is none that is all.
    let several = Packet::copy_of(&[1; 100_000]);
    assert!(several.head_and_part().is_none());
    let bytes = several.into_part().unwrap_err();
    assert_eq!(bytes.iter().map(|part| part.len()).sum::<usize>(), 100_000);
    assert!(Packet::new().into_part().is_err_and(|parts| parts.is_empty()));
}
