//! Sums over parts of a capture, cut in several ways: by time, by client and by connection. A quantity that differs much
//! between the parts is uncertain.
//!
//! Memory does not grow with the capture, and neither the order of additions nor the number of threads matters.

use super::sums::Sums;
use crate::merge_fields;
use crate::study::Merge;
use crate::whatif::mixed;
use recoup_trace::finding::Connection;
use recoup_units::Instant;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Times are kept in at most this many bins.
const MOST_BINS: usize = 256;

/// The width of the first bins: 2²⁰ ns, about 1 ms.
const NARROWEST: u32 = 20;

/// Clients are divided into this many groups.
const CLIENT_GROUPS: u64 = 64;

/// Connections are divided into this many groups.
const CONNECTION_GROUPS: u64 = 256;

/// Keeps groups by client apart from groups by connection.
const CLIENT_KEY: u64 = u64::from_le_bytes(*b"clients.");

/// What a sum belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub at: Instant,
    client: IpAddr,
    connection: u64,
}

impl Place {
    /// Of a connection, at its beginning.
    pub fn of(connection: &Connection) -> Self {
        Self { at: connection.begun, client: connection.endpoints.src.ip(), connection: connection.id }
    }

    /// Of something in a connection at this time.
    pub const fn new(at: Instant, client: IpAddr, connection: u64) -> Self {
        Self { at, client, connection }
    }
}

/// The group of an address.
pub(super) fn address_group(address: IpAddr, groups: u64) -> u16 {
    let number = match address {
        IpAddr::V4(v4) => u64::from(v4.to_bits()),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            mixed((bits >> 64) as u64) ^ bits as u64
        }
    };
    (mixed(number ^ CLIENT_KEY) % groups) as u16
}

/// The network of an address: 24 bits of IPv4, 48 of IPv6.
fn prefix(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() & !0xff).into()),
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 80 << 80).into()),
    }
}

/// Groups by their numbers.
pub(super) type Groups = BTreeMap<u16, Sums>;

/// The parts of a capture.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells {
    pub total: Sums,
    pub times: TimeBins,
    pub addresses: Groups,
    pub prefixes: Groups,
    pub connections: Groups,
}

impl Cells {
    pub fn add(&mut self, place: Place, sums: &Sums) {
        self.total.merge(sums);
        self.times.bin(place.at).merge(sums);
        let address = address_group(place.client, CLIENT_GROUPS);
        self.addresses.entry(address).or_default().merge(sums);
        let prefix = address_group(prefix(place.client), CLIENT_GROUPS);
        self.prefixes.entry(prefix).or_default().merge(sums);
        let connection = (mixed(place.connection) % CONNECTION_GROUPS) as u16;
        self.connections.entry(connection).or_default().merge(sums);
    }
}

merge_fields!(Cells: total, times, addresses, prefixes, connections);

/// Sums over bins of time, which widen where there are too many. The final width depends on the times alone: bins of a part of
/// them are never more than those of all.
#[derive(Clone, Debug)]
pub(super) struct TimeBins {
    /// A bin is 2^`shift` ns wide, counted from 1970.
    shift: u32,
    bins: BTreeMap<u64, Sums>,
}

impl Default for TimeBins {
    fn default() -> Self {
        Self { shift: NARROWEST, bins: BTreeMap::new() }
    }
}

impl TimeBins {
    fn bin(&mut self, at: Instant) -> &mut Sums {
        self.bins.entry(at.as_nanos() >> self.shift).or_default();
        while self.bins.len() > MOST_BINS {
            self.widen();
        }
        self.bins.entry(at.as_nanos() >> self.shift).or_default()
    }

    fn widen(&mut self) {
        self.shift += 1;
        let bins = std::mem::take(&mut self.bins);
        for (number, sums) in bins {
            self.bins.entry(number >> 1).or_default().merge(&sums);
        }
    }

    /// Adjacent bins as at most `most` blocks in order, of about as many connections and requests each.
    pub fn blocks(&self, most: u64) -> Vec<Sums> {
        let weight = |sums: &Sums| sums.connections + sums.timed(|_| true);
        let all: u64 = self.bins.values().map(weight).sum();
        let mut blocks: Vec<Sums> = Vec::new();
        let (mut seen, mut last) = (0, None);
        for sums in self.bins.values() {
            // The block that the middle of the bin lies in.
            let number = (seen + weight(sums) / 2) * most / all.max(1);
            seen += weight(sums);
            match blocks.last_mut().filter(|_| last == Some(number)) {
                Some(block) => block.merge(sums),
                None => blocks.push(sums.clone()),
            }
            last = Some(number);
        }
        blocks
    }
}

impl Merge for TimeBins {
    fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.shift < other.shift {
            self.widen();
        }
        while other.shift < self.shift {
            other.widen();
        }
        merge_fields!(self, other: bins);
        while self.bins.len() > MOST_BINS {
            self.widen();
        }
    }
}

#[cfg(test)]
mod tests;
