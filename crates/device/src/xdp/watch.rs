//! Looks whether the interface is there still, and how many receive queues it has: sockets are told of
//! neither until they send.

use super::ethtool::queues_of;
use crate::Counts;
use crate::tap::Control;
use platform::thread;
use rustix::net::netdevice::index_to_name;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// How often.
const LOOK: Duration = Duration::from_secs(2);

/// Looks until the program leaves the interface, of this number, which has so many queues now, or that is gone.
///
/// # Errors
/// If the system gives no thread, or no socket.
pub(super) fn start(
    interface: u32,
    mut queues: usize,
    counts: &Arc<Counts>,
    link: &Arc<OwnedFd>,
) -> io::Result<()> {
    let (counts, link) = (counts.clone(), Arc::downgrade(link));
    let control = Control::new()?;
    let look = move || {
        while link.strong_count() > 0 {
            // It may have got another name.
            let Ok(name) = index_to_name(&control, interface) else { return counts.set_gone() };
            if let Some(now) = queues_of(&control, &name).filter(|now| *now != queues) {
                queues = now;
                counts.set_queues(now);
            }
            thread::sleep(LOOK);
        }
    };
    thread::Builder::new().name("ana-xdp".into()).spawn(look).map(|_| ())
}
