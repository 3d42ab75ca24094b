use super::*;
use planner::calibration;

fn short() -> Effort {
    Effort {
        organizations: vec!["uniprocessor".to_owned(), "group-locks".to_owned()],
        works: vec![Work::TcpSend, Work::UdpRr],
        processors: vec![1, 2],
        connections: vec![1, 9],
        besides: Vec::new(),
        timing: Timing { warm_up: 0.002, window: 0.02, windows: 3, speed: 0.001 },
        samples: 2,
        pairs: 2,
        patience: Duration::from_secs(95),
        seed: 3,
    }
}

#[test]
fn a_calibration_is_whole_and_its_file_can_be_read() {
    let mut shares = Vec::new();
    let outcome = run(&short(), &mut |p| shares.push(p.share)).expect("figures");
    // A busy machine may look as if its processors were moved: then cases are left out,
    // but never all of a kind.
    let moved = |line: &String| line.contains(" ns apart");
    assert!(outcome.left_out.iter().all(moved), "{:?}", outcome.left_out);
    assert!(shares.is_sorted() && shares.last() == Some(&1.0));
    let calibration = outcome.calibration;
    let text = calibration.to_toml().expect("figures that can be");
    assert_eq!(calibration::parse(&text).expect("what was written"), calibration);
    let (one, all) =
        (&calibration.organizations["uniprocessor"], &calibration.organizations["group-locks"]);
    assert_eq!(one.len(), 4);
    for (work, processors) in [1, 2].map(|p| [(Work::TcpSend, p), (Work::UdpRr, p)]).concat() {
        let of: Vec<usize> = all
            .iter()
            .filter(|a| (a.work, a.processors) == (work, processors))
            .map(|a| a.connections)
            .collect();
        let whole = outcome.left_out.is_empty() || processors == 1;
        assert!(of == [1, 9] || !whole && (of == [1] || of == [9]), "{work}: {of:?}");
    }
    assert!(all.iter().all(|a| a.operations_per_s.value > 0.0 && a.speed > 0.0));
    assert!(all.iter().all(|a| a.processor_ns > 0.0));
    check(&calibration);
}

/// What can be said of any machine.
fn check(calibration: &Calibration) {
    let p = &calibration.primitives;
    for levels in [&p.copy_ns_per_byte, &p.checksum_ns_per_byte, &p.copy_checksum_ns_per_byte] {
        assert!([levels.l1, levels.l2, levels.dram].iter().all(|e| e.value > 0.0));
    }
    let locks: Vec<&str> = p.locks.keys().map(String::as_str).collect();
    assert_eq!(locks.len(), sync::LockKind::ALL.len(), "{locks:?}");
    assert!(p.locks.values().all(|costs| costs.alone_ns.value > 0.0));
    assert!(p.context_switch_ns.value > 0.0);
    if calibration.machine.processors > 1 {
        assert!(p.line_transfer_ns.value > 0.0 && p.wake_up_ns.value > 0.0);
        assert!(p.ring_item_ns.value > 0.0 && p.ring_batched_item_ns.value > 0.0);
        assert!(p.locks.values().all(|costs| costs.contended_ns.value > 0.0));
    }
    let memory = &p.devices["memory"];
    assert!(memory.receive_ns.value > 0.0 && memory.transmit_ns.value > 0.0);
    assert_eq!(calibration.ipv6.len(), short().works.len());
    for (work, ipv6) in &calibration.ipv6 {
        // The headers of IPv6 are longer by 20 bytes, and segments of TCP are full.
        let less = if *work == Work::TcpSend { 20 } else { 0 };
        assert_eq!(ipv6.ipv4_bytes - ipv6.ipv6_bytes, less, "{work}");
        assert!(ipv6.ratio.low > 0.0 && ipv6.layers.transport_ns > 0.0, "{work}: {ipv6:?}");
    }
    let over = calibration.over_ipv6().expect("measured");
    assert_eq!(over.organizations.len(), calibration.organizations.len());
    assert_eq!(calibration.layers.len(), Work::ALL.len());
    for (work, layers) in &calibration.layers {
        assert!(layers.payload_bytes >= 64.0 && layers.transport_ns > 0.0, "{work}");
        let exchanged = layers.packets_in + layers.packets_out;
        assert!(exchanged > 0.5, "{work}: {exchanged}");
    }
}

#[test]
fn the_order_of_cases_follows_from_the_seed() {
    let cases = anchors::cases(&short());
    assert_eq!(cases.len(), 2 * 2 * (2 + 1));
    assert_eq!(cases, anchors::cases(&short()));
    assert_ne!(cases, anchors::cases(&Effort { seed: 4, ..short() }));
}

/// Over a multiple of a batch all batches are full. That is no usual number of connections.
#[test]
fn no_number_of_connections_is_a_multiple_of_a_batch() {
    let half = organizations::runtime::worker::BATCH / 2;
    for effort in [Effort::quick(), Effort::default(), Effort::full()] {
        for case in anchors::cases(&effort) {
            assert!(!case.connections.is_multiple_of(half), "{case:?}");
        }
    }
}

#[test]
fn an_unknown_organization_is_refused() {
    let effort = Effort { organizations: vec!["nobody".to_owned()], ..short() };
    let error = run(&effort, &mut |_| {}).expect_err("nobody");
    assert!(error.to_string().contains("choose from"), "{error}");
}
