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
pub(crate) struct Answers(Mutex<HashMap<String, (Vec<IpAddr>, Instant)>>);

impl Answers {
    pub(crate) fn get(&self, name: &str) -> Option<Vec<IpAddr>> {
        let answers = self.0.lock();
        answers.get(name).filter(|(_, until)| Instant::now() < *until).map(|(of, _)| of.clone())
    }

    pub(crate) fn put(&self, name: &str, addresses: &[IpAddr], until: Instant) {
        let now = Instant::now();
        let mut answers = self.0.lock();
        if answers.len() >= MOST_ANSWERS {
            answers.retain(|_, (_, until)| now < *until);
        }
        if answers.len() >= MOST_ANSWERS {
            let one = answers.keys().next().cloned();
            one.and_then(|name| answers.remove(&name));
        }
        answers.insert(name.to_owned(), (addresses.to_vec(), until.min(now + OLDEST)));
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_grow_old_and_are_bounded() {
        let (answers, now) = (Answers::default(), Instant::now());
        let address: IpAddr = "10.0.0.1".parse().expect("an address");
        answers.put("old", &[address], now);
        assert_eq!(answers.get("old"), None);
        let later = now + Duration::from_secs(60);
        answers.put("good", &[address], later);
        assert_eq!(answers.get("good"), Some(vec![address]));
        (0..2 * MOST_ANSWERS).for_each(|n| answers.put(&format!("name-{n}"), &[address], later));
        assert_eq!(answers.0.lock().len(), MOST_ANSWERS);
        answers.clear();
        assert_eq!(answers.get("good"), None);
    }
}
