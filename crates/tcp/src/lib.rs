//! TCP (RFC 9293) as a value: segments, time-outs and user calls go into a
//! [`Tcb`] with the time; segments to send and events are polled out. No clock,
//! no input or output, no lock, no thread.
//!
//! What needs no TCB stands beside it: [`input::closed`] and [`input::listen`]
//! answer segments for which there is none (yet), [`time_wait`] is what is left
//! of one, and [`isn`] chooses initial sequence numbers.
#![forbid(unsafe_code)]

mod assembler;
mod config;
pub mod congestion;
mod cookie;
mod ecn;
mod facts;
mod fast_open;
mod info;
pub mod input;
pub mod isn;
mod loss;
mod marks;
mod open;
mod output;
mod pacing;
mod path;
mod pressure;
mod queue;
mod recovery;
mod recv;
mod rtt;
mod send;
mod settings;
mod settled;
mod socket;
mod state;
mod tcb;
pub mod time_wait;
mod timeout;
mod timers;
mod tuning;
mod user;
mod validation;

pub use config::{Config, CounterOptions, EcnMode, FastOpenKey, Keepalive};
pub use cookie::Cookies;
pub use ecn::reflect_syn;
pub use facts::Pressure;
pub use fast_open::{
    FastOpenCookies, Server as FastOpenServer, Terms as FastOpenTerms, Verdict as FastOpenVerdict,
};
pub use info::{AccurateEcn, Info};
pub use isn::Isn;
pub use output::{BareSegment, Next, Outgoing, PlainSegment, PlainSyn, TransmitOffload};
pub use recv::ReceiveQueue;
pub use state::{Error, Events, IcmpError, State, Unreachable};
pub use tcb::Tcb;
pub use time_wait::TimeWait;

// Modules of benches, which tests use too, call it so.
#[cfg(test)]
extern crate self as tcp;

#[cfg(test)]
mod harness;

#[cfg(test)]
mod hostile;

#[cfg(test)]
mod tests;
