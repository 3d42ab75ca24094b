//! ⑤ The presentation layer's thread: does what the application has gathered
//! while it held its connections ([`Application::Wakes`]), outside of them.

use super::{BATCH, PipelineCtx};
use instrument::{Layer, ThreadTimer};
use net::{Application, Counters};
use wire::Instant;

/// Runs until the transport has ended.
pub(super) fn run<A: Application>(ctx: &PipelineCtx<A>, timer: &mut ThreadTimer) -> Counters {
    let pipeline = ctx.pipeline();
    let queue = &pipeline.to_presentation;
    let mut batch = Vec::new();
    loop {
        // In this order: what came before the end is taken after it was seen.
        let ended = queue.is_finished();
        timer.begin();
        if queue.take(&mut batch, BATCH).0 > 0 {
            timer.mark(Layer::Receive);
            batch.drain(..).for_each(A::wake);
            timer.mark(Layer::Presentation);
            timer.end();
            continue;
        }
        if ended {
            return Counters::default();
        }
        let ready = || (!queue.is_empty() || queue.is_finished(), None);
        timer.mark(Layer::Poll);
        pipeline.presentation.sleep(ready, |at: Instant| at.since(ctx.clock.now()));
        timer.slept();
    }
}
