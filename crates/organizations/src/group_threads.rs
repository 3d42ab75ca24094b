//! `group-threads`: Willmann 2006, ConnP-T. Connections fall into groups by their
//! hash; each group is a domain that a thread of its own owns, and packets are
//! handed to that thread. There are usually more groups than processors, and the
//! system schedules their threads.

use crate::handed::{Frame, Mailbox, Message, Owner, Posted, Shared, Sorter, dispatch};
use crate::instrument::{QueueWatch, Stamp};
use crate::{Running, Setup, StartError, refuse, worker};
use net::{Application, Call, Config, Counters, Domain, HostShared, Unit};
use std::sync::Arc;
use sync::system::Mutex;
use sync::system::atomic::{AtomicBool, Ordering};
use sync::system::thread::JoinHandle;
use wire::Packet;

type Mailboxes<A> = Arc<[Arc<Mailbox<A>>]>;

/// The handle on all groups: their threads end with it.
struct Groups<A: Application> {
    shared: Arc<Shared>,
    mailboxes: Mailboxes<A>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    stopped: AtomicBool,
}

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(
    mut setup: Setup<A>,
) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    let (shared, receivers) = Shared::new(&mut setup, "group-threads")?;
    let (count, pin) = (setup.options.groups.max(1), setup.options.pin);
    let groups = Arc::new(Groups {
        mailboxes: (0..count).map(|_| Arc::default()).collect(),
        shared: shared.clone(),
        threads: Mutex::default(),
        stopped: AtomicBool::new(false),
    });
    let host_shared = HostShared::new(&setup.config);
    for index in 0..count {
        let unit = Unit::new(index, count);
        let domain = Domain::new(setup.config.clone(), unit, (setup.application)(unit));
        let domain = domain.sharing(&host_shared);
        let mailboxes = groups.mailboxes.clone();
        let mailbox = mailboxes[usize::from(index)].clone();
        let processor = usize::from(index) % setup.processors;
        let owner = Owner::new(shared.clone(), domain, mailbox, processor);
        let thread = sync::system::thread::Builder::new().name(format!("ana-group-{index}"));
        let spawned = thread.spawn(move || {
            if pin {
                worker::pin(processor);
            }
            run(owner, &mailboxes);
        })?;
        groups.threads.lock().push(spawned);
    }
    dispatch(&shared, receivers, pin, || Bins::new(&shared.config, &groups.mailboxes))?;
    Ok(groups)
}

/// The loop of a group's thread.
fn run<A: Application>(mut owner: Owner<A>, mailboxes: &[Arc<Mailbox<A>>]) {
    let index = owner.domain.unit.index;
    owner.enlist(|| format!("ana-group-{index}"));
    loop {
        let mail = owner.open_mail();
        let now = owner.now();
        while let Some(message) = owner.letters.messages.pop_front() {
            owner.obey(message, now);
        }
        while let Some(frame) = owner.letters.frames.pop_front() {
            owner.input(frame, now);
        }
        let round = owner.speak(now, |unit, packet| {
            let mailbox = &mailboxes[usize::from(unit)];
            matches!(mailbox.post(Frame::reassembled(packet)), Posted::Done)
        });
        if owner.is_over(round, now) {
            return owner.end(now);
        }
        if !mail {
            owner.sleep(round);
        }
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

impl<A: Application + 'static> Sorter for Bins<A> {
    #[inline]
    fn sort(&mut self, frame: Packet) {
        // What is for all groups is for the table of neighbours that they share.
        let group = net::domain::unit_of(&self.config, &frame, self.bins.len() as u16);
        let group = usize::from(group.unwrap_or(0));
        if self.bins[group].is_empty() {
            self.touched.push(group);
        }
        self.bins[group].push(frame);
    }

    fn post(&mut self, stamp: Stamp, queue: &QueueWatch) -> u64 {
        let mut lost = 0;
        for group in self.touched.drain(..) {
            lost += self.mailboxes[group].post_batch(&mut self.bins[group], stamp, queue);
            self.bins[group].clear();
        }
        lost
    }
}

impl<A: Application> Running<A> for Groups<A> {
    fn units(&self) -> u16 {
        self.mailboxes.len() as u16
    }

    fn call(&self, unit: u16, call: Call<A>) {
        if let Err(Message::Call(call)) =
            self.mailboxes[usize::from(unit)].send(Message::Call(call))
        {
            refuse(call);
        }
    }

    fn counters(&self) -> Counters {
        let mut sum = self.shared.lost.lock().clone();
        self.mailboxes.iter().for_each(|mailbox| sum.add(&mailbox.counters.lock()));
        sum
    }

    fn stop(&self) {
        if self.stopped.swap(true, Ordering::AcqRel) {
            return;
        }
        for mailbox in &*self.mailboxes {
            let _ = mailbox.send(Message::Stop);
        }
        let threads: Vec<_> = self.threads.lock().drain(..).collect();
        crate::join(threads.into_iter());
        self.shared.stop();
        // Groups whose thread was never started have nobody to close them.
        for mailbox in &*self.mailboxes {
            mailbox.close();
        }
    }
}

impl<A: Application> Drop for Groups<A> {
    fn drop(&mut self) {
        self.stop();
    }
}
