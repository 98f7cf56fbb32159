//! How far chance moves a change.
//!
//! Connections are not independent: those of the same minute share its load, and those of the same client its path. So parts are
//! left out one at a time (the jackknife with groups: Quenouille 1956; Shao and Tu, "The Jackknife and Bootstrap", 1995, §2.2),
//! in four ways:
//!
//! - **by time**: up to [`BLOCKS`] blocks of each capture, one after the other (as batch means do in simulations: Schmeiser,
//!   "Batch size effects in the analysis of simulation output", 1982);
//! - **by client network and by client address**: up to 64 groups, each left out of both captures at once, so that the same
//!   clients are compared with themselves;
//! - **by connection**: up to 256 groups.
//!
//! The widest interval of these counts. Its half is the root of the variance times Student's quantile. A way in which a capture
//! has fewer than [`FEWEST`] parts is left out; without any way there is no interval.

use super::cells::{Cells, Groups};
use super::quantity::Quantity;
use super::sums::Sums;
use crate::study::Merge;
use recoup_support::stats::{student, student_two_sided};
use std::collections::BTreeSet;

/// A capture is cut into at most so many blocks of time.
const BLOCKS: u64 = 16;

/// Fewer parts say nothing about their spread.
pub(super) const FEWEST: u64 = 5;

recoup_units::named! {
    /// How captures were cut for an interval.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Parts {
        /// By time.
        Time = "time",
        /// By the networks of clients.
        ClientNetworks = "client_networks",
        /// By the addresses of clients.
        Clients = "clients",
        /// By connection.
        Connections = "connections",
    }
}

/// The uncertainty of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Uncertainty {
    /// Half the width of the 95 % interval.
    pub half: f64,
    /// What shows it.
    pub parts: Parts,
    /// How likely chance alone makes a change of this size.
    pub by_chance: f64,
}

/// A part of a capture, and the capture without it.
#[derive(Debug)]
struct Part {
    of: Sums,
    rest: Sums,
}

impl Part {
    fn of(total: &Sums, of: Sums) -> Self {
        Self { rest: total.without(&of), of }
    }
}

/// A capture in parts.
#[derive(Debug)]
pub(super) struct Divided {
    pub total: Sums,
    /// The first and the second half.
    halves: Option<[Sums; 2]>,
    times: Vec<Part>,
    connections: Vec<Part>,
    addresses: Vec<(u16, Part)>,
    prefixes: Vec<(u16, Part)>,
}

impl Divided {
    pub fn new(cells: Cells) -> Self {
        let Cells { total, times, addresses, prefixes, connections } = cells;
        let blocks = times.blocks(BLOCKS);
        let sum = |blocks: &[Sums]| {
            let mut sum = Sums::default();
            blocks.iter().for_each(|block| sum.merge(block));
            sum
        };
        let halves = (blocks.len() as u64 >= FEWEST).then(|| {
            let (first, second) = blocks.split_at(blocks.len() / 2);
            [sum(first), sum(second)]
        });
        let part = |of| Part::of(&total, of);
        let groups = |groups: Groups| groups.into_iter().map(|(number, of)| (number, part(of))).collect();
        Self {
            halves,
            times: blocks.into_iter().map(part).collect(),
            connections: connections.into_values().map(part).collect(),
            addresses: groups(addresses),
            prefixes: groups(prefixes),
            total,
        }
    }

    /// How much the second half of the capture differs from the first.
    pub fn own_change(&self, quantity: Quantity) -> Option<f64> {
        let [first, second] = self.halves.as_ref()?;
        let [first, second] = quantity.values(first, second)?;
        Some(second - first)
    }
}

/// Two captures in parts, and what is compared.
pub(super) struct Pair<'a, V> {
    pub before: &'a Divided,
    pub after: &'a Divided,
    /// The values before and after.
    pub values: V,
    /// How much of what the values are means of a part has.
    pub weight: &'a dyn Fn(&Sums) -> u64,
}

/// A variance and its degrees of freedom.
type Variance = (f64, f64);

impl<V: Fn(&Sums, &Sums) -> Option<[f64; 2]>> Pair<'_, V> {
    fn change(&self, before: &Sums, after: &Sums) -> Option<f64> {
        let [before, after] = (self.values)(before, after)?;
        Some(after - before)
    }

    /// `None` if too few parts show it.
    pub fn uncertainty(&self) -> Option<Uncertainty> {
        let change = self.change(&self.before.total, &self.after.total)?;
        let found = Parts::ALL.into_iter().filter_map(|parts| {
            let (variance, freedom) = self.variance(parts)?;
            let deviation = variance.sqrt();
            let by_chance = match deviation > 0.0 {
                true => student_two_sided(change / deviation, freedom),
                false if change == 0.0 => 1.0,
                false => 0.0,
            };
            Some(Uncertainty { half: student(freedom) * deviation, parts, by_chance })
        });
        let found: Vec<Uncertainty> = found.collect();
        let by_chance = found.iter().map(|one| one.by_chance).fold(0.0, f64::max);
        let widest = found.into_iter().reduce(|widest, one| if one.half > widest.half { one } else { widest })?;
        Some(Uncertainty { by_chance, ..widest })
    }

    fn variance(&self, parts: Parts) -> Option<Variance> {
        let (before, after) = (self.before, self.after);
        match parts {
            Parts::Time => self.apart(&before.times, &after.times),
            Parts::Connections => self.apart(&before.connections, &after.connections),
            Parts::Clients => self.together(&before.addresses, &after.addresses),
            Parts::ClientNetworks => self.together(&before.prefixes, &after.prefixes),
        }
    }

    /// Parts of each capture are left out by themselves.
    fn apart(&self, before: &[Part], after: &[Part]) -> Option<Variance> {
        let of_before = self.jackknife(before, |rest| self.change(rest, &self.after.total))?;
        let of_after = self.jackknife(after, |rest| self.change(&self.before.total, rest))?;
        Some(sum(of_before, of_after))
    }

    fn jackknife(&self, parts: &[Part], change: impl Fn(&Sums) -> Option<f64>) -> Option<Variance> {
        let parts = parts.iter().filter(|part| (self.weight)(&part.of) > 0);
        variance(parts.map(|part| change(&part.rest)).collect::<Option<_>>()?)
    }

    /// A group is left out of both captures at once.
    fn together(&self, before: &[(u16, Part)], after: &[(u16, Part)]) -> Option<Variance> {
        let has = |part: &&(u16, Part)| (self.weight)(&part.1.of) > 0;
        let numbers = |parts: &[(u16, Part)]| parts.iter().filter(has).map(|(number, _)| *number).collect();
        let [of_before, of_after]: [BTreeSet<u16>; 2] = [numbers(before), numbers(after)];
        if (of_before.len().min(of_after.len()) as u64) < FEWEST {
            return None;
        }
        let changes = of_before.union(&of_after).map(|number| {
            let without = [rest(before, &self.before.total, *number), rest(after, &self.after.total, *number)];
            self.change(without[0], without[1])
        });
        variance(changes.collect::<Option<_>>()?)
    }
}

/// A capture without this group.
fn rest<'a>(parts: &'a [(u16, Part)], total: &'a Sums, number: u16) -> &'a Sums {
    let place = parts.binary_search_by_key(&number, |(number, _)| *number);
    place.map_or(total, |place| &parts[place].1.rest)
}

/// The variance of a value, from its values without each part.
fn variance(without: Vec<f64>) -> Option<Variance> {
    let n = without.len() as f64;
    if (without.len() as u64) < FEWEST {
        return None;
    }
    let mean = without.iter().sum::<f64>() / n;
    let squares: f64 = without.iter().map(|value| (value - mean).powi(2)).sum();
    Some(((n - 1.0) / n * squares, n - 1.0))
}

/// The variance of a difference (Satterthwaite 1946).
fn sum((a, of_a): Variance, (b, of_b): Variance) -> Variance {
    let freedom = match a + b > 0.0 {
        true => (a + b).powi(2) / (a * a / of_a + b * b / of_b),
        false => of_a + of_b,
    };
    (a + b, freedom)
}

#[cfg(test)]
pub(super) mod tests;
