use super::super::virtio::LEN;
use super::*;

/// Bytes of the longest frame where the kernel does not cut what it sends.
const LONGEST: usize = 65_000;

/// A frame of `len` bytes, as it stands behind a header of `header_len`, all of it numbered.
fn bytes(header_len: usize, len: usize, from: usize) -> Vec<u8> {
    let numbered = (0..len).map(|n| (n + from) as u8 ^ (n >> 8) as u8);
    std::iter::repeat_n(0, header_len).chain(numbered).collect()
}

#[test]
fn frames_of_any_length_are_read_in_one_piece() {
    for (header_len, longest) in [(0, 1500), (LEN, 1514), (LEN, LONGEST), (0, LONGEST)] {
        let mut room = Room::of(longest);
        let lengths = [1, 60, FEW, FEW + 1, 1500, 2048, 2049, 4608, 16_384, 16_385, LONGEST];
        // What was read before stays as it is.
        let mut kept = Vec::new();
        for (from, &len) in lengths.iter().filter(|&&len| len <= longest).enumerate() {
            let frame = bytes(header_len, len, from);
            let one = room.one(header_len, longest).expect("one block holds it");
            one[..frame.len()].copy_from_slice(&frame);
            let (_, packet) = room.take_one(header_len, len);
            assert_eq!(packet.parts().len(), 1);
            kept.push((packet, frame));
        }
        for (packet, frame) in &kept {
            assert_eq!(packet.to_vec(), frame[header_len..]);
        }
        // A short frame keeps no large block, one of many bytes is not copied.
        let footprint = |(packet, _): &(Packet, _)| packet.parts()[0].footprint();
        assert_eq!(footprint(&kept[1]), 256);
        let last = kept.last().map(footprint);
        assert_eq!(last, Some(if longest == LONGEST { 65 * 1024 } else { 2048 }));
    }
}

#[test]
fn the_header_before_a_frame_is_read() {
    let mut room = Room::of(LONGEST);
    let mut before = [0; LEN];
    (before[0], before[1]) = (1, 1);
    let one = room.one(LEN, LONGEST).expect("one block holds it");
    one[..LEN].copy_from_slice(&before);
    let (header, packet) = room.take_one(LEN, 100);
    assert_eq!((header, packet.len()), (virtio::Header::parse(&before), 100));
    let (_, nothing) = room.take_one(LEN, 0);
    assert!(nothing.is_empty() && nothing.parts().is_empty());
}

#[test]
fn what_one_block_does_not_hold_is_read_in_pieces() {
    // 2048 and 4608 hold it together.
    let mut room = Room::of(5000);
    assert!(room.one(LEN, 5000).is_none());
    let mut slices = SmallVec::<[_; SLICES]>::new();
    room.lend(LEN, &mut slices);
    assert_eq!(slices.iter().map(|slice| slice.len()).sum::<usize>(), LEN + 2048 + 4608);
}
