//! Every socket in turn: what `engines-early` has.

use super::lists::Lists;
use super::{Class, Discipline, Key, Serves, entry};

/// What a socket that is not waiting does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Absent,
    Waiting,
    Running,
    /// It was enqueued while it ran.
    RunningAgain,
}

/// First come, first served; one that has run goes to the end. All classes and
/// weights are alike, so which an engine serves does not matter: new connections
/// have their turns among the others', and none apart.
#[derive(Clone, Debug)]
pub struct RoundRobin {
    sockets: Vec<(State, Option<Class>)>,
    waiting: Lists,
}

impl Default for RoundRobin {
    fn default() -> RoundRobin {
        RoundRobin { sockets: Vec::new(), waiting: Lists::new(1) }
    }
}

impl RoundRobin {
    /// Nobody.
    pub fn new() -> RoundRobin {
        RoundRobin::default()
    }

    fn wait(&mut self, key: Key) {
        self.sockets[key as usize].0 = State::Waiting;
        self.waiting.push_back(0, key);
    }

    fn state(&self, key: Key) -> State {
        self.sockets.get(key as usize).map_or(State::Absent, |socket| socket.0)
    }
}

impl Discipline for RoundRobin {
    const WEIGHS: bool = false;

    fn enqueue(&mut self, key: Key, class: Class, _: u32) {
        let socket = entry(&mut self.sockets, key);
        socket.1 = Some(class);
        match socket.0 {
            State::Absent => self.wait(key),
            State::Running => socket.0 = State::RunningAgain,
            State::Waiting | State::RunningAgain => {}
        }
    }

    fn reweigh(&mut self, _: Key, _: u32) {}

    fn choose(&mut self, serves: Serves) -> Option<(Key, Class)> {
        if serves == Serves::New {
            return None;
        }
        let key = self.waiting.pop_front(0)?;
        let socket = &mut self.sockets[key as usize];
        socket.0 = State::Running;
        Some((key, socket.1.unwrap_or(Class::Ready)))
    }

    fn requeue(&mut self, key: Key) {
        if matches!(self.state(key), State::Running | State::RunningAgain) {
            self.wait(key);
        }
    }

    fn leave(&mut self, key: Key) {
        match self.state(key) {
            State::Running => self.sockets[key as usize].0 = State::Absent,
            State::RunningAgain => self.wait(key),
            State::Absent | State::Waiting => {}
        }
    }

    fn remove(&mut self, key: Key) {
        if self.state(key) != State::Absent {
            self.waiting.remove(key);
            self.sockets[key as usize].0 = State::Absent;
        }
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }
}
