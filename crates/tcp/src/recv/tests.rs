use super::*;
use buffer::Buf;

/// A received frame: `bytes` somewhere in a block of 2048.
fn frame(bytes: &[u8]) -> Slice {
    let mut buf = Buf::with_capacity(2048);
    buf.get_mut().unwrap()[54..54 + bytes.len()].copy_from_slice(bytes);
    Slice::new(buf, 54, bytes.len())
}

#[test]
fn bytes_come_out_as_they_went_in() {
    let mut q = ReceiveQueue::default();
    for word in ["out ", "as ", "they ", "", "went ", "in"] {
        q.push(Slice::copy_of(word.as_bytes()), usize::MAX);
        q.check();
    }
    let mut buf = [0; 6];
    assert_eq!(q.read(&mut buf), 6);
    assert_eq!(&buf, b"out as");
    assert_eq!(&*q.pop(100).unwrap(), b" ");
    assert_eq!(&*q.pop(2).unwrap(), b"th");
    let parts = q.pop_parts(6);
    assert_eq!(parts.iter().flat_map(|s| s.to_vec()).collect::<Vec<_>>(), b"ey wen");
    assert_eq!(q.len(), 4);
    q.check();
    assert_eq!(q.read(&mut [0; 100]), 4);
    assert_eq!((q.read(&mut buf), q.pop(9).is_none(), q.footprint()), (0, true, 0));
    q.check();
}

#[test]
fn tiny_segments_in_large_buffers_do_not_pin_memory() {
    let most = 64 * 1024;
    let mut q = ReceiveQueue::default();
    for i in 0..100_000u32 {
        q.push(frame(&[i as u8]), most);
    }
    assert_eq!(q.len(), 100_000);
    assert!(q.footprint() < most + 2 * q.len(), "{}", q.footprint());
    q.check();
    for i in 0..100_000u32 {
        let mut byte = [0];
        q.read(&mut byte);
        assert_eq!(byte[0], i as u8);
    }
}

#[test]
fn a_queue_that_was_long_and_is_empty_is_freed() {
    let mut q = ReceiveQueue::default();
    for _ in 0..100 {
        q.push(frame(b"x"), usize::MAX);
    }
    q.pop_parts(100);
    q.rest();
    assert_eq!(q.slices.capacity(), 0);
    // One lies beside the memory.
    for _ in 0..BUSY + 2 {
        q.push(frame(b"x"), usize::MAX);
    }
    q.pop_parts(BUSY + 2);
    assert_eq!(q.slices.capacity(), 0, "at once, if it was very long");
}

#[test]
fn memory_is_bounded_whatever_sizes_come() {
    let limit = 1 << 20;
    // The worst order: the smallest while there is room for waste, then such as
    // waste nearly half of their blocks.
    for sizes in [[1, 1025], [1, 1], [700, 1025], [1448, 1448], [1, 1900]] {
        let mut q = ReceiveQueue::default();
        while q.len() < limit {
            let size = if q.footprint() < 2 * limit { sizes[0] } else { sizes[1] };
            q.push(frame(&vec![7; size.min(limit - q.len())]), limit);
        }
        q.check();
        assert!(q.footprint() <= 2 * limit + 64 * 1024, "{sizes:?}: {}", q.footprint());
    }
}

#[test]
fn what_waits_can_be_looked_at() {
    let mut q = ReceiveQueue::new();
    assert!(q.is_empty());
    q.push(Slice::copy_of(b"ab"), 0);
    q.push(Slice::copy_of(b"cd"), usize::MAX);
    assert_eq!(q.iter().flat_map(|s| s.to_vec()).collect::<Vec<_>>(), b"abcd");
    assert_eq!(q.len(), 4);
    q.clear();
    assert_eq!((q.len(), q.footprint(), q.pop(1).is_none()), (0, 0, true));
}
