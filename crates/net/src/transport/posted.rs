//! Posted receive: the data of a segment goes to where its application waits for it, and
//! is verified as it is copied there. So bytes are read once and written once on their way
//! from the device's buffer, and no queue sees them.

use super::Transport;
use super::coalesce::{self, GroBatch};
use super::context::Cx;
use crate::application::Application;
use crate::connections::{Connection, Connections};
use crate::express::Plain;

impl<A: Application> Transport<A> {
    /// Hands the `payload` of a plain segment, whose checksum has not been verified, to the
    /// application of its connection, if that waits for it ([`Application::posted`]).
    /// Returns whether it did; if not, nothing has happened to the connection.
    #[inline]
    pub(crate) fn post<C: Connections<A::Connection>>(
        &mut self,
        plain: &Plain,
        payload: &[u8],
        cx: &mut Cx<'_, A, C>,
    ) -> bool {
        let (segment, len) = (&plain.segment, payload.len());
        if len < coalesce::WORTH {
            return false;
        }
        let known = match &self.batch {
            // Data waits before it.
            Some(batch) if batch.has(&segment.flow) && batch.waits() => return false,
            Some(batch) if batch.has(&segment.flow) => Some(batch.id()),
            Some(_) => {
                self.end_batch(cx);
                None
            }
            None => None,
        };
        let (ready, app, now) = (&mut self.ready, &mut *cx.app, cx.now);
        let put = |connection: &mut Connection<A::Connection>| {
            let Connection { tcb, user, .. } = connection;
            let fill = &mut |place: &mut [u8]| plain.copy(payload, place);
            if !tcb.takes_at_once(&segment.header, len, segment.ecn) || !app.posted(user, len, fill)
            {
                return None;
            }
            tcb.input_taken(&segment.header, len, segment.segment, now);
            ready.schedule(connection);
            Some(connection.id)
        };
        let put = match known {
            Some(id) => cx.conns.with_id(id, put),
            None => cx.conns.with_flow(&segment.flow, put),
        };
        let Some(Some(id)) = put else { return false };
        cx.counters.delivered += 1;
        if known.is_none() {
            self.batch = Some(GroBatch::new(segment.flow, id, &segment.header));
        }
        true
    }
}
