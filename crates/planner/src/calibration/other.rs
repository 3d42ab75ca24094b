//! A calibration for the state of the machine that was met less often.

use super::{Anchor, Calibration, Estimate, OtherState};

/// Cases of an organization that were measured in both states, at least, before a case that
/// was measured in one of them says what it does in the other.
const BOTH: usize = 2;

impl Calibration {
    /// The calibration for the other state of the machine, if that was met.
    ///
    /// Cases of one processor are the same in both. A case of several that was not measured in
    /// the other state is taken from the usual one, times the median of what the organization's
    /// other cases did there of what they do here; its interval is wider by how much these
    /// differ. An organization that was met too seldom in the other state is left out there.
    pub fn in_other_state(&self) -> Option<Calibration> {
        let OtherState { line_transfer_ns, organizations } = self.other_state.as_ref()?;
        let mut other = self.clone();
        other.other_state = None;
        other.primitives.line_transfer_ns = *line_transfer_ns;
        let none = Vec::new();
        for (name, anchors) in &mut other.organizations {
            let met = organizations.get(name).unwrap_or(&none);
            *anchors = anchors.iter().filter_map(|usual| in_other(usual, anchors, met)).collect();
            let known: Vec<Key> = anchors.iter().map(key).collect();
            anchors.extend(met.iter().filter(|anchor| !known.contains(&key(anchor))));
            anchors.sort_by_key(key);
        }
        other.organizations.retain(|_, anchors| !anchors.is_empty());
        Some(other)
    }
}

type Key = (crate::Work, usize, usize);

fn key(anchor: &Anchor) -> Key {
    (anchor.work, anchor.processors, anchor.connections)
}

/// Operations a second at the calibration's speed.
fn rate(anchor: &Anchor) -> f64 {
    let speed = if anchor.speed > 0.0 { anchor.speed } else { 1.0 };
    anchor.operations_per_s.value / speed.powf(super::POWER)
}

/// What the case of `usual` is in the other state.
fn in_other(usual: &Anchor, all: &[Anchor], met: &[Anchor]) -> Option<Anchor> {
    if usual.processors == 1 {
        return Some(*usual);
    }
    if let Some(same) = met.iter().find(|anchor| key(anchor) == key(usual)) {
        return Some(*same);
    }
    let mut ratios: Vec<f64> = met
        .iter()
        .filter(|anchor| (anchor.work, anchor.processors) == (usual.work, usual.processors))
        .filter_map(|other| {
            let here = all.iter().find(|anchor| key(anchor) == key(other))?;
            Some((rate(other) / rate(here)).ln())
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    if ratios.len() < BOTH {
        return None;
    }
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    let middle = f64::midpoint(ratios[(ratios.len() - 1) / 2], ratios[ratios.len() / 2]);
    let Estimate { value, low, high } = usual.operations_per_s;
    let operations_per_s =
        Estimate { value: value * middle.exp(), low: low * least.exp(), high: high * most.exp() };
    Some(Anchor { operations_per_s, ..*usual })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Work;
    use crate::predict::tests::synthetic;

    /// The synthetic calibration, with `cases` of two processors also at half the rate.
    fn both(cases: &[usize]) -> Calibration {
        let mut calibration = synthetic(0.2, 64, &[1, 2]);
        let usual = &calibration.organizations["group-locks"];
        let two = usual.iter().filter(|anchor| anchor.processors == 2);
        let met = two.filter(|anchor| cases.contains(&anchor.connections)).map(|anchor| {
            let Estimate { value, low, high } = anchor.operations_per_s;
            let half = Estimate { value: value / 2.0, low: low / 2.0, high: high / 2.0 };
            Anchor { operations_per_s: half, ..*anchor }
        });
        let organizations = [("group-locks".to_owned(), met.collect())].into();
        let line_transfer_ns = Estimate { value: 180.0, low: 170.0, high: 190.0 };
        calibration.other_state = Some(OtherState { line_transfer_ns, organizations });
        calibration
    }

    #[test]
    fn cases_that_were_not_met_follow_those_that_were() {
        assert!(synthetic(0.2, 64, &[1, 2]).in_other_state().is_none());
        let calibration = both(&[1, 64, 512]);
        let other = calibration.in_other_state().expect("it was met");
        assert_eq!(other.primitives.line_transfer_ns.value, 180.0);
        // A prediction for several processors says which state it is for.
        let notes = |calibration: &Calibration, processors| {
            let predictor = crate::Predictor::new(calibration).expect("good");
            let case = crate::predict::tests::case(processors, 200);
            predictor.predict(&case).expect("known").notes.join(" ")
        };
        assert!(notes(&calibration, 2).contains("180 ns apart, too"));
        assert!(notes(&calibration, 1).is_empty() && notes(&other, 2).is_empty());
        let (here, there) =
            (&calibration.organizations["group-locks"], &other.organizations["group-locks"]);
        assert_eq!(here.len(), there.len());
        for (here, there) in here.iter().zip(there) {
            let ratio = if here.processors == 1 { 1.0 } else { 0.5 };
            assert!((rate(there) / rate(here) - ratio).abs() < 1e-9, "{here:?}");
        }
        // Uniprocessor has nothing on several processors, and stays.
        assert!(other.organizations.contains_key("uniprocessor"));
    }

    #[test]
    fn too_few_cases_say_nothing_of_the_others() {
        let other = both(&[64]).in_other_state().expect("it was met");
        let two: Vec<&Anchor> =
            other.organizations["group-locks"].iter().filter(|a| a.processors == 2).collect();
        assert_eq!(two.len(), 1);
        assert_eq!((two[0].work, two[0].connections), (Work::TcpRr, 64));
    }

    #[test]
    fn a_file_keeps_both_states() {
        let calibration = both(&[1, 64]);
        let text = calibration.to_toml().expect("figures that can be");
        assert_eq!(crate::calibration::parse(&text), Ok(calibration.clone()));
        let mut wrong = calibration;
        let other = wrong.other_state.as_mut().expect("there");
        other.organizations.get_mut("group-locks").expect("there")[0].speed = -1.0;
        let error = wrong.to_toml().expect_err("a speed below 0").to_string();
        assert!(error.contains("other_state.organizations.group-locks, case 1"), "{error}");
    }
}
