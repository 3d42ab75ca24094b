//! The four classes in strict priority: round robin within each but the ready
//! class, which is shared by weight (Bohra and Iftode 2007, 3.3).

use super::lists::Lists;
use super::{Class, Discipline, GroupRatio, Key, Serves, entry};

/// A socket that waits or runs.
#[derive(Clone, Copy, Debug)]
struct Socket {
    /// Where it waits; or where it waited before it ran.
    class: Class,
    runs: bool,
    /// The class and weight with which it was enqueued while it ran.
    again: Option<(Class, u32)>,
}

/// The discipline of `engines-sched`. Choosing takes constant time; changing a
/// socket takes as many steps as there are groups of weights.
#[derive(Clone, Debug)]
pub struct Classes {
    sockets: Vec<Option<Socket>>,
    ready: GroupRatio,
    /// Lists of the other classes, by their number.
    others: Lists,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes {
            sockets: Vec::new(),
            ready: GroupRatio::new(),
            others: Lists::new(Class::ALL.len() as u8),
        }
    }
}

impl Classes {
    /// Nobody.
    pub fn new() -> Classes {
        Classes::default()
    }

    /// The sockets of the ready class.
    pub fn ready(&self) -> &GroupRatio {
        &self.ready
    }

    fn socket(&mut self, key: Key) -> Option<&mut Socket> {
        self.sockets.get_mut(key as usize)?.as_mut()
    }

    fn wait(&mut self, key: Key, class: Class, weight: u32) {
        *entry(&mut self.sockets, key) = Some(Socket { class, runs: false, again: None });
        match class {
            Class::Ready => self.ready.insert(key, weight),
            _ => self.others.push_back(class as u8, key),
        }
    }

    fn take(&mut self, class: Class) -> Option<Key> {
        match class {
            Class::Ready => self.ready.choose(),
            _ => self.others.pop_front(class as u8),
        }
    }
}

impl Discipline for Classes {
    const WEIGHS: bool = true;

    fn enqueue(&mut self, key: Key, class: Class, weight: u32) {
        let Some(socket) = self.socket(key) else {
            return self.wait(key, class, weight);
        };
        let same = socket.class == class;
        if socket.runs {
            // Its class changes when it has run; until then its weight counts
            // where it was.
            socket.again = Some((class, weight));
        } else if !same {
            self.remove(key);
            return self.wait(key, class, weight);
        }
        if same && class == Class::Ready {
            self.ready.reweigh(key, weight);
        }
    }

    fn reweigh(&mut self, key: Key, weight: u32) {
        self.ready.reweigh(key, weight);
    }

    fn choose(&mut self, serves: Serves) -> Option<(Key, Class)> {
        let classes = match serves {
            Serves::All => &Class::ALL[..],
            Serves::Pressing => &Class::ALL[..Class::Wait as usize],
            Serves::New => &[Class::Wait],
            Serves::ReadyOnly => &[Class::Ready],
        };
        for &class in classes {
            if let Some(key) = self.take(class) {
                if let Some(socket) = self.socket(key) {
                    socket.runs = true;
                }
                return Some((key, class));
            }
        }
        None
    }

    fn requeue(&mut self, key: Key) {
        let Some(socket) = self.socket(key).filter(|socket| socket.runs) else { return };
        let (class, weight) = socket.again.take().unwrap_or((socket.class, 1));
        if class != socket.class {
            self.remove(key);
            return self.wait(key, class, weight);
        }
        socket.runs = false;
        match class {
            Class::Ready => self.ready.requeue(key),
            _ => self.others.push_back(class as u8, key),
        }
    }

    fn leave(&mut self, key: Key) {
        match self.socket(key) {
            Some(Socket { runs: true, again: None, .. }) => self.remove(key),
            Some(Socket { runs: true, again: Some(_), .. }) => self.requeue(key),
            _ => {}
        }
    }

    fn remove(&mut self, key: Key) {
        if let Some(socket) = self.sockets.get_mut(key as usize) {
            *socket = None;
            self.ready.remove(key);
            self.others.remove(key);
        }
    }

    fn len(&self) -> usize {
        self.ready.len() + self.others.len()
    }
}
