//! Asking the memory for a value before it is needed.

use std::ops::Range;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Has `value` brought near, all lines of it, without waiting for them: into the second-level cache,
/// which was faster than into the first where many lines come from memory (docs/measurements.md,
/// *Many connections*). It is not read, so another thread may write to what is in it at the same time.
#[inline]
pub fn prefetch<T>(value: &T) {
    prefetch_part(value, 0..size_of::<T>());
}

/// As [`prefetch`], of these bytes of `value`, as far as it has them.
#[inline]
pub fn prefetch_part<T>(value: &T, part: Range<usize>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let ask = |place: usize| {
            let at = std::ptr::from_ref(value).cast::<i8>().wrapping_add(place);
            // SAFETY: a prefetch is a hint: it reads nothing that a program could see,
            // and never faults, whatever the address.
            unsafe { _mm_prefetch(at, _MM_HINT_T1) };
        };
        let part = part.start..size_of::<T>().min(part.end);
        part.clone().step_by(LINE).for_each(ask);
        // What does not begin with a line may end in one more, if it is not within its own alignment.
        if part.end > align_of::<T>().min(LINE) && (align_of::<T>() < LINE || part.start > 0) {
            ask(part.end - 1);
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (value, part);
}
