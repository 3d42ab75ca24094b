//! [`Flags`]: what `--so_flags` says.

use anabranch::{CongestionAlgorithm, CounterOptions, EcnMode, FastOpenKey, TcpConfig};
use std::fmt;
use std::time::Duration;

/// What the stack is made of. The flags are `name=value`, divided by `;`:
///
/// | name | value | default |
/// |---|---|---|
/// | `organization` | a parallel organization | `uniprocessor` |
/// | `processors` | threads for packets | 1 for `uniprocessor`, otherwise 2 |
/// | `local` | address and length of the network's prefix | `192.168.0.1/16` |
/// | `gateway` | the router to everything else | `192.168.0.2` |
/// | `mtu` | bytes | 1500 |
/// | `tcp_…` | Linux's `net.ipv4.tcp_…`: one that the stack has | the stack's own |
///
/// A parameter of Linux that the stack does not have is noted ([`Flags::ignored`])
/// and changes nothing: scripts set many of them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Flags {
    /// The parallel organization.
    pub organization: String,
    /// Threads that process packets.
    pub processors: usize,
    /// Our address, and the length of its network's prefix.
    pub local: String,
    /// The router to everything else.
    pub gateway: String,
    /// Bytes of the largest datagram on the link.
    pub mtu: usize,
    /// TCP's parameters.
    pub tcp: TcpConfig,
    /// Linux's `tcp_fastopen`: which ends use Fast Open, and how.
    pub fast_open: u32,
    /// Parameters of Linux that have no counterpart.
    pub ignored: Vec<String>,
}

/// A flag that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagsError(String);

impl fmt::Display for FlagsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--so_flags: {}", self.0)
    }
}

impl std::error::Error for FlagsError {}

/// The stack with what Linux cannot be told to do otherwise.
fn linux() -> TcpConfig {
    let tcp = TcpConfig::default().with_quick_acks(16).with_linear_syn_retries(4);
    // Its queueing discipline paces, if any, and scripts choose one that does not.
    tcp.with_missing_timestamps(true)
        .with_pacing(false)
        .with_counter_options(CounterOptions::Always)
        .with_ecn_everywhere(true)
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, FlagsError> {
    value.parse().map_err(|_| FlagsError(format!("{name}={value} is not a number that it can be")))
}

/// Our name of a congestion control of Linux.
pub(crate) fn linux_name(name: &str) -> &str {
    if name == "reno" { "newreno" } else { name }
}

fn seconds(name: &str, value: &str) -> Result<Duration, FlagsError> {
    number(name, value).map(Duration::from_secs)
}

/// The least, usual and most of a buffer, as in `tcp_rmem`.
fn triple(name: &str, value: &str) -> Result<[usize; 3], FlagsError> {
    let parts: Vec<usize> = value
        .split([' ', ',', '\t'])
        .filter(|part| !part.is_empty())
        .map(|part| number(name, part))
        .collect::<Result<_, _>>()?;
    parts
        .try_into()
        .map_err(|_| FlagsError(format!("{name}={value}: give three numbers, as sysctl does")))
}

/// A number, perhaps a hexadecimal one.
fn whole(name: &str, value: &str) -> Result<u32, FlagsError> {
    match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16)
            .map_err(|_| FlagsError(format!("{name}={value} is not a number that it can be"))),
        None => number(name, value),
    }
}

/// A key of four words, as `tcp_fastopen_key` is written.
fn key(name: &str, value: &str) -> Result<FastOpenKey, FlagsError> {
    let words: Result<Vec<u32>, _> =
        value.split('-').map(|word| u32::from_str_radix(word, 16)).collect();
    let bytes = words.unwrap_or_default().into_iter().flat_map(u32::to_le_bytes);
    bytes.collect::<Vec<u8>>().try_into().map(FastOpenKey).map_err(|_| {
        FlagsError(format!(
            "{name}={value}: give four words of 8 hexadecimal digits, with - between"
        ))
    })
}

impl Flags {
    /// Reads flags.
    ///
    /// # Errors
    /// [`FlagsError`] names the first that makes no sense.
    pub fn parse(text: &str) -> Result<Flags, FlagsError> {
        let mut flags = Flags {
            organization: "uniprocessor".into(),
            processors: 0,
            local: "192.168.0.1/16".into(),
            gateway: "192.168.0.2".into(),
            mtu: 1500,
            tcp: linux(),
            fast_open: 0,
            ignored: Vec::new(),
        };
        for flag in text.split(';').map(str::trim).filter(|flag| !flag.is_empty()) {
            let (name, value) = flag
                .split_once('=')
                .ok_or_else(|| FlagsError(format!("{flag}: write it as name=value")))?;
            flags.set(name.trim(), value.trim().trim_matches('"'))?;
        }
        if flags.processors == 0 {
            flags.processors = if flags.organization == "uniprocessor" { 1 } else { 2 };
        }
        Ok(flags)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), FlagsError> {
        match name {
            "organization" => self.organization = value.into(),
            "processors" => self.processors = number(name, value)?,
            "local" => self.local = value.into(),
            "gateway" => self.gateway = value.into(),
            "mtu" => self.mtu = number(name, value)?,
            _ if name.starts_with("tcp_") => return self.set_tcp(name, value),
            _ => return Err(FlagsError(format!("there is no flag {name}"))),
        }
        Ok(())
    }

    fn set_tcp(&mut self, name: &str, value: &str) -> Result<(), FlagsError> {
        let tcp = &mut self.tcp;
        match name {
            "tcp_timestamps" => tcp.timestamps = value != "0",
            "tcp_sack" => tcp.sack = value != "0",
            "tcp_window_scaling" => tcp.window_scaling = value != "0",
            // What one side of a connection may come to use.
            "tcp_rmem" => *tcp = tcp.clone().with_receive_buffer(triple(name, value)?[2]),
            "tcp_wmem" => *tcp = tcp.clone().with_send_buffer(triple(name, value)?[1]),
            "tcp_syn_retries" | "tcp_synack_retries" => tcp.syn_retries = number(name, value)?,
            "tcp_syn_linear_timeouts" => tcp.linear_syn_retries = number(name, value)?,
            "tcp_retries2" => tcp.retries = number(name, value)?,
            "tcp_fin_timeout" => tcp.fin_wait_2 = seconds(name, value)?,
            "tcp_rto_max_ms" => tcp.max_rto = Duration::from_millis(number(name, value)?),
            "tcp_ecn" => match number(name, value)? {
                0 => tcp.ecn = EcnMode::Off,
                1 => tcp.ecn = EcnMode::Ask,
                2 => tcp.ecn = EcnMode::Accept,
                3 => tcp.ecn = EcnMode::AskAccurate,
                4 => tcp.ecn = EcnMode::AskAcceptAccurate,
                5 => tcp.ecn = EcnMode::AcceptAccurate,
                _ => self.ignored.push(name.into()),
            },
            "tcp_fastopen" => self.fast_open = whole(name, value)?,
            "tcp_fastopen_key" => tcp.fast_open_key = Some(key(name, value)?),
            "tcp_ecn_fallback" => tcp.ecn_fallback = value != "0",
            "tcp_ecn_option" => match number(name, value)? {
                0 => tcp.counter_options = CounterOptions::Never,
                // As the stack does if it is not told to do as Linux.
                1 => (tcp.counter_options, tcp.ecn_everywhere) = (CounterOptions::News, false),
                _ => tcp.counter_options = CounterOptions::Always,
            },
            "tcp_congestion_control" => match linux_name(value).parse::<CongestionAlgorithm>() {
                Ok(algorithm) => tcp.congestion = algorithm,
                Err(_) => self.ignored.push(name.into()),
            },
            _ => self.ignored.push(name.into()),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_parameters_are_the_stacks() {
        let flags = Flags::parse(
            "organization=group-locks; tcp_timestamps=0;tcp_rmem=\"4096 540000 15728640\";tcp_frto=2",
        );
        let flags = flags.expect("they make sense");
        assert_eq!((flags.organization.as_str(), flags.processors), ("group-locks", 2));
        assert!(!flags.tcp.timestamps && flags.tcp.sack);
        assert_eq!(flags.tcp.receive_buffer, 15 << 20);
        assert_eq!(flags.ignored, ["tcp_frto"]);
    }

    #[test]
    fn nonsense_is_named() {
        for (flags, word) in [
            ("organisation=x", "organisation"),
            ("processors=many", "many"),
            ("tcp_rmem=1", "three numbers"),
            ("fast", "name=value"),
            ("tcp_fastopen_key=1-2-3", "four words"),
            ("tcp_fastopen=0xk", "0xk"),
        ] {
            let error = Flags::parse(flags).expect_err(flags).to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
