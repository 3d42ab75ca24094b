//! The suite for every organization in the catalog.

use organizations::CATALOG;

anabranch_conformance::suite! {
    uniprocessor { one 1 }
    global_lock { one 1 two 2 }
    message_parallel { one 1 two 2 }
    group_locks { one 1 two 2 }
    group_threads { one 1 two 2 }
    thread_per_connection { one 1 two 2 }
    virtual_processors { one 1 two 2 }
    processor_per_connection { one 1 two 2 }
    engines { one 1 two 2 }
    engines_early { one 1 two 2 }
    engines_sched { one 1 two 2 }
    layer_parallel { one 1 two 2 }
}

/// The worked example of docs/organizations.md.
#[cfg(thirteenth)]
mod thirteenth {
    anabranch_conformance::suite! { combining { one 1 two 2 } }
    pub const ALL: &[(&str, &[usize])] = INSTANTIATED;
}
#[cfg(not(thirteenth))]
mod thirteenth {
    pub const ALL: &[(&str, &[usize])] = &[];
}

#[test]
fn every_organization_in_the_catalog_is_tested() {
    let wanted: Vec<(String, &[usize])> = CATALOG
        .iter()
        .map(|e| (e.name.replace('-', "_"), if e.single { &[1][..] } else { &[1, 2][..] }))
        .collect();
    let have: Vec<_> = INSTANTIATED
        .iter()
        .chain(thirteenth::ALL)
        .map(|(name, n)| (name.to_string(), *n))
        .collect();
    assert_eq!(have, wanted);
}
