//! The suite for every organization in the catalog.

anabranch_linux_peer::suite! {
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

#[test]
fn every_organization_in_the_catalog_is_tested() {
    let names: Vec<_> = anabranch::Organization::all().map(|o| o.name()).collect();
    let have: Vec<_> = INSTANTIATED.iter().map(|name| name.replace('_', "-")).collect();
    assert_eq!(have, names);
}
