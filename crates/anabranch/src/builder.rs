//! [`Builder`]: what a stack is made of.

use crate::stack::Stack;
use crate::{Error, cells::SocketLayer};
use device::{Device, Medium};
use net::config::RouteConfig;
use net::{Config, InterfaceConfig};
use organizations::{CATALOG, Clock, Instruments, Options, Setup};
use platform::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use wire::Address;

/// Makes a [`Stack`].
pub struct Builder {
    devices: Vec<(Device, Vec<String>)>,
    /// Addresses given before any device.
    early: Vec<String>,
    gateway: Option<Ipv4Addr>,
    organization: String,
    processors: usize,
    options: Options,
    burst: Option<usize>,
    tcp: tcp::Config,
    instruments: Option<Arc<Instruments>>,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder {
            devices: Vec::new(),
            early: Vec::new(),
            gateway: None,
            organization: "uniprocessor".into(),
            processors: 1,
            options: Options::default(),
            burst: None,
            tcp: tcp::Config::default(),
            instruments: None,
        }
    }

    /// Adds an interface. Its device needs a queue for each processor.
    #[must_use]
    pub fn device(mut self, device: Device) -> Builder {
        self.devices.push((device, std::mem::take(&mut self.early)));
        self
    }

    /// Gives the last device an address with the length of its network's
    /// prefix, such as `10.99.0.2/24`.
    #[must_use]
    pub fn address(mut self, address: impl ToString) -> Builder {
        match self.devices.last_mut() {
            Some((_, addresses)) => addresses.push(address.to_string()),
            None => self.early.push(address.to_string()),
        }
        self
    }

    /// The router for destinations outside the devices' networks.
    #[must_use]
    pub fn gateway(mut self, gateway: Ipv4Addr) -> Builder {
        self.gateway = Some(gateway);
        self
    }

    /// The parallel organization, by its name in
    /// [`organizations::CATALOG`]. Default: `uniprocessor`.
    #[must_use]
    pub fn organization(mut self, name: impl ToString) -> Builder {
        self.organization = name.to_string();
        self
    }

    /// How many threads process packets. Default: 1.
    #[must_use]
    pub fn processors(mut self, processors: usize) -> Builder {
        self.processors = processors;
        self
    }

    /// How many groups of connections, for `group-locks`. Default: 128.
    #[must_use]
    pub fn groups(mut self, groups: u16) -> Builder {
        self.options.groups = groups;
        self
    }

    /// Wires the threads to processors, where the organization does not do so
    /// anyway. Default: no.
    #[must_use]
    pub fn pin(mut self, pin: bool) -> Builder {
        self.options.pin = pin;
        self
    }

    /// All that organizations leave open, at once.
    #[must_use]
    pub fn options(mut self, options: Options) -> Builder {
        self.options = options;
        self
    }

    /// Packets that a connection may send in its turn, 1 to 64. Default: 32.
    #[must_use]
    pub fn burst(mut self, packets: usize) -> Builder {
        self.burst = Some(packets.clamp(1, 64));
        self
    }

    /// TCP's parameters.
    #[must_use]
    pub fn tcp(mut self, config: tcp::Config) -> Builder {
        self.tcp = config;
        self
    }

    /// Measures threads, locks and queues. Default: no; it costs some 1 % of the
    /// processor time.
    #[must_use]
    pub fn instruments(mut self, instruments: Arc<Instruments>) -> Builder {
        self.instruments = Some(instruments);
        self
    }

    /// Starts the stack.
    ///
    /// # Errors
    /// [`Error`].
    pub fn start(self) -> Result<Stack, Error> {
        if self.devices.is_empty() {
            return Err(Error::NoDevice);
        }
        let mut interfaces = Vec::new();
        let mut devices = Vec::new();
        // Units are chosen as the first device that steers chooses queues.
        let steering = self.devices.iter().find_map(|(device, _)| device.steering);
        for (device, addresses) in self.devices {
            interfaces.push(interface(&device, &addresses)?);
            devices.push(device);
        }
        let seed = RandomState::new().hash_one(std::process::id());
        let mut config = Config::new(interfaces, seed);
        config.secret = [RandomState::new().hash_one(1), RandomState::new().hash_one(2)];
        config.tcp = Arc::new(self.tcp);
        let time_of_day = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        config.epoch = time_of_day.unwrap_or_default();
        if let Some(steering) = steering {
            config.steering = steering;
        }
        config.burst = self.burst.unwrap_or(config.burst);
        config.routes.extend(self.gateway.map(|gateway| RouteConfig {
            network: Address::UNSPECIFIED_V4,
            prefix: 0,
            gateway: gateway.into(),
        }));
        let config = Arc::new(config);
        let clock = Clock::start();
        let setup = Setup {
            config: config.clone(),
            devices,
            processors: self.processors,
            options: self.options,
            application: Box::new(|_| SocketLayer::default()),
            clock,
            instruments: self.instruments,
        };
        let running = organizations::start(&self.organization, setup).ok_or_else(|| {
            let known: Vec<_> = CATALOG.iter().map(|e| e.name).collect();
            Error::Organization { name: self.organization.clone(), known: known.join(", ") }
        })??;
        Ok(Stack::new(running, config))
    }
}

fn interface(device: &Device, addresses: &[String]) -> Result<InterfaceConfig, Error> {
    let capabilities = device.capabilities;
    Ok(InterfaceConfig {
        is_ethernet: capabilities.medium == Medium::Ethernet,
        ethernet: device.ethernet,
        vlan: None,
        addresses: addresses.iter().map(|a| parse(a)).collect::<Result<_, _>>()?,
        mtu: capabilities.mtu,
        transmit_checksum: capabilities.transmit_checksum,
        segmentation: capabilities.segmentation,
    })
}

fn parse(text: &str) -> Result<(Address, u8), Error> {
    let wrong = || Error::Address(text.into());
    let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
    match address {
        IpAddr::V6(_) => Err(Error::Family(text.into())),
        IpAddr::V4(a) if prefix > 32 || !Address::from(a).is_unicast() => Err(wrong()),
        IpAddr::V4(a) => Ok((a.into(), prefix)),
    }
}
