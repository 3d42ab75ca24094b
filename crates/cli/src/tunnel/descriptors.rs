//! How many descriptors the process may have: each connection and each session has some.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the soft limit, which is 1,024 on most systems for the sake of select(2), to the hard one. If that
/// fails, who finds no descriptor says so.
pub(super) fn raise() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_the_system_gives() {
        let hard = getrlimit(Resource::Nofile);
        let mut less = hard;
        less.current = Some(hard.maximum.unwrap_or(1 << 20) - 1);
        setrlimit(Resource::Nofile, less).expect("less");
        raise();
        assert_eq!(getrlimit(Resource::Nofile).current, hard.maximum);
    }
}
