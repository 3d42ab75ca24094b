//! Normalization constants of a closed network of one class, by convolution (Buzen
//! 1973, "Computational algorithms for closed queueing networks with exponential
//! servers"): the sum of the weights of all states, by population. All terms are
//! positive, so no digits are lost.

use crate::network::Center;

/// The probability that a station is idle, p(0 | n), by population n from 0.
///
/// The recursion for p(0 | n) in mean value analysis subtracts, and loses all digits
/// when many servers are busy. The quotient of the constants with and without the
/// station does not.
pub fn idle(centers: &[Center], think_us: f64, station: usize, population: u32) -> Vec<f64> {
    let unit_us = unit_us(centers);
    let delay_us: f64 =
        centers.iter().filter(|c| c.servers().is_none()).map(|c| c.demand_us(0)).sum();
    let mut without = delays((think_us + delay_us) / unit_us, population);
    for (index, center) in centers.iter().enumerate() {
        if let Some(servers) = center.servers().filter(|_| index != station) {
            add(&mut without, servers as u32, center.demand_us(0) / unit_us);
        }
    }
    let mut with = without.clone();
    let servers = centers[station].servers().unwrap_or(1.0) as u32;
    add(&mut with, servers, centers[station].demand_us(0) / unit_us);
    without.iter().zip(&with).map(|(without, with)| without.over(*with)).collect()
}

/// The demand that counts as 1: the greatest demand of a server.
fn unit_us(centers: &[Center]) -> f64 {
    let by_server = |c: &Center| c.servers().map(|servers| c.demand_us(0) / servers);
    let most = centers.iter().filter_map(by_server).fold(0.0, f64::max);
    if most > 0.0 { most } else { 1.0 }
}

/// The constants of a network that has only delays: Z^n / n!.
fn delays(demand: f64, population: u32) -> Vec<Scaled> {
    let mut weight = Scaled::ONE;
    let mut all = vec![weight];
    for n in 1..=population {
        weight = weight.times(demand / f64::from(n));
        all.push(weight);
    }
    all
}

/// Adds a station with `servers` servers.
///
/// The weights of its states are D^n / n! while servers are idle, and then fall by
/// D / m. They are the product of a polynomial, D^n / n! (1 − n / m), and a
/// geometric series.
fn add(weights: &mut [Scaled], servers: u32, demand: f64) {
    let mut coefficients = Vec::new();
    let mut power = Scaled::ONE;
    for n in 0..servers {
        coefficients.push(power.times(1.0 - f64::from(n) / f64::from(servers)));
        power = power.times(demand / f64::from(n + 1));
    }
    for n in (0..weights.len()).rev() {
        let terms = coefficients.iter().zip(weights[..=n].iter().rev());
        weights[n] = terms.fold(Scaled::ZERO, |sum, (c, weight)| sum.plus(c.product(*weight)));
    }
    for n in 1..weights.len() {
        weights[n] = weights[n].plus(weights[n - 1].times(demand / f64::from(servers)));
    }
}

/// A non-negative number of any size: `mantissa` times [`STEP`] to the power of
/// `exponent`.
#[derive(Clone, Copy, Debug)]
struct Scaled {
    mantissa: f64,
    exponent: i64,
}

/// 2^256.
const STEP: f64 = (1u128 << 127) as f64 * (1u128 << 127) as f64 * 4.0;

impl Scaled {
    const ZERO: Scaled = Scaled { mantissa: 0.0, exponent: 0 };
    const ONE: Scaled = Scaled { mantissa: 1.0, exponent: 0 };

    fn normal(mut self) -> Scaled {
        if self.mantissa == 0.0 {
            return Scaled::ZERO;
        }
        while self.mantissa >= STEP {
            self.mantissa /= STEP;
            self.exponent += 1;
        }
        while self.mantissa < 1.0 / STEP {
            self.mantissa *= STEP;
            self.exponent -= 1;
        }
        self
    }

    fn times(self, factor: f64) -> Scaled {
        Scaled { mantissa: self.mantissa * factor, ..self }.normal()
    }

    fn product(self, other: Scaled) -> Scaled {
        let exponent = self.exponent + other.exponent;
        Scaled { mantissa: self.mantissa * other.mantissa, exponent }.normal()
    }

    fn plus(self, other: Scaled) -> Scaled {
        let (large, small) = match self.exponent >= other.exponent {
            _ if self.mantissa == 0.0 => return other,
            _ if other.mantissa == 0.0 => return self,
            true => (self, other),
            false => (other, self),
        };
        let shifted = match large.exponent - small.exponent {
            0 => small.mantissa,
            1 => small.mantissa / STEP,
            _ => 0.0,
        };
        Scaled { mantissa: large.mantissa + shifted, ..large }.normal()
    }

    /// The quotient, which must be about 1 or less.
    fn over(self, other: Scaled) -> f64 {
        let quotient = self.mantissa / other.mantissa;
        match other.exponent - self.exponent {
            0 => quotient,
            1 => quotient / STEP,
            2 => quotient / STEP / STEP,
            -1 => quotient * STEP,
            _ => 0.0,
        }
    }
}
