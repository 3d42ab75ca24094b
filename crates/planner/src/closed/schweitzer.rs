//! Any population, approximately: a customer of class *i* finds in a queue what is
//! there with all customers. From its own class, its own share is subtracted:
//! Q_i (N_i − 1) / N_i (Schweitzer 1979, "Approximate analysis of multiclass closed
//! networks of queues"; Bard 1979). The fixed point is found by iteration.

use super::several::residence_us;
use super::{approximations, must_be_closed};
use crate::Error;
use crate::network::{Center, Network};
use crate::solution::{Found, Method, Solution};

/// When the iteration ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Control {
    /// It ends when no queue length changes by more than this part of its class's
    /// population.
    pub tolerance: f64,
    /// It fails after this number of iterations.
    pub iterations: u64,
}

impl Default for Control {
    fn default() -> Control {
        Control { tolerance: 1e-12, iterations: 100_000 }
    }
}

/// The state of the iteration.
struct State {
    /// Customers in the queue, by center, then class.
    queued: Vec<Vec<f64>>,
    /// Residence over all visits, µs, by center, then class.
    residence_us: Vec<Vec<f64>>,
    /// Customers a µs, by class.
    throughputs: Vec<f64>,
}

/// Solves a closed network of one or several classes, approximately.
///
/// # Errors
/// [`Error::NoConvergence`], or [`Error::Asked`] if it is open.
pub fn solve(network: &Network, control: Control) -> Result<Solution, Error> {
    must_be_closed(network)?;
    let centers = network.centers();
    let populations: Vec<f64> = network.populations().iter().map(|n| f64::from(*n)).collect();
    let thinks_us = network.thinks_us();
    let mut state = State::new(&centers, &populations);
    let mut change = f64::INFINITY;
    let mut iterations = 0;
    while change > control.tolerance {
        if iterations == control.iterations {
            return Err(Error::NoConvergence { iterations, change });
        }
        change = state.step(&centers, &populations, &thinks_us);
        iterations += 1;
    }
    let mut list = approximations(network, &centers);
    if populations.iter().any(|customers| *customers > 1.0) || populations.len() > 1 {
        list.insert(0, "queue lengths with one customer less are estimated (Schweitzer)".into());
    }
    let found = Found {
        method: Method::Schweitzer,
        approximations: list,
        throughput_per_s: state.throughputs.iter().map(|throughput| throughput * 1e6).collect(),
        residence_us: state.residence_us,
    };
    Ok(found.solution(network, &centers))
}

impl State {
    /// Starts with customers spread evenly.
    fn new(centers: &[Center], populations: &[f64]) -> State {
        let even: Vec<f64> = populations.iter().map(|n| n / centers.len() as f64).collect();
        State {
            queued: vec![even; centers.len()],
            residence_us: vec![vec![0.0; populations.len()]; centers.len()],
            throughputs: vec![0.0; populations.len()],
        }
    }

    /// Makes one iteration. Returns the greatest change of a queue length, as a part
    /// of its class's population.
    fn step(&mut self, centers: &[Center], populations: &[f64], thinks_us: &[f64]) -> f64 {
        let mut queues_us = vec![vec![0.0; populations.len()]; centers.len()];
        for (index, center) in centers.iter().enumerate() {
            let queued = self.queued[index].iter().zip(&center.service_us);
            let all_us: f64 = queued.map(|(queued, service_us)| queued * service_us).sum();
            for (class, customers) in populations.iter().enumerate() {
                let own_us = center.service_us[class] * self.queued[index][class] / customers;
                let (queue_us, delay_us) = residence_us(center, class, (all_us - own_us).max(0.0));
                queues_us[index][class] = queue_us;
                self.residence_us[index][class] = queue_us + delay_us;
            }
        }
        for (class, customers) in populations.iter().enumerate() {
            let round_us: f64 = self.residence_us.iter().map(|row| row[class]).sum();
            self.throughputs[class] = customers / (thinks_us[class] + round_us);
        }
        let mut change: f64 = 0.0;
        for (queued, queue_us) in self.queued.iter_mut().zip(&queues_us) {
            for (class, queued) in queued.iter_mut().enumerate() {
                let next = self.throughputs[class] * queue_us[class];
                change = change.max((next - *queued).abs() / populations[class]);
                *queued = next;
            }
        }
        change
    }
}
