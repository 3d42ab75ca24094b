//! SYNs where Fast Open is used (RFC 7413): what they have beside their header's options, and
//! what travels with them.

use super::tcp_input::Arrived;
use super::{Cx, Transport};
use crate::application::Application;
use crate::arriving::Arriving;
use crate::config::InterfaceConfig;
use crate::connections::Connections;
use tcp::{FastOpenVerdict, Outgoing, Tcb};
use wire::packet::ChecksumState;
use wire::tcp::FastOpen;
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

impl Arriving {
    /// As [`Arriving::input`], of a SYN whose header of `len` bytes stands in front of `packet`.
    #[cold]
    pub(super) fn syn<A: Application, C: Connections<A::Connection>>(
        &self,
        mut packet: Packet,
        len: usize,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let Arriving { flow, header, interface, segment, ecn } = self;
        let options = packet.front().get(header::LEN..len).unwrap_or_default();
        let option = FastOpen::find(options);
        packet.pull(len);
        let mut payload = packet.into_parts();
        // It ends the batch of its flow, if there is one.
        transport.coalesce(flow, header, *ecn, &mut payload, cx);
        let (ready, now) = (&mut transport.ready, cx.now);
        let found = cx.conns.with_flow(flow, |connection| {
            let tcb = &mut connection.tcb;
            let asks = tcb.asks_fast_open();
            tcb.input_coalesced(header, payload.clone(), *segment, *ecn, now);
            let answered = asks.filter(|_| tcb.is_synchronized()).map(|once| {
                let refused = once && tcb.queued() > 0 && !tcb.has_syn_data();
                (once || tcb.has_syn_data(), refused)
            });
            ready.schedule(connection);
            answered
        });
        if let Some(answered) = found {
            if let Some(answered) = answered {
                let mss = header.options.mss.unwrap_or(DEFAULT_MSS);
                let told = (option, mss);
                transport.config.fast_open.answered(flow.remote.address, told, answered);
            }
            return cx.counters.delivered += 1;
        }
        let len = wire::total(&payload);
        let (flow, header, interface) = (*flow, *header, *interface);
        let syn = Some(Syn { option, payload });
        Arrived { flow, header, len, interface, ecn: *ecn, syn }.without_connection(transport, cx);
    }
}

impl Syn {
    /// What becomes of it; `None`: nothing but an ordinary handshake.
    pub(super) fn judge<A: Application, C: Connections<A::Connection>>(
        &self,
        flow: &FlowKey,
        listener: &A::Listener,
        transport: &Transport<A>,
        cx: &Cx<'_, A, C>,
    ) -> Option<FastOpenVerdict> {
        let option = self.option.filter(|_| cx.app.fast_open(listener))?;
        let ends = (flow.remote.address, flow.local.address);
        Some(transport.fast_open.judge(option, ends, cx.now, transport.config.epoch))
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
