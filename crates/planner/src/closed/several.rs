//! Several classes: every population up to the given one.

use super::{approximations, must_be_closed};
use crate::Error;
use crate::network::{Center, Network};
use crate::solution::{Found, Method, Solution};

/// About how many steps [`solve`] takes; infinity: very many.
pub fn steps(network: &Network) -> f64 {
    let states: f64 = network.populations().iter().map(|n| f64::from(*n) + 1.0).product();
    states * (network.centers().len() * network.classes().len()) as f64
}

/// Residence in a center, all visits together, µs: in its queue, and in what is
/// taken for a delay of it. `work_us` is the service of all in its queue.
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
    let populations = network.populations();
    let thinks_us = network.thinks_us();
    let classes = populations.len();
    // A population is a number whose digits are the customers of each class.
    let mut strides = vec![1; classes];
    for class in 1..classes {
        strides[class] = strides[class - 1] * (populations[class - 1] as usize + 1);
    }
    let states = strides[classes - 1] * (populations[classes - 1] as usize + 1);
    // The service of all who are in a center's queue, µs, by population and center.
    let mut works_us = vec![0.0; states * centers.len()];
    let mut throughputs = vec![0.0; classes];
    let mut stays_us = vec![vec![0.0; classes]; centers.len()];
    for state in 1..states {
        let work_at = state * centers.len();
        for class in 0..classes {
            let customers = state / strides[class] % (populations[class] as usize + 1);
            throughputs[class] = 0.0;
            if customers == 0 {
                continue;
            }
            let before = &works_us[(state - strides[class]) * centers.len()..][..centers.len()];
            let mut round_us = thinks_us[class];
            for ((center, work_us), stays_us) in centers.iter().zip(before).zip(&mut stays_us) {
                let (queue_us, delay_us) = residence_us(center, class, *work_us);
                stays_us[class] = queue_us + delay_us;
                round_us += queue_us + delay_us;
            }
            throughputs[class] = customers as f64 / round_us;
            let mut added = vec![0.0; centers.len()];
            for ((center, work_us), added) in centers.iter().zip(before).zip(&mut added) {
                let (queue_us, _) = residence_us(center, class, *work_us);
                *added = center.service_us[class] * throughputs[class] * queue_us;
            }
            for (work, added) in works_us[work_at..].iter_mut().zip(added) {
                *work += added;
            }
        }
    }
    let found = Found {
        method: Method::ExactMva,
        approximations: approximations(network, &centers),
        throughput_per_s: throughputs.iter().map(|throughput| throughput * 1e6).collect(),
        residence_us: stays_us,
    };
    Ok(found.solution(network, &centers))
}
