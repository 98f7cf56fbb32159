//! Groups the packets of a round by connection.

use crate::follow::{ends::ConnectionEnds, packed::PackedPackets};
use foldhash::fast::RandomState;
use std::mem::replace;

/// Stands for "no group" or "no packet".
const NONE: u32 = u32::MAX;

/// Packets by connection. The first packet of each group is later than that of the group before.
#[derive(Debug, Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
    members: Vec<Member>,
    /// The latest group of each bucket of the hash table of groups.
    buckets: Vec<u32>,
}

/// The packets of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub ends: ConnectionEnds,
    /// Of its ends.
    pub hash: u64,
    first: u32,
    last: u32,
    /// The group before it in the same bucket.
    before: u32,
}

impl Group {
    #[inline]
    fn is(&self, hash: u64, ends: &ConnectionEnds) -> bool {
        self.hash == hash && self.ends == *ends
    }
}

/// A packet of a group.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// The next packet of the group.
    next: u32,
    /// Whether the upper end sent it.
    from_upper: bool,
}

impl Groups {
    /// Groups these packets instead of those before. `keep_order`: only packets that follow each other are
    /// grouped.
    pub fn group(&mut self, packets: &PackedPackets, hasher: &RandomState, keep_order: bool) {
        self.groups.clear();
        self.members.clear();
        self.buckets.clear();
        self.buckets.resize(packets.len().next_power_of_two(), NONE);
        let mask = self.buckets.len() - 1;
        for index in 0..packets.len() {
            let (ends, from_upper) = packets.ends(index);
            let hash = ends.hash(hasher);
            let bucket = hash as usize & mask;
            let next = NONE;
            self.members.push(Member { next, from_upper });
            let index = index as u32;
            let found = if keep_order {
                self.groups.last_mut().filter(|group| group.is(hash, &ends))
            } else {
                in_bucket(&mut self.groups, self.buckets[bucket], hash, &ends)
            };
            if let Some(group) = found {
                self.members[group.last as usize].next = index;
                group.last = index;
                continue;
            }
            let before = replace(&mut self.buckets[bucket], self.groups.len() as u32);
            self.groups.push(Group { ends, hash, first: index, last: index, before });
        }
    }
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The packets of a group, and whether the upper end sent each.
    #[inline]
    pub fn members(&self, group: &Group) -> impl Iterator<Item = (usize, bool)> {
        let mut next = group.first;
        std::iter::from_fn(move || {
            let index = next as usize;
            let member = self.members.get(index)?;
            next = member.next;
            Some((index, member.from_upper))
        })
    }
}

/// The group of a connection, among those of one bucket from `latest` on.
#[inline]
fn in_bucket<'a>(groups: &'a mut [Group], latest: u32, hash: u64, ends: &ConnectionEnds) -> Option<&'a mut Group> {
    let mut index = latest;
    while let Some(group) = groups.get(index as usize) {
        if group.is(hash, ends) {
            return groups.get_mut(index as usize);
        }
        index = group.before;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{CapturedPacket, Packet};
    use recoup_units::Instant;

    /// The numbers of the packets of each group, those from the upper end as negative numbers.
    fn grouped(ends: &[(&str, &str)], keep_order: bool) -> Vec<Vec<i64>> {
        let mut packets = PackedPackets::default();
        for (src, dst) in ends {
            let mut packet = CapturedPacket::from(&Packet::default());
            packet.endpoints.src = src.parse().unwrap();
            packet.endpoints.dst = dst.parse().unwrap();
            packets.push(&Packet::from(&packet), Instant::ZERO);
        }
        let mut groups = Groups::default();
        // Nothing is left of what was grouped before.
        for _ in 0..2 {
            groups.group(&packets, &RandomState::default(), keep_order);
        }
        let number = |(index, from_upper)| index as i64 * if from_upper { -1 } else { 1 };
        let members = groups.groups().iter();
        let members = members.map(|group| groups.members(group).map(number).collect());
        members.collect()
    }

    #[test]
    fn packets_are_grouped_by_connection_and_keep_their_order() {
        let [a, b, c] = ["192.0.2.1:1", "192.0.2.1:2", "192.0.2.2:1"];
        let [d, e] = ["[2001:db8::1]:1", "[2001:db8::2]:1"];
        let ends = [(a, b), (b, a), (a, c), (d, e), (a, b), (e, d), (e, d), (c, b)];
        assert_eq!(grouped(&ends, false), [vec![0, -1, 4], vec![2], vec![3, -5, -6], vec![-7]]);
        assert_eq!(grouped(&ends, true), [vec![0, -1], vec![2], vec![3], vec![4], vec![-5, -6], vec![-7]]);
        assert_eq!(grouped(&[], false), [[0; 0]; 0]);
    }
}
