//! How far off is what the fitted simulator says: [`Predictor::doubt`].
//!
//! A prediction has an interval, a simulation has none of its own: it is as good as its
//! costs. Their error is one factor on all times, as the fit has it (`fit`). It is no
//! smaller than the prediction's for the same case. Where simulation and prediction differ,
//! it is larger by their distance, so that the simulation's interval has the prediction's
//! in it.

use super::fit::{CONNECTIONS, closed};
use super::{Case, Predictor};
use crate::Error;
use catalog::Options;

impl Predictor {
    /// By how much simulated times may be off that rest on [`Predictor::costs`]: the
    /// half-width, in logarithms, of an interval for [`super::SURE`] of all cases. It is
    /// that of the default choices, which alone were measured.
    ///
    /// # Errors
    /// Those of [`Predictor::predict`] and [`Predictor::costs`].
    pub fn doubt(&self, case: &Case) -> Result<f64, Error> {
        let measured = Options::default();
        let least = u16::try_from(case.processors).unwrap_or(u16::MAX);
        let virtual_processors = measured.virtual_processors.max(least);
        let plain =
            Case { options: measured.with_virtual_processors(virtual_processors), ..case.clone() };
        let predicted = self.predict(&plain)?;
        let half = (predicted.high / predicted.low).ln() / 2.0;
        // More connections take long to simulate, and are a question of caches only.
        let fewer = Case { connections: plain.connections.min(CONNECTIONS), ..plain };
        let simulated = closed(&fewer, &self.costs(&fewer)?.costs)?;
        let beside = self.predict(&fewer)?.operations_per_s;
        Ok(half + (simulated / beside).ln().abs())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{case, synthetic};
    use super::*;

    #[test]
    fn what_was_measured_is_as_sure_as_its_prediction() {
        let predictor = Predictor::new(&synthetic(0.1, 64, &[1, 2])).expect("good");
        for (processors, connections) in [(1, 1), (1, 64), (2, 64), (2, 512)] {
            let case = case(processors, connections);
            let predicted = predictor.predict(&case).expect("known");
            let half = (predicted.high / predicted.low).ln() / 2.0;
            let doubt = predictor.doubt(&case).expect("known");
            assert!((half..half + 0.04).contains(&doubt), "{processors} {connections}: {doubt}");
        }
    }

    #[test]
    fn an_interval_has_the_predictions_in_it() {
        let predictor = Predictor::new(&synthetic(0.3, 64, &[1, 2])).expect("good");
        for (processors, connections) in [(2, 3), (4, 64), (16, 200), (64, 3072)] {
            let case = case(processors, connections);
            let predicted = predictor.predict(&case).expect("known");
            let fitted = predictor.costs(&case).expect("known");
            let simulated = closed(&case, &fitted.costs).expect("can be simulated");
            let doubt = predictor.doubt(&case).expect("known").exp();
            // Beyond the connections that the two are compared over, they may differ a little.
            let [low, high] = [simulated / doubt / 1.1, simulated * doubt * 1.1];
            assert!(
                low <= predicted.low && predicted.high <= high,
                "{processors} {connections}: {low} {high} {predicted:?}"
            );
        }
    }

    #[test]
    fn further_processors_are_less_sure() {
        let predictor = Predictor::new(&synthetic(0.1, 64, &[1, 2])).expect("good");
        let [near, far] =
            [4, 32].map(|processors| predictor.doubt(&case(processors, 64)).expect("known"));
        assert!(near > 0.1 && far > near + 0.2, "{near} {far}");
    }

    #[test]
    fn what_was_not_measured_is_refused() {
        let predictor = Predictor::new(&synthetic(0.1, 64, &[1])).expect("good");
        let other = Case { work: crate::Work::UdpRr, ..case(1, 64) };
        assert!(predictor.doubt(&other).is_err());
    }
}
