//! Observers of the layers: they learn how long a packet is in each.
//!
//! A layer says when it has done its part ([`Observer::mark`]); the time since the last
//! mark was its own. With `()`, which observes nothing, marks are no code at all.

/// The layers that mark the end of their part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// ② ⑧ Ethernet and ARP, both ways.
    Link,
    /// ③ ⑦ IP, ICMP and reassembly, both ways.
    Ip,
    /// ④ ⑥ TCP and UDP, both ways, with timers and turns.
    Transport,
    /// ⑤ What the application does while it has the connection.
    Application,
}

/// Is told how far a packet has come.
pub trait Observer {
    /// What was done since the last mark was done in `layer`.
    fn mark(&mut self, layer: Layer);
}

/// Observes nothing.
impl Observer for () {
    #[inline(always)]
    fn mark(&mut self, _: Layer) {}
}

impl<O: Observer> Observer for &mut O {
    #[inline(always)]
    fn mark(&mut self, layer: Layer) {
        (**self).mark(layer);
    }
}
