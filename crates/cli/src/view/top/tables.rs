//! Rates as tables for people.

use crate::table::{render, short, thousands};
use serde_json::Value;
use std::fmt::Write;

/// Threads that are shown, those that ran most.
const THREADS: usize = 24;
/// What stands over a thread's columns, for each layer in which any thread spent time.
const SHORT: [(&str, &str); 10] = [
    ("poll", "poll"),
    ("receive", "recv"),
    ("handoff", "hand"),
    ("lock", "lock"),
    ("link", "link"),
    ("ip", "ip"),
    ("transport", "tcp"),
    ("application", "app"),
    ("presentation", "pres"),
    ("transmit", "xmit"),
];

/// All that there is to say.
pub(super) fn all(rates: &Value) -> String {
    let mut text = summary(rates);
    let instruments = &rates["instruments"];
    let parts = [threads(instruments), locks(instruments), queues(instruments)];
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let _ = write!(text, "\n{part}");
    }
    text.truncate(text.trim_end().len());
    text
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(0.0)
}

fn word<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("?")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// Bits for people, of bytes.
fn bits(bytes: f64) -> String {
    match bytes * 8.0 {
        n if n < 1e3 => format!("{n:.0} bit"),
        n if n < 1e6 => format!("{} kbit", short(n / 1e3)),
        n if n < 1e9 => format!("{} Mbit", short(n / 1e6)),
        n => format!("{} Gbit", short(n / 1e9)),
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn summary(rates: &Value) -> String {
    let now = &rates["rates"];
    let processors = number(rates, "processors");
    let mut text = format!(
        "{}: {}, {processors} {}, {} connections, over {} s\n",
        word(rates, "name"),
        word(rates, "organization"),
        if processors == 1.0 { "processor" } else { "processors" },
        thousands(number(rates, "connections")),
        short(number(rates, "seconds")),
    );
    for (way, packets, bytes) in
        [("in ", "packets_in", "bytes_in"), ("out", "packets_out", "bytes_out")]
    {
        let packets = thousands(number(now, packets));
        let _ = writeln!(text, "{way} {packets} packets/s, {}/s", bits(number(now, bytes)));
    }
    let _ = writeln!(
        text,
        "connections: {} opened/s, {} closed/s",
        thousands(number(now, "opened")),
        thousands(number(now, "closed")),
    );
    let named = |key: &str| {
        let all = rates[key].as_object().into_iter().flatten();
        let rates = all.filter_map(|(name, rate)| Some((name, rate.as_f64()?)));
        let rates = rates.filter(|(_, rate)| *rate > 0.0);
        rates.map(|(name, rate)| format!("{name} {}/s", thousands(rate))).collect::<Vec<_>>()
    };
    for (what, rates) in [("dropped", named("drops")), ("program", named("program"))] {
        if !rates.is_empty() {
            let _ = writeln!(text, "{what}: {}", rates.join(", "));
        }
    }
    let latency = &rates["instruments"]["latency"];
    if number(latency, "samples") > 0.0 {
        let _ = writeln!(
            text,
            "latency in the stack: {} µs in half, {} µs in 99 of 100",
            short(number(latency, "p50_us")),
            short(number(latency, "p99_us")),
        );
    }
    text
}

/// The time that a thread spent in a layer.
fn spent(thread: &Value, layer: &str) -> f64 {
    let layers = list(thread, "layers").iter();
    layers.filter(|time| word(time, "layer") == layer).map(|time| number(time, "seconds")).sum()
}

fn threads(instruments: &Value) -> String {
    let seconds = number(instruments, "seconds").max(1e-9);
    let ran = |thread: &Value| number(thread, "user_s") + number(thread, "system_s");
    let mut threads: Vec<&Value> = list(instruments, "threads").iter().collect();
    if threads.is_empty() {
        return String::new();
    }
    threads.sort_by(|one, other| ran(other).total_cmp(&ran(one)));
    let hidden = threads.len().saturating_sub(THREADS);
    threads.truncate(THREADS);
    let layers: Vec<_> = SHORT
        .iter()
        .filter(|(layer, _)| threads.iter().any(|thread| spent(thread, layer) > 0.0))
        .collect();
    let mut header =
        vec!["thread", "run\n%", "wait\n%", "in/s", "out/s", "handed/s", "sleeps/s", "switches/s"];
    let titles: Vec<String> = layers.iter().map(|(_, title)| format!("{title}\n%")).collect();
    header.extend(titles.iter().map(String::as_str));
    let row = |thread: &&Value| {
        let rate = |key: &str| thousands(number(thread, key) / seconds);
        let switches =
            number(thread, "voluntary_switches") + number(thread, "involuntary_switches");
        let mut row = vec![
            word(thread, "name").to_owned(),
            percent(ran(thread) / seconds),
            percent(number(thread, "runnable_s") / seconds),
            rate("packets_in"),
            rate("packets_out"),
            rate("handed"),
            rate("sleeps"),
            thousands(switches / seconds),
        ];
        row.extend(layers.iter().map(|(layer, _)| percent(spent(thread, layer) / seconds)));
        row
    };
    let mut text = render(&header, &threads.iter().map(row).collect::<Vec<_>>());
    if hidden > 0 {
        let _ = writeln!(text, "and {hidden} more");
    }
    text
}

fn locks(instruments: &Value) -> String {
    let seconds = number(instruments, "seconds").max(1e-9);
    let used = |lock: &&Value| number(lock, "uses") > 0.0;
    let row = |lock: &Value| {
        let share = |key: &str| percent(number(lock, key) / seconds);
        vec![
            word(lock, "name").to_owned(),
            thousands(number(lock, "locks")),
            thousands(number(lock, "uses") / seconds),
            percent(number(lock, "contended") / number(lock, "uses").max(1.0)),
            share("wait_s"),
            share("hold_s"),
        ]
    };
    let rows: Vec<_> = list(instruments, "locks").iter().filter(used).map(row).collect();
    match rows.is_empty() {
        true => String::new(),
        false => {
            render(&["lock", "how many", "uses/s", "found taken\n%", "waited\n%", "held\n%"], &rows)
        }
    }
}

fn queues(instruments: &Value) -> String {
    let seconds = number(instruments, "seconds").max(1e-9);
    let used = |queue: &&Value| number(queue, "taken") + number(queue, "dropped") > 0.0;
    let row = |queue: &Value| {
        vec![
            word(queue, "name").to_owned(),
            thousands(number(queue, "queues")),
            thousands(number(queue, "taken") / seconds),
            thousands(number(queue, "dropped") / seconds),
            short(number(queue, "length_mean")),
            thousands(number(queue, "length_max")),
            short(number(&queue["residence"], "p50_us")),
            short(number(&queue["residence"], "p99_us")),
        ]
    };
    let rows: Vec<_> = list(instruments, "queues").iter().filter(used).map(row).collect();
    let header = [
        "queue",
        "how many",
        "taken/s",
        "dropped/s",
        "length\nmean",
        "length\nmost",
        "µs in it\nhalf",
        "µs in it\n99 %",
    ];
    if rows.is_empty() { String::new() } else { render(&header, &rows) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn thread(name: &str, user: f64) -> Value {
        json!({
            "name": name, "packets_in": 2000, "packets_out": 10, "user_s": user, "system_s": 0.5,
            "runnable_s": 0.1, "handed": 0, "sleeps": 4, "voluntary_switches": 4,
            "involuntary_switches": 2,
            "layers": [{ "layer": "lock", "seconds": 0.02 }, { "layer": "ip", "seconds": 0.0 }],
        })
    }

    #[test]
    fn rates_are_a_second_s_and_times_are_percent() {
        let rates = json!({
            "name": "ana0", "organization": "group-locks", "processors": 2, "seconds": 2.0,
            "connections": 1234, "drops": { "ip_checksum": 3.0 },
            "program": { "http 80 served": 5.0, "http 80 errors": 0.0 },
            "rates": { "packets_in": 1000.0, "bytes_in": 125_000.0, "opened": 1.0 },
            "instruments": {
                "seconds": 2.0, "threads": [thread("a", 0.1), thread("b", 1.0)],
                "locks": [{
                    "name": "group", "locks": 128, "uses": 4000, "contended": 40, "wait_s": 0.002,
                    "hold_s": 1.0,
                }],
                "queues": [{ "name": "mailbox", "taken": 0, "dropped": 0 }],
                "latency": { "samples": 1, "p50_us": 1.5, "p99_us": 20.0 },
            },
        });
        let text = all(&rates);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "ana0: group-locks, 2 processors, 1,234 connections, over 2.00 s");
        assert_eq!(lines[1], "in  1,000 packets/s, 1.00 Mbit/s");
        assert!(text.contains("dropped: ip_checksum 3/s\nprogram: http 80 served 5/s\n"), "{text}");
        let words = |start: &str| {
            let line = lines.iter().find(|line| line.starts_with(start));
            line.expect(start).split_whitespace().collect::<Vec<_>>()
        };
        // Who ran most stands first; a layer without time has no column.
        assert!(text.find("\nb ") < text.find("\na "), "{text}");
        assert_eq!(words("b "), ["b", "75.0", "5.0", "1,000", "5", "0", "2", "3", "1.0"]);
        assert_eq!(words("group "), ["group", "128", "2,000", "1.0", "0.1", "50.0"]);
        assert!(!text.contains("mailbox"), "{text}");
    }

    #[test]
    fn a_stack_without_instruments_has_a_summary() {
        let text = all(&json!({ "name": "x", "instruments": null, "processors": 1 }));
        assert_eq!(text.lines().count(), 4, "{text}");
    }
}
