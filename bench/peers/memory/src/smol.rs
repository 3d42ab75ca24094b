//! smoltcp: two interfaces in one thread, over two queues of frames whose buffers come back.

use crate::ours::WARM_UP;
use crate::{BLOCK, Load, MESSAGE, Work};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// Bytes of a connection's buffer each way: of those tried, what was fastest.
const BUFFER: usize = 64 * 1024;
/// Bytes of the header of Ethernet.
const ETHERNET: usize = 14;
/// Frames on their way one way, at most.
const FRAMES: usize = 4096;

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// One end of a link.
struct End {
    out: Queue,
    into: Queue,
    /// Buffers that are free.
    free: Rc<RefCell<Vec<Vec<u8>>>>,
    mtu: usize,
}

struct Received<'a> {
    end: &'a End,
    frame: Vec<u8>,
}

struct Room<'a>(&'a End);

impl smoltcp::phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        let result = f(&self.frame);
        self.end.free.borrow_mut().push(self.frame);
        result
    }
}

impl smoltcp::phy::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let End { out, free, mtu, .. } = self.0;
        let mut frame =
            free.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(mtu + ETHERNET));
        // Nothing is cleared that was there before.
        frame.resize(len, 0);
        let result = f(&mut frame);
        out.borrow_mut().push_back(frame);
        result
    }
}

impl Device for End {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = self.mtu + ETHERNET;
        capabilities
    }

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Room<'_>)> {
        let frame = self.into.borrow_mut().pop_front()?;
        Some((Received { end: self, frame }, Room(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
        (self.out.borrow().len() < FRAMES).then_some(Room(self))
    }
}

/// One host.
struct Host {
    device: End,
    interface: Interface,
    sockets: SocketSet<'static>,
    handles: Vec<SocketHandle>,
}

impl Host {
    fn new(mut device: End, last: u8, connections: usize) -> Host {
        let mut config = Config::new(EthernetAddress([2, 0, 0, 0, 0, last]).into());
        config.random_seed = u64::from(last);
        let mut interface = Interface::new(config, &mut device, Instant::now());
        interface.update_ip_addrs(|addresses| {
            addresses.push(IpCidr::new(IpAddress::v4(10, 0, 0, last), 24)).expect("room");
        });
        let mut sockets = SocketSet::new(Vec::new());
        let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
        let handles = (0..connections).map(|_| {
            let mut socket = tcp::Socket::new(buffer(), buffer());
            socket.set_nagle_enabled(false);
            sockets.add(socket)
        });
        let handles = handles.collect();
        Host { device, interface, sockets, handles }
    }

    fn poll(&mut self) {
        self.interface.poll(Instant::now(), &mut self.device, &mut self.sockets);
    }

    fn socket(&mut self, index: usize) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.handles[index])
    }
}

/// Two hosts whose connections are established.
fn hosts(load: &Load) -> (Host, Host) {
    let (there, back, free) = (Queue::default(), Queue::default(), Rc::default());
    let end = |out: &Queue, into: &Queue| End {
        out: out.clone(),
        into: into.clone(),
        free: Rc::clone(&free),
        mtu: load.mtu,
    };
    let mut client = Host::new(end(&there, &back), 1, load.connections);
    let mut server = Host::new(end(&back, &there), 2, load.connections);
    for index in 0..load.connections {
        let port = 5000 + index as u16;
        server.socket(index).listen(port).expect("listen");
        let handle = client.handles[index];
        let socket: &mut tcp::Socket<'static> = client.sockets.get_mut(handle);
        let remote = (IpAddress::v4(10, 0, 0, 2), port);
        socket.connect(client.interface.context(), remote, 20000 + index as u16).expect("connect");
    }
    let is_open = |host: &mut Host| (0..load.connections).all(|i| host.socket(i).may_send());
    while !(is_open(&mut client) && is_open(&mut server)) {
        client.poll();
        server.poll();
    }
    (client, server)
}

pub fn sample(load: &Load) -> f64 {
    let (mut client, mut server) = hosts(load);
    let mut block = vec![0; BLOCK];
    // Bytes that are missing of each echo, and of each message at the server.
    let mut missing = vec![0usize; load.connections];
    let mut step = |client: &mut Host, server: &mut Host| {
        let mut done = 0;
        for (index, missing) in missing.iter_mut().enumerate() {
            done += match load.work {
                Work::Rr => ask(client.socket(index), missing),
                Work::Bulk => {
                    let socket = client.socket(index);
                    if socket.can_send() {
                        socket.send_slice(&block).expect("open");
                    }
                    0
                }
            };
        }
        client.poll();
        server.poll();
        for index in 0..load.connections {
            let socket = server.socket(index);
            match load.work {
                Work::Rr => echo(socket),
                Work::Bulk if socket.can_recv() => {
                    done += socket.recv_slice(&mut block).expect("open") as u64;
                }
                Work::Bulk => {}
            }
        }
        server.poll();
        client.poll();
        done
    };
    let mut pass = |time: Duration| {
        let (start, mut done) = (std::time::Instant::now(), 0);
        while start.elapsed() < time {
            done += step(&mut client, &mut server);
        }
        (done, start.elapsed().as_secs_f64())
    };
    pass(Duration::from_secs_f64(WARM_UP));
    let (done, seconds) = pass(load.time);
    load.rate(done, seconds)
}

/// Takes what has come of the echo, and asks again if that was all. Returns the transactions.
fn ask(socket: &mut tcp::Socket<'_>, missing: &mut usize) -> u64 {
    let mut message = [0; MESSAGE];
    let was_asked = *missing > 0;
    if was_asked && socket.can_recv() {
        *missing -= socket.recv_slice(&mut message[..*missing]).expect("open");
    }
    if *missing > 0 {
        return 0;
    }
    let sent = socket.send_slice(&message).expect("open");
    assert_eq!(sent, MESSAGE, "there is room for a message");
    *missing = MESSAGE;
    u64::from(was_asked)
}

fn echo(socket: &mut tcp::Socket<'_>) {
    let mut message = [0; MESSAGE];
    while socket.can_recv() {
        let n = socket.recv_slice(&mut message).expect("open");
        assert_eq!(socket.send_slice(&message[..n]), Ok(n), "there is room for a message");
    }
}
