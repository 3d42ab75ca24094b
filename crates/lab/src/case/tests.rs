use super::*;

const SHORT: Timing = Timing { warm_up: 0.005, window: 0.01, windows: 3, speed: 0.001 };

#[test]
fn every_work_is_counted_in_operations() {
    for work in Work::ALL {
        let organization = "uniprocessor".to_owned();
        let case = Case { organization, work, processors: 1, connections: 4 };
        let measured = case.measure(&SHORT, false).expect("figures");
        assert!(measured.rates.len() >= 3 && measured.operations > 0.0, "{work}");
        assert!(measured.piece_ns > 0.0);
        let expected = match work {
            Work::TcpSend | Work::TcpReceive => 1200..=1460,
            Work::UdpSend | Work::UdpReceive => 1472..=1472,
            Work::TcpRr | Work::UdpRr => 64..=64,
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
fn a_shuffle_keeps_all_and_follows_from_the_seed() {
    let shuffled = |seed| {
        let mut numbers: Vec<usize> = (0..100).collect();
        Dice(seed).shuffle(&mut numbers);
        numbers
    };
    assert_eq!(shuffled(1), shuffled(1));
    assert_ne!(shuffled(1), shuffled(2));
    let mut sorted = shuffled(3);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    let mut dice = Dice(9);
    assert!((0..1000).map(|_| dice.uniform()).all(|x| (0.0..1.0).contains(&x)));
}
