//! A control socket: others of the same owner look into the running stack by it.
//!
//! [`Builder::control`](crate::Builder::control) opens one with the stack; [`Control::open`]
//! opens one that lives as long as its value, with counts of the program's own. The other
//! side is `anabranch ss`, `anabranch top` and `anabranch capture`, or a [`Client`].
//!
//! The socket is in a directory that only its owner may enter, `$XDG_RUNTIME_DIR/anabranch`,
//! or `/run/anabranch` for root, or `anabranch-UID` among temporary files. The owner's
//! processes and root's may ask.
//!
//! ```
//! use anabranch::{Stack, control::{Client, Control}, device::memory};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (device, _peer) = memory::pair(memory::Config::default());
//! let stack = Stack::builder().device(device).address("10.0.0.1/24").observable().start()?;
//! let control = Control::open(&stack, &"docs".into())?;
//!
//! let connections = Client::connect(Some("docs"))?.connections()?;
//! assert_eq!(connections, r#"{"connections":[]}"#);
//! drop(control);
//! assert!(Client::connect(Some("docs")).is_err());
//! # Ok(())
//! # }
//! ```

mod captures;
mod client;
mod connections;
mod place;
mod rates;
mod server;
mod session;

pub use client::{CaptureCounts, CaptureRequest, Client, ConnectError, Stopper};
pub use server::Control;

use std::fmt;
use std::sync::Arc;

type Counts = dyn Fn() -> Vec<(String, u64)> + Send + Sync;

/// How a control socket is made.
#[derive(Clone)]
pub struct Config {
    name: String,
    counts: Option<Arc<Counts>>,
}

impl Config {
    /// A socket of this name, by which it is told from those of other stacks: 1 to 64
    /// letters, digits, `-`, `_` and `.`.
    pub fn new(name: impl Into<String>) -> Config {
        Config { name: name.into(), counts: None }
    }

    /// With counts of the program, which only grow, by their names: `anabranch top` shows
    /// their rates.
    #[must_use]
    pub fn with_counts(
        mut self,
        counts: impl Fn() -> Vec<(String, u64)> + Send + Sync + 'static,
    ) -> Config {
        self.counts = Some(Arc::new(counts));
        self
    }
}

impl From<&str> for Config {
    fn from(name: &str) -> Config {
        Config::new(name)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("name", &self.name).finish_non_exhaustive()
    }
}
