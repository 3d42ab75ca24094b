//! What a script needs besides packetdrill: the shell commands in it set up a kernel.
//! What they set of TCP is told to the stack, and they are left out.
//!
//! Left out as well are the assertions in `%{ … }%`: packetdrill asks the kernel for
//! the facts that they are about, by a system call of its own, and not the library.

use std::fs;
use std::path::Path;

/// A script as it is run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Its text. Lines are where they were.
    pub text: String,
    /// The parameters of Linux that it sets, `tcp_…=…`, in order.
    pub parameters: Vec<String>,
    /// Bytes of the largest datagram, if it says so.
    pub mtu: Option<u32>,
    /// Whether it is of IPv6, if it says so.
    pub ipv6: Option<bool>,
    /// Our address of IPv4, and the peer's, if it says which they are: it is not for IPv6 then.
    pub local: Option<String>,
    /// See `local`.
    pub remote: Option<String>,
    /// Assertions that were left out.
    pub assertions: usize,
}

/// An event that does nothing, for those that are left out: times in a script often
/// count from the event before.
const NOTHING: &str = "`true`";

/// Prepares the script at `path`.
///
/// # Errors
/// If it cannot be read; names it.
pub fn prepare(path: &Path) -> std::io::Result<Prepared> {
    let text = fs::read_to_string(path).map_err(|error| {
        std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    Ok(prepare_text(&text, |script| fs::read_to_string(folder.join(script)).ok()))
}

/// Prepares a script whose text is given. `read` reads the shell scripts that it runs.
pub fn prepare_text(text: &str, read: impl Fn(&str) -> Option<String>) -> Prepared {
    let mut prepared = Prepared::default();
    for line in text.lines() {
        if let Some(mtu) = line.trim().strip_prefix("--mtu=") {
            prepared.mtu = mtu.parse().ok();
        }
        if let Some(version) = line.trim().strip_prefix("--ip_version=") {
            prepared.ipv6 = Some(version == "ipv6");
        }
        for (flag, end) in
            [("--local_ip=", &mut prepared.local), ("--remote_ip=", &mut prepared.remote)]
        {
            let address = line.trim().strip_prefix(flag).filter(|address| address.contains('.'));
            *end = address.map(str::to_owned).or(end.take());
        }
    }
    let mut rest = text;
    while let Some((before, what)) = next_command(rest) {
        prepared.text.push_str(before);
        let (command, after) = match what {
            Found::Shell(command, after) => {
                shell(command, &read, &mut prepared.parameters);
                prepared.mtu = command.lines().find_map(mtu_of_device).or(prepared.mtu);
                (command, after)
            }
            Found::Assertion(code, after) => {
                prepared.assertions += 1;
                (code, after)
            }
        };
        if is_event(&prepared.text) {
            prepared.text.push_str(NOTHING);
        }
        prepared.text.extend(command.matches('\n'));
        rest = after;
    }
    prepared.text.push_str(rest);
    prepared
}

/// Something that is left out, and the text behind it.
enum Found<'a> {
    Shell(&'a str, &'a str),
    Assertion(&'a str, &'a str),
}

/// The next thing to leave out, behind the text that stays.
fn next_command(text: &str) -> Option<(&str, Found<'_>)> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let next = rest.find(['`', '/', '%'])?;
        let here = &rest[next..];
        let end_of_line = || here.find('\n').map_or(text.len(), |end| at + next + end);
        if let Some(command) = here.strip_prefix('`') {
            let (command, after) = command.split_once('`')?;
            return Some((&text[..at + next], Found::Shell(command, after)));
        }
        if let Some(code) = here.strip_prefix("%{") {
            let (code, after) = code.split_once("}%")?;
            return Some((&text[..at + next], Found::Assertion(code, after)));
        }
        at = if here.starts_with("//") {
            end_of_line()
        } else if here.starts_with("/*") {
            at + next + here.find("*/").map_or(here.len(), |end| end + 2)
        } else {
            at + next + 1
        };
    }
}

/// Does the text end in a time, so that an event has to follow?
fn is_event(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default().trim();
    line.starts_with(|first: char| first.is_ascii_digit() || "+.*".contains(first))
}

/// What a shell script or command sets.
fn shell(command: &str, read: &dyn Fn(&str) -> Option<String>, parameters: &mut Vec<String>) {
    for line in command.replace("\\\n", " ").lines() {
        for part in words(line) {
            if part.ends_with("defaults.sh") {
                if let Some(script) = read(&part) {
                    shell(&script, &|_| None, parameters);
                }
            } else if let Some(at) = part.find("tcp_")
                && part.contains('=')
                && (part.starts_with("net.ipv4.") || part.starts_with("/proc/sys/net/ipv4/"))
            {
                parameters.push(arithmetic(&part[at..]));
            }
        }
    }
}

/// The MTU that a line gives to packetdrill's device: `ip link set dev tun0 mtu 9000`.
fn mtu_of_device(line: &str) -> Option<u32> {
    let words = words(line);
    let mut words = words.iter().map(String::as_str);
    if (words.next(), words.next()) != (Some("ip"), Some("link")) {
        return None;
    }
    words.find(|word| *word == "mtu")?;
    words.next()?.parse().ok()
}

/// The words of a shell's line, without quotation marks.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.trim_start().chars() {
        match c {
            '#' if word.is_empty() && !quoted => break,
            '"' | '\'' => quoted = !quoted,
            ' ' | '\t' | ';' | '>' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Works out products as `$((15*1024*1024))`.
fn arithmetic(text: &str) -> String {
    let Some((before, rest)) = text.split_once("$((") else { return text.into() };
    let Some((product, after)) = rest.split_once("))") else { return text.into() };
    let factors = product.split('*').map(|factor| factor.trim().parse::<u64>().ok());
    match factors.reduce(|a, b| a?.checked_mul(b?)).flatten() {
        Some(product) => format!("{before}{product}{}", arithmetic(after)),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests;
