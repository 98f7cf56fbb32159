//! Whether two captures are alike enough to be compared: the same capture point, hosts, ports, and sizes of connections.

use super::cells::address_group;
use super::sums::{class_port, size_class};
use crate::explain::CapturedAt;
use crate::merge_fields;
use crate::wording::{list, percent};
use recoup_trace::finding::Connection;
use std::collections::BTreeMap;

/// Addresses are divided into this many groups.
const ADDRESS_GROUPS: u64 = 4096;

/// A larger part of the connections has to be of another kind before a warning says so.
const NOTICEABLE: f64 = 0.15;

/// How many connections there are of each kind.
type Counts<K> = BTreeMap<K, u64>;

/// The connections of a capture by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Population {
    /// By the [number](CapturedAt) of their capture point.
    pub captured_at: Counts<u8>,
    /// By the server's port; 0 stands for high ones.
    ports: Counts<u16>,
    /// By a group of the server's address.
    servers: Counts<u16>,
    /// By a group of the client's address.
    clients: Counts<u16>,
    /// By size: each kind has 4 times as many bytes as the one before.
    sizes: Counts<u8>,
}

merge_fields!(Population: captured_at, ports, servers, clients, sizes);

impl Population {
    pub fn add(&mut self, connection: &Connection) {
        let count = |counts: &mut Counts<u16>, key| *counts.entry(key).or_default() += 1;
        let ends = &connection.endpoints;
        count(&mut self.ports, class_port(ends.dst.port()));
        count(&mut self.servers, address_group(ends.dst.ip(), ADDRESS_GROUPS));
        count(&mut self.clients, address_group(ends.src.ip(), ADDRESS_GROUPS));
        let bytes = connection.directions.iter().map(|way| way.bytes).sum();
        *self.sizes.entry(size_class(bytes).div_ceil(2)).or_default() += 1;
        *self.captured_at.entry(CapturedAt::of(connection) as u8).or_default() += 1;
    }

    /// Where most connections were captured; `None` without connections.
    pub fn captured(&self) -> Option<CapturedAt> {
        let most = self.captured_at.iter().max_by_key(|(_, count)| **count)?;
        CapturedAt::ALL.get(usize::from(*most.0)).copied()
    }
}

/// The capture point in words.
pub(super) const fn captured_in_words(at: CapturedAt) -> &'static str {
    match at {
        CapturedAt::Server => "captured at the server",
        CapturedAt::Client => "captured at the client",
        CapturedAt::Between => "captured between client and server",
        CapturedAt::Unknown => "capture point unknown",
    }
}

/// Why a comparison may show something else than a change: a sentence each.
pub(super) fn warnings(before: &Population, after: &Population) -> Vec<String> {
    let mut all = Vec::new();
    if let (Some(one), Some(other)) = (before.captured(), after.captured())
        && one != other
    {
        all.push(format!(
            "BEFORE: {}. AFTER: {}. Other places show other times, and other retransmissions.",
            captured_in_words(one),
            captured_in_words(other)
        ));
    }
    if let Some(share) = apart(&before.ports, &after.ports) {
        let named = (most_different(&before.ports, &after.ports).into_iter())
            .map(|(port, shares)| format!("{} from {} to {}", port_name(port), shares[0], shares[1]));
        let named: Vec<String> = named.collect();
        let named = list(&named);
        all.push(format!("{share} of the connections are to other server ports: {named}."));
    }
    if let Some(share) = apart(&before.servers, &after.servers) {
        all.push(format!("{share} of the connections are to other servers."));
    }
    if let Some(share) = apart(&before.sizes, &after.sizes) {
        all.push(format!(
            "{share} of the connections are of another size: what is counted per connection may change by that alone."
        ));
    }
    let shared = before.clients.keys().filter(|client| after.clients.contains_key(client)).count();
    if shared == 0 && !before.clients.is_empty() && !after.clients.is_empty() {
        all.push("The captures have no client in common: their paths may be others.".into());
    }
    all
}

fn port_name(port: u16) -> String {
    match port {
        0 => "ports from 32768 on".into(),
        port => format!("port {port}"),
    }
}

/// The part of the connections that is of other kinds, if it is noticeable and more than chance makes of as many connections
/// of one population.
fn apart<K: Ord>(before: &Counts<K>, after: &Counts<K>) -> Option<String> {
    let shares = shares(before, after)?;
    let [n, m] = [before, after].map(|counts| counts.values().sum::<u64>() as f64);
    let apart: f64 = shares.values().map(|[one, other]| (one - other).abs()).sum::<f64>() / 2.0;
    // The expectation is at most 0.4 times the root; the factor makes twice that.
    let by_chance = 0.8 * (shares.len() as f64 * (1.0 / n + 1.0 / m)).sqrt();
    (apart > NOTICEABLE.max(by_chance)).then(|| percent(apart, 1.0))
}

/// The share of each kind in both; `None` if one has no connections.
fn shares<'a, K: Ord>(before: &'a Counts<K>, after: &'a Counts<K>) -> Option<BTreeMap<&'a K, [f64; 2]>> {
    let mut shares: BTreeMap<&K, [f64; 2]> = BTreeMap::new();
    for (side, counts) in [before, after].into_iter().enumerate() {
        let all: u64 = counts.values().sum();
        if all == 0 {
            return None;
        }
        for (kind, count) in counts {
            shares.entry(kind).or_default()[side] = *count as f64 / all as f64;
        }
    }
    Some(shares)
}

/// The two kinds whose shares differ most, with both shares.
fn most_different<K: Ord + Copy>(before: &Counts<K>, after: &Counts<K>) -> Vec<(K, [String; 2])> {
    let shares = shares(before, after).unwrap_or_default();
    let mut shares: Vec<(K, [f64; 2])> = shares.into_iter().map(|(kind, shares)| (*kind, shares)).collect();
    let difference = |[one, other]: [f64; 2]| (one - other).abs();
    shares.sort_by(|a, b| difference(b.1).total_cmp(&difference(a.1)));
    let named = shares.into_iter().take(2);
    named.map(|(kind, shares)| (kind, shares.map(|share| percent(share, 1.0)))).collect()
}

#[cfg(test)]
mod tests;
