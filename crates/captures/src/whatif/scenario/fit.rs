//! The values of a scenario, from the facts of all connections.

use super::facts::{Facts, Traffic};
use super::losses::{Limits, Rule, of_acks, of_packets, trace};
use super::text::{InferredScenario, InferredSetting, percent, probability};
use crate::whatif::paths;
use recoup_path::{LossKind, Policer, Queue};
use recoup_recovery::Profile;
use recoup_recovery::profile::CURRENT_LINUX;
use recoup_support::exchange;
use recoup_support::quantity::format_duration;
use recoup_tcp::flow::Host;
use recoup_units::{BitRate, Direction, format_bytes};
use recoup_whatif::bottleneck::Bottleneck;
use recoup_whatif::transmission::{Fate, Transmission};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

/// Exchanges of a connection that a scenario has at most.
const MOST_EXCHANGES: usize = 100;

/// Paths on which a bottleneck is looked for, those with most connections first.
const MOST_PATHS: usize = 200;

/// Connections of a path from which its bottleneck is inferred.
const MOST_OF_PATH: usize = 50;

/// Connections with this many segments show whether their receiver delays ACKs: Linux acknowledges each of
/// the first 16.
const SHOW_DELAYS: u32 = 32;

/// A share of held packets that is not worth a setting.
const LEAST_HELD: f64 = 0.0005;

/// A profile of fewer lossy connections than this share is not listed.
const LEAST_PROFILE: f64 = 0.1;

type Bottlenecks = HashMap<IpAddr, Option<Bottleneck>>;

/// The policers by path, of those that lost packets; `None`: other losses.
type Policers = BTreeMap<IpAddr, Option<Policer>>;

/// The scenario of these connections, whose senders stand all at the same end. `known`: the profiles by
/// number.
pub(super) fn fit(all: &[&Facts], sender: Host, known: &[Profile]) -> InferredScenario {
    let (bottlenecks, policers) = limits(all);
    let limited = Limited::new(all, &bottlenecks);
    let mut settings = vec![rtt(all)];
    settings.extend(limited.iter().flat_map(|one| one.settings(sender.sends())));
    settings.push(mss(all));
    settings.extend(traffic(all));
    let limits = limits_of(limited.is_some(), &bottlenecks, &policers);
    settings.extend(drops(all, sender, &limits, &policers));
    settings.extend(reordering(all, sender.sends()));
    settings.push(acks(all));
    let profiles = profiles(all, known);
    settings.extend(initial_window(all, &profiles.0));
    let loss_trace = trace(all, &limits);
    InferredScenario { profiles, flows: all.len() as u64, settings, loss_trace, ..InferredScenario::default() }
}

/// The value below which this share of them lies.
fn quantile<T: Copy + Ord>(sorted: &[T], share: f64) -> Option<T> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

/// The 5th, 50th and 95th percentile.
fn quantiles<T: Copy + Ord>(mut values: Vec<T>) -> Option<[T; 3]> {
    values.sort_unstable();
    let [low, median, high] = [0.05, 0.5, 0.95].map(|share| quantile(&values, share));
    Some([low?, median?, high?])
}

/// The most frequent value, and how often it occurs.
fn most_frequent<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<(T, usize)> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count)
}

fn milliseconds(times: [Duration; 3]) -> String {
    let [low, median, high] = times.map(|time| format!("{:.1}", time.as_secs_f64() * 1e3));
    format!("{low}, {median}, {high} ms (5, 50, 95 % of the connections)")
}

fn setting(key: &'static str, value: impl Into<String>, why: impl Into<String>) -> InferredSetting {
    InferredSetting { key, value: value.into(), why: why.into() }
}

fn one_way(direction: Direction, value: impl std::fmt::Display) -> String {
    format!("{}:{value}", direction.name())
}

fn rtt(all: &[&Facts]) -> InferredSetting {
    let times = quantiles(all.iter().map(|facts| facts.rtt).collect()).unwrap_or_default();
    // Finer than 10 µs is the hosts' own.
    let rounded = Duration::from_micros((times[1].as_micros() as u64).div_ceil(10) * 10);
    let why = format!("The smallest round-trip time of each connection: {}.", milliseconds(times));
    setting("rtt", format_duration(rounded), why)
}

/// The bottlenecks by path, which the address of the peer names, and the policers of those that lost packets.
fn limits(all: &[&Facts]) -> (Bottlenecks, Policers) {
    let mut paths: BTreeMap<IpAddr, Vec<&[Transmission]>> = BTreeMap::new();
    for facts in all {
        let path = paths.entry(facts.peer).or_default();
        if path.len() < MOST_OF_PATH {
            path.push(&facts.transmissions);
        }
    }
    let mut paths: Vec<_> = paths.into_iter().collect();
    paths.sort_by_key(|(_, connections)| Reverse(connections.len()));
    let (mut bottlenecks, mut policers) = (Bottlenecks::default(), Policers::default());
    for (peer, connections) in paths.into_iter().take(MOST_PATHS) {
        let (bottleneck, policer) = paths::limits(&connections);
        bottlenecks.insert(peer, bottleneck);
        if connections.iter().copied().flatten().any(|sent| sent.fate == Fate::Lost) {
            policers.insert(peer, policer);
        }
    }
    (bottlenecks, policers)
}

/// The bottleneck of most connections.
struct Limited {
    rates: [u64; 3],
    limits: Vec<Queue>,
    largest_packets: u64,
    explained: f64,
    connections: usize,
    of: usize,
}

impl Limited {
    /// `None` unless the rate was the limit of at least half of the connections.
    fn new(all: &[&Facts], bottlenecks: &Bottlenecks) -> Option<Self> {
        let of_each = all.iter().filter_map(|facts| bottlenecks.get(&facts.peer));
        let of = of_each.clone().count();
        let found: Vec<&Bottleneck> = of_each.flatten().collect();
        if found.len() * 2 < of.max(1) {
            return None;
        }
        let rates = found.iter().map(|one| one.rate.bits_per_second());
        let limits = found.iter().map(|one| one.queue);
        Some(Self {
            rates: quantiles(rates.collect())?,
            limits: limits.filter(|queue| *queue != Queue::Unlimited).collect(),
            largest_packets: found.iter().map(|one| u64::from(one.largest_backlog.packets)).max()?,
            explained: found.iter().map(|one| one.explained).sum::<f64>() / found.len() as f64,
            connections: found.len(),
            of,
        })
    }

    fn settings(&self, direction: Direction) -> Vec<InferredSetting> {
        let [low, median, high] = self.rates.map(|rate| rate as f64 / 1e6);
        let why = format!(
            "The path's rate limited {} of {} connections: {low:.2}, {median:.2}, {high:.2} Mbit/s (5, 50, 95 %). It explains {} of the packets that were delayed.",
            self.connections,
            self.of,
            percent(self.explained)
        );
        let rate = BitRate::from_bits_per_second(three_digits(self.rates[1]));
        let rate = rate.map_or("none".into(), |rate| rate.to_string());
        let queue = match quantile_of_queues(&self.limits) {
            Some(queue) => setting(
                "queue",
                one_way(direction, queue),
                format!("Losses show its limit in {} of them.", self.limits.len()),
            ),
            None => setting(
                "queue",
                "none",
                format!("No loss shows a limit; up to {} packets waited.", self.largest_packets),
            ),
        };
        vec![setting("rate", one_way(direction, rate), why), queue]
    }
}

/// The median limit among those of the kind, packets or bytes, that is more frequent.
fn quantile_of_queues(limits: &[Queue]) -> Option<Queue> {
    let packets = limits.iter().filter_map(|limit| match limit {
        Queue::Packets(n) => Some(*n),
        _ => None,
    });
    let bytes = limits.iter().filter_map(|limit| match limit {
        Queue::Bytes(n) => Some(*n),
        _ => None,
    });
    let (packets, bytes): (Vec<_>, Vec<_>) = (packets.collect(), bytes.collect());
    match packets.len() >= bytes.len() {
        true => quantiles(packets).map(|[_, median, _]| Queue::Packets(median)),
        false => quantiles(bytes).map(|[_, median, _]| Queue::Bytes(median)),
    }
}

/// A number rounded to three digits.
fn three_digits(n: u64) -> u64 {
    let unit = 10_u64.pow(n.max(1).ilog10().saturating_sub(2));
    n.saturating_add(unit / 2) / unit * unit
}

fn mss(all: &[&Facts]) -> InferredSetting {
    let sizes = all.iter().map(|facts| facts.segment_size);
    let (mss, count) = most_frequent(sizes).unwrap_or((1448, 0));
    let why = format!("Payload of a full segment in {count} of {} connections.", all.len());
    setting("mss", mss.to_string(), why)
}

/// The exchanges of the connection whose bytes are the median, among those with the median number of
/// exchanges.
fn traffic(all: &[&Facts]) -> Option<InferredSetting> {
    let mut known: Vec<&Traffic> =
        all.iter().filter_map(|facts| facts.traffic.as_ref()).filter(|traffic| !traffic.exchanges.is_empty()).collect();
    known.sort_by_key(|traffic| traffic.bytes.iter().sum::<u64>());
    let counts = quantiles(known.iter().map(|one| one.exchanges.len()).collect())?;
    let alike: Vec<&Traffic> = known.iter().filter(|one| one.exchanges.len() == counts[1]).copied().collect();
    let chosen = alike.get(alike.len().saturating_sub(1) / 2)?;
    let sizes = |end: usize| quantiles(known.iter().map(|traffic| traffic.bytes[end]).collect());
    let size = |bytes: u64| match bytes {
        0 => "0 B".into(),
        bytes => format_bytes(bytes),
    };
    let listed = |end| sizes(end).map(|sizes| sizes.map(size).join(", "));
    let exchanges = &chosen.exchanges;
    let cut = match exchanges.len() > MOST_EXCHANGES {
        true => format!(" Only the first {MOST_EXCHANGES} of its {} exchanges are here.", exchanges.len()),
        false => String::new(),
    };
    let why = format!(
        "The connection with the median number of bytes among those with the median number of exchanges, of {} that a rerun reproduces. Per connection (5, 50, 95 %): {} exchanges; {} by the client; {} by the server.{cut}",
        known.len(),
        counts.map(|n| n.to_string()).join(", "),
        listed(0)?,
        listed(1)?,
    );
    let kept = &exchanges[..exchanges.len().min(MOST_EXCHANGES)];
    Some(setting("exchanges", exchange::format(kept), why))
}

/// What drops packets of a path again in the scenario. Without a rate there, nothing repeats the losses of a queue; without the
/// rule of a policer, nothing repeats the policer's.
fn limits_of<'b>(
    is_limited: bool,
    bottlenecks: &'b Bottlenecks,
    policers: &'b Policers,
) -> impl Fn(&Facts) -> Limits<'b> {
    let is_policed = are_usual(policers);
    move |facts: &Facts| Limits {
        bottleneck: bottlenecks.get(&facts.peer).and_then(Option::as_ref).filter(|_| is_limited),
        policer: policers.get(&facts.peer).copied().flatten().filter(|_| is_policed),
    }
}

/// Whether at least half of the paths that lost packets have a policer.
fn are_usual(policers: &Policers) -> bool {
    let found = policers.values().flatten().count();
    found > 0 && found * 2 >= policers.len()
}

/// The policer of most paths, as a rule.
fn policer(policers: &Policers) -> Option<Rule> {
    let found: Vec<Policer> = policers.values().copied().flatten().filter(|_| are_usual(policers)).collect();
    let rates = quantiles(found.iter().map(|one| one.rate.bits_per_second()).collect())?;
    let bursts = quantiles(found.iter().map(|one| one.burst).collect())?;
    // Three digits: the estimate is no better.
    let [rate, burst] = [rates[1], bursts[1]].map(three_digits);
    let why = format!(
        "{} of {} paths that lost packets dropped what exceeded a rate, without a queue: {} kbit/s (5, 50, 95 %).",
        found.len(),
        policers.len(),
        rates.map(|rate| three_digits(rate) / 1000).map(|rate| rate.to_string()).join(", "),
    );
    let policer = Policer { rate: BitRate::from_bits_per_second(rate)?, burst };
    Some(Rule { text: LossKind::Policer(policer).to_string(), why })
}

fn drops<'a>(
    all: &[&'a Facts],
    sender: Host,
    limits: impl Fn(&'a Facts) -> Limits<'a>,
    policers: &Policers,
) -> Option<InferredSetting> {
    let policer = policer(policers).map(|rule| (sender.sends(), rule));
    let data = of_packets(all, limits).map(|rule| (sender.sends(), rule));
    let acks = of_acks(all).map(|rule| (sender.sends().reverse(), rule));
    let rules: Vec<_> = policer.into_iter().chain(data).chain(acks).collect();
    if rules.is_empty() {
        return None;
    }
    let text = rules.iter().flat_map(|(direction, rule)| {
        // A comma separates rules, and the numbers of a Gilbert–Elliott channel.
        let positions = rule.text.starts_with("data:");
        let parts: Vec<&str> = match positions {
            true => rule.text.split(',').collect(),
            false => vec![&rule.text],
        };
        parts.into_iter().map(|part| one_way(*direction, part)).collect::<Vec<_>>()
    });
    let why: Vec<_> = rules.iter().map(|(_, rule)| rule.why.clone()).collect();
    Some(setting("drop", text.collect::<Vec<_>>().join(","), why.join(" ")))
}

/// Packets that later ones overtook.
fn reordering(all: &[&Facts], direction: Direction) -> Option<InferredSetting> {
    let arrivals = || all.iter().flat_map(|facts| &facts.transmissions).filter_map(|sent| sent.arrival());
    let holds: Vec<Duration> = arrivals().map(|arrival| arrival.held).filter(|held| !held.is_zero()).collect();
    let count = arrivals().count();
    let share = holds.len() as f64 / count.max(1) as f64;
    if share < LEAST_HELD {
        return None;
    }
    let why_holds = holds.len();
    let times = quantiles(holds)?;
    let rounded = Duration::from_micros((times[1].as_micros() as u64).div_ceil(10) * 10);
    let value = format!("{}:{}", probability(share), format_duration(rounded));
    let [low, median, high] = times.map(|time| time.as_secs_f64() * 1e3);
    let why = format!(
        "Later packets overtook {why_holds} of {count} packets, which took {low:.1}, {median:.1}, {high:.1} ms longer (5, 50, 95 %)."
    );
    Some(setting("reorder", one_way(direction, value), why))
}

fn acks(all: &[&Facts]) -> InferredSetting {
    let long: Vec<_> = all.iter().filter(|facts| facts.segments() >= SHOW_DELAYS).collect();
    let shown = match long.is_empty() {
        true => all.iter().collect(),
        false => long,
    };
    let delaying: Vec<_> = shown.iter().filter(|facts| facts.habit.delays).collect();
    let of = shown.len();
    if delaying.len() * 2 < of.max(1) {
        let quick = of - delaying.len();
        let why = format!("Receivers acknowledge each segment in {quick} of {of} connections.");
        return setting("ack", "quick", why);
    }
    let delays = delaying.iter().map(|facts| facts.habit.delay);
    let delay = quantiles(delays.collect()).map_or(Duration::ZERO, |[_, median, _]| median);
    // Linux waits 40 ms at least (TCP_DELACK_MIN), and mostly no longer.
    let value = match delay <= Duration::from_millis(45) {
        true => "linux".into(),
        false => format!("delayed:{}", format_duration(Duration::from_millis(delay.as_millis() as u64))),
    };
    let why = format!(
        "Receivers wait for a second segment, up to {} ms in the median, in {} of {of} connections.",
        delay.as_millis(),
        delaying.len()
    );
    setting("ack", value, why)
}

/// The profiles that reproduce lossy connections.
fn profiles(all: &[&Facts], known: &[Profile]) -> (Vec<String>, String) {
    let lossy = all.iter().filter(|facts| facts.has_loss);
    let of = lossy.clone().count();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for traffic in lossy.filter_map(|facts| facts.traffic.as_ref()) {
        *counts.entry(traffic.profile).or_default() += 1;
    }
    let mut counts: Vec<(usize, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let most = counts.first().map_or(0, |(_, count)| *count);
    let named = |(number, count): &(usize, usize)| {
        let name = known.get(*number)?.to_string();
        (*count as f64 >= LEAST_PROFILE * of as f64 || *count == most).then_some((name, *count))
    };
    let found: Vec<_> = counts.iter().filter_map(named).collect();
    if found.is_empty() {
        let why = "No loss shows which loss recovery the senders have: this is today's Linux.";
        return (vec![CURRENT_LINUX.into()], why.into());
    }
    let each = found.iter().map(|(name, count)| format!("{count} as {name}"));
    let why = format!("Of {of} connections with losses, reruns reproduce {}.", each.collect::<Vec<_>>().join(", "));
    (found.into_iter().map(|(name, _)| name).collect(), why)
}

/// The initial window, if it is not that of the first profile.
fn initial_window(all: &[&Facts], profiles: &[String]) -> Option<InferredSetting> {
    let profile: Profile = profiles.first()?.parse().ok()?;
    let full = all.iter().filter(|facts| facts.first_flight > 0 && facts.segments() > facts.first_flight);
    let flights: Vec<u32> = full.map(|facts| facts.first_flight).collect();
    let of = flights.len();
    let (window, count) = most_frequent(flights.into_iter())?;
    let usual = profile.mechanisms().initial_window.0;
    (count * 2 > of && window != usual).then(|| {
        let why = format!("{count} of {of} connections with more data sent so many segments at first.");
        setting("initial_window", window.to_string(), why)
    })
}
