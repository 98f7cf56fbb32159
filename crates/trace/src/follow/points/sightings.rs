//! Finds copies of packets that have different marks.

use super::Mark;
use recoup_units::Instant;
use recoup_wire::SeqNumber;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Marks kept of each side. A packet with another mark counts as one with the first.
const MOST_MARKS: usize = 8;

/// Packets remembered of each side.
const MOST_PACKETS: usize = 1024;

/// Copies that show two capture points. A single one may be a duplicate that took another path.
const ENOUGH_COPIES: u32 = 3;

/// Copies with a smaller delay may have been captured within one host.
const AT_ONCE: i64 = 1_000_000;

/// Copies with the same mark that come sooner were captured within one host, in ns.
pub(crate) const WITHIN_A_HOST: u64 = 200_000;

/// The least time, in ns, that a packet takes to another capture point and its answer back. A host
/// forwards a packet from one interface to the next in less than half of it.
const ROUND_TRIP: i64 = 100_000;

/// A host forwards no packet later, in ns, even if it must first resolve an address.
const LATEST_FORWARDED: i64 = 5_000_000;

/// Copies of which the least delay is taken where the first may have been forwarded late.
const MANY_COPIES: u32 = 16;

/// Packets of a connection, with their marks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sightings {
    sides: [Side; 2],
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Side {
    marks: Vec<MarkSeen>,
    fingerprints: Vec<u32>,
    seen: Vec<Seen>,
    copies: Vec<Copies>,
    repeats: Repeats,
}

/// Packets seen twice with one mark, longer than [`WITHIN_A_HOST`] apart.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Repeats {
    pub count: u32,
    /// The shortest time between two sightings, in ns.
    pub least: u64,
    /// When the first SYN passed, and when it passed again.
    pub syn: Option<(Instant, Instant)>,
    /// Packets without a timestamp and IP identification. SYN-ACKs and resets often have neither.
    unidentified: u32,
    packets: u32,
    /// Packets that came long enough ago to have been seen again.
    due: u32,
}

impl Repeats {
    /// Whether timestamps or IP identifications distinguish most packets.
    pub fn is_identified(&self) -> bool {
        self.unidentified * 2 < self.packets
    }

    /// Whether most packets were seen twice, as far as that can have happened.
    pub fn is_most(&self) -> bool {
        u64::from(self.count) * 5 >= u64::from(self.due) * 3
    }
}

/// A packet, with the index of its mark.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Seen {
    mark: u8,
    at: Instant,
    /// It was not seen before.
    is_first: bool,
    end: Option<SeqNumber>,
    ack: Option<SeqNumber>,
}

/// A mark, and when its first SYN passed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct MarkSeen {
    mark: Mark,
    syn_at: Option<Instant>,
}

/// Packets seen with both of two marks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Copies {
    /// The indices of the marks, in ascending order.
    marks: [u8; 2],
    count: u32,
    /// One of them is a SYN.
    syn: bool,
    /// The shortest time from the copy with the first mark to the one with the second, in ns.
    delay: i64,
}

/// A packet as [`Sightings`] remembers it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    /// A hash of all its TCP fields and its IP identification.
    pub fingerprint: u32,
    pub mark: Mark,
    pub at: Instant,
    pub syn: bool,
    /// It has a timestamp or an IP identification.
    pub identified: bool,
    /// The sequence number after it, if it has data, and the one that it acknowledges.
    pub end: Option<SeqNumber>,
    pub ack: Option<SeqNumber>,
}

impl Sightings {
    /// Whether each packet and each copy has a known mark.
    pub fn is_consistent(&self) -> bool {
        self.sides.iter().all(|side| {
            let is_known = |mark: u8| usize::from(mark) < side.marks.len();
            side.fingerprints.len() == side.seen.len()
                && side.seen.iter().all(|seen| is_known(seen.mark))
                && side.copies.iter().all(|copies| copies.marks.into_iter().all(is_known))
        })
    }

    /// Forgets the packets, but neither marks nor copies.
    pub fn forget_packets(&mut self) {
        for side in &mut self.sides {
            side.fingerprints.clear();
            side.seen.clear();
        }
    }

    /// Adds a packet of `side`. Returns whether it may change a decision: it is a copy, or has a new
    /// mark.
    pub fn add(&mut self, side: usize, packet: &Sighting) -> bool {
        let marks = self.sides[side].marks.len();
        let is_first = self.sides[side].add(packet);
        !is_first || self.sides[side].marks.len() > marks
    }

    /// The packets that both sides repeat; `None` if one has several marks.
    pub fn repeats(&self) -> Option<[Repeats; 2]> {
        let one = self.sides.iter().all(|side| side.marks.len() == 1);
        one.then(|| [0, 1].map(|side| self.sides[side].repeats()))
    }

    /// The marks of `side`, in the order of their first packets.
    pub fn marks(&self, side: usize) -> impl Iterator<Item = Mark> {
        self.sides[side].marks.iter().map(|seen| seen.mark)
    }

    /// Whether packets with each mark have copies: others may come from a point not known so far.
    pub fn all_marks_have_copies(&self) -> bool {
        let of_side = |side: &Side| {
            let count = side.marks.len();
            (0..count).all(|i| (0..count).any(|j| side.copies_of(i, j).is_some()))
        };
        self.sides.iter().all(of_side)
    }

    /// Whether the copies are a path delay apart; otherwise they were captured within one host.
    /// `None` if more copies must tell.
    pub fn are_copies_apart(&self, last: bool) -> Option<bool> {
        let copies = || self.sides.iter().flat_map(|side| &side.copies);
        let longest = copies().map(|copies| copies.delay.saturating_abs()).max();
        let longest = longest.unwrap_or(0);
        let count: u32 = copies().map(|copies| copies.count).sum();
        if longest <= LATEST_FORWARDED && count < MANY_COPIES && !last {
            return None;
        }
        // Where clocks differ, copies can come at once on one side.
        let of_side = |side: &Side| {
            let delays = side.copies.iter().map(|copies| copies.delay.saturating_abs());
            delays.max().unwrap_or(0)
        };
        let round_trip: i64 = self.sides.iter().map(of_side).fold(0, i64::saturating_add);
        Some(longest > AT_ONCE || round_trip >= ROUND_TRIP)
    }

    /// Whether of the packets of a side a quarter have copies, as far as those can have come.
    pub fn has_many_copies(&self) -> bool {
        self.sides.iter().any(|side| {
            let most = side.copies.iter().max_by_key(|copies| copies.count);
            let latest = side.seen.iter().map(|seen| seen.at).max();
            let (Some(most), Some(latest)) = (most, latest) else {
                return false;
            };
            let due = |at: Instant| latest.nanos_since(at) >= most.delay.unsigned_abs();
            let count = side.seen.iter().filter(|seen| due(seen.at)).count();
            most.count as usize * 4 >= count
        })
    }

    /// The marks of `side` by capture point, those with the highest hop limit first. Marks of one
    /// point never share a copy. A mark without any copy belongs to the point with the most similar
    /// marks.
    pub fn groups(&self, side: usize) -> Vec<Group> {
        let side = &self.sides[side];
        let mut order: Vec<usize> = (0..side.marks.len()).collect();
        order.sort_by_key(|&i| Reverse(side.marks[i].mark.hop_limit));
        let has_copies = |i: &usize| order.iter().any(|&j| side.copies_of(*i, j).is_some());
        let (copied, others): (Vec<usize>, Vec<usize>) = order.iter().partition(|i| has_copies(i));
        let mut groups: Vec<Group> = Vec::new();
        for i in copied {
            let share = |group: &Group| group.0.iter().any(|&j| side.copies_of(i, j).is_some());
            let hop_limit = |&j: &usize| side.marks[j].mark.hop_limit;
            let same_hops = |group: &Group| group.0.iter().any(|j| hop_limit(j) == hop_limit(&i));
            // Beyond a point with copies of its packets lies another, even if their copies are not
            // yet complete.
            let last = groups.len().saturating_sub(1);
            let mut fits = groups.iter_mut().enumerate().rev();
            match fits.find(|(n, group)| !share(group) && (*n == last || same_hops(group))) {
                Some((_, group)) => group.0.push(i),
                None => groups.push(Group(vec![i])),
            }
        }
        for i in others {
            let distance = |group: &Group| {
                let marks = group.0.iter().map(|&j| side.marks[j].mark);
                marks.map(|mark| mark.distance(&side.marks[i].mark)).min()
            };
            match groups.iter_mut().min_by_key(|group| distance(group)) {
                Some(group) => group.0.push(i),
                None => groups.push(Group(vec![i])),
            }
        }
        groups
    }

    /// The marks of `side` by hop limit, the highest first; `None` if packets of this side have
    /// copies.
    pub fn groups_by_hop_limit(&self, side: usize) -> Option<Vec<Group>> {
        let side = &self.sides[side];
        if !side.copies.is_empty() {
            return None;
        }
        let mut order: Vec<usize> = (0..side.marks.len()).collect();
        let hop_limit = |&i: &usize| side.marks[i].mark.hop_limit;
        order.sort_by_key(|i| Reverse(hop_limit(i)));
        let same = |a: &usize, b: &usize| hop_limit(a) == hop_limit(b);
        let groups = order.chunk_by(same).map(|group| Group(group.to_vec()));
        Some(groups.collect())
    }

    /// From the copies in one group to those in another, in ns.
    pub fn delay(&self, side: usize, from: &Group, to: &Group) -> Option<i64> {
        let side = &self.sides[side];
        let pairs = (from.0.iter()).flat_map(|&i| to.0.iter().map(move |&j| (i, j)));
        let mut delays = pairs.filter_map(|(i, j)| {
            let delay = side.copies_of(i, j)?.delay;
            Some(if i < j { delay } else { -delay })
        });
        delays.next()
    }

    /// When the first SYN passed with a mark of `group`.
    pub fn syn_at(&self, side: usize, group: &Group) -> Option<Instant> {
        let side = &self.sides[side];
        let times = group.0.iter().filter_map(|&i| side.marks[i].syn_at);
        times.min()
    }

    /// The shortest time, in ns, from data of `side` with a mark of `from` to its ACK with a mark of
    /// `to`; negative if the ACK came first.
    pub fn response(&self, side: usize, from: &Group, to: &Group) -> Option<i64> {
        let within = |group: &Group, seen: &&Seen| group.0.contains(&usize::from(seen.mark));
        let mut ends: Vec<(u32, Instant)> = (self.sides[side].seen.iter())
            .filter(|seen| within(from, seen))
            .filter_map(|seen| Some((seen.end?.0, seen.at)))
            .collect();
        ends.sort_unstable();
        let acks = self.sides[1 - side].seen.iter();
        let responses = acks.filter(|seen| within(to, seen)).filter_map(|seen| {
            let ack = seen.ack?.0;
            // The first copy counts: a later one may have been lost.
            let first = ends.partition_point(|(end, _)| *end < ack);
            let (_, sent) = ends.get(first).filter(|(end, _)| *end == ack)?;
            let [at, sent] = [seen.at, *sent].map(|at| at.as_nanos().cast_signed());
            Some(at.wrapping_sub(sent))
        });
        responses.min()
    }

    /// The marks of `group`.
    pub fn marks_of(&self, side: usize, group: &Group) -> Vec<Mark> {
        let marks = &self.sides[side].marks;
        group.0.iter().map(|&i| marks[i].mark).collect()
    }
}

/// Marks of one capture point, by index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group(Vec<usize>);

impl Side {
    /// Returns whether the packet is new.
    fn add(&mut self, packet: &Sighting) -> bool {
        let mark = self.index_of(packet.mark);
        self.repeats.packets += 1;
        self.repeats.unidentified += u32::from(!packet.identified && !packet.syn);
        let is_first = self.add_repeat(mark, packet);
        for i in 0..self.fingerprints.len() {
            if self.fingerprints[i] == packet.fingerprint && self.seen[i].mark != mark {
                let seen = self.seen[i];
                self.add_copy((seen.mark, seen.at), (mark, packet.at), packet.syn);
            }
        }
        if packet.syn {
            self.marks[usize::from(mark)].syn_at.get_or_insert(packet.at);
        }
        if self.seen.len() < MOST_PACKETS {
            self.fingerprints.push(packet.fingerprint);
            self.seen.push(Seen { mark, at: packet.at, is_first, end: packet.end, ack: packet.ack });
        }
        is_first
    }

    /// Counts a packet that was seen before with the same mark. Returns whether it is new.
    fn add_repeat(&mut self, mark: u8, packet: &Sighting) -> bool {
        let places = 0..self.fingerprints.len();
        let mut earlier = places.filter(|&i| self.fingerprints[i] == packet.fingerprint);
        let Some(first) = earlier.next().map(|i| self.seen[i]) else {
            return true;
        };
        let since = packet.at.nanos_since(first.at);
        if first.mark != mark || since <= WITHIN_A_HOST || earlier.next().is_some() {
            return false;
        }
        let repeats = &mut self.repeats;
        repeats.least = match repeats.count {
            0 => since,
            _ => repeats.least.min(since),
        };
        repeats.count += 1;
        if packet.syn {
            repeats.syn.get_or_insert((first.at, packet.at));
        }
        false
    }

    fn repeats(&self) -> Repeats {
        let latest = self.seen.iter().map(|seen| seen.at).max().unwrap_or_default();
        let patience = self.repeats.least.saturating_mul(3) / 2;
        let is_due = |seen: &&Seen| seen.is_first && latest.nanos_since(seen.at) > patience;
        let mut repeats = self.repeats;
        repeats.due = self.seen.iter().filter(is_due).count() as u32;
        repeats
    }

    fn index_of(&mut self, mark: Mark) -> u8 {
        let known = self.marks.iter().position(|seen| seen.mark == mark);
        let index = known.unwrap_or_else(|| {
            if self.marks.len() >= MOST_MARKS {
                return 0;
            }
            self.marks.push(MarkSeen { mark, syn_at: None });
            self.marks.len() - 1
        });
        index as u8
    }

    fn add_copy(&mut self, earlier: (u8, Instant), later: (u8, Instant), syn: bool) {
        let since = later.1.since(earlier.1);
        let nanos = i64::try_from(since.as_nanos()).unwrap_or(i64::MAX);
        let (marks, delay) =
            if earlier.0 < later.0 { ([earlier.0, later.0], nanos) } else { ([later.0, earlier.0], -nanos) };
        if syn {
            self.marks[usize::from(earlier.0)].syn_at.get_or_insert(earlier.1);
        }
        match self.copies.iter_mut().find(|copies| copies.marks == marks) {
            Some(copies) => {
                copies.count += 1;
                copies.syn |= syn;
                if delay.saturating_abs() < copies.delay.saturating_abs() {
                    copies.delay = delay;
                }
            }
            None => self.copies.push(Copies { marks, count: 1, syn, delay }),
        }
    }

    /// The copies with both of two marks, if they show two capture points.
    fn copies_of(&self, a: usize, b: usize) -> Option<&Copies> {
        let marks = [a.min(b) as u8, a.max(b) as u8];
        let copies = self.copies.iter().find(|copies| copies.marks == marks);
        copies.filter(|copies| copies.suffice())
    }
}

impl Copies {
    fn suffice(&self) -> bool {
        self.syn || self.count >= ENOUGH_COPIES
    }
}
