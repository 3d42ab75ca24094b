//! [`Ticks`]: the costs of a scenario in simulated time.

use super::Time;
use super::scenario::Scenario;

/// Costs, ps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ticks {
    pub(crate) receive: u64,
    pub(crate) link_in: u64,
    pub(crate) ip_in: u64,
    pub(crate) transport_in: u64,
    pub(crate) application: u64,
    pub(crate) transport_out: u64,
    pub(crate) ip_out: u64,
    pub(crate) link_out: u64,
    pub(crate) transmit: u64,
    pub(crate) presentation: u64,
    pub(crate) round: u64,
    pub(crate) empty_poll: u64,
    pub(crate) visit: u64,
    pub(crate) scan: u64,
    pub(crate) sleep: u64,
    pub(crate) demultiplex: u64,
    pub(crate) filter: u64,
    pub(crate) lookup: u64,
    pub(crate) ticket: u64,
    pub(crate) schedule: u64,
    pub(super) open: u64,
    pub(crate) item: u64,
    pub(crate) batch: u64,
    pub(crate) sleep_lock: u64,
    pub(crate) layer_item: u64,
    pub(super) connection_move: u64,
    pub(super) unit_move: u64,
    pub(super) packet_move: u64,
    pub(super) miss: u64,
}

impl Ticks {
    pub(super) fn new(scenario: &Scenario) -> Ticks {
        let costs = &scenario.costs;
        let (fixed, each) = (&costs.layers, &costs.layers_per_byte);
        let bytes = scenario.bytes as f64;
        let layer = |fixed: f64, each: f64| ps(fixed + each * bytes);
        let line = costs.caches.line_transfer_ns;
        let caches = &costs.caches;
        let shares = scenario.connections as f64 / scenario.processors as f64;
        let missed = match caches.connections_held {
            held if held > 0.0 && shares > held => 1.0 - held / shares,
            _ => 0.0,
        };
        let (rounds, steps, hand_off) = (&costs.rounds, &costs.steps, &costs.hand_off);
        let frames = costs.frames.per_operation_in;
        Ticks {
            receive: layer(fixed.receive_ns, each.receive_ns),
            link_in: layer(fixed.link_in_ns, each.link_in_ns),
            ip_in: layer(fixed.ip_in_ns, each.ip_in_ns),
            transport_in: layer(fixed.transport_in_ns, each.transport_in_ns),
            application: layer(
                fixed.application_ns + costs.extra.operation_ns,
                each.application_ns,
            ),
            transport_out: layer(fixed.transport_out_ns, each.transport_out_ns),
            ip_out: layer(fixed.ip_out_ns, each.ip_out_ns),
            link_out: layer(fixed.link_out_ns, each.link_out_ns),
            transmit: layer(fixed.transmit_ns, each.transmit_ns),
            presentation: layer(fixed.presentation_ns, each.presentation_ns),
            round: ps(rounds.round_ns + costs.extra.round_ns),
            empty_poll: ps(rounds.empty_poll_ns),
            visit: ps(rounds.visit_ns),
            scan: ps(rounds.scan_ns),
            sleep: ps(rounds.sleep_ns),
            demultiplex: ps(steps.demultiplex_ns * frames),
            filter: ps(steps.filter_ns * frames),
            lookup: ps(steps.lookup_ns * frames),
            ticket: ps(steps.ticket_ns * frames),
            schedule: ps(steps.schedule_ns),
            open: ps(steps.open_ns),
            item: ps(hand_off.item_ns * frames),
            batch: ps(hand_off.batch_ns),
            sleep_lock: ps(hand_off.sleep_lock_ns),
            layer_item: ps(hand_off.layer_item_ns),
            connection_move: ps(line * caches.connection_lines),
            unit_move: ps(line * caches.unit_lines),
            packet_move: ps(line * caches.packet_lines * frames),
            miss: ps(caches.miss_ns * missed),
        }
    }

    /// The work of a domain for one operation.
    pub(crate) fn layers(&self) -> u64 {
        self.up() + self.down()
    }

    /// From the link to the transport.
    pub(crate) fn up(&self) -> u64 {
        self.link_in + self.ip_in + self.transport_in
    }

    /// From the application to the link.
    pub(crate) fn down(&self) -> u64 {
        self.application + self.transport_out + self.ip_out + self.link_out
    }
}

/// Picoseconds.
pub(super) fn ps(ns: f64) -> u64 {
    Time::from_ns(ns).0
}
