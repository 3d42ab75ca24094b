//! [`Client`]: the state machine of RFC 2131 4.4 (its figure 5).

use super::lease::Lease;
use super::message::{Kind, Message, Options};
use crate::Ignored;
use platform::SplitMix64;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use wire::Instant;
use wire::time::Duration;

/// How long the first answer may take; each further one has twice that (RFC 2131 4.1).
const FIRST: Duration = Duration::from_secs(4);
/// The most of it.
const LONGEST: Duration = Duration::from_secs(64);
/// How often a request is sent before the client begins anew.
const REQUESTS: u32 = 4;
/// The least time between requests to keep a lease (RFC 2131 4.4.5).
const LEAST: Duration = Duration::from_secs(60);
/// How long the client rests after it has declined an address (RFC 2131 3.1, 5).
const REST: Duration = Duration::from_secs(10);

/// What the client is, and how it begins.
#[derive(Clone, Debug)]
pub struct Config {
    /// Our Ethernet address.
    pub ethernet: [u8; 6],
    /// What servers know the client by, if that is not its Ethernet address (option 61).
    pub client_id: Option<Vec<u8>>,
    /// The name that servers are told (option 12).
    pub host_name: Option<String>,
    /// An address that it had before: it asks for this one first (INIT-REBOOT).
    pub previous: Option<Ipv4Addr>,
    /// The longest wait before the first message, drawn at random, so that hosts which start
    /// together do not speak together. RFC 2131 4.4.1 names ten seconds.
    pub start_delay: Duration,
    /// How long an address is checked before it is used; zero: not at all.
    pub check: Duration,
    /// All chance comes from it.
    pub seed: u64,
}

impl Config {
    /// A client with this Ethernet address that begins at once.
    pub fn new(ethernet: [u8; 6], seed: u64) -> Config {
        Config {
            ethernet,
            client_id: None,
            host_name: None,
            previous: None,
            start_delay: Duration::ZERO,
            check: Duration::ZERO,
            seed,
        }
    }
}

/// The states of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits until it begins.
    Init,
    /// It has asked for offers.
    Selecting,
    /// It has taken one.
    Requesting,
    /// It has asked for the address that it had before.
    Rebooting,
    /// It has an address, and others are asked whether they have it, too.
    Checking,
    /// It has an address.
    Bound,
    /// It asks its server for more time.
    Renewing,
    /// It asks any server for more time.
    Rebinding,
    /// It was released, and does nothing any more.
    Released,
}

/// Why an address was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Its time is over, and no server gave more.
    Expired,
    /// A server took it back.
    Refused,
    /// Another host has it.
    Conflict,
    /// We gave it back.
    Released,
}

/// What has to be done with addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Ask on the link whether somebody has this address (RFC 5227), and call
    /// [`Client::conflict`] if so. If nothing is said within [`Config::check`], it is ours.
    Check(Ipv4Addr),
    /// Another host has this address that was checked: it is not used, and the server was told.
    Declined(Ipv4Addr),
    /// Use this.
    Acquired(Lease),
    /// Use this on: only its times and parameters are new.
    Renewed(Lease),
    /// Use it no longer.
    Lost(Ipv4Addr, Lost),
}

/// A message that is to be sent from port 68 to port 67.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Our address, or 0.0.0.0 as long as there is none.
    pub source: Ipv4Addr,
    /// The server, or all.
    pub destination: Ipv4Addr,
    /// The payload.
    pub payload: Vec<u8>,
}

/// A client.
#[derive(Debug)]
pub struct Client {
    config: Config,
    state: State,
    xid: u32,
    began: Instant,
    /// When the last request was first sent: a lease counts from then.
    asked: Instant,
    /// How often a message of this exchange was sent.
    sent: u32,
    /// How often in a row servers refused what they offered.
    refusals: u32,
    timer: Option<Instant>,
    /// What was offered and taken, by whom.
    offer: Option<(Ipv4Addr, Ipv4Addr)>,
    lease: Option<Lease>,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    random: SplitMix64,
}

impl Client {
    /// A client that begins at `now`, or a little later.
    pub fn new(config: Config, now: Instant) -> Client {
        let mut client = Client {
            state: State::Init,
            xid: 0,
            began: now,
            asked: now,
            sent: 0,
            refusals: 0,
            timer: None,
            offer: None,
            lease: None,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            random: SplitMix64::new(config.seed),
            config,
        };
        let delay = client.up_to(client.config.start_delay);
        client.timer = Some(now + delay);
        client
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// What it has.
    pub fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref().filter(|_| self.state != State::Checking)
    }

    /// When [`Client::on_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timer
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next thing that has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Gives the address back, and does nothing any more.
    pub fn release(&mut self, now: Instant) {
        if let Some(lease) = self.lease.take() {
            if self.state != State::Checking {
                self.events.push_back(Event::Lost(lease.address, Lost::Released));
            }
            self.new_exchange(now);
            let options = Options { server: Some(lease.server), ..Options::default() };
            self.send(Kind::Release, lease.address, options, Some(lease.server), now);
        }
        self.become_(State::Released, None);
    }

    /// Another host has the address that is checked, or in use.
    pub fn conflict(&mut self, now: Instant) {
        // RFC 2131 3.1/3, 3.1/4
        let Some(lease) = self.lease.take() else { return };
        self.events.push_back(match self.state {
            State::Checking => Event::Declined(lease.address),
            _ => Event::Lost(lease.address, Lost::Conflict),
        });
        self.new_exchange(now);
        let options = Options {
            requested: Some(lease.address),
            server: Some(lease.server),
            ..Options::default()
        };
        self.send(Kind::Decline, Ipv4Addr::UNSPECIFIED, options, None, now);
        self.config.previous = None;
        self.become_(State::Init, Some(now + REST));
    }

    /// Takes a payload that came to port 68.
    ///
    /// # Errors
    /// [`Ignored`]: why it was passed over.
    pub fn input(&mut self, bytes: &[u8], now: Instant) -> Result<(), Ignored> {
        // RFC 2131 4.1/2
        let message = Message::parse(bytes)?;
        if message.xid != self.xid || message.chaddr != self.config.ethernet {
            return Err(Ignored::Foreign);
        }
        match (message.kind, self.state) {
            (Kind::Offer, State::Selecting) => self.offered(&message, now),
            (
                Kind::Ack,
                State::Requesting | State::Rebooting | State::Renewing | State::Rebinding,
            ) => self.acknowledged(&message, now),
            (
                Kind::Nak,
                State::Requesting | State::Rebooting | State::Renewing | State::Rebinding,
            ) => self.refused(&message, now),
            _ => Err(Ignored::Unexpected),
        }
    }

    fn offered(&mut self, message: &Message, now: Instant) -> Result<(), Ignored> {
        let lease = Lease::of(message, now)?;
        self.offer = Some((lease.address, lease.server));
        self.become_(State::Requesting, None);
        (self.sent, self.asked) = (0, now);
        self.request(now);
        Ok(())
    }

    fn acknowledged(&mut self, message: &Message, now: Instant) -> Result<(), Ignored> {
        // RFC 2131 3.1/2
        let lease = Lease::of(message, self.asked)?;
        if lease.is_over(now) {
            return Err(Ignored::Unusable);
        }
        let wanted = match (self.state, &self.lease) {
            (State::Requesting, _) => self.offer,
            (_, Some(lease)) => {
                Some((lease.address, message.options.server.unwrap_or(lease.server)))
            }
            (_, None) => self.config.previous.map(|previous| (previous, lease.server)),
        };
        if wanted != Some((lease.address, lease.server)) {
            return Err(Ignored::Unexpected);
        }
        self.refusals = 0;
        if self.lease.replace(lease.clone()).is_some() {
            self.events.push_back(Event::Renewed(lease));
            self.bound();
            return Ok(());
        }
        if self.config.check.is_zero() {
            self.events.push_back(Event::Acquired(lease));
            self.bound();
            return Ok(());
        }
        self.events.push_back(Event::Check(lease.address));
        self.become_(State::Checking, Some(now + self.config.check));
        Ok(())
    }

    fn refused(&mut self, message: &Message, now: Instant) -> Result<(), Ignored> {
        // RFC 2131 4.4.5/4
        let by = message.options.server.ok_or(Ignored::Malformed)?;
        let ours = match self.state {
            State::Requesting => self.offer.map(|(_, server)| server),
            State::Renewing => self.lease.as_ref().map(|lease| lease.server),
            _ => Some(by),
        };
        if ours != Some(by) {
            return Err(Ignored::Unexpected);
        }
        // A server that refuses whatever it offers is not asked without end.
        let delay = FIRST.min(LONGEST) * (1 << self.refusals.min(4)) / 4;
        self.refusals += 1;
        self.lose(Lost::Refused);
        self.config.previous = None;
        self.become_(State::Init, Some(now + delay));
        Ok(())
    }

    fn lose(&mut self, why: Lost) {
        // RFC 2131 4.4.5/3
        if let Some(lease) = self.lease.take() {
            self.events.push_back(Event::Lost(lease.address, why));
        }
    }

    fn bound(&mut self) {
        let renewal = self.lease.as_ref().and_then(|lease| lease.renewal);
        self.become_(State::Bound, renewal);
    }

    /// Lets time pass: call it when [`Client::next_timeout`] has come.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        self.timer = None;
        match self.state {
            State::Init => self.begin(now),
            State::Selecting => self.discover(now),
            State::Requesting | State::Rebooting if self.sent < REQUESTS => self.request(now),
            State::Requesting | State::Rebooting => {
                self.config.previous = None;
                self.begin(now);
            }
            State::Checking => self.checked(now),
            State::Bound => self.renew(now),
            State::Renewing | State::Rebinding => self.keep(now),
            State::Released => {}
        }
    }

    /// Nobody else has the address: it is ours, unless its time is over by now.
    fn checked(&mut self, now: Instant) {
        match self.lease.take().filter(|lease| !lease.is_over(now)) {
            Some(lease) => {
                self.lease = Some(lease.clone());
                self.events.push_back(Event::Acquired(lease));
                self.bound();
            }
            None => {
                self.config.previous = None;
                self.begin(now);
            }
        }
    }

    fn begin(&mut self, now: Instant) {
        (self.offer, self.began) = (None, now);
        self.new_exchange(now);
        match self.config.previous {
            Some(_) => {
                self.become_(State::Rebooting, None);
                self.request(now);
            }
            None => {
                self.become_(State::Selecting, None);
                self.discover(now);
            }
        }
    }

    fn discover(&mut self, now: Instant) {
        self.send(Kind::Discover, Ipv4Addr::UNSPECIFIED, Options::default(), None, now);
        self.again(now);
    }

    fn request(&mut self, now: Instant) {
        // RFC 2131 3.1/1
        let (requested, server) = match self.offer {
            Some((address, server)) => (Some(address), Some(server)),
            None => (self.config.previous, None),
        };
        let options = Options { requested, server, ..Options::default() };
        self.send(Kind::Request, Ipv4Addr::UNSPECIFIED, options, None, now);
        self.again(now);
    }

    fn renew(&mut self, now: Instant) {
        self.new_exchange(now);
        self.began = now;
        self.state = State::Renewing;
        self.keep(now);
    }

    /// Asks for more time, of the server that gave the lease, later of any; or it is over.
    fn keep(&mut self, now: Instant) {
        // RFC 2131 4.4.5/2
        let Some(Lease { address, server, rebinding, end, .. }) = self.lease.clone() else {
            return;
        };
        let (rebinding, end) = (rebinding.unwrap_or(now), end.unwrap_or(now));
        if now >= end {
            self.lose(Lost::Expired);
            self.config.previous = None;
            return self.begin(now);
        }
        if self.state == State::Renewing && now >= rebinding {
            self.state = State::Rebinding;
        }
        let renews = self.state == State::Renewing;
        let until = if renews { rebinding } else { end };
        // Time counts from the request that is answered; the last one is the most that
        // anybody can have meant.
        self.asked = now;
        self.send(Kind::Request, address, Options::default(), renews.then_some(server), now);
        let half = until.since(now) / 2;
        self.timer = Some((now + half.max(LEAST)).min(until));
    }

    fn become_(&mut self, state: State, timer: Option<Instant>) {
        (self.state, self.timer) = (state, timer);
    }

    fn new_exchange(&mut self, now: Instant) {
        self.xid = (self.random.next_u64() >> 32) as u32;
        (self.sent, self.asked) = (0, now);
    }

    /// When the next message of this exchange goes: four seconds later, then twice that, with
    /// a second more or less.
    fn again(&mut self, now: Instant) {
        // RFC 2131 4.1/1
        let wait = (FIRST * (1 << (self.sent - 1).min(4))).min(LONGEST);
        let spread = self.up_to(Duration::from_secs(2));
        self.timer = Some(now + wait + spread - Duration::from_secs(1));
    }

    fn up_to(&mut self, most: Duration) -> Duration {
        let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.random.below(nanos.max(1)))
    }

    fn send(
        &mut self,
        kind: Kind,
        ciaddr: Ipv4Addr,
        mut options: Options,
        to: Option<Ipv4Addr>,
        now: Instant,
    ) {
        options.client_id.clone_from(&self.config.client_id);
        if matches!(kind, Kind::Discover | Kind::Request) {
            options.host_name.clone_from(&self.config.host_name);
        }
        let secs = now.since(self.began).as_secs();
        let message = Message {
            kind,
            xid: self.xid,
            secs: u16::try_from(secs).unwrap_or(u16::MAX),
            // Without an address nothing else reaches us.
            broadcast: ciaddr.is_unspecified(),
            ciaddr,
            yiaddr: Ipv4Addr::UNSPECIFIED,
            chaddr: self.config.ethernet,
            options,
        };
        self.sent = self.sent.saturating_add(1);
        self.transmits.push_back(Transmit {
            source: ciaddr,
            destination: to.unwrap_or(Ipv4Addr::BROADCAST),
            payload: message.emit(),
        });
    }
}

#[cfg(test)]
mod tests;
