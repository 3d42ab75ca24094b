use super::*;

#[test]
fn keepalive_is_as_on_linux_unless_told_otherwise() {
    let second = Duration::from_secs(1);
    for (idle, interval) in [(7200, 75), (75, 75), (10, 10)] {
        let keepalive = Keepalive::new(idle * second);
        assert_eq!((keepalive.idle, keepalive.interval), (idle * second, interval * second));
        assert_eq!(keepalive.probes, 9);
    }
    let keepalive = Keepalive::new(second).with_interval(2 * second).with_probes(3);
    assert_eq!((keepalive.interval, keepalive.probes), (2 * second, 3));
}

#[test]
fn setters_set_what_they_say() {
    let config = Config::default().with_receive_buffer(5000).with_sack(false).with_retries(3);
    let literal = Config {
        receive_buffer: 5000,
        max_receive_buffer: 0,
        sack: false,
        retries: 3,
        ..Config::default()
    };
    assert_eq!(config, literal);
}
