//! [`Running`]: a device, a stack on it, and services on that.

use super::discovered::Discovered;
use super::lease::Leased;
use super::occupied;
use super::services::{self, Net, Tallies};
use super::settings::Settings;
use super::tcp::server_config;
use crate::failure::Failure;
use crate::link::{self, Request};
use crate::view::Viewed;
use anabranch::host::Events;
use anabranch::instruments::{Instruments, Snapshot};
use anabranch::{Cidr, Stack};
use device::{Counts, Device, Report, fault, pcap};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A device, a stack on it, and services on that.
pub struct Running {
    pub(super) stack: Stack,
    /// Who keeps the address, with `--dhcp`.
    pub(super) leased: Option<Leased>,
    /// Who tells what changes by itself.
    pub(super) discovered: Discovered,
    /// The device's name as the kernel has it.
    pub(super) device: String,
    pub(super) counts: Arc<Counts>,
    /// The number of its interface, if that has to be looked for.
    interface: Option<u32>,
    pub(super) reports: Vec<Arc<dyn Report>>,
    pub(super) tallies: Tallies,
    pub(super) started: Instant,
    /// What the stack is measured with, and what they said at its start.
    pub(super) instruments: Option<(Arc<Instruments>, Snapshot)>,
}

impl Running {
    /// Makes the device, starts the stack, binds the services.
    ///
    /// # Errors
    /// What could not be had; nothing is left behind then.
    pub async fn start(settings: &Settings) -> Result<Running, Failure> {
        // What is there is not ours to remove.
        let capture = settings.args.pcap.as_deref().filter(|path| !path.exists());
        let device = open(settings)?;
        let (name, counts, reports) =
            (device.name.clone(), device.counts.clone(), device.reports.clone());
        let kind = settings.args.link.kind;
        let interface = kind.goes_silently.then(|| link::number(&name)).flatten();
        let instruments = settings.args.stats_json.as_ref().map(|_| Instruments::new());
        let result = async {
            let (stack, events) = start_stack(settings, device, instruments.clone())?;
            let mut running = Running {
                discovered: Discovered::new(&stack, events, settings.args.slaac),
                stack,
                leased: None,
                device: name,
                counts,
                interface,
                reports,
                tallies: Vec::new(),
                started: Instant::now(),
                instruments: instruments.map(|i| {
                    let snapshot = i.snapshot();
                    (i, snapshot)
                }),
            };
            match running.bind(settings).await {
                Ok(()) => Ok(running),
                Err(failure) => {
                    running.stop();
                    Err(failure)
                }
            }
        };
        let result = result.await;
        if let (Err(_), Some(Ok(made))) = (&result, capture.map(Path::canonicalize)) {
            let _ = fs::remove_file(made);
        }
        result
    }

    /// What others may see of it.
    pub fn viewed(&self, settings: &Settings) -> Arc<Viewed> {
        Arc::new(Viewed {
            stack: self.stack.clone(),
            organization: settings.args.organization.clone(),
            processors: settings.processors,
            device: self.device.clone(),
            counts: self.counts.clone(),
            tallies: self.tallies.clone(),
            started: self.started,
        })
    }

    /// Looks whether the device is there still.
    ///
    /// # Errors
    /// Somebody has deleted it.
    pub fn check(&self, settings: &Settings) -> Result<(), Failure> {
        if !self.counts.gone.load(Ordering::Relaxed)
            && !self.interface.is_some_and(link::is_deleted)
        {
            return Ok(());
        }
        Err(Failure::failed(format!(
            "the {} `{}` was deleted: start the server again to make a new one",
            settings.args.link.kind.title, self.device
        )))
    }

    async fn bind(&mut self, settings: &Settings) -> Result<(), Failure> {
        let net = Net::Stack(self.stack.clone());
        let (args, root) = (&settings.args, settings.root.as_ref());
        self.tallies = services::bind(&net, &args.services, root, args.http_threads).await?;
        if args.dhcp {
            self.leased = Some(Leased::start(&self.stack, &self.device)?);
        }
        Ok(())
    }

    /// The first address of the stack: the one given, or the one that a server has given.
    pub(super) fn address(&self, settings: &Settings) -> Option<Cidr> {
        match &self.leased {
            Some(leased) => leased.address(),
            None => Some(settings.args.address),
        }
    }

    /// Gives the address back if it is a server's, resets all connections, and removes the
    /// device.
    pub fn stop(self) {
        let Running { leased, discovered, stack, .. } = self;
        drop((leased, discovered));
        stack.stop();
    }
}

/// Opens the device as asked for, with its wrappers.
fn open(settings: &Settings) -> Result<Device, Failure> {
    let args = &settings.args;
    let ours = if args.dhcp { args.peer_address } else { args.address };
    // In a VLAN the kernel's end has no address.
    let has_end = args.vlan.is_none();
    let theirs = if has_end { args.peer_address } else { ours };
    if has_end || !args.dhcp {
        occupied::check(&args.link.name, ours, theirs, &args.add_address)?;
    }
    let others: Vec<_> = args.add_address.iter().map(Cidr::address).collect();
    let request = Request {
        others: &others,
        name: &args.link.name,
        ours: args.address.address(),
        queues: settings.processors,
        mtu: args.mtu.into(),
        offload: settings.offload,
        peer: has_end.then_some((theirs.address(), theirs.prefix())),
    };
    let mut device = (args.link.kind.open)(&request)?.device;
    if let Some(spec) = &args.fault {
        device = fault::wrap(device, spec, RandomState::new().hash_one("fault"));
    }
    if let Some(path) = &args.pcap {
        device = pcap::wrap(device, path).map_err(|e| {
            let path = path.display();
            Failure::refused(format!("cannot write --pcap {path}: {e}: name another file"))
        })?;
    }
    Ok(device)
}

fn start_stack(
    settings: &Settings,
    device: Device,
    instruments: Option<Arc<Instruments>>,
) -> Result<(Stack, Events), Failure> {
    let args = &settings.args;
    let mut builder = Stack::builder()
        .device(device)
        .organization(&args.organization)
        .processors(settings.processors)
        .options(args.choices.for_server())
        .burst(args.choices.burst())
        .tcp(server_config(settings.offload).with_congestion(args.congestion.algorithm()))
        .errors_per_second(args.answers_per_second)
        .dns(args.dns.iter().map(|server| server.address))
        .observable();
    let given = (!args.dhcp).then_some(&args.address);
    for address in given.into_iter().chain(&args.add_address) {
        builder = builder.address(*address);
    }
    for route in &args.route {
        builder = builder.route(route.route);
    }
    if let Some(gateway) = &args.gateway {
        builder = builder.gateway(gateway.address);
    }
    if let Some(memory) = args.memory {
        builder = builder.memory((memory as usize).saturating_mul(1 << 20));
    }
    if let Some(vlan) = args.vlan {
        builder = builder.vlan(vlan);
    }
    if let Some(mac) = args.mac {
        builder = builder.ethernet(mac);
    }
    if args.slaac {
        builder = builder.slaac();
    }
    if let Some(instruments) = instruments {
        builder = builder.instruments(instruments);
    }
    let (builder, events) = builder.watched();
    builder.start().map(|stack| (stack, events)).map_err(Failure::refused)
}
