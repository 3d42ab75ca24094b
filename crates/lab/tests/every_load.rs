//! Every workload runs under every organization, on one and on two processors,
//! and gives figures.

extern crate anabranch_lab as lab;

use lab::{BenchPlan, Direction, Family, Peer, Presentation, ReceiveBuffers, Row, Workload};

fn short(workload: Workload, organization: &str, processors: usize) -> BenchPlan {
    BenchPlan {
        workload,
        organizations: vec![organization.to_owned()],
        processors,
        connections: 5,
        seconds: 0.05,
        repeat: 1,
        warm_up: 0.01,
        bound: 0.002,
        options: organizations::Options::default().with_groups(8),
        ..BenchPlan::default()
    }
}

fn check(plan: &BenchPlan) -> Row {
    let name = (plan.workload.name(), &plan.organizations, plan.processors, plan.direction);
    let rows = lab::run(plan, &mut |_| {}).unwrap_or_else(|error| panic!("{name:?}: {error}"));
    let [row] = <[Row; 1]>::try_from(rows).expect("one organization");
    assert!(row.median > 0.0 && row.min <= row.median && row.median <= row.max, "{name:?}");
    // A sample may begin between a transaction's bytes and its end.
    assert!(row.ratio_to_bound > 0.0 || plan.workload.is_transactions(), "{name:?}");
    assert!(row.bound_gbit_per_s > 0.0, "{name:?}");
    row
}

fn every_organization(workload: Workload) {
    for entry in organizations::CATALOG {
        for processors in [1, 2] {
            if processors == 1 || !entry.single {
                check(&short(workload, entry.name, processors));
            }
        }
    }
}

#[test]
fn bulk() {
    every_organization(Workload::Bulk);
}

#[test]
fn rr() {
    every_organization(Workload::Rr);
}

#[test]
fn crr() {
    every_organization(Workload::Crr);
}

#[test]
fn udp() {
    every_organization(Workload::Udp);
}

#[test]
fn readers_wait_with_their_buffers() {
    for entry in organizations::CATALOG {
        check(&BenchPlan { posted: true, ..short(Workload::Bulk, entry.name, 1) });
    }
    let plan = BenchPlan { posted: true, ..short(Workload::Rr, "uniprocessor", 1) };
    let no = plan.check().map_err(|error| error.to_string());
    assert_eq!(no, Err("--posted goes with bulk, without a presentation layer".to_owned()));
}

#[test]
fn all_loads_go_over_ipv6() {
    for organization in ["uniprocessor", "group-locks"] {
        for workload in [Workload::Bulk, Workload::Rr, Workload::Crr, Workload::Udp] {
            check(&BenchPlan { family: Family::V6, ..short(workload, organization, 1) });
        }
    }
    let plan = BenchPlan { family: Family::V6, ..short(Workload::Bulk, "uniprocessor", 1) };
    let refused = |plan: BenchPlan| plan.check().map_err(|error| error.to_string());
    let no = refused(BenchPlan { mtu: 1279, ..plan });
    assert_eq!(no, Err("an MTU of 1279 bytes does not work: take 1280 to 65535".to_owned()));
}

#[test]
fn simulated_peers_speak_ipv6() {
    for organization in ["uniprocessor", "group-locks", "layer-parallel"] {
        for workload in [Workload::Bulk, Workload::Udp] {
            for direction in [Direction::Send, Direction::Receive] {
                let plan = short(workload, organization, 2);
                let processors = if organization == "uniprocessor" { 1 } else { 2 };
                let plan = BenchPlan { peer: Peer::Driver, direction, processors, ..plan };
                check(&BenchPlan { family: Family::V6, ..plan });
            }
        }
        for workload in [Workload::Rr, Workload::UdpRr] {
            let plan = BenchPlan { peer: Peer::Driver, ..short(workload, organization, 1) };
            check(&BenchPlan { family: Family::V6, ..plan });
        }
    }
}

#[test]
fn directions_sizes_and_idle_neighbours() {
    for direction in [Direction::Send, Direction::Receive, Direction::Both] {
        for workload in [Workload::Bulk, Workload::Udp] {
            for organization in ["uniprocessor", "group-locks"] {
                check(&BenchPlan { direction, ..short(workload, organization, 1) });
            }
        }
    }
    for mtu in [576, 4352, 9000, 65535] {
        check(&BenchPlan { mtu, ..short(Workload::Bulk, "uniprocessor", 1) });
    }
    for bytes in [1, 100, 70_000, 1 << 20] {
        for workload in [Workload::Bulk, Workload::Rr] {
            check(&BenchPlan { bytes: Some(bytes), ..short(workload, "uniprocessor", 1) });
        }
    }
    let idle =
        BenchPlan { connections: 300, active: Some(1), ..short(Workload::Bulk, "uniprocessor", 1) };
    check(&idle);
}

#[test]
fn simulated_peers() {
    for workload in [Workload::Bulk, Workload::Udp] {
        for direction in [Direction::Send, Direction::Receive] {
            for entry in organizations::CATALOG {
                let plan = short(workload, entry.name, if entry.single { 1 } else { 2 });
                check(&BenchPlan { peer: Peer::Driver, direction, ..plan });
            }
        }
    }
}

/// Messages that a driver sends and the stack echoes, over TCP and UDP; on as
/// many processors as there are said to be.
#[test]
fn simulated_clients() {
    for workload in [Workload::Rr, Workload::UdpRr] {
        for entry in organizations::CATALOG {
            for processors in [1, 2] {
                if processors == 1 || !entry.single {
                    let plan = short(workload, entry.name, processors);
                    let plan = BenchPlan { peer: Peer::Driver, confine: true, ..plan };
                    let row = check(&plan);
                    assert_eq!(row.unit, "transactions/s");
                    if processors == 2 {
                        check(&BenchPlan { bytes: Some(1000), connections: 100, ..plan });
                    }
                }
            }
        }
    }
    // Longer than a segment.
    let plan = short(Workload::Rr, "uniprocessor", 1);
    check(&BenchPlan { peer: Peer::Driver, bytes: Some(5000), ..plan });
}

#[test]
fn checksums_off_and_the_drivers_of_the_papers() {
    for entry in organizations::CATALOG {
        for workload in [Workload::Bulk, Workload::Udp] {
            let plan = short(workload, entry.name, if entry.single { 1 } else { 2 });
            check(&BenchPlan { checksum: false, direction: Direction::Both, ..plan.clone() });
            check(&BenchPlan { checksum: false, ..plan.clone() }.yates());
            let receives = BenchPlan {
                direction: Direction::Receive,
                receive_buffers: ReceiveBuffers::Circular,
                ..plan.yates()
            };
            check(&receives);
            check(&BenchPlan { checksum: false, ..receives });
        }
    }
}

#[test]
fn with_a_presentation_layer() {
    for workload in [Workload::Bulk, Workload::Udp] {
        for direction in [Direction::Send, Direction::Both] {
            for entry in organizations::CATALOG {
                let plan = short(workload, entry.name, if entry.single { 1 } else { 2 });
                let plan = BenchPlan { presentation: Presentation::Xdr, direction, ..plan };
                check(&plan);
                if direction == Direction::Send {
                    check(&BenchPlan { peer: Peer::Driver, ..plan.clone() });
                    check(&BenchPlan { mtu: 4352, bytes: Some(3000), ..plan });
                }
            }
        }
    }
}

#[test]
fn json_has_the_promised_fields() {
    let names = [
        "workload",
        "organization",
        "processors",
        "connections",
        "payload_bytes",
        "mtu",
        "direction",
        "peer",
        "unit",
        "median",
        "min",
        "max",
        "samples",
        "bound_gbit_per_s",
        "ratio_to_bound",
    ];
    for (workload, cost) in [(Workload::Bulk, "cpu_s_per_gb"), (Workload::Rr, "cpu_s_per_100k")] {
        let row = check(&BenchPlan { repeat: 2, ..short(workload, "uniprocessor", 1) });
        let json = serde_json::to_value(&row).expect("numbers and names");
        for name in names.iter().chain([&cost]) {
            assert!(json.get(name).is_some(), "{name}");
        }
        assert_eq!(json["samples"].as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn plans_that_make_no_sense_are_refused_in_one_line() {
    let plan = short(Workload::Bulk, "uniprocessor", 1);
    let udp = BenchPlan { workload: Workload::Udp, bytes: Some(2000), ..plan.clone() };
    let driver = BenchPlan { connections: 2, ..plan.clone() };
    for bad in [
        BenchPlan { organizations: vec!["nobody".to_owned()], ..plan.clone() },
        BenchPlan { processors: 0, ..plan.clone() },
        BenchPlan { processors: 2, ..plan.clone() },
        BenchPlan { connections: 0, ..plan.clone() },
        BenchPlan { seconds: f64::NAN, ..plan.clone() },
        BenchPlan { mtu: 20, ..plan },
        udp,
        BenchPlan { workload: Workload::UdpRr, ..driver.clone() },
        BenchPlan { workload: Workload::Crr, peer: Peer::Driver, ..driver.clone() },
        BenchPlan { workload: Workload::Rr, active: Some(1), peer: Peer::Driver, ..driver },
    ] {
        let error = lab::run(&bad, &mut |_| {}).expect_err("bad");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn a_quick_look() {
    let rows = lab::quick(&["uniprocessor", "group-locks"], 1, 0.03).expect("figures");
    assert_eq!(rows.len(), 4);
}

/// Bytes are looked at in one round of many, so a sample on a busy machine may
/// have none: then a longer one is taken.
fn detail_with_bytes(mut plan: BenchPlan) -> lab::Detail {
    loop {
        let detail = check(&plan).detail.expect("instruments");
        let [sample] = &detail.samples[..] else { panic!("one sample") };
        if sample.report.threads.iter().any(|t| t.packets_in > 0 && t.bytes_out > 0) {
            return detail;
        }
        plan.seconds *= 2.0;
        assert!(plan.seconds < 20.0, "{:?}: no bytes", plan.organizations);
    }
}

#[test]
fn instruments_tell_of_threads_and_connections() {
    for workload in [Workload::Bulk, Workload::Rr, Workload::Udp] {
        for (organization, processors) in
            [("uniprocessor", 1), ("group-locks", 2), ("processor-per-connection", 2)]
        {
            let plan = BenchPlan { instruments: true, ..short(workload, organization, processors) };
            let detail = detail_with_bytes(plan);
            assert_eq!(detail.per_connection.count, 5, "{organization}");
            assert!(detail.jain > 0.0 && detail.jain <= 1.0 + 1e-9, "{organization}");
            assert_eq!(detail.samples[0].report.threads.len(), processors, "{organization}");
            if workload == Workload::Rr {
                assert!(detail.latency.samples > 0, "{organization}");
            }
        }
    }
}
