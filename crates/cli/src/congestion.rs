//! Which congestion control, as an option of the command.

use anabranch::CongestionAlgorithm;

/// The option.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Congestion {
    #[arg(long, value_name = "NAME", default_value_t, help = help())]
    congestion: CongestionAlgorithm,
}

fn help() -> String {
    let names: Vec<&str> = CongestionAlgorithm::ALL.iter().map(|a| a.name()).collect();
    format!("How fast connections send, by which congestion control: {}", names.join(", "))
}

impl Congestion {
    /// What was chosen.
    pub fn algorithm(self) -> CongestionAlgorithm {
        self.congestion
    }
}
