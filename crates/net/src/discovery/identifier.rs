//! The lower halves of addresses: stable ones that tell nothing (RFC 7217), and ones that are
//! chance (RFC 8981).

use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::net::Ipv6Addr;

/// A secret of 128 bits.
pub type Key = [u64; 2];

/// Bits of the prefix that an address is formed in (RFC 4291 2.5.1).
pub(super) const BITS: u8 = 64;

/// The key of an interface by this name on a machine with this secret: Net_Iface and secret_key
/// of RFC 7217 5.
pub fn stable_key(secret: &[u8], interface: &str) -> Key {
    [0, 1].map(|half: u8| {
        let mut hasher = SipHasher24::new_with_keys(0x616e_6162_7261_6e63, half.into());
        hasher.write_usize(secret.len());
        hasher.write(secret);
        hasher.write(interface.as_bytes());
        hasher.finish()
    })
}

/// The upper half of `network`, and `identifier`.
pub(super) fn address(network: Ipv6Addr, identifier: u64) -> Ipv6Addr {
    let high = network.to_bits() >> 64 << 64;
    Ipv6Addr::from_bits(high | u128::from(identifier))
}

/// The stable identifier of a network after so many others were found to be another's
/// (RFC 7217 5: RID). SipHash-2-4 is the pseudorandom function.
pub(super) fn stable(key: Key, network: Ipv6Addr, counter: u8) -> u64 {
    let mut skipped = 0u8;
    loop {
        let mut hasher = SipHasher24::new_with_keys(key[0], key[1]);
        hasher.write_u64((network.to_bits() >> 64) as u64);
        hasher.write_u8(counter);
        hasher.write_u8(skipped);
        let identifier = hasher.finish();
        if !is_reserved(identifier) {
            return identifier;
        }
        skipped = skipped.wrapping_add(1);
    }
}

/// Is it one that no host may take (RFC 5453): the routers' anycast address, that of IANA's
/// Ethernet block, or an anycast one of the network?
pub(super) fn is_reserved(identifier: u64) -> bool {
    identifier == 0
        || (0x0200_5eff_fe00_0000..=0x0200_5eff_feff_ffff).contains(&identifier)
        || (0xfdff_ffff_ffff_ff80..=0xfdff_ffff_ffff_ffff).contains(&identifier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_stable_and_differ_by_all_that_they_come_from() {
        let one: Ipv6Addr = "2001:db8:1::".parse().expect("a network");
        let other: Ipv6Addr = "2001:db8:2::".parse().expect("a network");
        let key = stable_key(b"a machine", "eth0");
        let base = stable(key, one, 0);
        assert_eq!(base, stable(stable_key(b"a machine", "eth0"), one, 0));
        let others = [
            stable(key, other, 0),
            stable(key, one, 1),
            stable(stable_key(b"a machine", "eth1"), one, 0),
            stable(stable_key(b"another", "eth0"), one, 0),
        ];
        assert!(others.iter().all(|other| *other != base), "{others:x?}");
        // The lower half of the network does not count.
        assert_eq!(stable(key, "2001:db8:1::5".parse().expect("one"), 0), base);
        assert_eq!(address(one, 7), "2001:db8:1::7".parse::<Ipv6Addr>().expect("one"));
    }

    #[test]
    fn some_are_taken() {
        for taken in [0, 0x0200_5eff_fe00_5212, 0xfdff_ffff_ffff_ff80, 0xfdff_ffff_ffff_ffff] {
            assert!(is_reserved(taken), "{taken:x}");
        }
        for free in [1, 0x0200_5eff_ff00_0000, 0xfdff_ffff_ffff_ff7f, 0xfe00_0000_0000_0000] {
            assert!(!is_reserved(free), "{free:x}");
        }
    }
}
