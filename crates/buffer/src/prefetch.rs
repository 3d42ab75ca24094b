//! Asking the memory for a value before it is needed.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Has `value` brought near, all lines of it, without waiting for them. It is not
/// read, so another thread may write to what is in it at the same time.
#[inline]
pub fn prefetch<T>(value: &T) {
    prefetch_first(value, size_of::<T>());
}

/// As [`prefetch`], of the first `bytes` of `value`, as far as it has them.
#[inline]
pub fn prefetch_first<T>(value: &T, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let ask = |place: usize| {
            let at = std::ptr::from_ref(value).cast::<i8>().wrapping_add(place);
            // SAFETY: a prefetch is a hint: it reads nothing that a program could see,
            // and never faults, whatever the address.
            unsafe { _mm_prefetch(at, _MM_HINT_T0) };
        };
        let bytes = size_of::<T>().min(bytes);
        (0..bytes).step_by(LINE).for_each(ask);
        // What does not begin with a line may end in one more.
        if bytes > 1 && align_of::<T>() < LINE {
            ask(bytes - 1);
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (value, bytes);
}
