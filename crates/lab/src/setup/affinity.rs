//! [`Confined`]: the calling thread, and those that it starts, on as many
//! processors as are asked for. An organization of a thousand threads on "two
//! processors" has two so, and no more.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// While it lives, the thread that made it runs on the first processors only of
/// those that it may run on, and so do the threads that it starts, which stay
/// there afterwards.
#[derive(Debug)]
pub struct Confined {
    before: CpuSet,
}

impl Confined {
    /// To the first `processors` of those that the calling thread may run on, or
    /// to all of them if they are fewer.
    ///
    /// # Errors
    /// What the system says that does not let it.
    pub fn to(processors: usize) -> std::io::Result<Confined> {
        let before = sched_getaffinity(None)?;
        let mut set = CpuSet::new();
        allowed(&before).take(processors.max(1)).for_each(|processor| set.set(processor));
        sched_setaffinity(None, &set)?;
        Ok(Confined { before })
    }
}

impl Drop for Confined {
    fn drop(&mut self) {
        // It was allowed before; if it is no more, there is nothing to mend.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The processors of a set.
fn allowed(set: &CpuSet) -> impl Iterator<Item = usize> {
    (0..CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor))
}

/// The processors that the calling thread may run on, by number; none if the system does
/// not say.
pub fn allowed_processors() -> Vec<usize> {
    sched_getaffinity(None).map_or(Vec::new(), |set| allowed(&set).collect())
}

/// How many processors the calling thread may run on; 1 if the system does not
/// say.
pub fn processors() -> usize {
    sched_getaffinity(None).map_or(1, |set| allowed(&set).count().max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_started_meanwhile_are_confined_and_the_thread_is_free_again() {
        let before = processors();
        let confined = Confined::to(1).expect("fewer processors");
        assert_eq!(processors(), 1);
        let inside = std::thread::spawn(processors).join().expect("no panic");
        assert_eq!(inside, 1);
        drop(confined);
        assert_eq!(processors(), before);
        let all = Confined::to(usize::MAX).expect("no fewer");
        assert_eq!(processors(), before);
        drop(all);
    }
}
