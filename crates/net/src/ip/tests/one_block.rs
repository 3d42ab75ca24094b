//! Fragments as they come from a stack in the same process: all of them are parts of one block.

use super::*;
use wire::{Packet, Parts, Slice};

/// Before, each was reckoned with the whole block, so that large datagrams in small fragments never came.
#[test]
fn fragments_that_share_a_block_hold_what_they_carry() {
    const MOST: usize = 512 << 10;
    let mut host = Host::new(|config| config.reassembly_bytes = MOST);
    host.call(Call::BindUdp(end(US, 53), ()));
    let (data, frames) = fragments(60_000, 552, 1);
    let bytes = frames.concat();
    let block = Slice::copy_of(&bytes);
    assert_eq!(block.len(), bytes.len(), "one block has them all");
    let mut at = 0;
    for frame in &frames {
        let part = block.range(at, frame.len());
        at += frame.len();
        host.take_packet(Packet::from_parts(Parts::from_iter([part])));
        assert!(host.domain.ip_bytes() <= MOST);
    }
    assert_eq!(received(&mut host), data);
    assert_eq!(host.domain.ip_bytes(), 0);
}
