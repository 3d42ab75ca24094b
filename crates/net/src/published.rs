//! [`Published`]: the host's present configuration, for all its units.

use platform::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Where a host's present configuration is found. A configuration is never changed: another
/// takes its place as a whole. Units compare one number at the edge of a batch, and take the
/// lock only when it has changed.
///
/// It is held weakly, since each configuration refers to this: whoever publishes one keeps
/// it for as long as it is to be found.
#[derive(Debug)]
pub struct Published<C> {
    generation: AtomicU64,
    config: Mutex<Weak<C>>,
}

impl<C> Default for Published<C> {
    fn default() -> Self {
        Published { generation: AtomicU64::new(0), config: Mutex::new(Weak::new()) }
    }
}

impl<C> Published<C> {
    /// From now on this is the configuration. Interfaces have to be the same, but for their
    /// addresses; nothing else may differ but routes.
    pub fn publish(&self, config: &Arc<C>) {
        *self.config.lock() = Arc::downgrade(config);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// The present configuration, if another than the first was published.
    pub fn current(&self) -> Option<Arc<C>> {
        self.config.lock().upgrade()
    }
}

/// What one reader has seen of a host's configuration.
#[derive(Debug)]
pub struct Seen<C> {
    published: Arc<Published<C>>,
    generation: u64,
}

impl<C> Seen<C> {
    /// A reader that has the first one. It has not looked for another yet.
    pub fn new(published: &Arc<Published<C>>) -> Self {
        Seen { published: published.clone(), generation: 0 }
    }

    /// Another configuration, if there is one since the last time.
    #[inline]
    pub fn newer(&mut self) -> Option<Arc<C>> {
        if self.published.generation.load(Ordering::Acquire) == self.generation {
            return None;
        }
        self.take()
    }

    #[cold]
    fn take(&mut self) -> Option<Arc<C>> {
        // Before the configuration: if that changes in between, it is taken once more.
        self.generation = self.published.generation.load(Ordering::Acquire);
        self.published.current()
    }
}

#[cfg(test)]
mod tests;
