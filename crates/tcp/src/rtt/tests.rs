use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn the_rto_follows_rfc_6298() {
    let config = Config { min_rto: ms(1), ..Config::default() };
    let mut rtt = Rtt::new(&config);
    assert_eq!(rtt.rto(&config), ms(1000), "2.1");
    rtt.sample(ms(100), &config);
    assert_eq!((rtt.srtt, rtt.rttvar), (100_000, 50_000), "2.2");
    assert_eq!(rtt.rto(&config), ms(300));
    rtt.sample(ms(180), &config);
    assert_eq!((rtt.srtt, rtt.rttvar), (110_000, 57_500), "2.3");
    assert_eq!(rtt.rto(&config), ms(340));
    assert_eq!(rtt.min, 100_000);
}

#[test]
fn it_is_bounded_and_doubles() {
    let config = Config { max_rto: ms(3000), ..Config::default() };
    let mut rtt = Rtt::new(&config);
    for _ in 0..100 {
        rtt.sample(Duration::from_micros(30), &config);
    }
    assert_eq!(rtt.rto(&config), config.min_rto + Duration::from_micros(30));
    let doubled: Vec<u64> = (0..6).map(|n| rtt.backed_off(n, &config).as_millis() as u64).collect();
    assert_eq!(doubled, [200, 400, 800, 1600, 3000, 3000]);
    rtt.backoff = 255;
    assert_eq!(rtt.rto(&config), ms(3000));
}

#[test]
fn absurd_measurements_do_not_overflow() {
    let config = Config::default();
    let mut rtt = Rtt::new(&config);
    for d in [Duration::MAX, Duration::ZERO, Duration::MAX, ms(1)] {
        rtt.sample(d, &config);
        assert!(rtt.rto(&config) >= config.min_rto && rtt.rto(&config) <= config.max_rto);
    }
}

#[test]
fn a_steady_path_leaves_room_for_a_delayed_acknowledgment() {
    for round_trip in [1, 30, 250, 600] {
        let config = Config::default();
        let mut rtt = Rtt::new(&config);
        (0..60).for_each(|_| rtt.sample(ms(round_trip), &config));
        assert!(rtt.rto(&config) >= ms(round_trip) + config.min_rto, "{:?}", rtt.rto(&config));
        assert!(rtt.rto(&config) <= ms(round_trip) + config.min_rto + ms(1));
    }
}

#[test]
fn a_round_trip_of_nothing_is_not_the_least_one() {
    let config = Config::default();
    let mut rtt = Rtt::new(&config);
    rtt.sample(Duration::ZERO, &config);
    assert_eq!((rtt.min, rtt.srtt), (u32::MAX, 1));
    rtt.sample(ms(5), &config);
    rtt.sample(Duration::from_nanos(999), &config);
    assert_eq!(rtt.min, 5000);
}
