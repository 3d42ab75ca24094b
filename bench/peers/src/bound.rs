//! No stack: a thread that turns each question round as it came, without connections, timers or
//! checks, by a call to read and a call to write, and without a header of offloads, which costs
//! more than it brings here. A stack on one thread that reads and writes this device packet by
//! packet has these calls, and its own work besides: this is the bound of short questions.

use crate::run::{DEVICE, MTU};
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// How long the thread looks on before it sleeps, and how long it sleeps then.
const LOOKS_ON: Duration = Duration::from_micros(100);
const SLEEPS: Duration = Duration::from_micros(50);
const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const ACK: u8 = 16;
/// Bytes of a TCP header, and of the options of a segment that has time stamps and nothing else.
const HEADER: usize = 20;
const STAMPS: usize = 12;

/// Serves until it is killed.
pub fn serve() {
    let mut config = tun::Configuration::default();
    config.tun_name(DEVICE).mtu(MTU as u16).up();
    let mut device = tun::create(&config).expect("a device");
    device.set_nonblock().expect("it is open");
    crate::run::ready();
    let (mut bytes, mut last) = (vec![0; 65_536], Instant::now());
    loop {
        match device.read(&mut bytes) {
            Ok(n) => {
                if let Some(len) = turned_round(&mut bytes[..n]) {
                    // What does not fit is lost.
                    let _ = device.write(&bytes[..len]);
                }
                last = Instant::now();
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if last.elapsed() > LOOKS_ON {
                    std::thread::sleep(SLEEPS);
                }
            }
            Err(error) => panic!("{DEVICE}: {error}"),
        }
    }
}

/// Makes its answer of a packet; returns the answer's length, or `None` if there is none.
fn turned_round(packet: &mut [u8]) -> Option<usize> {
    let is_v4 = packet.first()? >> 4 == 4;
    let (addresses, len, head, protocol) = match is_v4 {
        true => (12, 4, usize::from(packet[0] & 15) * 4, *packet.get(9)?),
        false => (8, 16, 40, *packet.get(6)?),
    };
    let whole = packet.len();
    if whole < head + 8 {
        return None;
    }
    let (source, destination) = packet[addresses..addresses + 2 * len].split_at_mut(len);
    source.swap_with_slice(destination);
    let (source, destination) = packet[head..head + 4].split_at_mut(2);
    source.swap_with_slice(destination);
    match protocol {
        // Neither sum changes by that.
        UDP => Some(whole),
        TCP if whole >= head + 20 => {
            let answer = answer_of_tcp(&mut packet[head..])?;
            let answer = head + answer;
            if is_v4 {
                packet[2..4].copy_from_slice(&(answer as u16).to_be_bytes());
                packet[10..12].fill(0);
                let sum = !folded(summed(&packet[..head]));
                packet[10..12].copy_from_slice(&sum.to_be_bytes());
            } else {
                packet[4..6].copy_from_slice(&((answer - head) as u16).to_be_bytes());
            }
            let pseudo = summed(&packet[addresses..addresses + 2 * len]);
            let pseudo = pseudo + u32::from(TCP) + (answer - head) as u32;
            let sum = !folded(pseudo + summed(&packet[head..answer]));
            packet[head + 16..head + 18].copy_from_slice(&sum.to_be_bytes());
            Some(answer)
        }
        _ => None,
    }
}

/// Makes the answer of a segment, but for its checksum, which is 0; returns its length. All that
/// it knows of the connection is what the segment says; it has the client's clock.
fn answer_of_tcp(segment: &mut [u8]) -> Option<usize> {
    let number = |at: usize| u32::from_be_bytes(segment[at..at + 4].try_into().expect("four"));
    let (theirs, ours, flags) = (number(4), number(8), segment[13]);
    let head = usize::from(segment[12] >> 4) * 4;
    let data = segment.len().checked_sub(head)? as u32;
    if flags & RST != 0 || (data == 0 && flags & (SYN | FIN) == 0) {
        return None;
    }
    let (sequence, flags, len) = match flags & SYN != 0 {
        true => (theirs, SYN | ACK, answer_options(segment.get_mut(HEADER..head)?)?),
        false => {
            if head == HEADER + STAMPS {
                segment.copy_within(24..28, 28);
            }
            (ours, ACK | PSH | (flags & FIN), segment.len())
        }
    };
    let taken = data + u32::from(segment[13] & (SYN | FIN) != 0);
    if flags & SYN != 0 {
        segment[12] = (len as u8 / 4) << 4;
    }
    segment[4..8].copy_from_slice(&sequence.to_be_bytes());
    segment[8..12].copy_from_slice(&theirs.wrapping_add(taken).to_be_bytes());
    segment[13] = flags;
    segment[14..16].fill(0xff);
    segment[16..20].fill(0);
    Some(len)
}

/// Makes of the options of Linux' SYN (segment size, SACK, time stamps, ...) the segment size and
/// time stamps; returns the length of the header with them.
fn answer_options(options: &mut [u8]) -> Option<usize> {
    let stamps: [u8; 4] = match *options {
        [2, 4, _, _, 4, 2, 8, 10, a, b, c, d, ..] if options.len() >= 16 => [a, b, c, d],
        _ => return None,
    };
    options[4..8].copy_from_slice(&[1, 1, 8, 10]);
    options[8..12].copy_from_slice(&stamps);
    options[12..16].copy_from_slice(&stamps);
    Some(HEADER + 4 + STAMPS)
}

/// The sum of big-endian words; an odd byte is a high one.
fn summed(bytes: &[u8]) -> u32 {
    let words =
        bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)));
    words.sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
