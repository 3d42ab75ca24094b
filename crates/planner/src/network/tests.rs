use super::*;

const GOOD: &str = r#"
name = "two classes"
rate_per_s = 100

[[class]]
name = "small"
share = 0.75

[[class]]
name = "large"
share = 0.25

[[station]]
name = "work"
kind = "delay"
service_us = { small = 10, large = 18.5 }

[[station]]
name = "pool"
kind = "multi-server"
servers = 3
visits = { small = 1, large = 0 }
service_us = 7

[[station]]
name = "controller"
kind = "split"
queues = 4
service_us = 4

[[station]]
name = "lock"
kind = "lock"
service_us = 4
acquire_us = 0.25
release_us = 0.5
"#;

#[test]
fn what_a_file_says() {
    let network = Network::from_toml(GOOD).expect("good");
    assert_eq!(network.name(), "two classes");
    assert_eq!(network.rates_per_s(), [75.0, 25.0]);
    let [work, pool, controller, lock] = network.stations() else { panic!("{network:?}") };
    assert_eq!(work.service_us, [10.0, 18.5]);
    assert_eq!(work.visits, [1.0, 1.0]);
    assert_eq!(pool.kind, Kind::MultiServer { servers: 3 });
    assert_eq!(pool.visits, [1.0, 0.0]);
    assert_eq!(controller.kind, Kind::Split { shares: vec![0.25; 4] });
    assert_eq!(lock.kind, Kind::Lock { acquire_us: 0.25, release_us: 0.5, transfer_us: 0.0 });
    let centers = network.centers();
    assert_eq!(centers.len(), 1 + 1 + 4 + 1);
    assert_eq!(centers[5].visits, [0.25, 0.25]);
    assert_eq!(centers[6].service_us, [4.75, 4.75]);
}

#[test]
fn closed_classes_and_rates_of_their_own() {
    let closed = r#"
        class = [{ name = "user", population = 12, think_us = 50 }]
        station = [{ name = "disk", kind = "queue", service_us = 3 }]
    "#;
    let closed = Network::from_toml(closed).expect("good");
    assert!(!closed.is_open());
    assert_eq!((closed.populations(), closed.thinks_us()), (vec![12], vec![50.0]));
    assert_eq!(closed.with_population(3).expect("one class").populations(), [3]);
    assert!(closed.with_rate(3.0).is_err());
    let open = r#"
        class = [{ name = "a", rate_per_s = 30 }, { name = "b", rate_per_s = 10 }]
        station = [{ name = "disk", kind = "queue", service_us = 3 }]
    "#;
    let open = Network::from_toml(open).expect("good");
    assert_eq!(open.rates_per_s(), [30.0, 10.0]);
    assert_eq!(open.with_rate(80.0).expect("open").rates_per_s(), [60.0, 20.0]);
    let other = open.with_shares(&[0.5, 0.5]).expect("they sum to 1");
    assert_eq!(other.rates_per_s(), [20.0, 20.0]);
    assert!(open.with_shares(&[0.5, 0.2]).is_err() && open.with_shares(&[1.0]).is_err());
    assert!(open.with_population(3).is_err());
}

/// The error for the good file with one part replaced.
#[test]
fn what_makes_no_sense_is_refused() {
    for (that, this, part) in [
        ("rate_per_s = 100", "", "give the total rate_per_s"),
        ("rate_per_s = 100", "rate_per_s = -1", "the rate is -1, and cannot be negative"),
        ("rate_per_s = 100", "rate_per_s = nan", "the rate is not a number"),
        ("rate_per_s = 100", "rate_per_s = inf", "the rate is inf; at most 1e12 can be"),
        ("rate_per_s = 100", "rate_per_s = 1e300", "at most 1e12 can be"),
        ("rate_per_s = 100", "rates = 100", "line 3: unknown field `rates`"),
        ("share = 0.75", "share = 0.5", "the shares of the classes sum to 0.75"),
        ("share = 0.75", "share = -0.75", "class `small`: its share is -0.75"),
        ("share = 0.75", "", "class `small` has no load"),
        ("share = 0.75", "population = 3", "some classes are open and some closed"),
        ("share = 0.75", "share = 0.75\npopulation = 3", "is open and closed at once"),
        ("share = 0.75", "rate_per_s = 3", "give all of them one"),
        ("share = 0.75", "population = 0", "class `small`: a population is 0"),
        ("share = 0.75", "population = -3", "invalid value: integer `-3`"),
        ("share = 0.75", "population = 2000000000", "at most 1000000000 can be"),
        ("name = \"large\"", "name = \"small\"", "class `small` is there twice"),
        ("name = \"pool\"", "name = \"work\"", "station `work` is there twice"),
        ("name = \"pool\"", "name = \"\"", "a station has no name"),
        ("name = \"pool\"", "", "missing field `name`"),
        ("large = 18.5", "huge = 18.5", "service_us of class `huge`, and there is no such class"),
        ("small = 10, large", "large", "station `work`: no service_us for class `small`"),
        ("small = 10", "small = -10", "station `work`: service_us of class `small` is -10"),
        ("small = 10", "small = nan", "service_us of class `small` is not a number"),
        ("small = 10", "small = inf", "service_us of class `small` is inf"),
        ("small = 10", "small = \"ten\"", "a number, or a table with a number for each class"),
        ("service_us = 7", "", "station `pool`: it has no service_us; give it one"),
        ("servers = 3", "servers = 0", "station `pool`: it has 0 servers"),
        ("servers = 3", "servers = 20000", "it has 20000 servers; at most 10000 can be"),
        ("servers = 3", "servers = 3.5", "line 21: invalid type: floating point `3.5`"),
        ("servers = 3", "", "how many servers"),
        ("servers = 3", "servers = 3\nqueues = 3", "queues is not for its kind; leave it out"),
        ("queues = 4", "queues = 0", "station `controller`: it has 0 queues"),
        ("queues = 4", "queues = 4000000000", "it has 4000000000 queues; at most 10000"),
        ("queues = 4", "", "station `controller`: give it either queues or shares"),
        ("queues = 4", "shares = [0.5, 0.4]", "the shares of its queues sum to 0.9"),
        ("queues = 4", "shares = []", "it has 0 queues"),
        ("kind = \"lock\"", "kind = \"mutex\"", "unknown variant `mutex`, expected one of"),
        ("acquire_us = 0.25", "acquire_us = -1", "station `lock`: acquire_us is -1"),
        ("[[station]]", "[[stations]]", "unknown field `stations`"),
        ("[[class]]", "[class]", "line 9: duplicate key"),
    ] {
        assert!(GOOD.contains(that), "{that}");
        let text = GOOD.replacen(that, this, 1);
        let error = Network::from_toml(&text).expect_err(this).to_string();
        assert!(error.contains(part), "{this}: {error}");
    }
}

#[test]
fn what_is_missing() {
    let class = "class = [{ name = \"a\", rate_per_s = 30 }]\n";
    for (text, part) in [
        (String::new(), "there are no classes"),
        (class.to_owned(), "there are no stations"),
        (
            format!("{class}station = [{{ name = \"x\", kind = \"queue\", service_us = 0 }}]"),
            "class `a` has nothing to do",
        ),
        (class.replace("30", "0"), "all rates are 0"),
        ("rate_per_s = 3\nclass = [{ name = \"a\", population = 3 }]".into(), "leave it out"),
    ] {
        let error = Network::from_toml(&text).expect_err("no network").to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_network_must_not_be_huge() {
    let station = |index| Station {
        name: format!("{index}"),
        kind: Kind::evenly(MOST_SERVERS),
        visits: vec![1.0],
        service_us: vec![1.0],
    };
    let class = Class { name: "a".into(), load: Load::Open { share: 1.0 } };
    let stations = (0..101).map(station).collect();
    let error = Network::new("huge", 1.0, vec![class], stations).expect_err("huge");
    assert!(error.to_string().contains("1010000 servers times 1 classes"), "{error}");
}

#[test]
fn stations_can_be_changed() {
    let network = Network::from_toml(GOOD).expect("good");
    let halved = network.with_station("work", |station| station.service_us[0] /= 2.0);
    assert_eq!(halved.expect("there").stations()[0].service_us, [5.0, 18.5]);
    let error = network.with_station("wrok", |_| ()).expect_err("not there").to_string();
    assert!(error.contains("there are work, pool, controller, lock"), "{error}");
    assert!(network.with_station("work", |station| station.visits.clear()).is_err());
}

/// Every figure that a file may have gives a solution or an error, at once.
#[test]
fn extremes_are_solved_or_refused() {
    let sizes = &[0.0f64, 1e-300, 1e-12, 1.0, 1e12];
    for (service_us, visits, load) in sizes.iter().flat_map(|service| {
        sizes.iter().flat_map(move |visits| sizes.iter().map(move |load| (service, visits, load)))
    }) {
        let stations = format!(
            "station = [{{ name = \"a\", kind = \"queue\", service_us = {service_us:e}, \
             visits = {visits:e} }}, {{ name = \"b\", kind = \"multi-server\", servers = 100, \
             service_us = {{ x = {service_us:e}, y = 3 }} }}]"
        );
        for (x, y) in [
            (format!("rate_per_s = {load:e}"), "rate_per_s = 1"),
            (format!("population = 1, think_us = {load:e}"), "population = 2"),
            (format!("population = 1000000000, think_us = {load:e}"), "population = 1000000000"),
        ] {
            let text =
                format!("class = [{{ name = \"x\", {x} }}, {{ name = \"y\", {y} }}]\n{stations}");
            let Ok(solution) = Network::from_toml(&text).and_then(|network| network.solve()) else {
                continue;
            };
            for class in &solution.classes {
                assert!(class.residence_us.is_finite() && class.residence_us >= 0.0, "{text}");
                assert!(class.throughput_per_s >= 0.0 && !class.number.is_nan(), "{text}");
            }
        }
    }
}

proptest::proptest! {
    /// No text makes it panic.
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", at in 0..600usize, bytes in 0..80usize) {
        let _ = Network::from_toml(&text);
        // A good file with a hole in it.
        let (start, end) = (at.min(GOOD.len()), (at + bytes).min(GOOD.len()));
        let hole = format!("{}{text}{}", &GOOD[..start], &GOOD[end..]);
        let _ = Network::from_toml(&hole).and_then(|network| network.solve());
    }
}
