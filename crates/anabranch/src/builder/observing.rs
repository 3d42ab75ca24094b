//! What a builder is told of those who look into the running stack.

use super::Builder;
use crate::host::{Events, watched};
use ::device::Device;
use ::device::capture::Hub;
use std::sync::Arc;

/// The devices, so that they can be captured, if there is a hub.
pub(super) fn wrap(hub: Option<&Arc<Hub>>, devices: Vec<Device>) -> Vec<Device> {
    match hub {
        Some(hub) => devices.into_iter().map(|device| hub.wrap(device)).collect(),
        None => devices,
    }
}

/// Opens the control socket that goes with the stack.
#[cfg(feature = "control")]
pub(super) fn open(stack: &crate::Stack, name: String) -> Result<(), crate::Error> {
    let control = crate::control::Control::open(stack, &name.as_str().into());
    stack.keep(control.map_err(|error| crate::Error::Control { name, error })?);
    Ok(())
}

impl Builder {
    /// Lets others look into the running stack: it can be captured ([`Stack::capture`](crate::Stack::capture)) and
    /// has instruments ([`Stack::instruments`](crate::Stack::instruments)), which sleep unless they were
    /// [given](Builder::instruments). Default: no. It costs a load or two for each batch of
    /// packets, each round of a thread and each use of a lock.
    pub fn observable(mut self) -> Builder {
        self.observable = true;
        self
    }

    /// Watches the host from its start on: what comes before the first call of
    /// [`Host::watch`](crate::host::Host::watch) could be made, the first word of a router or the end of a device, is
    /// among the events, too.
    ///
    /// ```
    /// use anabranch::{Stack, device::memory};
    ///
    /// # fn main() -> Result<(), anabranch::Error> {
    /// let (device, _peer) = memory::pair(memory::Config::default());
    /// let (builder, events) = Stack::builder().device(device).slaac().watched();
    /// let stack = builder.start()?;
    /// # drop((stack, events));
    /// # Ok(())
    /// # }
    /// ```
    pub fn watched(mut self) -> (Builder, Events) {
        let (teller, events) = watched();
        self.watching.push(teller);
        (self, events)
    }

    /// Opens a [control socket](crate::control) of this name with the stack, which is
    /// [observable](Builder::observable) then. The socket goes with the stack.
    #[cfg(feature = "control")]
    pub fn control(mut self, name: impl Into<String>) -> Builder {
        self.control = Some(name.into());
        self.observable()
    }
}
