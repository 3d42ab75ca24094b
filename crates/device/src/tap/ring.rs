//! Reads and writes of many packets by one call: io_uring.
//!
//! A call ends when all that it has asked for is done. The kernel does not wait for packets or
//! room either (RWF_NOWAIT), so it holds no memory and no packet of ours between calls. A queue
//! that is dropped has nothing in flight; each call may come from another thread; and the queue is
//! waited for by its own descriptor, as without a ring.

use io_uring::{IoUring, opcode, squeue, types};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Packets that one call reads or writes at most.
pub(super) const MOST: usize = 32;

/// May this process use io_uring? The TAP and TUN devices of a kernel before 5.12 may not even so.
///
/// # Errors
/// The kernel's answer: it is not built in (ENOSYS), or not permitted (EPERM).
pub fn permitted() -> io::Result<()> {
    IoUring::new(2).map(|_| ())
}

/// A ring for one half of a queue.
pub(super) struct Ring {
    ring: IoUring,
    /// What came of each packet of the last call, as of read(2), or an error's number below 0.
    results: [i32; MOST],
    broken: bool,
}

impl Ring {
    /// Of this queue.
    ///
    /// # Errors
    /// The kernel does not permit rings, or cannot read such a queue without waiting.
    pub(super) fn of(queue: BorrowedFd<'_>) -> io::Result<Ring> {
        let ring = IoUring::new(MOST as u32)?;
        ring.submitter().register_files(&[queue.as_raw_fd()])?;
        let mut ring = Ring { ring, results: [0; MOST], broken: false };
        // No packet is as short as this one.
        match ring.write(&[IoSlice::new(&[])], &[1]) {
            [code] if -code == libc::EOPNOTSUPP => Err(io::Error::from_raw_os_error(-code)),
            _ => Ok(ring),
        }
    }

    /// It has failed, and is of no more use: what it was asked for and did not do counts as
    /// if nothing had come, or there had been no room.
    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Reads a packet into each part of `slices`; the parts end at `ends`. At most [`MOST`].
    pub(super) fn read(&mut self, slices: &mut [IoSliceMut<'_>], ends: &[usize]) -> &[i32] {
        let first = slices.as_mut_ptr().cast::<libc::iovec>();
        // SAFETY: `slices` are iovecs, as IoSliceMut promises, and stay borrowed, and their
        // memory with them, until all is done.
        unsafe {
            self.all(ends, slices.len(), |from, len| {
                opcode::Readv::new(types::Fixed(0), first.add(from), len)
                    .rw_flags(libc::RWF_NOWAIT)
                    .build()
            })
        }
    }

    /// Writes each part of `slices` as a packet; the parts end at `ends`. At most [`MOST`].
    pub(super) fn write(&mut self, slices: &[IoSlice<'_>], ends: &[usize]) -> &[i32] {
        let first = slices.as_ptr().cast::<libc::iovec>();
        // SAFETY: as above, and the kernel only reads.
        unsafe {
            self.all(ends, slices.len(), |from, len| {
                opcode::Writev::new(types::Fixed(0), first.add(from), len)
                    .rw_flags(libc::RWF_NOWAIT)
                    .build()
            })
        }
    }

    /// Has all parts of `slices` slices, which end at `ends`, read or written, and waits for that.
    ///
    /// # Safety
    /// What `entry` makes of a part's first slice and their number may be done until this returns.
    unsafe fn all(
        &mut self,
        ends: &[usize],
        slices: usize,
        entry: impl Fn(usize, u32) -> squeue::Entry,
    ) -> &[i32] {
        let count = ends.len().min(MOST);
        self.results[..count].fill(-libc::EAGAIN);
        if self.broken {
            return &self.results[..count];
        }
        let mut from = 0;
        let mut queue = self.ring.submission();
        for (index, &end) in ends[..count].iter().enumerate() {
            assert!(from <= end && end <= slices, "parts follow each other");
            let entry = entry(from, (end - from) as u32).user_data(index as u64);
            // SAFETY: what the caller promises. A ring that is left with entries is broken, and
            // then the kernel never sees them.
            let pushed = unsafe { queue.push(&entry) };
            pushed.expect("as many entries as there can be packets");
            from = end;
        }
        drop(queue);
        self.finish(count);
        &self.results[..count]
    }

    /// Has the `count` entries done.
    fn finish(&mut self, count: usize) {
        let mut done = 0;
        while done < count {
            let result = self.ring.submit_and_wait(count - done);
            for entry in self.ring.completion() {
                self.results[entry.user_data() as usize] = entry.result();
                done += 1;
            }
            if result.is_err_and(|error| error.kind() != io::ErrorKind::Interrupted) {
                let untouched = self.ring.submission().len();
                if done + untouched == count {
                    // The kernel takes no more; what it took is done.
                    self.broken = untouched > 0;
                    return;
                }
                std::thread::yield_now();
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The kernel takes rings apart in its own time, and an interface that we made stays for as
        // long as it has a queue.
        let _ = self.ring.submitter().unregister_files();
    }
}

#[cfg(test)]
mod tests;
