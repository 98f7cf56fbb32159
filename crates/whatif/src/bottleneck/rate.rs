//! The rate, from the delays of packets that waited.
//!
//! A packet leaves the transmitter at `max(sent, departure of the one before) + length / rate`. What it took
//! from there to the ACK is constant, apart from noise. The rate is the one with the least mean absolute
//! deviation of these times from their median, connection by connection. Candidates come from the dispersion of
//! packets sent together. The best is refined on grids of nine rates, each a quarter as wide as the one before.
//!
//! The model is believed if it explains at least [`EXPLAINED`] of the packets with a considerable delay,
//! modelled or seen: above two transmission times, and well above the noise. Explained is a delay that differs
//! from the model's by at most a quarter of it, or by half a transmission time and the noise. There must be at
//! least [`FEWEST`] delayed packets, in two trains or more (a train is what was sent within one round trip).

use crate::transmission::{Fate, Transmission};
use recoup_units::BitRate;

/// The least share of packets with a considerable delay that the model must explain.
const EXPLAINED: f64 = 0.8;

/// The fewest packets with a considerable delay.
const FEWEST: usize = 8;

/// The most packets that are looked at: evenly spaced connections of a path with more.
const MOST: usize = 20_000;

/// So many arrivals show the rate of a path.
const IN_A_ROW: usize = 8;

/// How many modes of the dispersion are candidates.
const MODES: usize = 4;

/// Half the width of a mode: dispersions within 5 % agree.
const MODE_WIDTH: f64 = 0.05;

/// Half the width of the first grid around a candidate, and of the last: shares of the rate.
const WIDEST_GRID: f64 = 0.4;
const NARROWEST_GRID: f64 = 5e-6;

/// A rate and how well it explains the delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateEstimate {
    pub rate: BitRate,
    pub explained: f64,
}

/// A packet that arrived. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    sent: f64,
    bits: f64,
    echo: f64,
    /// The receiver acknowledged it at once. The others arrived at their echo or earlier.
    pub is_exact: bool,
}

impl Delivery {
    /// `None` if the transmission did not arrive.
    pub fn of(transmission: &Transmission) -> Option<Self> {
        let Fate::Arrived(arrival) = transmission.fate else {
            return None;
        };
        Some(Self {
            sent: transmission.sent.as_nanos() as f64,
            bits: f64::from(transmission.ip_len) * 8.0,
            echo: arrival.echo.as_nanos() as f64,
            is_exact: arrival.is_exact(),
        })
    }
}

/// The rate that explains the delays of these connections.
pub(super) fn estimate(connections: &[&[Transmission]]) -> Option<RateEstimate> {
    let packets: usize = connections.iter().map(|sent| sent.len()).sum();
    let step = packets.div_ceil(MOST).max(1);
    let connections: Vec<Vec<Delivery>> =
        connections.iter().step_by(step).map(|sent| sent.iter().filter_map(Delivery::of).collect()).collect();
    let mut fit = Fit::default();
    let (_, near) = modes(dispersions(&connections))
        .into_iter()
        .map(|candidate| fit.best_of_grid(&connections, candidate, WIDEST_GRID))
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let rate = fit.refine(&connections, near);
    let explained = fit.explained(&connections, rate)?;
    // From bits per nanosecond.
    let rate = BitRate::from_bits_per_second((rate * 1e9).round() as u64)?;
    (explained >= EXPLAINED).then_some(RateEstimate { rate, explained })
}

/// The highest rate at which packets arrived, over [`IN_A_ROW`] of them. `None`: some arrived at one instant, or there were too
/// few.
pub(super) fn fastest_seen(connections: &[&[Transmission]]) -> Option<BitRate> {
    let mut fastest = 0.0_f64;
    for sent in connections {
        let exact: Vec<(f64, f64)> = arrivals(sent);
        for row in exact.windows(IN_A_ROW) {
            let (first, last) = (row[0], row[IN_A_ROW - 1]);
            let bits: f64 = row[1..].iter().map(|(_, bits)| bits).sum();
            fastest = fastest.max(bits / (last.0 - first.0));
        }
    }
    let is_known = fastest > 0.0 && fastest.is_finite();
    is_known.then(|| BitRate::from_bits_per_second((fastest * 1e9).round() as u64))?
}

/// Times of the ACKs that came at once, ascending, each with the bits that arrived since the one before.
fn arrivals(sent: &[Transmission]) -> Vec<(f64, f64)> {
    let mut exact: Vec<(f64, f64)> = Vec::new();
    let mut bits = 0.0;
    for delivery in sent.iter().filter_map(Delivery::of) {
        bits += delivery.bits;
        if delivery.is_exact && exact.last().is_none_or(|(before, _)| *before <= delivery.echo) {
            exact.push((delivery.echo, bits));
            bits = 0.0;
        }
    }
    exact
}

/// The rates, in bits per nanosecond, at which packets arrived that were sent closer together; ascending.
fn dispersions(connections: &[Vec<Delivery>]) -> Vec<f64> {
    let mut rates = Vec::new();
    for deliveries in connections {
        let mut bits = 0.0;
        let mut before: Option<&Delivery> = None;
        for delivery in deliveries {
            bits += delivery.bits;
            if !delivery.is_exact {
                continue;
            }
            if let Some(before) = before {
                let arrived = delivery.echo - before.echo;
                if arrived > 0.0 && delivery.sent - before.sent < 0.5 * arrived {
                    rates.push(bits / arrived);
                }
            }
            before = Some(delivery);
            bits = 0.0;
        }
    }
    rates.sort_unstable_by(f64::total_cmp);
    rates
}

/// The rates around which most dispersions lie, from ascending ones.
fn modes(mut rates: Vec<f64>) -> Vec<f64> {
    let mut modes = Vec::new();
    while modes.len() < MODES && rates.len() >= 2 {
        let (mut first, mut best) = (0, (0, 0..0));
        for last in 0..rates.len() {
            while rates[first] * (1.0 + 2.0 * MODE_WIDTH) < rates[last] {
                first += 1;
            }
            let count = last + 1 - first;
            if count > best.0 {
                best = (count, first..last + 1);
            }
        }
        modes.push(rates[best.1.start + best.0 / 2]);
        rates.drain(best.1);
    }
    modes
}

/// Fits the model to delays; keeps its memory from fit to fit.
#[derive(Debug, Default)]
struct Fit {
    /// For each exact delivery of a connection: what it waited, and what it took from its departure.
    waits: Vec<f64>,
    rests: Vec<f64>,
    sorted: Vec<f64>,
}

impl Fit {
    /// The best rate near a candidate.
    fn refine(&mut self, connections: &[Vec<Delivery>], candidate: f64) -> f64 {
        let mut best = candidate;
        let mut width = WIDEST_GRID / 4.0;
        while width > NARROWEST_GRID {
            (_, best) = self.best_of_grid(connections, best, width);
            width /= 4.0;
        }
        best
    }

    /// The best of nine rates around one, and its mean deviation.
    fn best_of_grid(&mut self, connections: &[Vec<Delivery>], center: f64, width: f64) -> (f64, f64) {
        let mut best = (f64::INFINITY, center);
        // The center first, so that it stays where all explain as much.
        for step in [0, -1, 1, -2, 2, -3, 3, -4, 4] {
            let rate = center * (1.0 + width * f64::from(step) / 4.0);
            let deviation = self.deviation(connections, rate);
            if deviation < best.0 {
                best = (deviation, rate);
            }
        }
        best
    }

    /// The mean absolute deviation of the deliveries from the model, in nanoseconds.
    fn deviation(&mut self, connections: &[Vec<Delivery>], rate: f64) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for deliveries in connections {
            self.model(deliveries, rate);
            let median = self.median();
            sum += self.rests.iter().map(|rest| (rest - median).abs()).sum::<f64>();
            count += self.rests.len() as f64;
        }
        sum / f64::max(count, 1.0)
    }

    /// Computes what the exact deliveries waited, and what they took from their departure.
    fn model(&mut self, deliveries: &[Delivery], rate: f64) {
        self.waits.clear();
        self.rests.clear();
        let mut free = 0.0_f64;
        for delivery in deliveries {
            let starts = free.max(delivery.sent);
            free = starts + delivery.bits / rate;
            if delivery.is_exact {
                self.waits.push(starts - delivery.sent);
                self.rests.push(delivery.echo - free);
            }
        }
    }

    fn median(&mut self) -> f64 {
        self.sorted.clone_from(&self.rests);
        median(&mut self.sorted)
    }

    /// The share of considerable delays that the model explains; `None` if there are too few.
    fn explained(&mut self, connections: &[Vec<Delivery>], rate: f64) -> Option<f64> {
        let mut delays = Vec::new();
        let (mut trains, mut bits) = (0, 0.0_f64);
        for deliveries in connections {
            self.model(deliveries, rate);
            trains += trains_that_waited(deliveries, &self.waits);
            let median = self.median();
            let model = self.waits.iter().zip(&self.rests);
            delays.extend(model.map(|(wait, rest)| (*wait, rest - median)));
            let lengths = deliveries.iter().map(|delivery| delivery.bits);
            bits = lengths.fold(bits, f64::max);
        }
        let mut noise: Vec<_> = delays.iter().map(|(_, rest)| rest.abs()).collect();
        let noise = median(&mut noise);
        let time = bits / rate;
        let considerable = f64::max(2.0 * time, 8.0 * noise);
        let delays = delays.iter().filter(|(wait, rest)| wait.max(wait + rest) >= considerable);
        let (mut all, mut explained) = (0, 0);
        for (wait, rest) in delays {
            all += 1;
            let tolerance = f64::max(0.25 * wait, 0.5 * time + 2.0 * noise);
            explained += usize::from(rest.abs() <= tolerance);
        }
        (all >= FEWEST && trains >= 2).then(|| f64::from(explained as u32) / f64::from(all as u32))
    }
}

/// How many trains have a packet that waited: packets sent within the smallest round trip are one train.
/// `waits`: those of the exact deliveries.
fn trains_that_waited(deliveries: &[Delivery], waits: &[f64]) -> usize {
    let exact = || deliveries.iter().filter(|delivery| delivery.is_exact);
    let trips = exact().map(|delivery| delivery.echo - delivery.sent);
    let round_trip = trips.fold(f64::INFINITY, f64::min);
    let mut ends = f64::NEG_INFINITY;
    let mut trains = 0;
    for (delivery, wait) in exact().zip(waits) {
        if *wait > 0.0 && delivery.sent >= ends {
            ends = delivery.sent + round_trip;
            trains += 1;
        }
    }
    trains
}

/// The median; 0 of nothing.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
}
