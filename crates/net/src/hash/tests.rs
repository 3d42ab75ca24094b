use super::*;

const ALL: [Purpose; 5] = [
    Purpose::Tables,
    Purpose::SequenceNumbers,
    Purpose::Ports,
    Purpose::Identifications,
    Purpose::Limits,
];

/// A key is not another one after complements, rotations, and exchanges of the
/// halves; nor is it the secret itself.
#[test]
fn no_key_follows_from_another() {
    let config = Config::new(Vec::new(), 7);
    let words: Vec<u64> =
        ALL.iter().flat_map(|purpose| config.key(*purpose)).chain(config.secret).collect();
    for (i, &a) in words.iter().enumerate() {
        for &b in &words[..i] {
            for turn in 0..64 {
                let turned = b.rotate_left(turn);
                assert!(a != turned && a != !turned, "{a:x} and {b:x}, turned by {turn}");
            }
        }
    }
}

#[test]
fn keys_follow_from_the_secret() {
    let (a, b) = (Config::new(Vec::new(), 7), Config::new(Vec::new(), 8));
    for purpose in ALL {
        assert_eq!(a.key(purpose), a.clone().key(purpose));
        assert_ne!(a.key(purpose), b.key(purpose));
    }
}
