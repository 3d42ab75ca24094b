//! [`Layer`]: what a thread's time goes to.

/// What a thread that carries packets spends its time in: the layers of the stack, and
/// what an organization does round them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Looking at devices and queues and finding nothing.
    Poll,
    /// ① Taking frames from devices.
    Receive,
    /// Finding the unit that a packet belongs to, and handing it there.
    Handoff,
    /// Waiting for the locks that packets are processed under.
    Lock,
    /// ② ⑧ Ethernet and ARP, both ways.
    Link,
    /// ③ ⑦ IP, ICMP and reassembly, both ways.
    Ip,
    /// ④ ⑥ TCP and UDP, both ways, with timers and turns.
    Transport,
    /// ⑤ What the application does while it has the connection.
    Application,
    /// What the application does outside: wake-ups, presentation.
    Presentation,
    /// ⑨ Handing frames to devices.
    Transmit,
}

impl Layer {
    /// All layers.
    pub const ALL: [Layer; 10] = [
        Layer::Poll,
        Layer::Receive,
        Layer::Handoff,
        Layer::Lock,
        Layer::Link,
        Layer::Ip,
        Layer::Transport,
        Layer::Application,
        Layer::Presentation,
        Layer::Transmit,
    ];

    /// Its name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Layer::Poll => "poll",
            Layer::Receive => "receive",
            Layer::Handoff => "handoff",
            Layer::Lock => "lock",
            Layer::Link => "link",
            Layer::Ip => "ip",
            Layer::Transport => "transport",
            Layer::Application => "application",
            Layer::Presentation => "presentation",
            Layer::Transmit => "transmit",
        }
    }
}

impl From<net::Layer> for Layer {
    #[inline]
    fn from(layer: net::Layer) -> Layer {
        match layer {
            net::Layer::Link => Layer::Link,
            net::Layer::Ip => Layer::Ip,
            net::Layer::Transport => Layer::Transport,
            net::Layer::Application => Layer::Application,
        }
    }
}
