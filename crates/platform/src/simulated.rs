//! A system whose threads are shuttle's, whose time is counted and not measured,
//! and whose chance is the schedule's.

mod chance;
mod locks;
mod queues;
mod schedules;
pub mod thread;
mod time;
mod token;

pub use chance::RandomState;
pub use locks::{Condvar, Mutex, MutexGuard, RwLock};
pub use queues::{ArrayQueue, SegQueue};
pub use schedules::{check, replay};
pub use shuttle::sync::{atomic, mpsc};
pub use shuttle::thread_local;
pub use time::{Instant, signalled, sleep_at};
