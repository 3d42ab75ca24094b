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
    let usual = "spin, ticket, mcs, adaptive, os, readers-writer";
    let start = format!("no lock is called \"mutex\": use one of {usual}");
    assert!(error.starts_with(&start) && !error.contains('\n'), "{error}");
}

#[test]
fn the_type_is_the_one_named() {
    let name = |kind| crate::with_lock!(kind, L => std::any::type_name::<L>());
    assert!(name(LockKind::Ticket).ends_with("::Ticket"));
    assert!(name(LockKind::ReadersWriter).ends_with("rw::ReadersWriter"));
    let names = LockKind::ALL.map(name);
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
        assert!(crate::with_lock!(kind, L => start::<L>()));
    }
}

/// The row of an example lock is in the catalog wherever it is compiled.
#[test]
fn the_worked_example_is_a_row() {
    assert_eq!("proportional".parse::<LockKind>().is_ok(), cfg!(seventh));
    assert_eq!(LockKind::ALL.len(), 6 + usize::from(cfg!(seventh)));
}
