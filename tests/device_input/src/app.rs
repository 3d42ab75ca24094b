//! [`App`]: an application that does what the input says, and checks the invariants of
//! its connections.

use net::application::ConnectError;
use net::{Application, ConnId, Datagram};
use std::time::Duration;
use tcp::{Events, Tcb};
use wire::{FlowKey, Instant};

/// Bytes that the buffers of a connection may keep: those configured, and the
/// overhead of blocks that are not full.
const FOOTPRINT: usize = 2 << 20;

/// What the application shall do with each connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish {
    /// Bytes to write.
    pub write: usize,
    /// Read all data.
    pub read: bool,
    /// End the sending half.
    pub shutdown: bool,
    /// Release the connection.
    pub release: bool,
    /// Reset.
    pub abort: bool,
    /// Set an option: which, and to what.
    pub option: Option<u16>,
}

/// The application.
#[derive(Debug, Default)]
pub struct App {
    /// The connections that were opened, by place; closed ones leave holes.
    pub open: Vec<Option<(ConnId, Wish)>>,
    /// Accept no more for now.
    pub full: bool,
    /// Datagrams that wait to be sent.
    pub leaving: Vec<Datagram>,
    /// How many opens have failed.
    pub failed: usize,
}

impl App {
    /// The instructions for the connection at `place`, if it is open.
    pub fn wish(&mut self, place: usize) -> Option<(ConnId, &mut Wish)> {
        let places = self.open.len();
        let (id, wish) = self.open.get_mut(place % places.max(1))?.as_mut()?;
        Some((*id, wish))
    }
}

/// What a user may set of a connection.
fn set_option(tcb: &mut Tcb, option: u16, now: Instant) {
    let (value, on) = (option >> 4, option & 16 != 0);
    let time = Duration::from_millis(value.into());
    match option & 15 {
        0 => tcb.set_nagle(on),
        1 => tcb.set_cork(on),
        2 => tcb.set_more(on),
        3 => tcb.set_quick_ack(on),
        4 => tcb.set_user_timeout(time),
        5 => tcb.set_keepalive(on.then(|| tcp::Keepalive::new(time))),
        6 => tcb.set_max_segment(value),
        7 => tcb.set_deferred(now + time),
        8 => tcb.set_receive_buffer((8 * usize::from(value)).max(1)),
        n => {
            let all = tcp::congestion::Algorithm::ALL;
            tcb.set_congestion(all[usize::from(n) % all.len()]);
        }
    }
}

impl Application for App {
    type Connection = usize;
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<usize> {
        if self.full {
            return None;
        }
        self.open.push(None);
        Some(self.open.len() - 1)
    }

    fn opened(&mut self, place: &mut usize, id: ConnId, _: &FlowKey) {
        let wish = Wish { read: true, ..Wish::default() };
        self.open[*place] = Some((id, wish));
    }

    fn connect_failed(&mut self, _: usize, _: ConnectError) {
        self.failed += 1;
    }

    fn ready(&mut self, place: &mut usize, tcb: &mut Tcb, _: Events, now: Instant) -> bool {
        if !tcb.wants_transmit() {
            tcb.check_invariants();
        }
        let info = tcb.info();
        assert!(info.footprint <= FOOTPRINT, "{info:?}");
        let Some((_, wish)) = self.open[*place].as_mut() else { panic!("not opened") };
        if wish.read {
            let mut bytes = [0; 3000];
            while let Ok(1..) = tcb.receive(&mut bytes) {}
        }
        if let Some(option) = wish.option.take() {
            set_option(tcb, option, now);
        }
        if wish.write > 0 {
            let data = [0x5a; 10_000];
            match tcb.send(&data[..wish.write.min(data.len())]) {
                Ok(n) => wish.write -= n,
                Err(tcp::Error::WouldBlock) => {}
                Err(_) => wish.write = 0,
            }
        }
        if std::mem::take(&mut wish.shutdown) {
            tcb.shutdown_write();
        }
        if std::mem::take(&mut wish.release) {
            tcb.release();
        }
        if std::mem::take(&mut wish.abort) {
            tcb.abort();
        }
        false
    }

    fn closed(&mut self, place: usize, tcb: &mut Tcb) {
        tcb.check_invariants();
        assert!(self.open[place].take().is_some(), "closed twice");
    }

    fn datagram(&mut self, (): &(), datagram: Datagram) -> bool {
        if self.leaving.len() < 8 {
            let (local, remote) = (datagram.local, datagram.remote);
            self.leaving.push(Datagram { local, remote, payload: datagram.payload });
        }
        !self.full
    }

    fn next_datagram(&mut self, (): &()) -> Option<Datagram> {
        self.leaving.pop()
    }
}
