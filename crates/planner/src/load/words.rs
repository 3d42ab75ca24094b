//! Reads the words of a load.

use super::{Load, Pattern};
use crate::{Error, Work};

/// The longest text that is read, bytes.
const MOST_TEXT: usize = 400;

const KNOWN: &str = "tcp or udp; rr, crr, send, receive or bulk; bytes like 64B; 20k connections (flows, sockets); a rate like 400k/s or 40 Gbit/s; poisson, steady or bursty 32";

#[derive(Clone, Copy, PartialEq)]
enum Protocol {
    Tcp,
    Udp,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Rr,
    Crr,
    Send,
    Receive,
}

/// A rate, by the second.
#[derive(Clone, Copy, PartialEq)]
enum Rate {
    Operations(f64),
    Bytes(f64),
}

/// A number with the unit that it was written with.
#[derive(Clone, Copy, PartialEq)]
enum Amount {
    Bytes(f64),
    Connections(f64),
    Rate(Rate),
}

#[derive(Default)]
struct Said {
    protocol: Option<Protocol>,
    way: Option<Way>,
    bytes: Option<f64>,
    connections: Option<f64>,
    rate: Option<Rate>,
    pattern: Option<Pattern>,
}

fn asked<T>(message: impl Into<String>) -> Result<T, Error> {
    Err(Error::Asked(message.into()))
}

fn once<T>(place: &mut Option<T>, value: T, what: &str, word: &str) -> Result<(), Error> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => asked(format!("`{word}` gives the load's {what} a second time: leave one out")),
    }
}

/// Reads a load from its text. Its figures may still be out of bounds.
pub(super) fn parse(text: &str) -> Result<Load, Error> {
    if text.len() > MOST_TEXT {
        return asked(format!("a load of {} bytes: it has at most {MOST_TEXT}", text.len()));
    }
    let grouped = |w: &[u8]| w[0].is_ascii_digit() && w[1] == b',' && w[2].is_ascii_digit();
    if text.as_bytes().windows(3).any(grouped) {
        return asked(
            "a comma between digits: write 20000, 20_000 or 20k, and a space after a comma that separates words",
        );
    }
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty()).collect();
    let mut said = Said::default();
    let mut rest = &words[..];
    while let Some((word, after)) = rest.split_first() {
        rest = match word.as_bytes()[0].is_ascii_digit() {
            true => said.amount(rest)?,
            false => said.word(word, after)?,
        };
    }
    said.load()
}

impl Said {
    /// Takes a word that is not a number. Returns the words after it.
    fn word<'a>(&mut self, word: &str, after: &'a [&'a str]) -> Result<&'a [&'a str], Error> {
        let protocol = |p| Some((Some(p), None));
        let way = |w| Some((None, Some(w)));
        let known = match word.to_ascii_lowercase().as_str() {
            "tcp" => protocol(Protocol::Tcp),
            "udp" => protocol(Protocol::Udp),
            "rr" => way(Way::Rr),
            "crr" => way(Way::Crr),
            "send" | "bulk" => way(Way::Send),
            "receive" => way(Way::Receive),
            "poisson" => return self.pattern(Pattern::Poisson, word, after),
            "steady" => return self.pattern(Pattern::Steady, word, after),
            "bursty" => {
                let Some(size) = after.first().and_then(|size| size.parse().ok()) else {
                    return asked(
                        "`bursty` wants the number of operations that come at once, like bursty 32",
                    );
                };
                return self.pattern(Pattern::Bursty(size), word, &after[1..]);
            }
            _ => None,
        };
        match known {
            Some((Some(protocol), _)) => once(&mut self.protocol, protocol, "protocol", word)?,
            Some((_, Some(way))) => once(&mut self.way, way, "work", word)?,
            _ => return asked(format!("`{}` is no word of a load: {KNOWN}", shown(word))),
        }
        Ok(after)
    }

    fn pattern<'a>(
        &mut self,
        pattern: Pattern,
        word: &str,
        after: &'a [&'a str],
    ) -> Result<&'a [&'a str], Error> {
        once(&mut self.pattern, pattern, "arrivals", word)?;
        Ok(after)
    }

    /// Takes a number and its unit, in the same word or the next one. Returns the words
    /// after them.
    fn amount<'a>(&mut self, words: &'a [&'a str]) -> Result<&'a [&'a str], Error> {
        let mut text = String::new();
        for (index, word) in words.iter().enumerate() {
            if index > 0 && word.starts_with(|c: char| c.is_ascii_digit()) {
                break;
            }
            text += word;
            let (number, unit) = split(&text);
            if let Some(amount) = amount(number, unit)? {
                match amount {
                    Amount::Bytes(n) => once(&mut self.bytes, n, "bytes", &text)?,
                    Amount::Connections(n) => {
                        once(&mut self.connections, n, "connections", &text)?;
                    }
                    Amount::Rate(rate) => once(&mut self.rate, rate, "rate", &text)?,
                }
                return Ok(&words[index + 1..]);
            }
            // After `20`, `20k` and `20 k` the unit is in the next word.
            let wanting = matches!(unit, "" | "k" | "K" | "M" | "G");
            if !wanting || index + 1 == words.len() {
                break;
            }
        }
        asked(format!(
            "`{}`: a number of what? write 64B, 20k connections (flows, sockets), 400k/s or 40 Gbit/s",
            shown(words[0])
        ))
    }

    fn load(self) -> Result<Load, Error> {
        let (Some(protocol), Some(way)) = (self.protocol, self.way) else {
            let missing = match self.protocol {
                None => "the protocol, tcp or udp",
                Some(_) => "what connections do: rr, crr, send, receive or bulk",
            };
            return asked(format!("the load lacks {missing}; it has: {KNOWN}"));
        };
        let work = match (protocol, way) {
            (Protocol::Tcp, Way::Crr) => Work::TcpCrr,
            (Protocol::Udp, Way::Crr) => {
                return asked(
                    "`crr` opens a connection for each message, and UDP has none: ask for tcp crr or udp rr",
                );
            }
            (Protocol::Tcp, Way::Rr) => Work::TcpRr,
            (Protocol::Tcp, Way::Send) => Work::TcpSend,
            (Protocol::Tcp, Way::Receive) => Work::TcpReceive,
            (Protocol::Udp, Way::Rr) => Work::UdpRr,
            (Protocol::Udp, Way::Send) => Work::UdpSend,
            (Protocol::Udp, Way::Receive) => Work::UdpReceive,
        };
        let Some(connections) = self.connections else {
            return asked("the load lacks how many connections there are: add 20k connections");
        };
        let bytes = match self.bytes {
            Some(bytes) => whole(bytes, "bytes")?,
            None => Load::default_bytes(work),
        };
        let rate_per_s = self.rate.map(|rate| match rate {
            Rate::Operations(rate) => rate,
            Rate::Bytes(rate) => rate / bytes.max(1) as f64,
        });
        let connections = whole(connections, "connections")?;
        let pattern = self.pattern.unwrap_or_default();
        Ok(Load { work, bytes, connections, rate_per_s, pattern })
    }
}

/// The number as an integer, if it is one.
fn whole(value: f64, what: &str) -> Result<usize, Error> {
    match value.fract() == 0.0 && value < 1e15 {
        true => Ok(value as usize),
        false => asked(format!("{value} {what}: write a whole number below 1e15")),
    }
}

/// The beginning of a word, for messages.
fn shown(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(40).collect()
}

/// Splits a word after the digits at its start.
fn split(text: &str) -> (&str, &str) {
    let digit = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let end = text.find(|c| !digit(c)).unwrap_or(text.len());
    text.split_at(end)
}

/// The meaning of a number with a unit; `None` if the unit is unknown or incomplete.
fn amount(number: &str, unit: &str) -> Result<Option<Amount>, Error> {
    let Ok(number) = number.replace('_', "").parse::<f64>() else {
        return asked(format!("`{}` is no number", shown(number)));
    };
    let (factor, unit) = match unit.as_bytes().first() {
        // `Kbit` is in the table below, and so are `KB` and `KiB`.
        Some(b'k') if !unit.starts_with("kB") && !unit.starts_with("kbit") => (1e3, &unit[1..]),
        Some(b'K') if !bits_or_bytes(&unit[1..]) => (1e3, &unit[1..]),
        Some(b'M') if !bits_or_bytes(&unit[1..]) => (1e6, &unit[1..]),
        Some(b'G') if !bits_or_bytes(&unit[1..]) => (1e9, &unit[1..]),
        _ => (1.0, unit),
    };
    let number = number * factor;
    let (unit, per_s) = match unit.split_once('/') {
        Some((unit, "s")) => (unit, Some(1.0)),
        Some((unit, "ms")) => (unit, Some(1e3)),
        Some(_) => return Ok(None),
        None => (unit, None),
    };
    let data = match unit {
        "B" | "byte" | "bytes" => Some(1.0),
        "kB" | "KB" => Some(1e3),
        "MB" => Some(1e6),
        "GB" => Some(1e9),
        "KiB" => Some(1024.0),
        "MiB" => Some(1024.0 * 1024.0),
        "GiB" => Some(1024.0 * 1024.0 * 1024.0),
        "bit" => Some(1.0 / 8.0),
        "kbit" | "Kbit" => Some(1e3 / 8.0),
        "Mbit" => Some(1e6 / 8.0),
        "Gbit" => Some(1e9 / 8.0),
        _ => None,
    };
    Ok(match (unit, data, per_s) {
        ("", _, Some(per_s)) => Some(Amount::Rate(Rate::Operations(number * per_s))),
        (_, Some(data), Some(per_s)) => Some(Amount::Rate(Rate::Bytes(number * data * per_s))),
        (unit, Some(data), None) if !unit.ends_with("bit") => Some(Amount::Bytes(number * data)),
        ("connection" | "connections" | "flow" | "flows" | "socket" | "sockets", _, None) => {
            Some(Amount::Connections(number))
        }
        _ => None,
    })
}

/// True for the end of `KB`, `KiB`, `Kbit` and the like.
fn bits_or_bytes(rest: &str) -> bool {
    rest.starts_with('B') || rest.starts_with("iB") || rest.starts_with("bit")
}
