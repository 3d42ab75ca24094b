//! [`World`]: the stack that a script is run against, its device and its time.

use crate::errno::{Answer, Errno};
use crate::flags::Flags;
use crate::wire::{Sent, Wire};
use anabranch::{Clock, RunningThread, Stack, VirtualTime};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;
use wire::Instant;

/// How long, of the system's time, the stack may take for what it has to do at one
/// moment of its own.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long, of the stack's time, somebody who says no time waits for what does not come.
const LONG: Duration = Duration::from_secs(900);
/// What one look at the clock takes: packetdrill waits for the last 20 us of a time by
/// looking.
const LOOK: Duration = Duration::from_micros(1);

/// Microseconds of the stack's time.
type Time = u64;

/// A stack, and what is round it.
pub(crate) struct World {
    time: &'static VirtualTime,
    pub(crate) stack: Stack,
    /// Linux's `tcp_fastopen`.
    pub(crate) fast_open: u32,
    wire: Wire,
    /// The thread that runs the script. Another one makes the calls that the script
    /// expects to block.
    main: ThreadId,
    /// Threads that make a call, or have made it and have not asked for the time
    /// since: it must not pass meanwhile.
    calling: Mutex<HashMap<ThreadId, RunningThread>>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What wakes a call that waits.
struct Bell(OwnedFd);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // It fails only if the counter is full: it is readable then anyway.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

impl Bell {
    fn has_rung(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }
}

/// A descriptor that is really one: packetdrill closes it if the script does not.
pub(crate) fn descriptor() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

impl World {
    /// Starts a stack.
    ///
    /// # Errors
    /// What the stack says.
    pub(crate) fn start(flags: Flags) -> Result<World, String> {
        let time = VirtualTime::start();
        let (device, wire) = Wire::open(flags.processors, flags.mtu, time)
            .map_err(|error| format!("no descriptor for the device: {error}"))?;
        let mut builder = Stack::builder()
            .device(device)
            .address(flags.local.as_str())
            .organization(flags.organization.as_str())
            .processors(flags.processors)
            .clock(Clock::moved_by(time))
            .drain(Duration::ZERO)
            .tcp(flags.tcp);
        if !flags.gateway.is_empty() {
            let all = if flags.gateway.contains(':') { "::/0" } else { "0.0.0.0/0" };
            builder = builder.route(format!("{all} via {}", flags.gateway).as_str());
        }
        let world = World {
            time,
            stack: builder.start().map_err(|error| error.to_string())?,
            fast_open: flags.fast_open,
            wire,
            main: thread::current().id(),
            calling: Mutex::default(),
        };
        world.settle();
        Ok(world)
    }

    // Time.

    /// All that was to be done at this moment is done.
    pub(crate) fn settle(&self) {
        if !self.time.settle(PATIENCE) {
            eprintln!("anabranch: the stack has not come to rest in {PATIENCE:?}");
            std::process::exit(1);
        }
    }

    /// Time passes until `until`, and stops wherever somebody wants to be woken.
    fn pass(&self, until: Time) {
        loop {
            self.settle();
            match self.time.next() {
                Some(next) if next.as_nanos() <= until * 1000 => self.time.advance(next),
                _ => break,
            }
        }
        let now = self.time.now();
        self.time.advance(now + Duration::from_micros(until.saturating_sub(now.as_micros())));
        self.settle();
    }

    /// Microseconds.
    pub(crate) fn now(&self) -> Time {
        self.time.now().as_micros()
    }

    /// The time, for packetdrill. Looking takes some, but for a thread that comes from
    /// a call: it wants to know when that ended.
    pub(crate) fn look(&self) -> Time {
        let came = lock(&self.calling).remove(&thread::current().id());
        let now = self.now();
        if came.is_some() {
            return now;
        }
        self.pass(now + LOOK.as_micros() as Time);
        self.now()
    }

    /// The script waits.
    pub(crate) fn sleep(&self, micros: u64) {
        self.pass(self.now() + micros);
    }

    // Packets.

    /// May clients use Fast Open?
    pub(crate) fn fast_opens(&self) -> bool {
        const CLIENTS: u32 = 1;
        self.fast_open & CLIENTS != 0
    }

    /// A packet of the script arrives.
    pub(crate) fn arrive(&self, packet: &[u8]) {
        self.wire.arrive(packet);
        self.settle();
    }

    /// Waits for the next packet of the stack. `None`: there will be none for long.
    pub(crate) fn next_packet(&self) -> Option<Sent> {
        let end = self.time.now() + LONG;
        loop {
            self.settle();
            if let Some(sent) = self.wire.next() {
                return Some(sent);
            }
            let next = self.time.next().filter(|next| *next <= end)?;
            self.time.advance(next);
        }
    }

    // Calls.

    /// Does a call; what it sets off is done before the script goes on.
    pub(crate) fn call<T>(&self, f: impl FnOnce() -> Answer<T>) -> Answer<T> {
        let caller = thread::current().id();
        if caller == self.main {
            let answer = f();
            self.settle();
            return answer;
        }
        // Counted until it asks when its call has ended.
        lock(&self.calling).entry(caller).or_insert_with(|| self.time.thread());
        f()
    }

    /// Polls until there is an answer; not twice if the call must not wait, and not
    /// after `timeout`: `EAGAIN` then.
    pub(crate) fn wait<T>(
        &self,
        timeout: Option<Duration>,
        mut attempt: impl FnMut(&mut Context<'_>) -> Poll<Answer<T>>,
    ) -> Answer<T> {
        let bell = Arc::new(Bell(descriptor()?));
        let waker = Waker::from(bell.clone());
        let mut cx = Context::from_waker(&waker);
        let until = timeout.map(|timeout| self.time.now() + timeout);
        loop {
            if let Poll::Ready(answer) = attempt(&mut cx) {
                return answer;
            }
            if until.is_some_and(|until| until <= self.time.now()) {
                return Err(Errno(libc::EAGAIN));
            }
            if thread::current().id() == self.main {
                self.drive(&bell, until)?;
            } else {
                self.time.sleep(&[bell.0.as_fd()], until)?;
            }
            // It fails if nobody has rung.
            let _ = rustix::io::read(&bell.0, &mut [0; 8]);
        }
    }

    /// Lets time pass for a call of the thread that runs the script, which is the one
    /// that moves time.
    fn drive(&self, bell: &Bell, until: Option<Instant>) -> Answer<()> {
        let end = until.unwrap_or_else(|| self.time.now() + LONG);
        loop {
            self.settle();
            if bell.has_rung() {
                return Ok(());
            }
            match self.time.next().filter(|next| *next <= end) {
                Some(next) => self.time.advance(next),
                None if until.is_some() => {
                    self.time.advance(end);
                    return Ok(());
                }
                // The script waits here for what only it could bring about.
                None => return Err(Errno(libc::EDEADLK)),
            }
        }
    }
}
