//! A calibration for IPv6: what was measured over IPv4, and by how much an operation takes longer.

use super::file::{check_layers, estimate};
use super::{Anchor, Calibration, Estimate, Layers, OtherState, POWER};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What an operation takes over IPv6 beside what it takes over IPv4: measured in turn, at one pace of
/// the machine, on one processor, under `uniprocessor`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverIpv6 {
    /// Bytes of payload of an operation over IPv4.
    pub ipv4_bytes: usize,
    /// Bytes of payload of an operation over IPv6, whose segments have longer headers.
    pub ipv6_bytes: usize,
    /// The time of an operation over IPv4, ns.
    pub ipv4_ns: Estimate,
    /// The time of an operation over IPv6, ns.
    pub ipv6_ns: Estimate,
    /// The second by the first, pair by pair.
    pub ratio: Estimate,
    /// The time of an operation over IPv6 in each layer.
    pub layers: Layers,
}

/// Relative uncertainty of the difference where another organization, or another number of
/// connections, was measured than for the difference.
const DOUBT: f64 = 0.5;

/// The least that is left of an operation's time, relative to IPv4's.
const LEAST: f64 = 0.2;

impl Calibration {
    /// The calibration for IPv6.
    ///
    /// Each case takes the difference longer that was measured for its work: that is work of the
    /// processors, which several do at once as far as they do the rest at once. Intervals are wider by
    /// what is not known of the difference. Works of which it was not measured are left out.
    ///
    /// # Errors
    /// If it was measured of none.
    pub fn over_ipv6(&self) -> Result<Calibration, Error> {
        if self.ipv6.is_empty() {
            return Err(Error::Asked(
                "the calibration knows nothing of IPv6: run `anabranch calibrate` again".into(),
            ));
        }
        let mut over = self.clone();
        over.layers = self.ipv6.iter().map(|(work, ipv6)| (*work, ipv6.layers)).collect();
        over.organizations = self.all_over(&self.organizations);
        over.other_state = self.other_state.as_ref().map(|other| OtherState {
            organizations: self.all_over(&other.organizations),
            ..other.clone()
        });
        Ok(over)
    }

    fn all_over(&self, all: &BTreeMap<String, Vec<Anchor>>) -> BTreeMap<String, Vec<Anchor>> {
        let over = |(name, anchors): (&String, &Vec<Anchor>)| {
            let ones = self.organizations.get(name);
            let known = anchors.iter().filter_map(|anchor| {
                let ipv6 = self.ipv6.get(&anchor.work)?;
                Some(ipv6.over(anchor, at_a_time(anchor, ones.into_iter().flatten())))
            });
            let known: Vec<Anchor> = known.collect();
            (!known.is_empty()).then(|| (name.clone(), known))
        };
        all.iter().filter_map(over).collect()
    }
}

impl OverIpv6 {
    /// Checks the figures; `name` is what the first that is wrong is called by.
    pub(super) fn check(&self, name: &str) -> Result<(), Error> {
        for (part, figure) in
            [("ipv4_ns", &self.ipv4_ns), ("ipv6_ns", &self.ipv6_ns), ("ratio", &self.ratio)]
        {
            estimate(&format!("{name}.{part}"), figure)?;
        }
        check_layers(&format!("{name}.layers"), &self.layers)?;
        if self.ipv4_bytes == 0 || self.ipv6_bytes == 0 || self.ratio.low <= 0.0 {
            return Err(Error::File(format!(
                "{name}: no bytes, or a ratio of 0: run `anabranch calibrate` to write a new file"
            )));
        }
        Ok(())
    }

    /// What `anchor` is over IPv6, where so many operations are done at a time.
    fn over(&self, anchor: &Anchor, at_a_time: f64) -> Anchor {
        let speed = speed(anchor);
        let Estimate { value, low, high } = anchor.operations_per_s;
        let longer_ns = |ratio: f64| self.ipv4_ns.value * (ratio - 1.0);
        let between_ns = 1e9 * speed / value;
        // By how much an operation takes longer, as a logarithm.
        let change = |ratio: f64| (1.0 + longer_ns(ratio) / at_a_time / between_ns).max(LEAST).ln();
        let by = change(self.ratio.value);
        let known = (change(self.ratio.high) - change(self.ratio.low)).abs() / 2.0;
        let unsure = known.hypot(DOUBT * by);
        let over = value * (-by).exp();
        let operations_per_s = Estimate {
            value: over,
            low: if low > 0.0 { over * (-(value / low).ln().hypot(unsure)).exp() } else { 0.0 },
            high: over * (high / value).ln().hypot(unsure).exp(),
        };
        let bytes = anchor.bytes as f64 * self.ipv6_bytes as f64 / self.ipv4_bytes as f64;
        let processor_ns = anchor.processor_ns + longer_ns(self.ratio.value) / speed;
        Anchor {
            bytes: (bytes.round() as usize).max(1),
            operations_per_s,
            processor_ns: processor_ns.max(anchor.processor_ns * LEAST),
            ..*anchor
        }
    }
}

/// By what the rate of `anchor` is divided to be that of the machine's usual speed.
fn speed(anchor: &Anchor) -> f64 {
    if anchor.speed > 0.0 { anchor.speed.powf(POWER) } else { 1.0 }
}

/// How many operations of `anchor` are done at a time: as many as its processors do more than one
/// of them, if that was measured.
fn at_a_time<'a>(anchor: &Anchor, all: impl Iterator<Item = &'a Anchor>) -> f64 {
    let rate = |of: &Anchor| of.operations_per_s.value / speed(of);
    let apart = |of: &&Anchor| of.connections.abs_diff(anchor.connections);
    let ones = all.filter(|one| one.work == anchor.work && one.processors == 1);
    let most = anchor.processors as f64;
    let alone = ones.min_by_key(apart).map(rate);
    alone.map_or(most, |alone| (rate(anchor) / alone).clamp(1.0, most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::tests::{case, synthetic};
    use crate::{Predictor, Work, calibration};

    fn exact(value: f64) -> Estimate {
        Estimate { value, low: value, high: value }
    }

    /// The synthetic calibration, with transactions that take 30 ns longer over IPv6.
    fn with_ipv6() -> Calibration {
        let mut calibration = synthetic(0.5, 64, &[1, 2]);
        let layers = Layers { transport_ns: 200.0, ip_ns: 70.0, ..Layers::default() };
        let ipv6 = OverIpv6 {
            ipv4_bytes: 64,
            ipv6_bytes: 64,
            ipv4_ns: exact(300.0),
            ipv6_ns: exact(330.0),
            ratio: Estimate { value: 1.1, low: 1.08, high: 1.12 },
            layers,
        };
        calibration.ipv6 = [(Work::TcpRr, ipv6)].into();
        calibration
    }

    #[test]
    fn operations_take_as_much_longer_as_was_measured() {
        let four = with_ipv6();
        let six = four.over_ipv6().expect("measured");
        six.check().expect("figures that can be");
        assert_eq!(six.layers[&Work::TcpRr].ip_ns, 70.0);
        for (name, anchors) in &four.organizations {
            for (before, after) in anchors.iter().zip(&six.organizations[name]) {
                let longer =
                    1e9 / after.operations_per_s.value - 1e9 / before.operations_per_s.value;
                // Two processors do at most two at a time.
                let least = 30.0 / before.processors as f64;
                assert!((least - 1e-6..30.0 + 1e-6).contains(&longer), "{before:?}: {longer}");
                assert!((after.processor_ns - before.processor_ns - 30.0).abs() < 1e-9);
                // What is not known of the difference makes the interval wider.
                let width = |of: &Anchor| of.operations_per_s.high / of.operations_per_s.low;
                assert!(width(after) > width(before));
            }
        }
    }

    #[test]
    fn predictions_are_for_the_family() {
        let four = with_ipv6();
        let six = four.over_ipv6().expect("measured");
        for processors in [1, 2] {
            let predict = |calibration: &Calibration| {
                let predictor = Predictor::new(calibration).expect("good");
                predictor.predict(&case(processors, 100)).expect("known")
            };
            let ratio = predict(&six).operations_per_s / predict(&four).operations_per_s;
            assert!((0.8..0.95).contains(&ratio), "{processors}: {ratio}");
        }
    }

    #[test]
    fn segments_are_shorter_and_a_machine_s_speed_is_taken_out() {
        let mut four = with_ipv6();
        let ipv6 = four.ipv6.get_mut(&Work::TcpRr).expect("there");
        (ipv6.ipv4_bytes, ipv6.ipv6_bytes) = (1460, 1440);
        let anchors = four.organizations.get_mut("uniprocessor").expect("there");
        let mut slow = anchors[0];
        slow.bytes = 1460;
        let fast = slow;
        slow.speed = 0.5;
        slow.operations_per_s = exact(slow.operations_per_s.value * 0.5_f64.powf(POWER));
        *anchors = vec![slow];
        let after = four.over_ipv6().expect("measured").organizations["uniprocessor"][0];
        assert_eq!(after.bytes, 1440);
        *four.organizations.get_mut("uniprocessor").expect("there") = vec![fast];
        let same = four.over_ipv6().expect("measured").organizations["uniprocessor"][0];
        let ratio = same.operations_per_s.value / after.operations_per_s.value;
        assert!((ratio - 2_f64.powf(POWER)).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn what_was_not_measured_is_not_told() {
        let error = synthetic(0.5, 64, &[1]).over_ipv6().expect_err("nothing").to_string();
        assert!(error.contains("knows nothing of IPv6"), "{error}");
        let mut calibration = with_ipv6();
        let ipv6 = calibration.ipv6.remove(&Work::TcpRr).expect("there");
        calibration.ipv6.insert(Work::UdpRr, ipv6);
        assert!(calibration.over_ipv6().expect("measured").organizations.is_empty());
    }

    #[test]
    fn a_file_keeps_both_families() {
        let calibration = with_ipv6();
        let text = calibration.to_toml().expect("figures that can be");
        assert_eq!(calibration::parse(&text), Ok(calibration.clone()));
        // One from before.
        let old = synthetic(0.5, 64, &[1]).to_toml().expect("figures that can be");
        assert!(!old.contains("ipv6") && calibration::parse(&old).expect("read").ipv6.is_empty());
        let mut wrong = calibration;
        wrong.ipv6.get_mut(&Work::TcpRr).expect("there").ratio = exact(0.0);
        let error = wrong.to_toml().expect_err("a ratio of 0").to_string();
        assert!(error.contains("ipv6.tcp-rr"), "{error}");
    }
}
