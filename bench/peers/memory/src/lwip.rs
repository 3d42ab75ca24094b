//! lwIP: both ends in its one instance, on two interfaces, over two queues of frames.
//!
//! What an end does about data it does in lwIP's callbacks, as the raw API is meant. Nagle's rule is
//! left on: it never holds back a message here, since the last one is acknowledged by its echo.

mod link;
mod raw;

use crate::ours::WARM_UP;
use crate::{BLOCK, Load, MESSAGE, Work};
use link::{CLIENT, Link, SERVER};
// Its C is called by declarations of ours; nothing else of the crate is.
use ::lwip as _;
use raw::{Buffer, Control, Status};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Bytes of a connection that are not acknowledged, at most: TCP_SND_BUF of `lwip/lwipopts.h`.
const SEND_BUFFER: u16 = 65535;
/// The server's port.
const PORT: u16 = 5000;

/// What an end does.
#[derive(Clone, Copy)]
enum Role {
    /// Sends a message and waits for its echo, over and over.
    Asks,
    Echoes,
    /// Sends data without end.
    Sends,
    Takes,
}

/// What the ends of a load have in common.
struct Common {
    work: Work,
    /// What is sent, and where what is received is copied to.
    block: RefCell<Vec<u8>>,
    /// Transactions or bytes received since they were last asked for.
    done: Cell<u64>,
    /// Ends that are connected.
    connected: Cell<usize>,
    /// Ends that were accepted.
    accepted: RefCell<Vec<Rc<End>>>,
}

/// One end of a connection: the argument of its callbacks.
struct End {
    common: Rc<Common>,
    role: Role,
    control: *mut Control,
    /// Bytes of the echo that are missing.
    missing: Cell<usize>,
    /// Bytes that may be written.
    room: Cell<u16>,
}

impl End {
    /// An end of `control`, whose callbacks know it for as long as it is there.
    fn new(common: &Rc<Common>, role: Role, control: *mut Control) -> Rc<End> {
        let end = Rc::new(End {
            common: Rc::clone(common),
            role,
            control,
            missing: Cell::new(0),
            room: Cell::new(SEND_BUFFER),
        });
        // SAFETY: the control block is alive, and `drop` takes the callbacks back.
        unsafe {
            raw::tcp_arg(control, Rc::as_ptr(&end).cast_mut().cast());
            raw::tcp_recv(control, Some(receive));
            raw::tcp_sent(control, Some(sent));
            raw::tcp_err(control, Some(fail));
        }
        end
    }

    /// Gives lwIP the first `len` bytes of the block.
    fn write(&self, len: u16) {
        let block = self.common.block.borrow();
        // SAFETY: the block is no shorter, and lwIP copies it.
        let status = unsafe { raw::tcp_write(self.control, block.as_ptr().cast(), len, raw::COPY) };
        assert_eq!(status, raw::OK, "no room for {len} bytes: was this built by `run`?");
        self.room.set(self.room.get() - len);
    }

    /// Sends what has been written, outside the callbacks (after them, lwIP does it).
    fn output(&self) {
        // SAFETY: the control block is alive.
        let status = unsafe { raw::tcp_output(self.control) };
        assert_eq!(status, raw::OK, "output");
    }

    fn ask(&self) {
        self.missing.set(MESSAGE);
        self.write(MESSAGE as u16);
    }

    /// What an end does about so many bytes in the block.
    fn take(&self, len: u16) {
        let count = |n| self.common.done.set(self.common.done.get() + n);
        match self.role {
            Role::Asks => {
                self.missing.set(self.missing.get() - usize::from(len));
                if self.missing.get() == 0 {
                    count(1);
                    self.ask();
                }
            }
            Role::Echoes => self.write(len),
            Role::Takes => count(u64::from(len)),
            Role::Sends => unreachable!("nobody answers"),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: the control block is alive, and lwIP forgets it here.
        unsafe {
            raw::tcp_err(self.control, None);
            raw::tcp_abort(self.control);
        }
    }
}

extern "C" fn receive(end: *mut c_void, _: *mut Control, data: *mut Buffer, _: Status) -> Status {
    assert!(!data.is_null(), "the connection ended");
    // SAFETY: the argument is an end that is there for as long as its callbacks are; the data is
    // ours, and the block is as long as what is copied of it.
    unsafe {
        let end = &*end.cast::<End>();
        let len = (*data).total;
        {
            let mut block = end.common.block.borrow_mut();
            raw::pbuf_copy_partial(data, block.as_mut_ptr().cast(), len, 0);
        }
        raw::pbuf_free(data);
        raw::tcp_recved(end.control, len);
        end.take(len);
    }
    raw::OK
}

extern "C" fn sent(end: *mut c_void, _: *mut Control, len: u16) -> Status {
    // SAFETY: as for `receive`.
    let end = unsafe { &*end.cast::<End>() };
    end.room.set(end.room.get() + len);
    raw::OK
}

extern "C" fn fail(_: *mut c_void, status: Status) {
    panic!("a connection failed: {status}");
}

extern "C" fn connected(end: *mut c_void, _: *mut Control, status: Status) -> Status {
    assert_eq!(status, raw::OK, "connect");
    // SAFETY: as for `receive`.
    let end = unsafe { &*end.cast::<End>() };
    end.common.connected.set(end.common.connected.get() + 1);
    raw::OK
}

extern "C" fn accept(common: *mut c_void, control: *mut Control, status: Status) -> Status {
    assert_eq!(status, raw::OK, "accept");
    // SAFETY: the listener's argument is there for as long as the listener; the count is raised
    // for the `Rc` that is made of it.
    let common = unsafe {
        Rc::increment_strong_count(common.cast::<Common>());
        Rc::from_raw(common.cast::<Common>())
    };
    let role = match common.work {
        Work::Rr => Role::Echoes,
        Work::Bulk => Role::Takes,
    };
    let end = End::new(&common, role, control);
    common.accepted.borrow_mut().push(end);
    raw::OK
}

/// A listener, until it is dropped.
struct Listener(*mut Control);

impl Listener {
    fn new(link: &Link, common: &Rc<Common>) -> Listener {
        // SAFETY: lwIP was initialized for the link, and `common` outlives the listener.
        unsafe {
            let control = raw::tcp_new();
            assert_eq!(raw::tcp_bind(control, &SERVER, PORT), raw::OK, "bind");
            let control = raw::tcp_listen_with_backlog(control, u8::MAX);
            raw::tcp_bind_netif(control, link.server);
            raw::tcp_arg(control, Rc::as_ptr(common).cast_mut().cast());
            raw::tcp_accept(control, Some(accept));
            Listener(control)
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // SAFETY: the listener is alive, and nobody uses it any more.
        unsafe { raw::tcp_close(self.0) };
    }
}

/// A connection that is on its way.
fn connect(link: &Link, common: &Rc<Common>, port: u16) -> Rc<End> {
    let role = match common.work {
        Work::Rr => Role::Asks,
        Work::Bulk => Role::Sends,
    };
    // SAFETY: lwIP was initialized for the link; the addresses are read before this returns.
    unsafe {
        let control = raw::tcp_new();
        assert_eq!(raw::tcp_bind(control, &CLIENT, port), raw::OK, "bind");
        raw::tcp_bind_netif(control, link.client);
        let end = End::new(common, role, control);
        let status = raw::tcp_connect(control, &SERVER, PORT, Some(connected));
        assert_eq!(status, raw::OK, "connect");
        end
    }
}

/// The ends of a load. What was accepted is with what they have in common.
struct Ends {
    /// Goes first: the listener's argument is what they have in common.
    _listener: Listener,
    clients: Vec<Rc<End>>,
    common: Rc<Common>,
}

impl Ends {
    /// Connections that are established.
    fn open(link: &Link, load: &Load) -> Ends {
        let common = Rc::new(Common {
            work: load.work,
            block: RefCell::new(vec![0; BLOCK]),
            done: Cell::new(0),
            connected: Cell::new(0),
            accepted: RefCell::default(),
        });
        let _listener = Listener::new(link, &common);
        let indices = 0..load.connections as u16;
        let clients = indices.map(|index| connect(link, &common, 20000 + index)).collect();
        let is_open = || {
            common.connected.get() == load.connections
                && common.accepted.borrow().len() == load.connections
        };
        while !is_open() {
            link.carry();
        }
        Ends { _listener, clients, common }
    }

    fn ask(&self) {
        for client in &self.clients {
            client.ask();
            client.output();
        }
    }

    fn fill(&self) {
        for client in self.clients.iter().filter(|client| client.room.get() > 0) {
            client.write(client.room.get());
            client.output();
        }
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        // They hold what they are held by.
        self.common.accepted.take();
    }
}

pub fn sample(load: &Load) -> f64 {
    Link::with(|link| run(link, load))
}

fn run(link: &Link, load: &Load) -> f64 {
    link.set_mtu(load.mtu);
    let ends = Ends::open(link, load);
    if let Work::Rr = load.work {
        ends.ask();
    }
    let pass = |time: Duration| {
        let start = Instant::now();
        while start.elapsed() < time {
            if let Work::Bulk = load.work {
                ends.fill();
            }
            link.carry();
        }
        (ends.common.done.take(), start.elapsed().as_secs_f64())
    };
    pass(Duration::from_secs_f64(WARM_UP));
    let (done, seconds) = pass(load.time);
    drop(ends);
    link.clear(load);
    load.rate(done, seconds)
}
