//! Sorting a batch by unit, for organizations that visit each unit once a batch.

use crate::simulator::world::Item;
use std::ops::Range;

/// In the table of places: the unit has no packet in the batch.
pub(super) const NO_PLACE: u32 = u32::MAX;

/// Sorts a batch by unit, in the order in which the units' first packets came, and
/// passes each unit's packets to `each`. `places` has an entry for each unit, which
/// is [`NO_PLACE`] before and after.
pub(super) fn by_unit(
    batch: &mut [Item],
    places: &mut [u32],
    unit: impl Fn(&Item) -> usize,
    mut each: impl FnMut(usize, Range<usize>),
) {
    let mut units = 0;
    for item in batch.iter() {
        let place = &mut places[unit(item)];
        if *place == NO_PLACE {
            *place = units;
            units += 1;
        }
    }
    batch.sort_by_key(|item| places[unit(item)]);
    let mut from = 0;
    for packets in batch.chunk_by(|a, b| unit(a) == unit(b)) {
        let of = unit(&packets[0]);
        places[of] = NO_PLACE;
        each(of, from..from + packets.len());
        from += packets.len();
    }
}
