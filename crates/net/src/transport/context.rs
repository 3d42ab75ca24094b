//! What goes with a packet, a call or a turn through the transport layer.

use crate::Counters;
use crate::application::Application;
use crate::connections::Connections;
use wire::Instant;

/// The connections, the application, the counters and the time.
pub struct Cx<'a, A: Application, C: Connections<A::Connection>> {
    /// The connections of the unit.
    pub conns: &'a mut C,
    /// What runs on top of them.
    pub app: &'a mut A,
    /// Where packets and connections are counted.
    pub counters: &'a mut Counters,
    /// The time.
    pub now: Instant,
}

opaque_debug!([A: Application, C: Connections<A::Connection>] Cx<'_, A, C>, "Cx");
