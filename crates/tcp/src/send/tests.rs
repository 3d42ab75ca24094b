use super::*;
use buffer::sum;

const START: Seq = Seq(u32::MAX - 100);

fn queue(pushes: &[usize], chunk: usize) -> SendQueue {
    let mut q = SendQueue::new(START);
    for (i, n) in pushes.iter().enumerate() {
        q.push(&vec![i as u8; *n], chunk, START, true);
    }
    q.check(START);
    q
}

fn sizes(q: &SendQueue) -> Vec<usize> {
    q.chunks.iter().map(|c| c.slice.len()).collect()
}

#[test]
fn writes_that_wait_are_packed_into_whole_chunks() {
    assert_eq!(sizes(&queue(&[2500], 1000)), [1000, 1000, 500]);
    assert_eq!(sizes(&queue(&[100, 100, 2000], 1000)), [1000, 1000, 200]);
    assert_eq!(sizes(&queue(&[1; 50], 20)), [20, 20, 10]);
    assert_eq!(sizes(&queue(&[10, 0, 70_000], 65_536)), [65_536, 4474]);
}

#[test]
fn a_chunk_that_was_sent_is_left_alone() {
    let mut q = queue(&[100], 1000);
    q.push(&[9; 50], 1000, START + 100, true);
    assert_eq!(sizes(&q), [100, 50]);
    q.push(&[9; 50], 1000, START + 120, true);
    assert_eq!(sizes(&q), [100, 100]);
}

#[test]
fn a_chunk_that_the_device_holds_is_not_appended_to() {
    let mut q = queue(&[600], 1000);
    let (parts, _) = q.segment(START, 100, true);
    q.push(&[9; 500], 1000, START + 100, true);
    assert_eq!(sizes(&q), [600, 500]);
    assert_eq!(parts[0].len(), 100);
    q.check(START);
}

#[test]
fn any_range_can_be_sent_with_the_right_sum_or_none() {
    let mut q = queue(&[700, 300, 1, 777, 1500], 1000);
    q.push_chunk(Slice::copy_of(b"no sum"), None);
    let all: Vec<u8> = q.chunks.iter().flat_map(|c| c.slice.to_vec()).collect();
    for (at, len) in
        [(0, 1000), (0, 1), (500, 1000), (999, 2), (1000, 1000), (2000, 1278), (0, 3284)]
    {
        let (parts, known) = q.segment(START + at as u32, len, false);
        let bytes: Vec<u8> = parts.iter().flat_map(|s| s.to_vec()).collect();
        assert_eq!(bytes, all[at..at + len], "{at}+{len}");
        if let Some(known) = known {
            assert_eq!(known, sum::sum(&bytes), "{at}+{len}");
        }
    }
    assert!(q.segment(START, 1000, false).1.is_some(), "one whole chunk");
    assert!(q.segment(START, 2000, false).1.is_some(), "two whole chunks");
    assert!(q.segment(START + 1, 1000, false).1.is_none());
}

#[test]
fn acknowledged_chunks_go_and_the_cursor_stays_right() {
    let mut q = queue(&[5000], 1000);
    for i in 0..5 {
        q.segment(START + i * 1000, 1000, true);
    }
    q.acked(START + 999);
    assert_eq!(sizes(&q).len(), 5);
    q.acked(START + 3500);
    assert_eq!(sizes(&q), [1000, 1000]);
    q.check(START + 3500);
    q.push(&[1; 10], 1000, START + 5000, true);
    assert_eq!(q.segment(START + 5000, 10, true).0[0].len(), 10);
    q.acked(START + 5010);
    assert_eq!((q.footprint(), q.end), (0, START + 5010));
    assert!(q.segment(START + 5010, 10, true).0.is_empty());
}

#[test]
fn a_segment_is_gathered_from_a_bounded_number_of_parts() {
    let mut q = SendQueue::new(START);
    for _ in 0..100 {
        q.push_chunk(Slice::copy_of(b"z"), None);
    }
    assert_eq!(q.segment(START, 100, true).0.len(), MAX_PARTS);
}
