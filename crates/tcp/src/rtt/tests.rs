use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn rto(rtt: &Rtt) -> Duration {
    Duration::from_micros(rtt.rto())
}

#[test]
fn the_rto_follows_rfc_6298() {
    // RFC 6298 2.1/1, 2.2/1, 2.3/1, 2.3/2
    let config = Config { min_rto: ms(1), ..Config::default() };
    let mut rtt = Rtt::new(&config, Instant::ZERO);
    assert_eq!(rto(&rtt), ms(1000), "2.1");
    rtt.sample(1000 * 100);
    assert_eq!((rtt.srtt, rtt.rttvar), (100_000, 50_000), "2.2");
    assert_eq!(rto(&rtt), ms(300));
    rtt.sample(1000 * 180);
    assert_eq!((rtt.srtt, rtt.rttvar), (110_000, 57_500), "2.3");
    assert_eq!(rto(&rtt), ms(340));
    assert_eq!(rtt.min, 100_000);
}

#[test]
fn it_is_bounded_and_doubles() {
    // RFC 6298 2.5/1
    let config = Config { max_rto: ms(3000), ..Config::default() };
    let mut rtt = Rtt::new(&config, Instant::ZERO);
    for _ in 0..100 {
        rtt.sample(30);
    }
    assert_eq!(rto(&rtt), config.min_rto + Duration::from_micros(30));
    let doubled: Vec<u64> =
        (0..6).map(|n| rto(&Rtt { backoff: n, ..rtt }).as_millis() as u64).collect();
    assert_eq!(doubled, [200, 400, 800, 1600, 3000, 3000]);
    rtt.backoff = 255;
    assert_eq!(rto(&rtt), ms(3000));
}

#[test]
fn absurd_measurements_do_not_overflow() {
    let config = Config::default();
    let mut rtt = Rtt::new(&config, Instant::ZERO);
    for micros in [u32::MAX, 0, u32::MAX, 1000] {
        rtt.sample(micros);
        assert!(rto(&rtt) >= config.min_rto && rto(&rtt) <= config.max_rto);
    }
}

#[test]
fn a_steady_path_leaves_room_for_a_delayed_acknowledgment() {
    // RFC 6298 2.3/3, 2.4/1
    for round_trip in [1, 30, 250, 600u32] {
        let config = Config::default();
        let mut rtt = Rtt::new(&config, Instant::ZERO);
        (0..60).for_each(|_| rtt.sample(1000 * round_trip));
        assert!(rto(&rtt) >= ms(round_trip.into()) + config.min_rto, "{:?}", rto(&rtt));
        assert!(rto(&rtt) <= ms(round_trip.into()) + config.min_rto + ms(1));
    }
}

#[test]
fn a_round_trip_of_nothing_is_not_the_least_one() {
    // RFC 8985 6.2/1
    let config = Config::default();
    let mut rtt = Rtt::new(&config, Instant::ZERO);
    rtt.sample(0);
    assert_eq!((rtt.min, rtt.srtt), (u32::MAX, 1));
    rtt.sample(1000 * 5);
    rtt.sample(0);
    assert_eq!(rtt.min, 5000);
}

#[test]
fn the_least_round_trip_is_forgotten_after_34_to_69_seconds() {
    // RFC 8985 6.2/1
    for start in [0, 20, 34] {
        let mut now = Instant::from_millis(1000 * start);
        let mut rtt = Rtt::new(&Config::default(), now);
        let mut pass = |rtt: &mut Rtt, seconds: u64, millis: u32| {
            for _ in 0..10 * seconds {
                now += ms(100);
                rtt.sample(1000 * millis);
                rtt.round(now);
            }
            rtt.min / 1000
        };
        assert_eq!(pass(&mut rtt, 10, 1), 1);
        assert_eq!(pass(&mut rtt, 34, 100), 1, "it may come back");
        assert_eq!(pass(&mut rtt, 36, 100), 100, "the route has become long");
        assert_eq!(pass(&mut rtt, 1, 20), 20, "what is less counts at once");
        assert_eq!(pass(&mut rtt, 33, 100), 20);
    }
}

#[test]
fn a_period_without_a_measurement_changes_nothing() {
    let mut rtt = Rtt::new(&Config::default(), Instant::ZERO);
    rtt.round(Instant::from_millis(40_000));
    assert_eq!(rtt.min, u32::MAX);
    rtt.sample(5000);
    for minutes in 1..100 {
        rtt.round(Instant::from_millis(60_000 * minutes));
        assert_eq!(rtt.min, 5000);
    }
    rtt.sample(9000);
    rtt.round(Instant::from_millis(60_000 * 100));
    assert_eq!(rtt.min, 9000);
}
