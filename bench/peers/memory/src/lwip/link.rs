//! Two interfaces of lwIP, and the frames between them.

use super::raw::{self, Address, Buffer, Interface, Status};
use crate::{Load, Work};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr;

pub const CLIENT: Address = Address([10, 0, 0, 1]);
pub const SERVER: Address = Address([10, 0, 0, 2]);
const MASK: Address = Address([255, 255, 255, 0]);

/// Frames on their way from an interface.
#[derive(Default)]
struct Queue {
    frames: RefCell<VecDeque<*mut Buffer>>,
    /// Bytes of the longest so far.
    longest: Cell<u16>,
}

/// Two interfaces, each of which sends to the other.
pub struct Link {
    pub client: *mut Interface,
    pub server: *mut Interface,
    there: &'static Queue,
    back: &'static Queue,
}

impl Link {
    /// Calls `work` with the one link that there is, since lwIP never forgets an interface's
    /// memory and is one for the whole process.
    pub fn with<R>(work: impl FnOnce(&Link) -> R) -> R {
        thread_local!(static LINK: Link = Link::new());
        LINK.with(work)
    }

    fn new() -> Link {
        // SAFETY: once, and before anything else of lwIP: all of it is in the main thread.
        unsafe { raw::lwip_init() };
        let (there, back) = (Box::leak(Box::default()), Box::leak(Box::default()));
        let (client, server) = (interface(&CLIENT, there), interface(&SERVER, back));
        Link { client, server, there, back }
    }

    pub fn set_mtu(&self, mtu: usize) {
        for interface in [self.client, self.server] {
            // SAFETY: interfaces are never freed, and nobody else looks at them meanwhile.
            unsafe { (*interface).mtu = mtu as u16 };
        }
    }

    /// Hands over what is under way, there and then back, and looks at lwIP's clock.
    pub fn carry(&self) {
        self.there.deliver(self.server);
        self.back.deliver(self.client);
        // SAFETY: lwIP was initialized, and none of its callbacks is on the stack.
        unsafe { raw::sys_check_timeouts() };
    }

    /// Frees what is under way once a load has ended. Its segments were as long as may be.
    pub fn clear(&self, load: &Load) {
        for queue in [self.there, self.back] {
            while let Some(frame) = queue.next() {
                // SAFETY: the queue owned the frame.
                unsafe { raw::pbuf_free(frame) };
            }
        }
        let longest = usize::from(self.there.longest.take());
        let is_full = matches!(load.work, Work::Rr) || longest == load.mtu;
        assert!(is_full, "packets of {longest} bytes: was this built by `run`?");
    }
}

impl Queue {
    fn next(&self) -> Option<*mut Buffer> {
        self.frames.borrow_mut().pop_front()
    }

    fn deliver(&self, to: *mut Interface) {
        while let Some(frame) = self.next() {
            // SAFETY: the frame is lwIP's from here on, and the interface is never freed.
            let status = unsafe { raw::ip4_input(frame, to) };
            assert_eq!(status, raw::OK, "input");
        }
    }
}

/// An interface whose frames go to `queue`.
fn interface(address: &Address, queue: &'static Queue) -> *mut Interface {
    let interface = Box::leak(Box::new(Interface::zeroed()));
    let interface = ptr::from_mut(interface);
    let state = ptr::from_ref(queue).cast_mut().cast();
    // SAFETY: lwIP was initialized; the interface and the queue are never freed.
    unsafe {
        let added = raw::netif_add(interface, address, &MASK, address, state, init, raw::ip4_input);
        assert_eq!(added, interface, "no interface");
        let is_known = ((*interface).address, (*interface).state) == (*address, state);
        assert!(is_known, "fields are where they are not declared: was this built by `run`?");
        raw::netif_set_link_up(interface);
        raw::netif_set_up(interface);
    }
    interface
}

extern "C" fn init(interface: *mut Interface) -> Status {
    // SAFETY: lwIP calls this with the interface that was given it.
    unsafe { (*interface).output = Some(output) };
    raw::OK
}

/// Puts a copy of a packet on the queue: what TCP sends, it keeps until it is acknowledged.
extern "C" fn output(from: *mut Interface, packet: *mut Buffer, _: *const Address) -> Status {
    // SAFETY: the packet is whole while this runs, and the state is the interface's queue.
    unsafe {
        let len = (*packet).total;
        let frame = raw::pbuf_alloc(raw::RAW, len, raw::POOL);
        if frame.is_null() {
            return raw::OUT_OF_MEMORY;
        }
        assert_eq!(raw::pbuf_copy(frame, packet), raw::OK, "copy");
        let queue = &*(*from).state.cast::<Queue>();
        queue.longest.set(queue.longest.get().max(len));
        queue.frames.borrow_mut().push_back(frame);
    }
    raw::OK
}
