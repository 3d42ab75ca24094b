//! Locks, with the signatures of `parking_lot`'s. They are not poisoned: an
//! execution in which a thread panics has failed.

use super::time::{self, Instant};
use shuttle::sync;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// A mutual exclusion.
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

/// A mutex that is held.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    /// `None`: let go of for a while.
    held: Option<sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    /// Round `value`.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }

    /// Waits for it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { mutex: self, held: Some(held) }
    }

    /// Takes it if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok().map(|held| MutexGuard { mutex: self, held: Some(held) })
    }

    /// What is in it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was in it.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.held.as_ref().expect("held while it can be reached")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect("held while it can be reached")
    }
}

/// Who waits at a condition: whether it was notified, and what wakes it.
#[derive(Debug, Default)]
struct Waiter(std::sync::Mutex<(bool, Option<Waker>)>);

impl Waiter {
    fn with<R>(&self, f: impl FnOnce(&mut (bool, Option<Waker>)) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn notify(&self) {
        let waker = self.with(|(notified, waker)| {
            *notified = true;
            waker.take()
        });
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A condition, without wake-ups for no reason.
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Mutex<VecDeque<Arc<Waiter>>>);

impl Condvar {
    /// That nobody waits at.
    pub const fn new() -> Condvar {
        Condvar(std::sync::Mutex::new(VecDeque::new()))
    }

    fn with<R>(&self, f: impl FnOnce(&mut VecDeque<Arc<Waiter>>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets go of the mutex until notified.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        self.wait_until(guard, None);
    }

    /// Lets go of the mutex until notified, or for `timeout`.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) {
        self.wait_until(guard, Some(Instant::now() + timeout));
    }

    fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Option<Instant>) {
        let waiter = Arc::new(Waiter::default());
        self.with(|waiters| waiters.push_back(waiter.clone()));
        guard.held = None;
        time::sleep_until(deadline, |waker| {
            waiter.with(|(notified, wakes)| {
                *wakes = Some(waker.clone());
                *notified
            })
        });
        self.with(|waiters| waiters.retain(|other| !Arc::ptr_eq(other, &waiter)));
        guard.held = guard.mutex.lock().held;
    }

    /// Wakes who has waited longest.
    pub fn notify_one(&self) {
        time::switch();
        let first = self.with(VecDeque::pop_front);
        first.iter().for_each(|waiter| waiter.notify());
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        time::switch();
        let all = self.with(std::mem::take);
        all.iter().for_each(|waiter| waiter.notify());
    }
}

/// A readers/writer lock.
#[derive(Debug, Default)]
pub struct RwLock<T>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Round `value`.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock(sync::RwLock::new(value))
    }

    /// Waits until nobody writes.
    pub fn read(&self) -> sync::RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits to be alone.
    pub fn write(&self) -> sync::RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
