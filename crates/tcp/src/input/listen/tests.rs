use super::*;
use crate::harness::header;

#[test]
fn only_a_plain_syn_opens() {
    for letters in ["S", "SP", "SU"] {
        assert_eq!(input(&header(letters, 1, 1, 1), 0), Listen::Open, "{letters}");
    }
    for letters in ["R", "RS", "R.", "", "F", "SF", "P"] {
        assert_eq!(input(&header(letters, 1, 1, 1), 3), Listen::Ignore, "{letters}");
    }
    for letters in [".", "S.", "F."] {
        let answer = input(&header(letters, 1, 1, 1), 0);
        assert!(matches!(answer, Listen::Reset(_)), "{letters}");
    }
}
