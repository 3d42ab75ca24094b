//! Sleep locks: a mutex with its condition. They are the system's ([`platform`]), or
//! under `--cfg loom` the model checker's.

#[cfg(not(loom))]
pub(super) use platform::{Mutex, MutexGuard};

/// A condition that gives its guard back, as the standard library's and the
/// model checker's do.
#[cfg(not(loom))]
pub(super) struct Condvar(platform::Condvar);

#[cfg(not(loom))]
impl Condvar {
    pub(super) const fn new() -> Condvar {
        Condvar(platform::Condvar::new())
    }
    pub(super) fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(&mut guard);
        guard
    }
    pub(super) fn wait_for<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        self.0.wait_for(&mut guard, time);
        guard
    }
    pub(super) fn notify_one(&self) {
        self.0.notify_one();
    }
    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(loom)]
pub(super) use loom::sync::MutexGuard;

/// A lock that is never poisoned: a model with a panic has failed.
#[cfg(loom)]
pub(super) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(loom)]
impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("no panic")
    }
}

/// A condition.
#[cfg(loom)]
pub(super) struct Condvar(loom::sync::Condvar);

#[cfg(loom)]
impl Condvar {
    pub(super) fn new() -> Condvar {
        Condvar(loom::sync::Condvar::new())
    }
    pub(super) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).expect("no panic")
    }
    /// Time does not pass in a model.
    pub(super) fn wait_for<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        self.wait(guard)
    }
    pub(super) fn notify_one(&self) {
        self.0.notify_one();
    }
    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }
}
