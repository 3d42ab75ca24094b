use super::*;
use crate::{Locked, RawLock};

#[test]
fn every_name_is_understood_and_unique() {
    for kind in LockKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert_eq!(format!("{:>8}|", LockKind::Mcs), "     mcs|");
}

#[test]
fn a_wrong_name_is_mended_in_one_line() {
    let error = "mutex".parse::<LockKind>().unwrap_err().to_string();
    assert_eq!(
        error,
        "no lock is called \"mutex\": use one of spin, ticket, mcs, adaptive, os, readers-writer"
    );
}

#[test]
fn the_type_is_the_one_named() {
    let name = |kind, counted| crate::with_lock!(kind, counted, L => std::any::type_name::<L>());
    assert!(name(LockKind::Ticket, false).ends_with("::Ticket"));
    assert!(name(LockKind::ReadersWriter, true).ends_with("rw::ReadersWriter>"));
    assert!(name(LockKind::ReadersWriter, true).contains("Counted<"));
    let names = LockKind::ALL.map(|kind| name(kind, false));
    assert!((1..names.len()).all(|i| !names[..i].contains(&names[i])));
}

/// What is used of a generic start function.
fn start<L: RawLock>() -> bool {
    let locked: Locked<L, u8> = Locked::new(7);
    locked.read(|n| *n) == 7 && !locked.lock().is_locked()
}

#[test]
fn generic_code_can_be_started() {
    for kind in LockKind::ALL {
        for counted in [false, true] {
            assert!(crate::with_lock!(kind, counted, L => start::<L>()));
        }
    }
}
