//! `group-threads`: Willmann 2006, ConnP-T. Connections fall into groups by their
//! hash; each group is a domain that a thread of its own owns, and packets are
//! handed to that thread. There are usually more groups than processors, and the
//! system schedules their threads.

use crate::mailbox::{Demux, Frame, Mailbox, Message, Owner, Posted, Shared, dispatch};
use crate::runtime::handle::{Family, Handle, refuse};
use crate::runtime::routing::Router;
use crate::runtime::system_threads;
use crate::runtime::threads::Threads;
use crate::{Running, Setup, StartError};
use instrument::{QueueWatch, TraceStamp};
use net::{Application, Call, Config, Counters, Domain, HostShared, Unit};
use std::sync::Arc;
use std::time::Duration;
use wire::Packet;

type Mailboxes<A> = Arc<[Arc<Mailbox<A>>]>;

/// All groups, as others reach them.
struct Groups<A: Application> {
    shared: Arc<Shared>,
    mailboxes: Mailboxes<A>,
    router: Router,
    owners: Threads,
}

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(
    mut setup: Setup<A>,
) -> Result<Arc<dyn Running<A>>, StartError> {
    let (shared, receivers) = Shared::new(&mut setup, "group-threads")?;
    let count = setup.options.groups.max(1);
    system_threads::check("group-threads", usize::from(count))?;
    let mailboxes: Mailboxes<A> = (0..count).map(|_| Arc::default()).collect();
    let handle = Handle::new(Groups {
        mailboxes: mailboxes.clone(),
        router: Router::new(&setup.config, usize::from(count)),
        shared: shared.clone(),
        owners: Threads::new(&setup),
    });
    let host_shared = HostShared::new(&setup.config);
    for index in 0..count {
        let unit = Unit::new(index, count);
        let domain = Domain::new(setup.config.clone(), unit, (setup.application)(unit));
        let domain = domain.sharing(&host_shared);
        let mailboxes = mailboxes.clone();
        let mailbox = mailboxes[usize::from(index)].clone();
        let processor = usize::from(index) % setup.processors;
        let mut owner = Owner::new(shared.clone(), domain, mailbox, processor);
        handle.family.owners.spawn(format!("ana-group-{index}"), processor, move |timer| {
            owner.enlist(timer);
            run(owner, &mailboxes);
            // Owners publish their counters themselves.
            Counters::default()
        })?;
    }
    dispatch(&shared, receivers, || Bins::new(&shared.config, &mailboxes))?;
    Ok(handle)
}

/// The loop of a group's thread.
fn run<A: Application>(mut owner: Owner<A>, mailboxes: &[Arc<Mailbox<A>>]) {
    loop {
        owner.drain_mailbox();
        let now = owner.now();
        while let Some(message) = owner.inbox.messages.pop_front() {
            owner.handle_message(message, now);
        }
        owner.frames(now);
        let round = owner.serve(now, |unit, packet| {
            let mailbox = &mailboxes[usize::from(unit)];
            matches!(mailbox.post(Frame::reassembled(packet)), Posted::Done)
        });
        if owner.is_over(round, now) {
            return owner.end(now);
        }
        owner.sleep(round);
    }
}

/// The frames of a batch, by group; and which groups have any.
struct Bins<A: Application> {
    config: Arc<Config>,
    mailboxes: Mailboxes<A>,
    bins: Vec<Vec<Packet>>,
    touched: Vec<usize>,
}

impl<A: Application> Bins<A> {
    fn new(config: &Arc<Config>, mailboxes: &Mailboxes<A>) -> Bins<A> {
        Bins {
            config: config.clone(),
            mailboxes: mailboxes.clone(),
            bins: mailboxes.iter().map(|_| Vec::new()).collect(),
            touched: Vec::new(),
        }
    }
}

impl<A: Application + 'static> Demux for Bins<A> {
    #[inline]
    fn classify(&mut self, frame: Packet) {
        // A frame for all groups is for the table of neighbours that they share.
        let group = net::domain::unit_of(&self.config, &frame, self.bins.len() as u16);
        let group = usize::from(group.unwrap_or(0));
        if self.bins[group].is_empty() {
            self.touched.push(group);
        }
        self.bins[group].push(frame);
    }

    fn post(&mut self, stamp: TraceStamp, queue: &QueueWatch) -> u64 {
        let mut lost = 0;
        for group in self.touched.drain(..) {
            lost += self.mailboxes[group].post_batch(&mut self.bins[group], stamp, queue);
            self.bins[group].clear();
        }
        lost
    }
}

impl<A: Application> Family<A> for Groups<A> {
    fn call(&self, call: Call<A>) {
        self.router.route(call, |unit, call| {
            let mailbox = &self.mailboxes[usize::from(unit)];
            if let Err(Message::Call(call)) = mailbox.send(Message::Call(call)) {
                refuse(call);
            }
        });
    }

    fn has_caller(&self) -> bool {
        self.owners.has_caller()
    }

    fn delayed_ack(&self) -> Duration {
        self.shared.config.tcp.delayed_ack
    }

    fn counters(&self) -> Counters {
        let mut sum = self.shared.lost.lock().clone();
        sum.out_dropped += self.shared.processors.dropped();
        self.mailboxes.iter().for_each(|mailbox| sum.add(&mailbox.counters.lock()));
        sum
    }

    fn stop(&self) -> Counters {
        for mailbox in &*self.mailboxes {
            let _ = mailbox.send(Message::Stop);
        }
        self.owners.join();
        self.shared.stop();
        // Groups whose thread was never started have nobody to close them.
        for mailbox in &*self.mailboxes {
            mailbox.close();
        }
        self.counters()
    }
}
