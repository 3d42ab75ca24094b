//! `combining`: flat combining (Hendler, Incze, Shavit and Tzafrir 2010). One
//! domain, and a list of packets before it. A thread that has received some adds
//! them; if nobody works in the domain, it does so, for all, until the list is
//! empty; if somebody does, it goes back to its device. So threads do not wait for
//! the domain, as under `global-lock`, and the domain stays in the cache of the
//! processor that works in it.

use crate::locked::{Groups, Shared, input};
use crate::runtime::handle::Handle;
use crate::runtime::worker;
use crate::{Running, Setup, StartError};
use device::Receive;
use instrument::Watch;
use net::{Application, Domain, Egress, OwnedTable, Unit};
use platform::SegQueue;
use platform::atomic::Ordering;
use std::sync::Arc;
use sync::adaptive::Adaptive;
use sync::token::RunToken;
use wire::Packet;

/// Packets in the list at which threads leave further ones in their devices.
const FULL: usize = 1024;

/// Packets that wait for whoever works in the domain.
#[derive(Default)]
struct List {
    packets: SegQueue<Packet>,
    token: RunToken,
}

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    let lock = Adaptive::default;
    let (shared, receivers) =
        Shared::<_, A, _>::new(setup, "combining", usize::MAX, lock, |config, make| {
            vec![Domain::new(config.clone(), Unit::ONLY, make(Unit::ONLY))]
        })?;
    shared.show_locks("domain");
    let handle = Handle::new(Groups::new(shared.clone()));
    let list = Arc::new(List::default());
    shared.spawn(
        "ana-combining",
        receivers.into_iter().enumerate().map(|(index, receivers)| {
            let (list, shared) = (list.clone(), shared.clone());
            let egress = Egress::new(shared.config.interfaces.len());
            let mut thread =
                Thread { shared, list, index, receivers, egress, received: Vec::new() };
            move |watch: &mut Watch| thread.run(watch)
        }),
    )?;
    Ok(handle)
}

struct Thread<A: Application> {
    shared: Arc<Shared<Adaptive, A, OwnedTable<A::Connection>>>,
    list: Arc<List>,
    index: usize,
    receivers: Vec<Box<dyn Receive>>,
    received: Vec<Packet>,
    egress: Egress,
}

impl<A: Application> Thread<A> {
    fn run(&mut self, watch: &mut Watch) {
        while !self.shared.stopping.load(Ordering::Relaxed) {
            watch.begin();
            let full = self.list.packets.len() >= FULL;
            if !full {
                worker::receive(&mut self.receivers, &mut self.received);
            }
            let received = self.received.len();
            watch.received(&self.received);
            self.received.drain(..).for_each(|packet| self.list.packets.push(packet));
            // Who is told so works for all; the others' packets are seen to.
            if received > 0 && self.list.token.announce() {
                self.combine(watch);
            }
            let busy = self.shared.own_groups(self.index, 0, &mut self.egress, watch);
            let waiting = self.shared.processors[self.index].out.flush(watch);
            watch.end();
            worker::rest(full || waiting, received > 0 || busy, watch, || {
                self.shared.sleep(self.index, &mut self.receivers, || false);
            });
        }
    }

    /// Works in the domain until nothing is left in the list. The domain's lock is
    /// asked for by timers and by threads of the application alone.
    fn combine(&mut self, watch: &mut Watch) {
        let Thread { shared, list, egress, .. } = self;
        while list.token.begin() {
            shared.visit(0, egress, watch, |domain, now, egress, _| {
                let packets = (0..worker::BATCH).map_while(|_| list.packets.pop());
                input(domain, packets, now, egress, &mut ());
            });
            if !list.token.finish(|| !list.packets.is_empty()) {
                break;
            }
        }
    }
}
