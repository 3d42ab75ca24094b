//! [`Running`]: a device, a stack on it, and services on that.

use super::plan::Plan;
use super::services::{self, Service};
use super::{datagrams, report};
use crate::failure::Failure;
use crate::http;
use crate::tally::Tally;
use anabranch::organizations::Instruments;
use anabranch::tokio::{TcpListener, UdpSocket};
use anabranch::{Stack, TcpConfig};
use device::{Counts, Device, Report, fault, pcap, tap};
use instrument::Snapshot;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Bytes of send and of receive buffer of a connection.
const SOCKET_BUFFER: usize = 4 << 20;

/// A device, a stack on it, and services on that.
pub struct Running {
    pub(super) stack: Stack,
    /// The device's name as the kernel has it.
    pub(super) device: String,
    pub(super) counts: Arc<Counts>,
    pub(super) reports: Vec<Arc<dyn Report>>,
    pub(super) tallies: Vec<(&'static str, u16, Arc<Tally>)>,
    pub(super) started: Instant,
    /// What the stack is measured with, and what they said at its start.
    pub(super) instruments: Option<(Arc<Instruments>, Snapshot)>,
}

impl Running {
    /// Makes the device, starts the stack, binds the services.
    ///
    /// # Errors
    /// What could not be had; nothing is left behind then.
    pub async fn start(plan: &Plan) -> Result<Running, Failure> {
        let device = open(plan)?;
        let (name, counts, reports) =
            (device.name.clone(), device.counts.clone(), device.reports.clone());
        let instruments = plan.args.stats_json.as_ref().map(|_| Instruments::new());
        let result = async {
            let mut running = Running {
                stack: start_stack(plan, device, instruments.clone())?,
                device: name,
                counts,
                reports,
                tallies: Vec::new(),
                started: Instant::now(),
                instruments: instruments.map(|i| {
                    let snapshot = i.snapshot();
                    (i, snapshot)
                }),
            };
            match running.bind(plan).await {
                Ok(()) => Ok(running),
                Err(failure) => {
                    running.stop();
                    Err(failure)
                }
            }
        };
        let result = result.await;
        if let (Err(_), Some(path)) = (&result, &plan.args.pcap) {
            let _ = fs::remove_file(path);
        }
        result
    }

    /// Has somebody deleted the device?
    pub fn is_gone(&self) -> bool {
        self.counts.gone.load(Ordering::Relaxed)
    }

    async fn bind(&mut self, plan: &Plan) -> Result<(), Failure> {
        let args = &plan.args;
        if let (Some(port), Some(root)) = (args.http, &plan.root) {
            let (listener, tally) = self.listen("http", port).await?;
            tokio::spawn(accept_http(listener, root.clone(), tally));
        }
        for &(service, port) in &plan.services {
            let (listener, tally) = self.listen(service.name(), port).await?;
            tokio::spawn(accept(listener, service, tally));
        }
        if let Some(port) = args.udp_echo {
            let (socket, tally) = self.bind_udp("udp-echo", port).await?;
            tokio::spawn(datagrams::echo(socket, tally));
        }
        if let Some(port) = args.udp_dial {
            let (socket, tally) = self.bind_udp("udp-dial", port).await?;
            tokio::spawn(datagrams::dial(self.stack.clone(), socket, tally));
        }
        Ok(())
    }

    fn tally(&mut self, name: &'static str, port: u16) -> Arc<Tally> {
        let tally = Arc::new(Tally::default());
        self.tallies.push((name, port, tally.clone()));
        tally
    }

    async fn listen(
        &mut self,
        name: &'static str,
        port: u16,
    ) -> Result<(TcpListener, Arc<Tally>), Failure> {
        let listener = TcpListener::bind(&self.stack, any(port)).await;
        Ok((listener.map_err(|e| taken(name, port, &e))?, self.tally(name, port)))
    }

    async fn bind_udp(
        &mut self,
        name: &'static str,
        port: u16,
    ) -> Result<(UdpSocket, Arc<Tally>), Failure> {
        let socket = UdpSocket::bind(&self.stack, any(port)).await;
        Ok((socket.map_err(|e| taken(name, port, &e))?, self.tally(name, port)))
    }

    /// What to print once clients can come.
    pub fn ready_line(&self, plan: &Plan) -> String {
        report::ready_line(self, plan)
    }

    /// What to print at the end.
    pub fn summary(&self, plan: &Plan) -> String {
        report::summary(self, plan)
    }

    /// Writes what was counted, if a file was named for it.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn write_stats(&self, plan: &Plan) -> Result<(), Failure> {
        let Some(path) = &plan.args.stats_json else { return Ok(()) };
        let text = format!("{:#}\n", report::json(self, plan));
        fs::write(path, text).map_err(|e| {
            Failure::failed(format!("cannot write --stats-json {}: {e}", path.display()))
        })
    }

    /// Resets all connections, and removes the device.
    pub fn stop(self) {
        self.stack.stop();
    }
}

fn any(port: u16) -> SocketAddr {
    (Ipv4Addr::UNSPECIFIED, port).into()
}

fn taken(name: &str, port: u16, error: &io::Error) -> Failure {
    Failure::refused(format!("cannot serve --{name} {port}: {error}: choose another port"))
}

/// Opens the device as planned, with its wrappers.
fn open(plan: &Plan) -> Result<Device, Failure> {
    let args = &plan.args;
    let config = tap::Config {
        name: args.tap.clone(),
        queues: plan.processors,
        mtu: args.mtu.into(),
        offload: plan.offload,
        kernel_address: Some((args.peer_address.address, args.peer_address.prefix)),
        ..tap::Config::default()
    };
    let mut device = tap::open(&config).map_err(|error| refused(&error))?;
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

/// Why there is no device.
pub fn refused(error: &tap::Error) -> Failure {
    match error {
        tap::Error::NotAllowed(name) => {
            let program = std::env::current_exe().unwrap_or_else(|_| "anabranch".into());
            Failure::refused(format!(
                "not allowed to make TAP device `{name}`, CAP_NET_ADMIN is missing: run it by \
                 sudo, or grant it once by `sudo setcap cap_net_admin,cap_bpf+ep {}`, or try \
                 `anabranch demo`, which needs no rights",
                program.display()
            ))
        }
        error => Failure::refused(error),
    }
}

fn start_stack(
    plan: &Plan,
    device: Device,
    instruments: Option<Arc<Instruments>>,
) -> Result<Stack, Failure> {
    let args = &plan.args;
    let mut builder = Stack::builder()
        .device(device)
        .address(args.address)
        .organization(&args.organization)
        .processors(plan.processors)
        .options(args.choices.options())
        .burst(args.choices.burst())
        .tcp(tcp_config(plan.offload));
    if let Some(gateway) = args.gateway {
        builder = builder.gateway(gateway);
    }
    if let Some(instruments) = instruments {
        builder = builder.instruments(instruments);
    }
    builder.start().map_err(Failure::refused)
}

/// TCP's parameters over a TAP device.
pub fn tcp_config(offload: bool) -> TcpConfig {
    TcpConfig {
        receive_buffer: SOCKET_BUFFER,
        send_buffer: SOCKET_BUFFER,
        // Else the device does it.
        checksum: !offload,
        ..TcpConfig::default()
    }
}

async fn accept(listener: TcpListener, service: Service, tally: Arc<Tally>) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        Tally::add(&tally.served, 1);
        let tally = tally.clone();
        tokio::spawn(async move {
            if services::serve(service, stream, &tally).await.is_err() {
                Tally::add(&tally.errors, 1);
            }
        });
    }
}

/// Serves a site to each connection.
///
/// # Errors
/// When the listener is gone.
pub async fn accept_http(
    listener: TcpListener,
    site: Arc<impl http::Site>,
    tally: Arc<Tally>,
) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let (site, tally) = (site.clone(), tally.clone());
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            if http::serve(stream, site, tally.clone()).await.is_err() {
                Tally::add(&tally.errors, 1);
            }
        });
    }
}
