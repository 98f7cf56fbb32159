//! What all connections to one address show of the path: its loss, its round-trip times, and whether either rises.
//!
//! No help is given while they rise, because more packets are the last thing that a path needs which begins to fill:
//!
//! - **loss**: in the last [`RECENT`], at least [`FEWEST_LOST`] segments were lost, and twice the share of the [`BEFORE`] before; or, if
//!   there was little before, more than [`MUCH`]; or in any case more than [`TOO_MUCH`];
//! - **round-trip time**: the mean of at least [`FEWEST_RTTS`] samples of the last [`RECENT`] is more than half above the mean of the
//!   [`BEFORE`] before, and more than [`LEAST_RISE`] above it.
//!
//! A segment counts as lost if the kernel retransmitted it, or if the guard's copy repaired its loss.

use crate::copies::limits::{Budget, Limit};
use recoup_units::{Instant, Ppm};
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

/// What counts as now.
pub const RECENT: Duration = Duration::from_secs(10);
/// What it is compared with.
pub const BEFORE: Duration = Duration::from_secs(60);
/// Losses that may be chance.
pub const FEWEST_LOST: u64 = 5;
/// Segments from which on the time before tells a share.
const FEWEST_SENT: u64 = 100;
/// Samples that tell a mean.
pub const FEWEST_RTTS: u64 = 8;
/// The share of segments that is too much whatever it was before.
pub const TOO_MUCH: Ppm = Ppm::percent(20);
/// The share of segments that is much where nothing is known.
pub const MUCH: Ppm = Ppm::percent(10);
/// Round-trip times vary by as much on any path.
pub const LEAST_RISE: Duration = Duration::from_millis(5);

/// Counts are kept for pieces of time of this length.
const SLOT: Duration = Duration::from_secs(1);

/// The most addresses that are remembered. Those that were heard of longest ago are forgotten.
const MOST: usize = 65_536;

/// What happened within one slot.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    sent: u64,
    lost: u64,
    rtts: u64,
    rtt_nanos: u64,
}

impl Slot {
    fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.rtts += other.rtts;
        self.rtt_nanos += other.rtt_nanos;
    }

    fn loss(&self) -> Ppm {
        Ppm::ratio(self.lost, self.sent)
    }

    fn rtt(&self) -> u64 {
        self.rtt_nanos / self.rtts.max(1)
    }
}

/// Why no help is given to any connection of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rise {
    Loss,
    RoundTripTime,
}

/// The path to one address.
#[derive(Clone, Debug)]
pub struct Path {
    /// By the number of the slot since 1970, the latest [`RECENT`] and [`BEFORE`].
    slots: BTreeMap<u64, Slot>,
    /// Since it is known.
    total: Slot,
    /// Handshakes: the shortest round trip.
    shortest: Option<Duration>,
    pub budget: Budget,
}

impl Path {
    fn new(limit: Limit, now: Instant) -> Self {
        Self { slots: BTreeMap::new(), total: Slot::default(), shortest: None, budget: Budget::new(limit, now) }
    }

    fn note(&mut self, at: Instant, what: Slot) {
        let number = number(at);
        self.slots.entry(number).or_default().add(&what);
        self.total.add(&what);
        let oldest = number.saturating_sub((RECENT + BEFORE).as_secs());
        while self.slots.first_key_value().is_some_and(|(first, _)| *first < oldest) {
            self.slots.pop_first();
        }
    }

    pub fn on_sent(&mut self, at: Instant) {
        self.note(at, Slot { sent: 1, ..Slot::default() });
    }

    pub fn on_lost(&mut self, at: Instant) {
        self.note(at, Slot { lost: 1, ..Slot::default() });
    }

    pub fn on_rtt(&mut self, at: Instant, rtt: Duration) {
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
        self.note(at, Slot { rtts: 1, rtt_nanos: rtt.as_nanos() as u64, ..Slot::default() });
    }

    /// The shortest round trip seen.
    pub fn shortest(&self) -> Option<Duration> {
        self.shortest
    }

    /// p of the arbitrator, learned as the engine learns it from one connection: 2 % at first.
    pub fn loss(&self) -> Ppm {
        Ppm::ratio(self.total.lost + 1, self.total.sent + 50)
    }

    /// Whether its loss or its round-trip time rises.
    pub fn rise(&self, now: Instant) -> Option<Rise> {
        let begin = number(now).saturating_sub(RECENT.as_secs());
        let sum = |slots: &mut dyn Iterator<Item = (&u64, &Slot)>| {
            slots.fold(Slot::default(), |mut sum, (_, slot)| {
                sum.add(slot);
                sum
            })
        };
        let recent = sum(&mut self.slots.range(begin + 1..));
        let before = sum(&mut self.slots.range(..=begin));
        let twice = match before.sent < FEWEST_SENT {
            true => MUCH,
            false => Ppm::ratio(2 * before.lost, before.sent),
        };
        if recent.lost >= FEWEST_LOST && recent.loss() > twice.min(TOO_MUCH) {
            return Some(Rise::Loss);
        }
        let is_known = recent.rtts >= FEWEST_RTTS && before.rtts >= FEWEST_RTTS;
        let least = (before.rtt() / 2).max(LEAST_RISE.as_nanos() as u64);
        (is_known && recent.rtt() > before.rtt() + least).then_some(Rise::RoundTripTime)
    }

    fn heard(&self) -> u64 {
        self.slots.last_key_value().map_or(0, |(number, _)| *number)
    }
}

fn number(at: Instant) -> u64 {
    at.as_nanos() / SLOT.as_nanos() as u64
}

/// All paths, by remote address.
#[derive(Debug)]
pub struct Paths {
    paths: HashMap<IpAddr, Path>,
    limit: Limit,
}

impl Paths {
    /// Each with this limit.
    pub fn new(limit: Limit) -> Self {
        Self { paths: HashMap::new(), limit }
    }

    pub fn to(&mut self, address: IpAddr, now: Instant) -> &mut Path {
        if self.paths.len() >= MOST && !self.paths.contains_key(&address) {
            self.forget();
        }
        self.paths.entry(address).or_insert_with(|| Path::new(self.limit, now))
    }

    /// Forgets the older half.
    fn forget(&mut self) {
        let mut heard: Vec<u64> = self.paths.values().map(Path::heard).collect();
        let middle = heard.len() / 2;
        let (_, median, _) = heard.select_nth_unstable(middle);
        let median = *median;
        let mut over = self.paths.len().saturating_sub(MOST / 2);
        self.paths.retain(|_, path| {
            let goes = over > 0 && path.heard() <= median;
            over -= usize::from(goes);
            !goes
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// `per_second` segments from second `from` to `to`, of which one in `lost` is lost, with this RTT.
    fn go(path: &mut Path, [from, to]: [u64; 2], per_second: u64, lost: u64, rtt: u64) {
        for second in from..to {
            for i in 0..per_second {
                let at = Instant::from_millis(second * 1000 + i * 1000 / per_second);
                path.on_sent(at);
                path.on_rtt(at, Duration::from_millis(rtt));
                if lost > 0 && (second * per_second + i) % lost == 0 {
                    path.on_lost(at);
                }
            }
        }
    }

    fn path() -> Path {
        Path::new(Limit::packets(100), Instant::from_millis(1000))
    }

    fn at(second: u64) -> Instant {
        Instant::from_millis(second * 1000)
    }

    #[test]
    fn steady_loss_is_no_rise() {
        let mut path = path();
        go(&mut path, [1000, 1100], 50, 33, 40);
        assert_eq!(path.rise(at(1100)), None);
        assert_eq!(path.loss(), Ppm::ratio(152, 5050));
    }

    #[test]
    fn twice_the_loss_is_a_rise_until_it_is_usual() {
        let mut path = path();
        go(&mut path, [1000, 1060], 50, 50, 40);
        go(&mut path, [1060, 1070], 50, 20, 40);
        assert_eq!(path.rise(at(1069)), Some(Rise::Loss));
        go(&mut path, [1070, 1080], 50, 50, 40);
        assert_eq!(path.rise(at(1081)), None);
    }

    #[test]
    fn few_losses_are_chance_and_much_loss_is_always_too_much() {
        let mut path = path();
        go(&mut path, [1000, 1010], 1, 3, 40);
        assert_eq!(path.rise(at(1010)), None);
        go(&mut path, [1010, 1100], 50, 4, 40);
        assert_eq!(path.rise(at(1100)), Some(Rise::Loss));
    }

    #[test]
    fn a_growing_queue_is_a_rise() {
        let mut path = path();
        go(&mut path, [1000, 1060], 10, 0, 40);
        go(&mut path, [1060, 1070], 10, 0, 55);
        assert_eq!(path.rise(at(1070)), None);
        go(&mut path, [1070, 1080], 10, 0, 80);
        assert_eq!(path.rise(at(1080)), Some(Rise::RoundTripTime));
        assert_eq!(path.shortest(), Some(Duration::from_millis(40)));
    }

    #[test]
    fn paths_are_forgotten_beyond_the_bound() {
        let mut paths = Paths::new(Limit::packets(100));
        for i in 0..MOST as u32 + 1 {
            let address = std::net::Ipv4Addr::from(i).into();
            paths.to(address, at(i.into())).on_sent(at(i.into()));
        }
        assert_eq!(paths.paths.len(), MOST / 2 + 1);
        assert!(!paths.paths.contains_key(&IpAddr::from([0, 0, 0, 0])));
        assert_eq!(paths.to(HERE, at(1)).loss(), Ppm::percent(2));
    }
}
