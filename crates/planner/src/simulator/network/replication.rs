//! [`Replication`]: one run of a network, which begins empty.

use super::{Asked, MOST_CUSTOMERS, Routing, Seen, SeenClass, SeenStation, Service};
use crate::Error;
use crate::network::{Center, Kind, Load, Network};
use crate::simulator::statistics::TimeAverage;
use crate::simulator::{Calendar, Random, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy)]
enum Event {
    /// The next customer of this class arrives from outside.
    Comes { class: u32 },
    /// A customer has finished thinking, and enters.
    Returns { customer: u32 },
    /// A center has served a customer.
    Served { center: u32, customer: u32 },
}

/// A customer in the network.
#[derive(Clone, Copy)]
struct Customer {
    class: u32,
    /// Its place in the routing: the round, and the next center to consider.
    round: u32,
    next: u32,
    /// When it entered the network, and its center.
    entered: Time,
    came: Time,
}

/// A center's state and figures.
struct At {
    /// `None` if customers do not wait.
    servers: Option<u64>,
    mean: Vec<Time>,
    busy: TimeAverage,
    waiting: VecDeque<u32>,
    waited: Time,
    begun: u64,
    /// By class.
    visits: Vec<Visits>,
}

#[derive(Clone, Copy, Default)]
struct Visits {
    count: u64,
    residence: Time,
}

/// The route of a class through the network.
struct Route {
    visits: Vec<f64>,
    rounds: u32,
    /// Running sums of `visits`, and of 1 for leaving.
    cumulative: Vec<f64>,
}

/// One run.
pub(super) struct Replication<'a> {
    network: &'a Network,
    asked: &'a Asked,
    centers: Vec<Center>,
    random: Random,
    calendar: Calendar<Event>,
    customers: Vec<Customer>,
    free: Vec<u32>,
    at: Vec<At>,
    routes: Vec<Route>,
    between: Vec<Time>,
    number: TimeAverage,
    left: u64,
    /// By class: the customers that left, and the sum of their residence times.
    classes: Vec<Visits>,
    since: Time,
}

impl<'a> Replication<'a> {
    /// `network` and `asked` were checked.
    pub(super) fn new(network: &'a Network, asked: &'a Asked, random: Random) -> Self {
        let centers = network.centers();
        let classes = network.classes().len();
        let at = centers.iter().map(|center| At {
            servers: center.servers().map(|servers| servers as u64),
            mean: center.service_us.iter().map(|us| Time::from_ns(us * 1e3)).collect(),
            busy: TimeAverage::default(),
            waiting: VecDeque::new(),
            waited: Time::ZERO,
            begun: 0,
            visits: vec![Visits::default(); classes],
        });
        let route = |class: usize| {
            let visits: Vec<f64> = centers.iter().map(|center| center.visits[class]).collect();
            let mut sum = 0.0;
            let mut add = |visits: f64| {
                sum += visits;
                sum
            };
            let cumulative = visits.iter().copied().chain([1.0]).map(&mut add).collect();
            let rounds = visits.iter().copied().fold(0.0, f64::max).ceil() as u32;
            Route { visits, rounds, cumulative }
        };
        let between = network.rates_per_s().into_iter().map(|rate_per_s| {
            if rate_per_s > 0.0 { Time::from_s(1.0 / rate_per_s) } else { Time::MAX }
        });
        Replication {
            network,
            asked,
            random,
            calendar: Calendar::new(),
            customers: Vec::new(),
            free: Vec::new(),
            at: at.collect(),
            routes: (0..classes).map(route).collect(),
            between: between.collect(),
            number: TimeAverage::default(),
            left: 0,
            classes: vec![Visits::default(); classes],
            since: Time::ZERO,
            centers,
        }
    }

    /// Runs the replication.
    pub(super) fn run(mut self) -> Result<Seen, Error> {
        self.begin();
        let warm_up = (self.asked.customers as f64 * self.asked.warm_up) as u64;
        self.until(warm_up)?;
        self.forget();
        self.until(self.asked.customers)?;
        let now = self.calendar.now();
        if now == self.since || now == Time::MAX {
            return Err(Error::Asked(format!(
                "the network `{}` was simulated for {} s, but picoseconds to 200 days can be: \
                 give its times in µs, as they are",
                self.network.name(),
                now.as_s()
            )));
        }
        Ok(self.seen())
    }

    /// Adds the first customer of each open class, and all customers of each closed one.
    fn begin(&mut self) {
        for (class, load) in self.network.classes().iter().map(|class| class.load).enumerate() {
            let class = class as u32;
            match load {
                Load::Open { .. } => self.comes_later(class),
                Load::Closed { population, .. } => {
                    for _ in 0..population {
                        let customer = self.add(class);
                        self.thinks(customer);
                    }
                }
            }
        }
    }

    /// Continues until `customers` more have left.
    fn until(&mut self, customers: u64) -> Result<(), Error> {
        let end = self.left + customers;
        while self.left < end {
            match self.calendar.next() {
                Some(Event::Comes { class }) => {
                    self.comes_later(class);
                    let customer = self.add(class);
                    self.enters(customer);
                }
                Some(Event::Returns { customer }) => self.enters(customer),
                Some(Event::Served { center, customer }) => self.served(center, customer),
                None => break,
            }
            if self.customers.len() > MOST_CUSTOMERS {
                return Err(Error::Asked(format!(
                    "there are more than {MOST_CUSTOMERS} customers in the network `{}` at a time: \
                     ask for less load",
                    self.network.name()
                )));
            }
        }
        Ok(())
    }

    fn comes_later(&mut self, class: u32) {
        let mean = self.between[class as usize];
        if mean < Time::MAX {
            let delay = self.random.exponential_time(mean);
            self.calendar.after(delay, Event::Comes { class });
        }
    }

    fn thinks(&mut self, customer: u32) {
        let class = self.customers[customer as usize].class as usize;
        let delay = match self.network.classes()[class].load {
            Load::Closed { think_us, .. } if think_us > 0.0 => {
                self.random.exponential_time(Time::from_ns(think_us * 1e3))
            }
            _ => Time::ZERO,
        };
        self.calendar.after(delay, Event::Returns { customer });
    }

    fn add(&mut self, class: u32) -> u32 {
        let zero = Time::ZERO;
        let customer = Customer { class, round: 0, next: 0, entered: zero, came: zero };
        match self.free.pop() {
            Some(place) => {
                self.customers[place as usize] = customer;
                place
            }
            None => {
                self.customers.push(customer);
                self.customers.len() as u32 - 1
            }
        }
    }

    fn enters(&mut self, customer: u32) {
        let now = self.calendar.now();
        let entering = &mut self.customers[customer as usize];
        (entering.round, entering.next, entering.entered) = (0, 0, now);
        self.number.add(now, 1);
        self.moves(customer);
    }

    /// Moves a customer to the next center, or out.
    fn moves(&mut self, customer: u32) {
        let moving = &mut self.customers[customer as usize];
        let route = &self.routes[moving.class as usize];
        let center = match self.asked.routing {
            Routing::AtRandom => self.random.pick(&route.cumulative),
            Routing::InRounds => route.in_rounds(moving, &mut self.random),
        };
        if center == self.at.len() {
            self.leaves(customer);
        } else {
            moving.came = self.calendar.now();
            self.comes_to(center, customer);
        }
    }

    fn comes_to(&mut self, center: usize, customer: u32) {
        let at = &mut self.at[center];
        if at.servers.is_some_and(|servers| at.busy.value() == servers) {
            at.waiting.push_back(customer);
        } else {
            at.busy.add(self.calendar.now(), 1);
            self.serve(center, customer);
        }
    }

    fn serve(&mut self, center: usize, customer: u32) {
        let at = &mut self.at[center];
        let Customer { class, came, .. } = self.customers[customer as usize];
        at.waited += self.calendar.now().since(came);
        at.begun += 1;
        let mean = at.mean[class as usize];
        let service = match self.asked.service {
            Service::Exponential => self.random.exponential_time(mean),
            Service::Deterministic => mean,
        };
        self.calendar.after(service, Event::Served { center: center as u32, customer });
    }

    fn served(&mut self, center: u32, customer: u32) {
        let now = self.calendar.now();
        let at = &mut self.at[center as usize];
        let Customer { class, came, .. } = self.customers[customer as usize];
        at.visits[class as usize].add(now.since(came));
        match at.waiting.pop_front() {
            Some(next) => self.serve(center as usize, next),
            None => at.busy.take(now, 1),
        }
        self.moves(customer);
    }

    fn leaves(&mut self, customer: u32) {
        let now = self.calendar.now();
        let Customer { class, entered, .. } = self.customers[customer as usize];
        self.number.take(now, 1);
        self.left += 1;
        self.classes[class as usize].add(now.since(entered));
        match self.network.is_open() {
            true => self.free.push(customer),
            false => self.thinks(customer),
        }
    }

    /// Ends the warm-up, whose figures do not count.
    fn forget(&mut self) {
        self.since = self.calendar.now();
        self.number.restart(self.since);
        self.classes.fill(Visits::default());
        for at in &mut self.at {
            at.busy.restart(self.since);
            (at.waited, at.begun) = (Time::ZERO, 0);
            at.visits.fill(Visits::default());
        }
    }

    fn seen(&self) -> Seen {
        let now = self.calendar.now();
        let simulated_s = now.since(self.since).as_s();
        let class = |visits: &Visits| SeenClass {
            throughput_per_s: visits.count as f64 / simulated_s,
            residence_us: visits.mean_us(),
        };
        let stations = 0..self.network.stations().len();
        Seen {
            events: self.calendar.events(),
            simulated_s,
            number: self.number.average(now),
            classes: self.classes.iter().map(class).collect(),
            stations: stations.map(|index| self.seen_of(index, now)).collect(),
        }
    }

    /// The figures of a station over all its queues.
    fn seen_of(&self, index: usize, now: Time) -> SeenStation {
        let station = &self.network.stations()[index];
        let centers = self.centers.iter().zip(&self.at);
        let of_station: Vec<&At> =
            centers.filter(|(center, _)| center.station == index).map(|(_, at)| at).collect();
        let servers = match &station.kind {
            Kind::Split { shares } => shares.len() as f64,
            _ => of_station[0].servers.unwrap_or(1) as f64,
        };
        let residence_us = |class: usize| {
            let mut all = Visits::default();
            for visits in of_station.iter().map(|at| at.visits[class]) {
                all.count += visits.count;
                all.residence += visits.residence;
            }
            // A mean needs visits.
            if station.visits[class] == 0.0 { 0.0 } else { all.mean_us() * station.visits[class] }
        };
        let busy: f64 = of_station.iter().map(|at| at.busy.average(now)).sum();
        let begun: u64 = of_station.iter().map(|at| at.begun).sum();
        let waited_us: f64 = of_station.iter().map(|at| at.waited.as_ns() / 1e3).sum();
        SeenStation {
            utilization: busy / servers,
            waiting_us: waited_us / begun as f64,
            residence_us: (0..self.classes.len()).map(residence_us).collect(),
        }
    }
}

impl Visits {
    fn add(&mut self, residence: Time) {
        self.count += 1;
        self.residence += residence;
    }

    /// The mean; NaN without visits.
    fn mean_us(self) -> f64 {
        self.residence.as_ns() / 1e3 / self.count as f64
    }
}

impl Route {
    /// The center that a customer visits next; the number of centers stands for leaving.
    fn in_rounds(&self, customer: &mut Customer, random: &mut Random) -> usize {
        while customer.round < self.rounds {
            while let Some(visits) = self.visits.get(customer.next as usize) {
                customer.next += 1;
                let left = visits - f64::from(customer.round);
                if left >= 1.0 || left > 0.0 && random.chance(left) {
                    return customer.next as usize - 1;
                }
            }
            (customer.round, customer.next) = (customer.round + 1, 0);
        }
        self.visits.len()
    }
}
