//! Rates, from what was counted at two times.

use super::session::{End, Shown, Woken, tell};
use crate::instruments::Snapshot;
use net::{Counters, DropReason};
use serde_json::{Map, Value, json};
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Says the rates every `interval`, as a line each, until the client goes. The instruments
/// are awake as long.
pub(super) fn stream(
    to: &mut UnixStream,
    end: &End,
    shown: &Shown,
    interval: Duration,
) -> io::Result<()> {
    let _awake = shown.view.instruments.as_ref().map(|instruments| instruments.watch());
    let mut before = Sample::take(shown);
    loop {
        match end.wait(to, interval.saturating_sub(before.at.elapsed()))? {
            Woken::Closed => return Ok(()),
            Woken::Readable => {
                if to.read(&mut [0; 64])? == 0 {
                    return Ok(());
                }
            }
            Woken::Late => {
                let now = Sample::take(shown);
                tell(to, &rates(&before, &now, shown))?;
                before = now;
            }
        }
    }
}

/// What had been counted at some time.
struct Sample {
    at: Instant,
    counters: Counters,
    instruments: Option<Snapshot>,
    program: Vec<(String, u64)>,
}

impl Sample {
    fn take(shown: &Shown) -> Sample {
        Sample {
            at: Instant::now(),
            counters: shown.view.counters(),
            instruments: shown.view.instruments.as_ref().map(|instruments| instruments.snapshot()),
            program: shown.config.counts.as_ref().map(|counts| counts()).unwrap_or_default(),
        }
    }
}

/// What happened between two samples: rates are a second's, times seconds.
fn rates(before: &Sample, now: &Sample, shown: &Shown) -> Value {
    let seconds = now.at.duration_since(before.at).as_secs_f64().max(1e-9);
    let rate = |then: u64, now: u64| now.saturating_sub(then) as f64 / seconds;
    let of = |count: fn(&Counters) -> u64| rate(count(&before.counters), count(&now.counters));
    let drops: Map<String, Value> = DropReason::ALL
        .iter()
        .map(|reason| {
            let count = |counters: &Counters| counters.dropped(*reason);
            (reason.name(), rate(count(&before.counters), count(&now.counters)))
        })
        .filter(|(_, rate)| *rate > 0.0)
        .map(|(name, rate)| (name.into(), rate.into()))
        .collect();
    let program: Map<String, Value> = now
        .program
        .iter()
        .map(|(name, count)| {
            let then = before.program.iter().find(|(other, _)| other == name);
            (name.clone(), rate(then.map_or(0, |(_, then)| *then), *count).into())
        })
        .collect();
    let opened = now.counters.opened_active + now.counters.opened_passive;
    let both = before.instruments.as_ref().zip(now.instruments.as_ref());
    json!({
        "name": shown.config.name,
        "organization": shown.view.organization.name(),
        "processors": shown.view.processors,
        "seconds": seconds,
        "connections": opened.saturating_sub(now.counters.closed),
        "rates": {
            "packets_in": of(|c| c.packets_in),
            "bytes_in": of(|c| c.bytes_in),
            "packets_out": of(|c| c.packets_out),
            "bytes_out": of(|c| c.bytes_out),
            "opened": of(|c| c.opened_active + c.opened_passive),
            "closed": of(|c| c.closed),
            "dropped": of(Counters::dropped_in_all),
            "out_dropped": of(|c| c.out_dropped),
        },
        "drops": drops,
        "program": program,
        "instruments": both.map(|(before, now)| now.since(before)),
    })
}
