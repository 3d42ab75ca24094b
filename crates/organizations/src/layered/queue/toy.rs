//! Two layers in miniature, each with a thread: all that can wait for each other
//! in a pipeline.

use super::{Alarm, Bell, Marks, Queue};
use instrument::{QueueWatch, TraceStamp};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Toy {
    messages: usize,
    up: Queue<usize>,
    down: Queue<usize>,
    below: Arc<Bell>,
    above: Arc<Bell>,
}

/// No deadline.
fn never(_: ()) -> Duration {
    Duration::MAX
}

impl Toy {
    pub(super) fn new(marks: Marks, messages: usize) -> Toy {
        let (below, above) = (Arc::new(Bell::new()), Arc::new(Bell::new()));
        let up = Queue::new(marks, above.clone(), None, QueueWatch::default());
        let producer = above.clone() as Arc<dyn Alarm>;
        let down = Queue::new(marks, below.clone(), Some(producer), QueueWatch::default());
        Toy { messages, up, down, below, above }
    }

    /// Sends all messages up, and takes what comes down, until all have come.
    pub(super) fn below(&self) {
        let (mut sent, mut came) = (0, Vec::new());
        while came.len() < self.messages {
            let taken = self.down.take(&mut came, 1).0;
            if sent < self.messages {
                let mut batch = VecDeque::from([sent]);
                self.up.put_all(&mut batch, TraceStamp::NONE);
                assert!(batch.is_empty());
                sent += 1;
            } else if taken == 0 {
                self.below.sleep(|| (!self.down.is_empty(), None), never);
            }
        }
        assert!(came.into_iter().eq(0..self.messages));
    }

    /// Takes what comes up, and sends it down as far as there is room.
    pub(super) fn above(&self) {
        let (mut owed, mut said) = (Vec::new(), 0);
        while said < self.messages {
            let taken = self.up.take(&mut owed, 1).0;
            let room = if owed.is_empty() { 0 } else { self.down.credit() };
            let mut batch: VecDeque<usize> = owed.drain(..room.min(owed.len())).collect();
            let can = batch.len();
            assert_eq!(self.down.offer(&mut batch, TraceStamp::NONE), 0);
            assert!(batch.is_empty(), "there was credit");
            said += can;
            if taken == 0 && can == 0 {
                let ready = || !self.up.is_empty() || (!owed.is_empty() && self.down.credit() > 0);
                self.above.sleep(|| (ready(), None), never);
            }
        }
        self.down.finish();
    }
}
