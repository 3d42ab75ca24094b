//! [`Answers`]: what servers have said, while it is good.

use platform::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The most names whose addresses are remembered, and how long at most.
const MOST_ANSWERS: usize = 256;
const OLDEST: Duration = Duration::from_secs(3600);

/// Addresses of names for as long as their servers have said that they are good.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: HashMap<String, (Vec<IpAddr>, Instant)>,
    /// How often they were forgotten.
    network: u64,
}

/// The network that somebody is asked in: answers of one before are not kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network(u64);

impl Answers {
    pub(crate) fn get(&self, name: &str) -> Option<Vec<IpAddr>> {
        let state = self.0.lock();
        state.known.get(name).filter(|(_, until)| Instant::now() < *until).map(|(of, _)| of.clone())
    }

    /// The present network. Who asks for servers does so after this.
    pub(crate) fn network(&self) -> Network {
        Network(self.0.lock().network)
    }

    /// Keeps what servers that were asked in this network have said, unless it is another one by now.
    pub(crate) fn put(
        &self,
        name: &str,
        addresses: &[IpAddr],
        (network, until): (Network, Instant),
    ) {
        let now = Instant::now();
        let State { known, network: present } = &mut *self.0.lock();
        if network.0 != *present {
            return;
        }
        if known.len() >= MOST_ANSWERS {
            known.retain(|_, (_, until)| now < *until);
        }
        if known.len() >= MOST_ANSWERS {
            let one = known.keys().next().cloned();
            one.and_then(|name| known.remove(&name));
        }
        known.insert(name.to_owned(), (addresses.to_vec(), until.min(now + OLDEST)));
    }

    /// Forgets them: the network is another one.
    pub(crate) fn clear(&self) {
        let mut state = self.0.lock();
        state.known.clear();
        state.network += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_grow_old_and_are_bounded() {
        let (answers, now) = (Answers::default(), Instant::now());
        let address: IpAddr = "10.0.0.1".parse().expect("an address");
        let network = answers.network();
        answers.put("old", &[address], (network, now));
        assert_eq!(answers.get("old"), None);
        let later = now + Duration::from_secs(60);
        answers.put("good", &[address], (network, later));
        assert_eq!(answers.get("good"), Some(vec![address]));
        let put = |n| answers.put(&format!("name-{n}"), &[address], (network, later));
        (0..2 * MOST_ANSWERS).for_each(put);
        assert_eq!(answers.0.lock().known.len(), MOST_ANSWERS);
        answers.clear();
        assert_eq!(answers.get("good"), None);
        // It was asked for in the network before.
        answers.put("good", &[address], (network, later));
        assert_eq!(answers.get("good"), None);
    }
}
