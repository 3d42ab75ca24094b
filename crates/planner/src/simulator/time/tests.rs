use super::*;

#[test]
fn units() {
    assert_eq!(Time::from_ns(1.5), Time(1_500));
    assert_eq!(Time::from_ns(0.0004), Time(0));
    assert_eq!(Time::from_ns(0.0006), Time(1));
    assert_eq!(Time::from_s(2.0), Time(2_000_000_000_000));
    assert_eq!(Time(1_500).as_ns(), 1.5);
    assert_eq!(Time(1_500).as_s(), 1.5e-9);
}

#[test]
fn what_makes_no_sense_is_none_and_what_is_too_much_saturates() {
    assert_eq!(Time::from_ns(f64::NAN), Time::ZERO);
    assert_eq!(Time::from_ns(-3.0), Time::ZERO);
    assert_eq!(Time::from_ns(f64::INFINITY), Time::MAX);
    assert_eq!(Time::MAX + Time(1), Time::MAX);
    assert_eq!(Time(3) - Time(5), Time::ZERO);
    assert_eq!(Time(5).since(Time(3)), Time(2));
}
