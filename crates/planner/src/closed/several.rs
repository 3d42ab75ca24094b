//! Several classes: every population up to the given one.

use super::{approximations, must_be_closed};
use crate::Error;
use crate::network::{Center, Network};
use crate::solution::{Found, Method, Solution};

/// About how many steps [`solve`] takes; may be infinite.
pub fn steps(network: &Network) -> f64 {
    let states: f64 = network.populations().iter().map(|n| f64::from(*n) + 1.0).product();
    states * (network.centers().len() * network.classes().len()) as f64
}

/// Residence in a center over all visits, µs: in its queue, and in the delay that
/// stands for the rest of several servers. `work_us` is the service of all
/// customers in its queue.
pub(super) fn residence_us(center: &Center, class: usize, work_us: f64) -> (f64, f64) {
    let (visits, service_us) = (center.visits[class], center.service_us[class]);
    match center.servers() {
        None => (0.0, visits * service_us),
        Some(servers) => (
            visits * (service_us + work_us) / servers,
            visits * service_us * (servers - 1.0) / servers,
        ),
    }
}

/// Solves a closed network of several classes by mean value analysis over all
/// populations (Reiser and Lavenberg 1980).
///
/// # Errors
/// [`Error::Asked`] if it is open, or there are too many populations.
pub fn solve(network: &Network) -> Result<Solution, Error> {
    must_be_closed(network)?;
    if steps(network) > super::EXACT_STEPS {
        let name = network.name();
        return Err(Error::Asked(format!(
            "the network `{name}` has too many populations to be solved exactly; approximate it"
        )));
    }
    let centers = network.centers();
    let mut recursion = Recursion::new(network, &centers);
    for state in 1..recursion.states {
        for class in 0..network.classes().len() {
            recursion.reach(state, class);
        }
    }
    let found = Found {
        method: Method::ExactMva,
        approximations: approximations(network, &centers),
        throughput_per_s: recursion.throughputs.iter().map(|each| each * 1e6).collect(),
        residence_us: recursion.stays_us,
    };
    Ok(found.solution(network, &centers))
}

/// The recursion. A population is a number, its *state*, whose digits are the
/// customers of each class.
struct Recursion<'a> {
    centers: &'a [Center],
    thinks_us: Vec<f64>,
    /// Values of each digit: the customers of the class, and 0.
    digits: Vec<usize>,
    /// What a customer of each class adds to a state.
    strides: Vec<usize>,
    states: usize,
    /// The service of all customers in a center's queue, µs, by state, then center.
    works_us: Vec<f64>,
    /// Customers a µs of each class, in the state reached.
    throughputs: Vec<f64>,
    /// Residence by center, then class, µs, in the state reached.
    stays_us: Vec<Vec<f64>>,
}

impl<'a> Recursion<'a> {
    /// Starts with no customers.
    fn new(network: &Network, centers: &'a [Center]) -> Recursion<'a> {
        let digits: Vec<usize> = network.populations().iter().map(|n| *n as usize + 1).collect();
        let mut states = 1;
        let mut strides = Vec::new();
        for digits in &digits {
            strides.push(states);
            states *= digits;
        }
        Recursion {
            centers,
            thinks_us: network.thinks_us(),
            strides,
            states,
            works_us: vec![0.0; states * centers.len()],
            throughputs: vec![0.0; digits.len()],
            stays_us: vec![vec![0.0; digits.len()]; centers.len()],
            digits,
        }
    }

    /// Computes a class's figures in a state: an arriving customer finds the state
    /// without itself.
    fn reach(&mut self, state: usize, class: usize) {
        let customers = state / self.strides[class] % self.digits[class];
        self.throughputs[class] = 0.0;
        if customers == 0 {
            return;
        }
        let before = (state - self.strides[class]) * self.centers.len();
        let at = |index: usize, works_us: &[f64]| {
            residence_us(&self.centers[index], class, works_us[before + index])
        };
        let mut round_us = self.thinks_us[class];
        for (index, stays_us) in self.stays_us.iter_mut().enumerate() {
            let (queue_us, delay_us) = at(index, &self.works_us);
            stays_us[class] = queue_us + delay_us;
            round_us += stays_us[class];
        }
        let throughput = customers as f64 / round_us;
        self.throughputs[class] = throughput;
        for (index, center) in self.centers.iter().enumerate() {
            let (queue_us, _) = at(index, &self.works_us);
            let now = state * self.centers.len() + index;
            self.works_us[now] += center.service_us[class] * throughput * queue_us;
        }
    }
}
