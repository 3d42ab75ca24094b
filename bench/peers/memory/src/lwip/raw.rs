//! What of lwIP's C is called: its raw API, under the options of `lwip/lwipopts.h`.

use std::ffi::{c_uint, c_void};
use std::marker::{PhantomData, PhantomPinned};

/// An error of lwIP: 0 if there is none, negative otherwise.
pub type Status = i8;
pub const OK: Status = 0;
pub const OUT_OF_MEMORY: Status = -1;

/// Room for no header before the data.
pub const RAW: c_uint = 0;
/// A buffer from the pool, in one piece, for what comes in.
pub const POOL: c_uint = 0x182;
/// The data is copied before `tcp_write` returns.
pub const COPY: u8 = 1;

/// An IPv4 address as it goes over the wire.
#[repr(C, align(4))]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address(pub [u8; 4]);

/// A connection or a listener. Only lwIP looks into it.
#[repr(C)]
pub struct Control {
    data: [u8; 0],
    marker: PhantomData<(*mut u8, PhantomPinned)>,
}

/// A buffer, or the first of a chain.
#[repr(C)]
pub struct Buffer {
    next: *mut Buffer,
    payload: *mut c_void,
    /// Bytes of the whole chain.
    pub total: u16,
}

pub type Input = unsafe extern "C" fn(*mut Buffer, *mut Interface) -> Status;
pub type Output = extern "C" fn(*mut Interface, *mut Buffer, *const Address) -> Status;
pub type Accepted = extern "C" fn(*mut c_void, *mut Control, Status) -> Status;
pub type Connected = extern "C" fn(*mut c_void, *mut Control, Status) -> Status;
pub type Received = extern "C" fn(*mut c_void, *mut Control, *mut Buffer, Status) -> Status;
pub type Sent = extern "C" fn(*mut c_void, *mut Control, u16) -> Status;
pub type Failed = extern "C" fn(*mut c_void, Status);

/// An interface, as far as it is read or written here.
#[repr(C)]
pub struct Interface {
    next: *mut Interface,
    pub address: Address,
    mask: [u8; 4],
    gateway: [u8; 4],
    input: Option<Input>,
    pub output: Option<Output>,
    link_output: *mut c_void,
    pub state: *mut c_void,
    pub mtu: u16,
    /// Room for the fields of lwIP that follow, which are fewer.
    rest: [u64; 32],
}

impl Interface {
    pub fn zeroed() -> Interface {
        Interface {
            next: std::ptr::null_mut(),
            address: Address([0; 4]),
            mask: [0; 4],
            gateway: [0; 4],
            input: None,
            output: None,
            link_output: std::ptr::null_mut(),
            state: std::ptr::null_mut(),
            mtu: 0,
            rest: [0; 32],
        }
    }
}

unsafe extern "C" {
    pub fn lwip_init();
    pub fn sys_check_timeouts();

    pub fn netif_add(
        interface: *mut Interface,
        address: *const Address,
        mask: *const Address,
        gateway: *const Address,
        state: *mut c_void,
        init: extern "C" fn(*mut Interface) -> Status,
        input: Input,
    ) -> *mut Interface;
    pub fn netif_set_up(interface: *mut Interface);
    pub fn netif_set_link_up(interface: *mut Interface);
    pub fn ip4_input(frame: *mut Buffer, interface: *mut Interface) -> Status;

    pub fn pbuf_alloc(layer: c_uint, length: u16, kind: c_uint) -> *mut Buffer;
    pub fn pbuf_copy(to: *mut Buffer, from: *const Buffer) -> Status;
    pub fn pbuf_copy_partial(from: *const Buffer, to: *mut c_void, len: u16, offset: u16) -> u16;
    pub fn pbuf_free(buffer: *mut Buffer) -> u8;

    pub fn tcp_new() -> *mut Control;
    pub fn tcp_arg(control: *mut Control, argument: *mut c_void);
    pub fn tcp_bind(control: *mut Control, address: *const Address, port: u16) -> Status;
    pub fn tcp_bind_netif(control: *mut Control, interface: *const Interface);
    pub fn tcp_listen_with_backlog(control: *mut Control, backlog: u8) -> *mut Control;
    pub fn tcp_accept(control: *mut Control, callback: Option<Accepted>);
    pub fn tcp_connect(
        control: *mut Control,
        address: *const Address,
        port: u16,
        callback: Option<Connected>,
    ) -> Status;
    pub fn tcp_recv(control: *mut Control, callback: Option<Received>);
    pub fn tcp_sent(control: *mut Control, callback: Option<Sent>);
    pub fn tcp_err(control: *mut Control, callback: Option<Failed>);
    pub fn tcp_recved(control: *mut Control, len: u16);
    pub fn tcp_write(control: *mut Control, data: *const c_void, len: u16, flags: u8) -> Status;
    pub fn tcp_output(control: *mut Control) -> Status;
    pub fn tcp_abort(control: *mut Control);
    pub fn tcp_close(control: *mut Control) -> Status;
}
