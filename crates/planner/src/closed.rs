//! Closed networks, by mean value analysis (Reiser and Lavenberg 1980,
//! "Mean-value analysis of closed multichain queuing networks"): a customer that
//! arrives at a queue finds its average length with one customer fewer,
//!
//! > R_ik = V_ik (S_ik + Σ_j S_jk Q_jk(N − e_i)).
//!
//! | file | classes | |
//! |---|---|---|
//! | [`single`] | one | exact; several servers too |
//! | [`several`] | several | every population up to the given one, where these are few |
//! | [`schweitzer`] | any | Q(N − e_i) from Q(N): approximate, for any population |
//!
//! The exact solvers are exact for networks of product form: service times are
//! exponential and, at queues, the same for all classes. Where they differ by
//! class, equation (1) of Thekkath et al. 1992 is an approximation, and the
//! solution says so. With several classes, a station of *m* servers is replaced by
//! a queue with a server *m* times as fast, followed by a delay (Seidmann,
//! Schweitzer and Shalev-Oren 1987, "Computerized closed queueing network models
//! of flexible manufacturing systems").

use crate::Error;
use crate::network::{Center, Network};
use crate::solution::Solution;

pub mod schweitzer;
pub mod several;
pub mod single;
mod weights;

pub use schweitzer::Control;

/// The most steps of an exact solver: they take about a tenth of a second.
pub const EXACT_STEPS: f64 = 1e7;
/// The most steps of the approximation: they take some seconds.
const APPROXIMATE_STEPS: f64 = 1e9;

/// Solves a closed network: exactly if that takes at most [`EXACT_STEPS`], else by
/// [`schweitzer`].
///
/// # Errors
/// [`Error::NoConvergence`] from the approximation, [`Error::Asked`] if the network
/// is open.
pub fn solve(network: &Network) -> Result<Solution, Error> {
    let steps = match network.classes().len() {
        1 => single::steps(network),
        _ => several::steps(network),
    };
    match network.classes().len() {
        _ if steps > EXACT_STEPS => {
            let cells = network.centers().len() * network.classes().len();
            let most = (APPROXIMATE_STEPS / cells as f64) as u64;
            let control = Control::default();
            let iterations = control.iterations.min(most);
            schweitzer::solve(network, Control { iterations, ..control })
        }
        1 => single::solve(network),
        _ => several::solve(network),
    }
}

/// Refuses an open network.
fn must_be_closed(network: &Network) -> Result<(), Error> {
    if network.is_open() {
        let name = network.name();
        return Err(Error::Asked(format!("the network `{name}` is open; solve it as such")));
    }
    Ok(())
}

/// What is not exact for several classes, or in the approximation.
fn approximations(network: &Network, centers: &[Center]) -> Vec<String> {
    let name = |center: &Center| network.stations()[center.station].name.as_str();
    let names = |chosen: &dyn Fn(&Center) -> bool| {
        let mut list: Vec<&str> = centers.iter().filter(|c| chosen(c)).map(name).collect();
        list.dedup();
        list.join(", ")
    };
    let mut list = Vec::new();
    let differ = names(&|center| center.servers().is_some() && !center.serves_all_alike());
    if !differ.is_empty() {
        list.push(format!(
            "first come, first served at {differ}, where service differs by class (equation 1)"
        ));
    }
    let several = names(&|center| center.servers().is_some_and(|servers| servers > 1.0));
    if !several.is_empty() {
        list.push(format!("several servers at {several} are taken for a fast one and a delay"));
    }
    list
}

#[cfg(test)]
mod tests;
