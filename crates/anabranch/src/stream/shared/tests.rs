use super::*;
use crate::SharedBytes;

/// However it was written and is cut: the bytes are the same, the sums right,
/// and each chunk but the last is full.
#[test]
fn what_is_written_is_cut_into_chunks() {
    let bytes: Vec<u8> = (0..100_000u32).map(|i| (i * 31 % 251) as u8).collect();
    for pieces in [&[100_000][..], &[1, 2, 3, 1447, 1449, 50_000, 47_098], &[7; 20], &[70_000]] {
        let mut rest = &bytes[..];
        let bufs: Vec<IoSlice<'_>> = pieces
            .iter()
            .map(|n| {
                let (piece, after) = rest.split_at(*n);
                rest = after;
                IoSlice::new(piece)
            })
            .collect();
        let len: usize = pieces.iter().sum();
        for (chunk, sum, n) in [(1448, true, len), (16384, false, len), (1, true, len.min(99))] {
            let limits = WriteLimits { room: n, chunk, sum };
            let chunks = chunks(&bufs, n, limits);
            let got: Vec<u8> = chunks.iter().flat_map(|(s, _)| s.to_vec()).collect();
            assert!(got == bytes[..n], "{pieces:?} {chunk}");
            for (i, (slice, known)) in chunks.iter().enumerate() {
                assert_eq!(*known, sum.then(|| checksum::sum(slice)));
                assert!(slice.len() == chunk || i + 1 == chunks.len());
            }
        }
    }
}

/// What is shared goes as it is, whole or in part, between copies of the rest: by devices that cut and
/// sum segments. For others all is copied.
#[test]
fn shared_bytes_are_not_copied() {
    let shared = SharedBytes::copy_of(&[9; 60_000]).expect("short enough");
    let (head, tail) = ([1; 300], [2; 4000]);
    let bufs: Vec<_> = [&head[..], &shared, &tail, &shared[20_000..50_000], &head, &shared[..10]]
        .map(IoSlice::new)
        .into();
    let all: Vec<u8> = bufs.iter().flat_map(|buf| buf.to_vec()).collect();
    let third = shared.footprint() / 3;
    for n in [all.len(), 1000, 300, 20_000, 50_000, 90_000, all.len() - 5] {
        for (chunk, sum) in [(16_384, false), (1448, false), (16_384, true)] {
            let chunks = chunks(&bufs, n, WriteLimits { room: n, chunk, sum });
            let got: Vec<u8> = chunks.iter().flat_map(|(slice, _)| slice.to_vec()).collect();
            assert!(got == all[..n], "{n} {chunk} {sum}");
            let inside = |slice: &&Slice| shared.as_ptr_range().contains(&slice.as_ptr());
            let slices = chunks.iter().map(|(slice, _)| slice);
            // No copy takes much more memory than it needs: what is shared does not go there.
            let spare = |slice: &Slice| slice.footprint() > 20 * slice.len().max(256);
            assert!(!chunks.iter().any(|(slice, _)| spare(slice)), "{n} {chunk} {sum}");
            let as_it_is: usize = slices.filter(inside).map(Slice::len).sum();
            let counts = |len: usize| if len < third { 0 } else { len };
            let both = counts(n.saturating_sub(300).min(60_000))
                + counts(n.saturating_sub(64_300).min(30_000));
            assert_eq!(as_it_is, if chunk > 8192 && !sum { both } else { 0 }, "{n} {chunk} {sum}");
        }
    }
}
