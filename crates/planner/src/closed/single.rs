//! One class: exact.

use super::{must_be_closed, weights};
use crate::Error;
use crate::network::{Center, Network};
use crate::solution::{Found, Method, Solution};

/// About how many steps [`solve`] takes.
pub fn steps(network: &Network) -> f64 {
    let centers = network.centers();
    let several: Vec<f64> =
        centers.iter().filter_map(Center::servers).filter(|m| *m > 1.0).collect();
    let pass = centers.len() as f64 + 2.0 * several.iter().sum::<f64>();
    f64::from(network.populations()[0]) * pass * (1.0 + several.len() as f64)
}

/// A center in the recursion.
struct Queue {
    visits: f64,
    service_us: f64,
    /// Customers there at the population reached.
    number: f64,
    /// With several servers: the probability that j of them are busy, for each j
    /// below their number, at the population reached.
    busy: Vec<f64>,
    /// With several servers: the probability that all are idle, by population.
    idle: Vec<f64>,
}

/// Solves a closed network of one class by mean value analysis (Reiser and
/// Lavenberg 1980). Stations of several servers use their marginal probabilities.
///
/// # Errors
/// [`Error::Asked`] if it is open, has several classes, or would take far too long.
pub fn solve(network: &Network) -> Result<Solution, Error> {
    must_be_closed(network)?;
    let name = network.name();
    let (&[population], &[think_us]) = (&network.populations()[..], &network.thinks_us()[..])
    else {
        return Err(Error::Asked(format!("the network `{name}` has several classes")));
    };
    if steps(network) > 100.0 * super::EXACT_STEPS {
        return Err(Error::Asked(format!(
            "the network `{name}` is too large to be solved exactly; approximate it"
        )));
    }
    let centers = network.centers();
    let mut queues: Vec<Queue> =
        (0..centers.len()).map(|index| Queue::new(&centers, index, think_us, population)).collect();
    let (mut throughput, mut residence_us) = (0.0, Vec::new());
    for customers in 1..=population {
        residence_us =
            centers.iter().zip(&queues).map(|(c, queue)| queue.residence_us(c)).collect();
        // Customers a µs.
        throughput = f64::from(customers) / (think_us + residence_us.iter().sum::<f64>());
        for (queue, residence_us) in queues.iter_mut().zip(&residence_us) {
            queue.reach(customers, throughput, *residence_us);
        }
    }
    let found = Found {
        method: Method::ExactMva,
        approximations: Vec::new(),
        throughput_per_s: vec![throughput * 1e6],
        residence_us: residence_us.into_iter().map(|residence_us| vec![residence_us]).collect(),
    };
    Ok(found.solution(network, &centers))
}

impl Queue {
    fn new(centers: &[Center], index: usize, think_us: f64, population: u32) -> Queue {
        let center = &centers[index];
        let (visits, service_us) = (center.visits[0], center.service_us[0]);
        let mut queue =
            Queue { visits, service_us, number: 0.0, busy: Vec::new(), idle: Vec::new() };
        if let Some(servers) = center.servers().filter(|servers| *servers > 1.0) {
            queue.busy = vec![0.0; servers as usize];
            queue.busy[0] = 1.0;
            queue.idle = weights::idle(centers, think_us, index, population);
        }
        queue
    }

    /// Residence over all visits with one customer more than reached, µs.
    fn residence_us(&self, center: &Center) -> f64 {
        let Some(servers) = center.servers() else { return self.visits * self.service_us };
        // Nothing waits for a server that would be idle.
        let spare = |(busy, p): (usize, &f64)| (servers - 1.0 - busy as f64) * p;
        let spare: f64 = self.busy.iter().enumerate().map(spare).sum();
        self.visits * self.service_us / servers * (1.0 + self.number + spare)
    }

    /// Advances to `customers`, with their throughput per µs.
    fn reach(&mut self, customers: u32, throughput: f64, residence_us: f64) {
        self.number = throughput * residence_us;
        if let Some(idle) = self.idle.get(customers as usize) {
            let load = throughput * self.visits * self.service_us;
            for busy in (1..self.busy.len()).rev() {
                self.busy[busy] = load / busy as f64 * self.busy[busy - 1];
            }
            self.busy[0] = *idle;
        }
    }
}
