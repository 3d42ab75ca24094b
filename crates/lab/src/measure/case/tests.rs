use super::*;

const SHORT: Timing = Timing { warm_up: 0.005, window: 0.01, windows: 3, speed: 0.001 };

#[test]
fn every_work_is_counted_in_operations() {
    for work in Work::ALL {
        let organization = "uniprocessor".to_owned();
        let case = Case { organization, work, processors: 1, connections: 4 };
        let measured = case.measure(&SHORT, None, false).expect("figures");
        assert!(measured.rates.len() >= 2 && measured.operations > 0.0, "{work}");
        assert!(measured.piece_ns > 0.0);
        let expected = match work {
            Work::TcpSend | Work::TcpReceive => 1200..=1460,
            Work::UdpSend | Work::UdpReceive => 1472..=1472,
            Work::TcpRr | Work::UdpRr | Work::TcpCrr => 64..=64,
        };
        assert!(expected.contains(&measured.bytes), "{work}: {}", measured.bytes);
    }
}

#[test]
fn only_one_organization_is_for_one_processor() {
    let all = organizations(1).count();
    assert_eq!(organizations(2).count(), all - 1);
}

#[test]
fn what_stood_still_is_measured_again() {
    let organization = "uniprocessor".to_owned();
    let case = Case { organization, work: Work::TcpRr, processors: 1, connections: 1 };
    let good = case.measure(&SHORT, None, false).expect("figures");
    let with = |rates: [f64; 3]| Measured { rates: rates.to_vec(), ..good.clone() };
    let mut runs = vec![with([1.0, 2.0, 3.0]), with([5.0, 0.0, 5.0]), with([0.0, 0.0, 9.0])];
    let measured = moving(|| Ok(runs.pop().expect("no more tries"))).expect("figures");
    assert_eq!(measured.rates, [1.0, 2.0, 3.0]);
    let mut tries = 0;
    let never = moving(|| {
        tries += 1;
        Ok(with([0.0, 1.0, 1.0]))
    });
    assert!(!never.expect("figures").is_moving());
    assert_eq!(tries, TRIES);
}

#[test]
fn a_case_is_measured_at_the_pace_that_is_wanted() {
    let organization = "uniprocessor".to_owned();
    let case = Case { organization, work: Work::TcpRr, processors: 1, connections: 4 };
    // No machine is so fast: what it had counts, and it has looked for more windows.
    let wanted = 1e-3;
    let measured = case.measure(&SHORT, Some(wanted), false).expect("figures");
    assert!(!crate::speed::is_alike(measured.piece_ns, wanted) && measured.rates.len() >= 2);
    let plan = case.plan(&SHORT, false);
    let (taken, _) = windows::take(&plan, "uniprocessor", &SHORT, Some(wanted)).expect("windows");
    assert!(taken.len() >= windows::MOST * SHORT.windows);
}
