//! SYNs where Fast Open is used (RFC 7413): what they have beside their header's options, and
//! what travels with them.

use super::{Cx, Transport};
use crate::application::Application;
use crate::config::InterfaceConfig;
use crate::connections::Connections;
use crate::fast_open::Answer;
use tcp::{FastOpenCookies, FastOpenVerdict, Outgoing, Tcb};
use wire::packet::ChecksumState;
use wire::tcp::{FastOpen, Header};
use wire::{FlowKey, Instant, Packet, Parts, checksum, protocol, tcp as header};

/// Offset of the checksum field in a TCP header, and of the header's length.
const CHECKSUM: usize = 16;
const OFFSET: usize = 12;

/// What a peer takes that announces nothing (RFC 9293 3.7.1).
const DEFAULT_MSS: u16 = 536;

/// What a SYN has for Fast Open.
pub(super) struct Syn {
    option: Option<FastOpen>,
    payload: Parts,
}

impl Syn {
    /// That of a SYN whose header of `len` bytes stands in front of `packet`.
    pub(super) fn of(packet: Packet, len: usize) -> Syn {
        let options = packet.front().get(header::LEN..len).unwrap_or_default();
        let option = FastOpen::find(options);
        Syn { option, payload: packet.into_payload(len) }
    }

    /// Bytes of payload.
    pub(super) fn len(&self) -> usize {
        wire::total(&self.payload)
    }

    /// Its connection, to which `flow` belongs, gets it with this header; `segment` and `ecn` as in
    /// [`Tcb::input_coalesced`]. Returns what it tells of the server, if it answers our SYN.
    pub(super) fn input(
        &self,
        tcb: &mut Tcb,
        header: &Header,
        (segment, ecn): (u16, u8),
        now: Instant,
    ) -> Option<Answer> {
        let asks = tcb.asks_fast_open();
        tcb.input_coalesced(header, self.payload.clone(), segment, ecn, now);
        let once = asks.filter(|_| tcb.is_synchronized())?;
        Some(Answer {
            cookie: self.option,
            mss: header.options.mss.unwrap_or(DEFAULT_MSS),
            arrived: once || tcb.has_syn_data(),
            refused: once && tcb.queued() > 0 && !tcb.has_syn_data(),
        })
    }

    /// What becomes of it; `None`: nothing but an ordinary handshake.
    pub(super) fn judge<A: Application, C: Connections<A::Connection>>(
        &self,
        flow: &FlowKey,
        listener: &A::Listener,
        transport: &Transport<A>,
        cx: &Cx<'_, A, C>,
    ) -> Option<FastOpenVerdict> {
        if self.option.is_none() && self.payload.is_empty() {
            return None;
        }
        let terms = cx.app.fast_open(listener)?;
        if terms.without_cookie {
            return Some(FastOpenVerdict { open: true, cookie: None });
        }
        let (option, ends) = (self.option?, (flow.remote.address, flow.local.address));
        let own = terms.key.map(FastOpenCookies::of_key);
        let cookies = own.as_ref().unwrap_or(&transport.fast_open);
        Some(cookies.judge(option, ends, cx.now, transport.config.epoch))
    }

    /// Begins a connection by it. Returns whether that is the application's at once.
    pub(super) fn begin<A: Application>(
        &self,
        verdict: FastOpenVerdict,
        app: &mut A,
        user: &mut A::Connection,
        tcb: &mut Tcb,
        now: Instant,
    ) -> bool {
        // RFC 7413 4.2.2/3, 5.1/1
        if let Some(cookie) = verdict.cookie {
            tcb.offer_cookie(cookie);
        }
        let opens = verdict.open && app.opens_early(user, now);
        if opens {
            tcb.open_early(self.payload.clone(), now);
        }
        opens
    }
}

/// The packet of a SYN of `flow` that leaves by an interface like this, with `option` behind
/// those of its header.
#[cold]
pub(super) fn packet(
    flow: &FlowKey,
    segment: &mut Outgoing,
    option: FastOpen,
    interface: &InterfaceConfig,
) -> Packet {
    let header = &mut segment.header;
    (header.source_port, header.destination_port) = (flow.local.port, flow.remote.port);
    if header.len() + option.len() > header::MAX_LEN {
        // What counts marks may be said later.
        header.options.acc_ecn = None;
    }
    let payload_len = wire::total(&segment.payload);
    let (known, mut packet) = (header.len(), Packet::new());
    packet.parts_mut().append(&mut segment.payload);
    let len = known + option.len();
    let bytes = packet.push(len);
    header.emit(&mut bytes[..known]);
    option.emit(&mut bytes[known..]);
    bytes[OFFSET] = bytes[OFFSET] & 0xf | ((len / 4) << 4) as u8;
    let sum = checksum::sum(bytes);
    let (source, destination) = (flow.local.address, flow.remote.address);
    let pseudo =
        checksum::pseudo_header(source, destination, protocol::TCP, (len + payload_len) as u32);
    let field = match interface.transmit_checksum {
        true => pseudo,
        false => {
            let payload = segment.sum.unwrap_or_else(|| packet.sum_from(len));
            !checksum::add(checksum::add(pseudo, sum), payload)
        }
    };
    packet.head_mut()[CHECKSUM..CHECKSUM + 2].copy_from_slice(&field.to_be_bytes());
    let meta = packet.meta_mut();
    if interface.transmit_checksum {
        meta.checksum = ChecksumState::Partial;
        meta.csum_offset = CHECKSUM as u16;
    }
    (meta.protocol, meta.source, meta.destination) = (protocol::TCP, source, destination);
    packet
}

#[cfg(test)]
mod tests;
