//! What a stack that is [observable](crate::Builder::observable) lets others see, and who
//! sees it without keeping the stack alive.

use crate::TcpInfo;
use crate::closing::is_waking;
use crate::organization::Organization;
use crate::socket::{RawShared, Registry, SocketLayer, TcpShared};
use crate::tasks;
use crate::wait::block_on;
use ::device::capture::{Capture, Hub, Options};
use net::Counters;
use organizations::{Instruments, Running};
use platform::{Instant, thread};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// A connection of a stack ([`Stack::connections`](crate::Stack::connections)).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Connection {
    /// Our end.
    pub local: SocketAddr,
    /// The peer's end.
    pub remote: SocketAddr,
    /// What TCP knows of it.
    pub info: TcpInfo,
}

/// A stack, as those see it that only look.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) running: Arc<dyn Running<SocketLayer>>,
    pub(crate) sockets: Arc<Registry<TcpShared>>,
    pub(crate) raw: Arc<RawShared>,
    pub(crate) organization: Organization,
    #[cfg_attr(not(feature = "control"), expect(dead_code, reason = "for control sockets"))]
    pub(crate) processors: usize,
    pub(crate) instruments: Option<Arc<Instruments>>,
    pub(crate) captures: Option<Arc<Hub>>,
}

impl View {
    /// Ends the stack. One of its own threads does not do so itself, since it is waited for.
    pub(crate) fn end(&self) {
        if is_waking() || tasks::are_here() {
            let running = self.running.clone();
            let stop = move || running.stop();
            if thread::Builder::new().name("ana-stop".into()).spawn(stop).is_ok() {
                return;
            }
        }
        self.running.stop();
    }

    pub(crate) fn counters(&self) -> Counters {
        self.running.counters()
    }

    pub(crate) fn connections(&self, timeout: Duration) -> Vec<Connection> {
        let deadline = crate::wait::after(timeout);
        let sockets = self.sockets.all();
        for id in sockets.iter().filter_map(|socket| socket.ask_info()) {
            self.running.notify(id);
        }
        let answer = |socket: Arc<TcpShared>| {
            let left = deadline.saturating_duration_since(Instant::now());
            let info = block_on(Some(left), |cx| socket.poll_info(cx)).ok()?;
            let flow = socket.live_flow()?;
            Some(Connection { local: flow.local.into(), remote: flow.remote.into(), info })
        };
        sockets.into_iter().filter_map(answer).collect()
    }

    /// How many connections there are, without asking them: a busy stack takes its time to answer. Handshakes that
    /// peers have begun and not ended do not count.
    pub(crate) fn connection_count(&self) -> usize {
        self.sockets.all().iter().filter(|socket| socket.is_taken()).count()
    }

    pub(crate) fn capture(&self, options: Options) -> io::Result<Capture> {
        let Some(hub) = &self.captures else {
            let text = "the stack is not observable: start it by Builder::observable";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        };
        Ok(hub.attach(options))
    }
}
