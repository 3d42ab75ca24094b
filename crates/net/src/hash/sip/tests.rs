use super::*;
use proptest::prelude::*;
use siphasher::sip::SipHasher13;
use std::hash::Hash;
use wire::{Endpoint, FlowKey};

proptest! {
    /// The well-known implementation gives the same, for any words and key; the number
    /// of bytes counts modulo 256, so more than 32 words are tried, too.
    #[test]
    fn is_siphash_1_3(key: [u64; 2], words in prop::collection::vec(any::<u64>(), 0..70)) {
        let mut ours = SipWords::new(key);
        let mut theirs = SipHasher13::new_with_keys(key[0], key[1]);
        for &word in &words {
            ours.write_u64(word);
            theirs.write_u64(word);
        }
        prop_assert_eq!(ours.finish(), theirs.finish());
    }

    /// A flow is hashed as it always was, in both families.
    #[test]
    fn flows_too(key: [u64; 2], local: std::net::SocketAddr, remote: std::net::SocketAddr) {
        let flow = FlowKey { local: Endpoint::from(local), remote: Endpoint::from(remote) };
        let mut ours = SipWords::new(key);
        let mut theirs = SipHasher13::new_with_keys(key[0], key[1]);
        flow.hash(&mut ours);
        flow.hash(&mut theirs);
        prop_assert_eq!(ours.finish(), theirs.finish());
    }

    /// Bytes that differ, also only in zeros at their end, are other messages.
    #[test]
    fn bytes_differ(a in prop::collection::vec(0..3u8, 0..20), b in prop::collection::vec(0..3u8, 0..20)) {
        let hash = |bytes: &[u8]| {
            let mut hasher = SipWords::new([1, 2]);
            hasher.write(bytes);
            hasher.finish()
        };
        prop_assert_eq!(hash(&a) == hash(&b), a == b);
    }
}
