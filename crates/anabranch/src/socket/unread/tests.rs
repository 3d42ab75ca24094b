use super::*;
use proptest::prelude::*;

/// What a segment of `bytes` keeps where a block is a frame of MTU 1500.
fn segment(bytes: &[u8]) -> Slice {
    let mut slice = Slice::with_capacity(2000);
    slice.append(bytes);
    slice
}

fn bytes(parts: &Parts) -> Vec<u8> {
    parts.iter().flat_map(|part| part.to_vec()).collect()
}

/// 40,000 segments of one byte held 82 MB when each kept its block.
#[test]
fn segments_of_one_byte_hold_little() {
    let mut unread = Unread::default();
    let all: Vec<u8> = (0..40_000u32).map(|i| (i % 251) as u8).collect();
    for byte in &all {
        unread.push(segment(&[*byte]));
        assert!(unread.held <= 2 * unread.len() + SLACK + 2048, "{} held", unread.held);
    }
    assert_eq!(unread.len(), all.len());
    assert!(bytes(&unread.peek(usize::MAX)) == all);
    assert!(bytes(&unread.take(usize::MAX)) == all);
    assert_eq!((unread.len(), unread.held), (0, 0));
}

/// Few segments, or full ones, are never copied.
#[test]
fn what_is_worth_its_memory_stays_as_it_is() {
    let mut unread = Unread::default();
    for _ in 0..1000 {
        let slice = segment(&[7; 1448]);
        let at = slice.as_ptr();
        unread.push(slice);
        assert_eq!(unread.slices.back().map(|s| s.as_ptr()), Some(at));
    }
    let mut unread = Unread::default();
    for _ in 0..30 {
        unread.push(segment(b"short"));
    }
    assert_eq!(unread.slices.len(), 30);
    assert_eq!(unread.charge(), 150);
}

proptest! {
    /// Whatever comes and is read, in whatever order: the bytes are right, and what
    /// is held is bounded by the receive buffer.
    #[test]
    fn never_holds_much(steps in prop::collection::vec((any::<bool>(), 1usize..3000), 1..600)) {
        let receive_buffer = 100_000;
        let mut unread = Unread::default();
        let (mut came, mut left) = (0u32, 0u32);
        for (push, n) in steps {
            if push {
                // Every third is long; no more than the buffer.
                let n = if n % 3 == 0 { n.min(1448) } else { 1 + n % 40 };
                let window = receive_buffer - unread.len();
                let data: Vec<u8> = (came..).map(|i| (i % 251) as u8).take(n.min(window)).collect();
                came += data.len() as u32;
                if !data.is_empty() {
                    unread.push(segment(&data));
                }
            } else {
                let got = bytes(&unread.take(n));
                for byte in got {
                    prop_assert_eq!(byte, (left % 251) as u8);
                    left += 1;
                }
            }
            prop_assert_eq!(unread.len(), (came - left) as usize);
            let held: usize = unread.slices.iter().map(Slice::footprint).sum();
            prop_assert_eq!(unread.held, held);
            prop_assert!(held <= 2 * receive_buffer + SLACK);
            prop_assert!(unread.charge() <= receive_buffer + SLACK);
        }
    }
}
