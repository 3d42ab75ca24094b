//! The options of the papers' drivers and of what stands above the transport.

use clap::ValueEnum;
use lab::{BenchPlan, Presentation, ReceiveBuffers};

/// Set-ups of the papers.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Set-ups of the papers")]
pub struct Drivers {
    /// A whole set-up. `yates`: packets of 4096 bytes of payload, an MTU of 4352,
    /// and a driver that acknowledges every other packet (Yates 1996, 3.2)
    #[arg(long, value_enum, conflicts_with_all = ["mtu", "bytes", "peer"])]
    preset: Option<PresetArg>,
    /// What is put above the transport, of bulk and udp. `xdr`: arrays of
    /// structures are encoded and decoded (Schmidt and Suda 1996, 4.2)
    #[arg(long, value_enum, default_value_t = PresentationArg::None)]
    presentation: PresentationArg,
    /// Where the payload that a driver sends lies: in few buffers that stay in
    /// the cache, or in a circular list of twice the second-level cache for each
    /// processor. (What the stack sends always lies in buffers that each thread
    /// takes last in, first out.)
    #[arg(long, value_enum, default_value_t = ReceiveBuffersArg::Lifo)]
    receive_buffers: ReceiveBuffersArg,
    /// Whether transport checksums are computed and verified
    #[arg(long, value_enum, default_value_t = Switch::On)]
    checksum: Switch,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PresetArg {
    Yates,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PresentationArg {
    None,
    Xdr,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ReceiveBuffersArg {
    Lifo,
    Circular,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Drivers {
    /// `plan` with them.
    pub fn apply(&self, plan: BenchPlan) -> BenchPlan {
        let plan = BenchPlan {
            presentation: match self.presentation {
                PresentationArg::None => Presentation::None,
                PresentationArg::Xdr => Presentation::Xdr,
            },
            receive_buffers: match self.receive_buffers {
                ReceiveBuffersArg::Lifo => ReceiveBuffers::Lifo,
                ReceiveBuffersArg::Circular => ReceiveBuffers::Circular,
            },
            checksum: self.checksum == Switch::On,
            ..plan
        };
        match self.preset {
            Some(PresetArg::Yates) => plan.yates(),
            None => plan,
        }
    }
}
