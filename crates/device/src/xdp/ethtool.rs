//! What an interface offers, by ethtool's requests (SIOCETHTOOL).

use crate::tap::Control;
use std::io;

/// What an interface offers to a device on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Offer {
    /// Its driver.
    pub driver: String,
    /// Its receive queues.
    pub queues: usize,
    /// Its MTU, bytes of IP datagram.
    pub mtu: usize,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct Driver {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 32 + 32 + 32 + 32 + 12 + 4 * 5],
}

/// `struct ethtool_channels`.
#[repr(C)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// What the interface of this name offers, in the network namespace of the caller.
///
/// # Errors
/// ENODEV if there is none.
pub fn offer(name: &str) -> io::Result<Offer> {
    const GET_DRIVER: u32 = 3;
    let control = Control::new()?;
    let mtu = control.mtu(name)?;
    let rest = [0; 32 + 32 + 32 + 32 + 12 + 4 * 5];
    let mut driver = Driver { command: GET_DRIVER, driver: [0; 32], rest };
    // SAFETY: the request fills in one such structure.
    let known = unsafe { control.ethtool(name, (&raw mut driver).cast()) }.is_ok();
    let bytes = driver.driver.iter().take_while(|&&b| known && b != 0);
    // A driver that does not tell has one.
    let queues = queues_of(&control, name).unwrap_or(1);
    Ok(Offer { driver: bytes.map(|&b| char::from(b)).collect(), queues, mtu })
}

/// How many receive queues it has, one at least; `None` if its driver does not tell.
pub(super) fn queues_of(control: &Control, name: &str) -> Option<usize> {
    const GET_CHANNELS: u32 = 0x3c;
    let mut channels = Channels {
        command: GET_CHANNELS,
        most: [0; 4],
        receive: 0,
        transmit: 0,
        other: 0,
        combined: 0,
    };
    // SAFETY: the request fills in one such structure.
    let told = unsafe { control.ethtool(name, (&raw mut channels).cast()) }.is_ok();
    told.then(|| (channels.receive + channels.combined).max(1) as usize)
}

/// Gives the interface so many queues each way.
#[cfg(test)]
pub(super) fn set_queues(name: &str, queues: u32) -> io::Result<()> {
    const SET_CHANNELS: u32 = 0x3d;
    let (most, other, combined) = ([0; 4], 0, 0);
    let (receive, transmit) = (queues, queues);
    let mut channels = Channels { command: SET_CHANNELS, most, receive, transmit, other, combined };
    // SAFETY: the request reads one such structure.
    unsafe { Control::new()?.ethtool(name, (&raw mut channels).cast()) }
}
