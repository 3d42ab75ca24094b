//! The solvers against the simulator, with random networks for which the solvers are
//! exact. If service at a queue differs by class, and visits do not come at random,
//! equation (5) is an approximation. Its error is printed (`--nocapture`) and bounded.

extern crate anabranch_planner as planner;

use planner::Network;
use planner::network::{Class, Kind, Load, Station};
use planner::simulator::Random;
use planner::simulator::network::{Asked, Routing, Simulated, simulate};
use planner::simulator::statistics::{Interval, student_t};

const REPLICATIONS: u32 = 16;

/// Draws networks.
struct Draw(Random);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    fn count(&mut self, low: u64, high: u64) -> usize {
        (low + self.0.below(high - low + 1)) as usize
    }

    /// Numbers of visits: integers and others, sometimes 0.
    fn visits(&mut self) -> f64 {
        match self.0.below(5) {
            0 => self.between(0.1, 0.9),
            1 => self.between(1.0, 3.0),
            whole => (whole - 1) as f64,
        }
    }

    fn several(&mut self, count: usize, mut draw: impl FnMut(&mut Self) -> f64) -> Vec<f64> {
        (0..count).map(|_| draw(self)).collect()
    }

    fn shares(&mut self, count: usize) -> Vec<f64> {
        let mut shares = self.several(count, |draw| draw.between(0.2, 1.0));
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        // Their sum must be 1 within rounding.
        shares[0] = 1.0 - shares[1..].iter().sum::<f64>();
        shares
    }

    fn kind(&mut self, kinds: u64) -> Kind {
        match self.0.below(kinds) {
            0 => Kind::Queue,
            1 => Kind::Delay,
            2 => {
                let count = self.count(2, 3);
                Kind::Split { shares: self.shares(count) }
            }
            3 => {
                Kind::Lock { acquire_us: 0.1, release_us: 0.2, transfer_us: self.between(0.0, 1.0) }
            }
            _ => Kind::MultiServer { servers: self.count(2, 6) as u32 },
        }
    }

    /// A network of product form: at queues, service is the same for all classes.
    fn product_form(&mut self, classes: usize, kinds: u64) -> Vec<Station> {
        let mut stations = Vec::new();
        for index in 0..self.count(1, 4) {
            let kind = self.kind(kinds);
            let service_us = self.between(1.0, 30.0);
            let service_us = match kind {
                Kind::Delay => self.several(classes, |draw| draw.between(1.0, 50.0)),
                _ => vec![service_us; classes],
            };
            let mut visits = self.several(classes, Draw::visits);
            if index == 0 {
                visits.fill(1.0);
            }
            stations.push(Station { name: format!("station {index}"), kind, visits, service_us });
        }
        stations
    }

    /// A network in which visits come at random to queues at which service differs by
    /// class: directly from outside, or after a delay. Each class goes to one of them.
    fn equation_5(&mut self, classes: usize) -> Vec<Station> {
        let delay = |draw: &mut Self, name: &str| Station {
            name: name.into(),
            kind: Kind::Delay,
            visits: draw.several(classes, Draw::visits),
            service_us: draw.several(classes, |draw| draw.between(1.0, 30.0)),
        };
        let before = delay(self, "before");
        let kind = self.kind(4);
        let queue = Station {
            name: "queue".into(),
            kind: if kind == Kind::Delay { Kind::Queue } else { kind },
            visits: vec![1.0; classes],
            service_us: self.several(classes, |draw| draw.between(1.0, 40.0)),
        };
        let mut stations = vec![before, queue];
        if self.0.chance(0.5) {
            stations.push(delay(self, "after"));
        }
        stations
    }

    /// An open network whose busiest server is 30 to 80 % busy.
    fn open(&mut self, name: &str, classes: usize, stations: Vec<Station>) -> Network {
        let shares = self.shares(classes);
        let load = |share: &f64| Load::Open { share: *share };
        let network = Network::new(name, 1.0, named(shares.iter().map(load)), stations).unwrap();
        let most = planner::bounds::saturation(&network).map_or(1e5, |(_, rate_per_s)| rate_per_s);
        network.with_rate(most * self.between(0.3, 0.8)).unwrap()
    }

    fn closed(&mut self, name: &str, classes: usize, stations: Vec<Station>) -> Network {
        let most = 12 / classes as u64;
        let loads: Vec<Load> = (0..classes)
            .map(|_| Load::Closed {
                population: self.count(1, most) as u32,
                think_us: self.0.below(2) as f64 * self.between(1.0, 60.0),
            })
            .collect();
        Network::new(name, 0.0, named(loads.into_iter()), stations).unwrap()
    }
}

fn named(loads: impl Iterator<Item = Load>) -> Vec<Class> {
    loads.enumerate().map(|(index, load)| Class { name: format!("class {index}"), load }).collect()
}

/// The networks for which the solvers are exact.
fn exact() -> Vec<Network> {
    let mut draw = Draw(Random::new(20_261_122));
    let mut networks = Vec::new();
    for number in 0..64 {
        let classes = draw.count(1, 3);
        networks.push(match number % 8 {
            0..3 => {
                let stations = draw.product_form(classes, 5);
                draw.open(&format!("{number}: open, product form"), classes, stations)
            }
            3..5 => {
                let stations = draw.equation_5(classes.max(2));
                draw.open(&format!("{number}: open, equation 5"), classes.max(2), stations)
            }
            5..7 => {
                let stations = draw.product_form(1, 5);
                draw.closed(&format!("{number}: closed, one class"), 1, stations)
            }
            _ => {
                let stations = draw.product_form(2, 4);
                draw.closed(&format!("{number}: closed, two classes"), 2, stations)
            }
        });
    }
    networks
}

/// One figure, by the simulation and by the solver.
struct Figure {
    label: String,
    simulated: Interval,
    solved: f64,
}

impl Figure {
    /// The distance between the two, in standard errors.
    fn t(&self) -> f64 {
        let half = (self.simulated.high - self.simulated.low) / 2.0;
        let error = half / student_t(0.975, f64::from(REPLICATIONS - 1));
        (self.simulated.mean - self.solved).abs() / error
    }
}

fn figures(network: &Network, simulated: &Simulated) -> Vec<Figure> {
    let solved = network.solve().unwrap();
    let mut figures = Vec::new();
    let mut add = |label: String, simulated: Interval, solved: f64| {
        // Some figures do not depend on chance: those of absent classes, and the number of
        // customers that never think.
        if simulated.low == simulated.high {
            assert!((simulated.mean - solved).abs() < 1e-9 * solved.max(1.0), "{label}");
        } else {
            figures.push(Figure {
                label: format!("{}: {label}", network.name()),
                simulated,
                solved,
            });
        }
    };
    add("number".into(), simulated.number, solved.number);
    if !network.is_open() {
        let of = simulated.classes.iter().zip(&solved.classes);
        of.for_each(|(simulated, solved)| {
            let label = format!("throughput of {}", solved.name);
            add(label, simulated.throughput_per_s, solved.throughput_per_s);
        });
    }
    for (simulated, solved) in simulated.stations.iter().zip(&solved.stations) {
        let name = &solved.name;
        add(format!("utilization of {name}"), simulated.utilization, solved.utilization);
        let classes = simulated.residence_us.iter().zip(&solved.classes).enumerate();
        for (class, (simulated, solved)) in classes {
            add(format!("residence of class {class} at {name}"), *simulated, solved.residence_us);
        }
    }
    figures
}

fn asked(number: usize) -> Asked {
    // With random routing, some customers visit a queue several times and others never,
    // so visits are not Poisson. Product forms stay exact; equation (5) does not.
    let routing =
        [Routing::InRounds, Routing::AtRandom][usize::from(matches!(number % 8, 1 | 6 | 7))];
    let (seed, customers) = (number as u64, 3_000);
    Asked { seed, customers, routing, replications: REPLICATIONS, ..Asked::default() }
}

/// All figures of all networks agree at once, with 95 % probability by Bonferroni's
/// bound. Of single 95 % intervals, 95 % contain the solver's figure.
#[test]
fn the_simulator_agrees_with_the_solvers_where_they_are_exact() {
    let (mut all, mut drawn_missed) = (Vec::new(), 0);
    let (networks, mut random) = (exact(), Random::new(7));
    for (number, network) in networks.iter().enumerate() {
        let of_network = figures(network, &simulate(network, &asked(number)).unwrap());
        let drawn = &of_network[random.below(of_network.len() as u64) as usize];
        drawn_missed += u32::from(!drawn.simulated.contains(drawn.solved));
        all.extend(of_network);
    }
    let family = student_t(1.0 - 0.05 / 2.0 / all.len() as f64, f64::from(REPLICATIONS - 1));
    all.sort_by(|a, b| b.t().total_cmp(&a.t()));
    let missed = all.iter().filter(|figure| !figure.simulated.contains(figure.solved)).count();
    let share = missed as f64 / all.len() as f64;
    println!("{} networks, {} figures, outside: {missed}", networks.len(), all.len());
    for figure in &all[..10] {
        let Figure { label, simulated, solved } = figure;
        println!("t = {:.2}: {label}: {solved:.4}, simulated {simulated:?}", figure.t());
    }
    assert!(networks.len() >= 50 && all.len() >= 300);
    assert!(all[0].t() < family, "{}: {} standard errors", all[0].label, all[0].t());
    // One figure of each network, so that they are independent. Of 64 at 5 %, ten or more
    // fail about once in a thousand times.
    assert!(drawn_missed < 10, "{drawn_missed} of {}", networks.len());
    // The intervals are not too wide either.
    assert!((0.015..0.09).contains(&share), "{share}");
}

/// Service differs by class at several queues in series, or at repeated visits.
#[test]
fn equation_5_is_near_where_it_is_an_approximation() {
    let mut draw = Draw(Random::new(5));
    for number in 0..12 {
        let classes = draw.count(2, 3);
        let mut stations = draw.product_form(classes, 1);
        stations.extend(draw.product_form(classes, 1));
        for (index, station) in stations.iter_mut().enumerate() {
            station.name = format!("station {index}");
            station.service_us = draw.several(classes, |draw| draw.between(1.0, 40.0));
        }
        let network = draw.open(&format!("{number}"), classes, stations);
        let solved = network.solve().unwrap();
        assert!(!solved.approximations.is_empty());
        let mut off = Vec::new();
        for routing in [Routing::InRounds, Routing::AtRandom] {
            let simulated = simulate(&network, &Asked { routing, ..asked(number) }).unwrap();
            off.push(solved.number / simulated.number.mean - 1.0);
        }
        let busy = solved.stations.iter().map(|of| of.utilization).fold(0.0, f64::max);
        println!(
            "network {number}, {:2.0} % busy: number in system {:+5.1} % in rounds, {:+5.1} % at random",
            busy * 100.0,
            off[0] * 100.0,
            off[1] * 100.0
        );
        assert!(off.iter().all(|off| off.abs() < 0.25), "{number}: {off:?}");
    }
}
