//! [`Options`]: what a socket was told.

use crate::errno::Answer;
use anabranch::TcpStream;
use std::time::Duration;

/// What a socket was told, also before there was a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) nodelay: bool,
    pub(crate) reuse: bool,
    /// How long closing waits, seconds; as Linux has it.
    pub(crate) linger: Option<u32>,
    /// Bytes, as Linux has it: twice what was asked for.
    pub(crate) send_buffer: Option<u32>,
    pub(crate) keepalive: bool,
    /// Seconds, as Linux has it.
    pub(crate) keepalive_idle: Option<u32>,
}

/// Linux's `tcp_keepalive_time`, seconds.
pub(crate) const KEEPALIVE_IDLE: u32 = 7200;

impl Options {
    /// Tells a connection.
    pub(crate) fn apply(&self, stream: &TcpStream) -> Answer<()> {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        stream.set_nodelay(self.nodelay)?;
        stream.set_linger(self.linger.map(seconds))?;
        if let Some(bytes) = self.send_buffer {
            stream.set_send_buffer_size(bytes as usize)?;
        }
        let idle = self.keepalive_idle.unwrap_or(KEEPALIVE_IDLE);
        stream.set_keepalive(self.keepalive.then(|| seconds(idle)))?;
        Ok(())
    }
}
