//! [`Line`]: whose the frames are that wait for an interface.

use super::Share;
use net::egress::is_of_connection;
use std::collections::VecDeque;
use std::sync::Arc;
use wire::Packet;

/// Frames of one share and kind, one behind the other.
struct Run {
    share: Arc<Share>,
    of_connection: bool,
    frames: usize,
}

/// [`Line::leave`] or [`Line::drop_last`].
pub(super) type Take = fn(&mut Line, usize, usize, &mut Vec<Arc<Share>>);

/// Whose the frames are that wait for an interface, in their order.
#[derive(Default)]
pub(super) struct Line {
    runs: VecDeque<Run>,
    frames: usize,
    /// Shares that have some among them.
    active: usize,
}

impl Line {
    /// Frames that wait.
    pub(super) fn len(&self) -> usize {
        self.frames
    }

    /// Shares that have some among them.
    pub(super) fn active(&self) -> usize {
        self.active
    }

    /// `frames` of `share` wait behind all others.
    pub(super) fn add(&mut self, share: &Arc<Share>, interface: usize, frames: &VecDeque<Packet>) {
        for frame in frames {
            let of_connection = is_of_connection(frame);
            self.frames += 1;
            if share.change(interface, of_connection, 1) == 1 {
                self.active += 1;
            }
            match self.runs.back_mut() {
                Some(run)
                    if run.of_connection == of_connection && Arc::ptr_eq(&run.share, share) =>
                {
                    run.frames += 1;
                }
                _ => self.runs.push_back(Run { share: share.clone(), of_connection, frames: 1 }),
            }
        }
    }

    /// The first `count` have left. Adds the shares that had some of them to `touched`.
    pub(super) fn leave(&mut self, interface: usize, count: usize, touched: &mut Vec<Arc<Share>>) {
        self.take(interface, count, touched, VecDeque::front_mut, VecDeque::pop_front);
    }

    /// As [`Line::leave`] of the last ones.
    pub(super) fn drop_last(
        &mut self,
        interface: usize,
        count: usize,
        touched: &mut Vec<Arc<Share>>,
    ) {
        self.take(interface, count, touched, VecDeque::back_mut, VecDeque::pop_back);
    }

    fn take(
        &mut self,
        interface: usize,
        mut count: usize,
        touched: &mut Vec<Arc<Share>>,
        end: fn(&mut VecDeque<Run>) -> Option<&mut Run>,
        pop: fn(&mut VecDeque<Run>) -> Option<Run>,
    ) {
        self.frames -= count;
        while count > 0
            && let Some(run) = end(&mut self.runs)
        {
            let gone = run.frames.min(count);
            count -= gone;
            run.frames -= gone;
            if run.share.change(interface, run.of_connection, -(gone as isize)) == 0 {
                self.active -= 1;
            }
            touched.push(run.share.clone());
            if run.frames == 0 {
                pop(&mut self.runs);
            }
        }
    }
}
