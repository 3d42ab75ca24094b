//! Figures for Prometheus, in its text format (version 0.0.4), which is a few lines to
//! write; its client libraries speak OpenMetrics, and want to keep the counts.

use super::{Viewed, accept};
use crate::failure::Failure;
use crate::http::{self, Body, Site};
use crate::tally::Tally;
use anabranch::{Counters, DropReason};
use hyper::header::{self, HeaderMap};
use hyper::{Response, StatusCode, Uri};
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Connections at a time. More are closed: any user of the host may come, and the server's files need descriptors.
const CLIENTS: usize = 64;

/// Answers at this port of the kernel's 127.0.0.1 from now on.
///
/// # Errors
/// If the port is taken.
pub async fn listen(port: u16, viewed: Arc<Viewed>) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|e| {
        Failure::refused(format!("cannot serve --metrics {port}: {e}: choose another port"))
    })?;
    let site = Arc::new(Metrics(viewed));
    let tally = Arc::new(Tally::default());
    let places = Arc::new(Semaphore::new(CLIENTS));
    tokio::spawn(async move {
        loop {
            let (stream, _) = accept::next(|| listener.accept()).await;
            let Ok(place) = places.clone().try_acquire_owned() else { continue };
            let served = http::serve(stream, site.clone(), tally.clone());
            tokio::spawn(async move {
                let _ = served.await;
                drop(place);
            });
        }
    });
    Ok(())
}

struct Metrics(Arc<Viewed>);

impl Site for Metrics {
    fn page(&self, uri: &Uri, _: &HeaderMap, _: bool) -> Response<Body> {
        let (status, text) = match uri.path() {
            "/metrics" => (StatusCode::OK, text(&self.0)),
            _ => (StatusCode::NOT_FOUND, "not found: try /metrics\n".to_owned()),
        };
        let mut response = Response::new(Body::full(text));
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(TEXT));
        response
    }

    fn takes_uploads(&self) -> bool {
        false
    }
}

/// Metrics of one name: what they are called and mean, and the values by their labels.
struct Family<'a> {
    name: &'a str,
    kind: &'a str,
    help: &'a str,
    samples: Vec<(Vec<(&'a str, String)>, f64)>,
}

impl Family<'_> {
    fn write(&self, to: &mut String) {
        let Family { name, kind, help, samples } = self;
        let _ = writeln!(to, "# HELP anabranch_{name} {help}\n# TYPE anabranch_{name} {kind}");
        for (labels, value) in samples {
            let label = |(label, value): &(&str, String)| format!("{label}=\"{}\"", escaped(value));
            let labels = labels.iter().map(label).collect::<Vec<_>>().join(",");
            let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
            let _ = writeln!(to, "anabranch_{name}{labels} {value}");
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

/// A count that only grows, by one label.
fn counter<'a>(
    name: &'a str,
    help: &'a str,
    label: &'a str,
    samples: impl IntoIterator<Item = (&'a str, u64)>,
) -> Family<'a> {
    let sample = |(value, count): (&str, u64)| (vec![(label, value.to_owned())], count as f64);
    Family { name, kind: "counter", help, samples: samples.into_iter().map(sample).collect() }
}

fn gauge<'a>(name: &'a str, help: &'a str, value: f64) -> Family<'a> {
    Family { name, kind: "gauge", help, samples: vec![(Vec::new(), value)] }
}

/// All figures.
fn text(viewed: &Viewed) -> String {
    let counters = viewed.stack.counters();
    let mut families = about(viewed);
    families.extend(traffic(viewed, &counters));
    families.extend(connections(&counters));
    families.extend(answers(&counters));
    families.extend([
        services(viewed, "service_served_total", "Connections, datagrams or requests.", |t| {
            &t.served
        }),
        services(viewed, "service_in_bytes_total", "Bytes read by services.", |t| &t.bytes_in),
        services(viewed, "service_out_bytes_total", "Bytes written by services.", |t| &t.bytes_out),
        services(viewed, "service_errors_total", "Errors of services.", |t| &t.errors),
    ]);
    let mut text = String::new();
    // A name without values says nothing.
    let said = families.iter().filter(|family| !family.samples.is_empty());
    said.for_each(|family| family.write(&mut text));
    text
}

/// What runs, and since when.
fn about(viewed: &Viewed) -> Vec<Family<'static>> {
    let info = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("organization", viewed.organization.clone()),
        ("device", viewed.device.clone()),
    ];
    vec![
        Family { name: "info", kind: "gauge", help: "What runs.", samples: vec![(info, 1.0)] },
        gauge("processors", "Threads that process packets.", viewed.processors as f64),
        gauge("uptime_seconds", "Time since the start.", viewed.started.elapsed().as_secs_f64()),
    ]
}

/// Frames both ways, and what became of those that got no further.
fn traffic(viewed: &Viewed, counters: &Counters) -> [Family<'static>; 4] {
    let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let drops = DropReason::ALL.iter().map(|reason| (reason.name(), counters.dropped(*reason)));
    [
        counter(
            "packets_total",
            "Frames received and sent.",
            "direction",
            [("in", counters.packets_in), ("out", counters.packets_out)],
        ),
        counter(
            "bytes_total",
            "Bytes of frames received and sent.",
            "direction",
            [("in", counters.bytes_in), ("out", counters.bytes_out)],
        ),
        counter("received_dropped_total", "Frames received and dropped.", "reason", drops),
        counter(
            "dropped_total",
            "Packets dropped by the device or on their way out.",
            "where",
            [
                ("device_receive", get(&viewed.counts.receive_dropped)),
                ("device_transmit", get(&viewed.counts.transmit_dropped)),
                ("out", counters.out_dropped),
            ],
        ),
    ]
}

fn connections(counters: &Counters) -> [Family<'static>; 2] {
    let opened = counters.opened_active + counters.opened_passive;
    [
        counter(
            "connections_opened_total",
            "Connections opened.",
            "by",
            [("us", counters.opened_active), ("peer", counters.opened_passive)],
        ),
        gauge("connections", "Connections now.", opened.saturating_sub(counters.closed) as f64),
    ]
}

/// What the stack answers by itself, and what a limit forbade.
fn answers(counters: &Counters) -> [Family<'static>; 2] {
    [
        counter(
            "answers_total",
            "Resets, ICMP errors and echo replies sent.",
            "kind",
            [
                ("reset", counters.resets_out),
                ("icmp_error", counters.icmp_errors_out),
                ("echo_reply", counters.echo_replies_out),
            ],
        ),
        counter(
            "answers_limited_total",
            "Answers that the limit forbade.",
            "kind",
            [
                ("reset", counters.resets_limited),
                ("icmp_error", counters.icmp_errors_limited),
                ("echo_reply", counters.echo_replies_limited),
            ],
        ),
    ]
}

/// One of the counts of each service.
fn services<'a>(
    viewed: &Viewed,
    name: &'a str,
    help: &'a str,
    count: fn(&Tally) -> &AtomicU64,
) -> Family<'a> {
    let sample = |(service, port, tally): &(&str, u16, Arc<Tally>)| {
        let labels = vec![("service", (*service).to_owned()), ("port", port.to_string())];
        (labels, count(tally).load(Ordering::Relaxed) as f64)
    };
    Family { name, kind: "counter", help, samples: viewed.tallies.iter().map(sample).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_written_as_prometheus_reads_it() {
        let mut text = String::new();
        counter("odd_total", "Odd things.", "what", [("a \"b\"\\\n", 3)]).write(&mut text);
        gauge("now", "Now.", 0.5).write(&mut text);
        let expected = "# HELP anabranch_odd_total Odd things.\n\
                        # TYPE anabranch_odd_total counter\n\
                        anabranch_odd_total{what=\"a \\\"b\\\"\\\\\\n\"} 3\n\
                        # HELP anabranch_now Now.\n# TYPE anabranch_now gauge\nanabranch_now 0.5\n";
        assert_eq!(text, expected);
    }
}
