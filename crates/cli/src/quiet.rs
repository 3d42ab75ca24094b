//! Says so where other programs use the machine that is being measured.

use crate::say::tell;
use lab::busy::{self, Look, Others};
use std::time::Duration;

/// How long to look before a measurement begins.
const BEFORE: Duration = Duration::from_millis(200);

/// Says so if other programs are busy now.
pub fn look() {
    tell_of(busy::look(BEFORE), "are using");
}

/// Looks while something is measured.
pub struct Watch(Option<Look>);

impl Watch {
    /// Looks from now on.
    pub fn start() -> Watch {
        Watch(Look::now())
    }

    /// Says so if other programs were busy since.
    pub fn end(self) {
        tell_of(self.0.and_then(|look| look.others()), "used");
    }
}

fn tell_of(others: Option<Others>, used: &str) {
    if let Some(line) = others.and_then(|others| words(others, used)) {
        tell(format_args!("anabranch: {line}"));
    }
}

fn words(others: Others, used: &str) -> Option<String> {
    others.disturb().then(|| {
        format!(
            "other programs {used} {:.1} of {} processors: figures are of a busy machine, measure \
             again when it is quiet",
            others.taken, others.processors
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_told_in_a_line() {
        let others = |taken| Others { taken, processors: 2 };
        assert_eq!(words(others(0.1), "used"), None);
        let line = words(others(1.3), "used").expect("busy");
        assert!(line.starts_with("other programs used 1.3 of 2 processors: "), "{line}");
    }
}
