//! What is said of a run: a line when ready, a summary and JSON at the end.

use super::running::Running;
use super::services::Tallies;
use super::settings::Settings;
use crate::failure::Failure;
use crate::tally::Tally;
use anabranch::{Counters, DropReason};
use serde_json::{Map, Value, json};
use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn get(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// `ready: ...`.
pub fn ready_line(running: &Running, settings: &Settings) -> String {
    let args = &settings.args;
    // A lease may end between two looks at it.
    let address = running.address(settings).map(|cidr| cidr.address());
    let shown = address.map_or("no address".into(), |address| address.to_string());
    let services = services(&shown, &running.tallies);
    format!(
        "ready: {shown} on {}, {} with {}: {}; Ctrl-C ends it",
        running.device,
        args.organization,
        count(settings.processors as u64, "processor"),
        services,
    )
}

/// The services at an address, for the line that says that they are ready.
pub fn services(address: impl Display, tallies: &Tallies) -> String {
    let address = address.to_string();
    //= In brackets, and % as %25 (RFC 3986 3.2.2, RFC 6874 2).
    let address = match address.contains(':') {
        true => format!("[{}]", address.replace('%', "%25")),
        false => address,
    };
    let service = |(name, port, _): &(&str, u16, Arc<Tally>)| match (*name, *port) {
        ("http", 80) => format!("http://{address}/"),
        ("http", port) => format!("http://{address}:{port}/"),
        (name, port) => format!("{name} {port}"),
    };
    match tallies.is_empty() {
        true => "ping only, for no service was asked for".into(),
        false => tallies.iter().map(service).collect::<Vec<_>>().join(", "),
    }
}

/// What services have done, a line each.
pub fn served(tallies: &Tallies) -> String {
    let mut text = String::new();
    for (name, port, tally) in tallies {
        let _ = writeln!(
            text,
            "  {name} {port}: {} served, {} in, {} out, {}",
            get(&tally.served),
            bytes(get(&tally.bytes_in)),
            bytes(get(&tally.bytes_out)),
            count(get(&tally.errors), "error"),
        );
    }
    text
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Bytes for people.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// Why packets were dropped, without the reasons that did not occur.
fn drops(counters: &Counters) -> impl Iterator<Item = (&'static str, u64)> {
    let counted = DropReason::ALL.iter().map(|reason| (reason.name(), counters.dropped(*reason)));
    counted.filter(|(_, n)| *n > 0)
}

/// Answers that the limit forbade, without the kinds that did not occur.
fn limited(counters: &Counters) -> impl Iterator<Item = (&'static str, u64)> {
    let counted = [
        ("reset", counters.resets_limited),
        ("icmp_error", counters.icmp_errors_limited),
        ("echo_reply", counters.echo_replies_limited),
    ];
    counted.into_iter().filter(|(_, n)| *n > 0)
}

/// Some lines for people, which begin with `when`.
pub fn summary(running: &Running, settings: &Settings, when: &str) -> String {
    let counters = running.stack.counters();
    let mut text = format!(
        "{when}: {} for {:.1} s\n  in   {}, {}\n  out  {}, {}\n  connections: {} accepted, {} opened, \
         {} closed\n",
        settings.args.organization,
        running.started.elapsed().as_secs_f64(),
        count(counters.packets_in, "packet"),
        bytes(counters.bytes_in),
        count(counters.packets_out, "packet"),
        bytes(counters.bytes_out),
        counters.opened_passive,
        counters.opened_active,
        counters.closed,
    );
    text += &served(&running.tallies);
    let drops: Vec<String> = drops(&counters).map(|(name, n)| format!("{name} {n}")).collect();
    if !drops.is_empty() {
        let _ = writeln!(text, "  dropped: {}", drops.join(", "));
    }
    let limited: Vec<String> = limited(&counters).map(|(name, n)| format!("{name} {n}")).collect();
    if !limited.is_empty() {
        let limit = settings.args.answers_per_second;
        let _ = writeln!(
            text,
            "  not answered, as --answers-per-second {limit} has it: {}",
            limited.join(", ")
        );
    }
    text
}

/// Writes what was counted, if a file was named for it.
///
/// # Errors
/// If that cannot be written.
pub fn write(running: &Running, settings: &Settings) -> Result<(), Failure> {
    let Some(output) = &settings.stats else { return Ok(()) };
    output.write(&format!("{:#}\n", json(running, settings)))
}

/// All that was counted.
fn json(running: &Running, settings: &Settings) -> Value {
    let counters = running.stack.counters();
    let all = DropReason::ALL.iter();
    let drops: Map<String, Value> =
        all.map(|reason| (reason.name().into(), counters.dropped(*reason).into())).collect();
    let services: Map<String, Value> = running
        .tallies
        .iter()
        .map(|(name, port, tally)| {
            let value = json!({
                "port": port,
                "served": get(&tally.served),
                "bytes_in": get(&tally.bytes_in),
                "bytes_out": get(&tally.bytes_out),
                "errors": get(&tally.errors),
            });
            ((*name).into(), value)
        })
        .collect();
    let opened = counters.opened_active + counters.opened_passive;
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "organization": settings.args.organization,
        "processors": settings.processors,
        "address": running.address(settings).map(|address| address.to_string()),
        "mtu": settings.args.mtu,
        "offload": settings.offload,
        "uptime_seconds": running.started.elapsed().as_secs_f64(),
        "packets_in": counters.packets_in,
        "bytes_in": counters.bytes_in,
        "packets_out": counters.packets_out,
        "bytes_out": counters.bytes_out,
        "delivered": counters.delivered,
        "absorbed": counters.absorbed,
        "dropped": counters.dropped_in_all(),
        "drops": drops,
        "out_dropped": counters.out_dropped,
        "reassembly_timeouts": counters.reassembly_timeouts,
        "reassembly_evicted": counters.reassembly_evicted,
        "addresses_defended": counters.addresses_defended,
        "resets_out": counters.resets_out,
        "resets_limited": counters.resets_limited,
        "icmp_errors_out": counters.icmp_errors_out,
        "icmp_errors_limited": counters.icmp_errors_limited,
        "echo_replies_out": counters.echo_replies_out,
        "echo_replies_limited": counters.echo_replies_limited,
        "connections": {
            "opened_active": counters.opened_active,
            "opened_passive": counters.opened_passive,
            "closed": counters.closed,
            "open": opened.saturating_sub(counters.closed),
        },
        "device": device(running),
        "services": services,
        "instruments": running.instruments.as_ref().map(|(instruments, start)| {
            instruments.snapshot().since(start)
        }),
    })
}

fn device(running: &Running) -> Value {
    let mut device = json!({
        "name": running.device,
        "receive_dropped": get(&running.counts.receive_dropped),
        "transmit_dropped": get(&running.counts.transmit_dropped),
    });
    for report in &running.reports {
        device[report.name()] = report.counts().into_iter().collect();
    }
    device
}
