//! How a connection begins.

use crate::congestion::{Congestion, initial_window};
use crate::tcb::{DEFAULT_PEER_MSS, LEAST_PEER_MSS};
use crate::{Config, Isn, State, Tcb};
use std::sync::Arc;
use wire::Instant;
use wire::tcp::Header;

impl Tcb {
    /// Active open: CLOSED to SYN-SENT (RFC 9293 3.10.1). `mss` is the largest
    /// payload that our link takes (MTU - 40), which the SYN announces.
    pub fn connect(config: &Arc<Config>, isn: Isn, mss: u16, now: Instant) -> Tcb {
        let mut tcb = Tcb::closed(config, isn, mss, now);
        tcb.begin_connect();
        tcb
    }

    /// Passive open by `syn`, which [`listen`](crate::input::listen) found
    /// good: LISTEN to SYN-RECEIVED (RFC 9293 3.10.7.2).
    pub fn accept(config: &Arc<Config>, isn: Isn, mss: u16, syn: &Header, now: Instant) -> Tcb {
        let mut tcb = Tcb::closed(config, isn, mss, now);
        tcb.begin_accept(syn, now);
        tcb
    }

    /// As [`Tcb::connect`], of what [`Tcb::closed`] has made.
    pub fn begin_connect(&mut self) {
        self.state = State::SynSent;
        self.ask_ecn();
    }

    /// As [`Tcb::accept`], of what [`Tcb::closed`] has made.
    pub fn begin_accept(&mut self, syn: &Header, now: Instant) {
        self.flags.passive = true;
        self.take_syn(syn, now);
        self.state = State::SynReceived;
    }

    /// Takes in the peer's SYN: its sequence number, window and options.
    pub(crate) fn take_syn(&mut self, syn: &Header, now: Instant) {
        // RFC 9293 MUST-14
        // RFC 7323 2.2/3, 3.2/1
        self.rcv.irs = syn.seq;
        self.rcv.nxt = syn.seq + 1;
        self.rcv.acked = self.rcv.nxt;
        self.rcv.edge = self.rcv.nxt + self.first_window(self.rcv.limit);
        let options = &syn.options;
        // RFC 7323 2.2/2
        // RFC 7323 2.2: the shift counts only if both SYNs carry the option
        match options.window_scale {
            // RFC 7323 2.3/2
            // RFC 7323 2.3: more than 14 is taken as 14
            Some(shift) if self.config.window_scaling => self.snd.shift = shift.min(14),
            _ => (self.snd.shift, self.rcv.shift, self.rcv.scaling) = (0, 0, false),
        }
        self.agree_ecn(syn);
        self.flags.sack = self.config.sack && options.sack_permitted;
        self.flags.timestamps = self.config.timestamps && options.timestamps.is_some();
        if let Some((value, _)) = options.timestamps {
            (self.ts.recent, self.ts.recent_at) = (value, now);
        }
        // RFC 9293 MUST-15
        let peer = options.mss.unwrap_or(DEFAULT_PEER_MSS).max(LEAST_PEER_MSS);
        self.snd.limit = self.snd.limit.min(peer);
        self.set_mss();
        // RFC 7323 2.2: the window of a SYN is never scaled
        self.snd.wnd = syn.window.into();
        self.snd.max_wnd = self.snd.wnd;
        self.snd.wl1 = syn.seq;
        self.start_window();
    }

    /// The congestion window is as it is at the beginning.
    pub(crate) fn start_window(&mut self) {
        let initial = initial_window(self.config.initial_window, self.mss());
        self.congestion = Congestion::new(self.congestion.algorithm(), initial);
    }
}
