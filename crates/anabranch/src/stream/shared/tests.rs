use super::*;

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
