//! Orders capture points along the path, and names the point of each packet.
//!
//! Each side has its own marks, so the marks of both sides must be paired. The first rule
//! that fits decides:
//!
//! 1. Both sides have the same interfaces or the same Ethernet addresses.
//! 2. The host that sent a packet of one side received those of the other.
//! 3. The point with the highest hop limit on one side has the lowest on the other.
//! 4. At each point, the SYN-ACK follows the SYN. If several pairings allow that, the clocks differ
//!    by less than the delay between the points: the longest and the shortest response belong to
//!    the outermost points.
//! 5. At each point, the ACK follows the data. If several pairings allow that, the clocks are taken
//!    to differ by less than the delay.

use super::{
    Mark,
    order::{Repetition, repetition},
    sightings::{Group, Sightings},
};
use crate::finding::WhyInseparable;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Capture points of which all orders are tried (rule 4).
const MOST_TRIED: usize = 5;

/// The capture points of a connection, from the sender of side 0 to the sender of side 1.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lineup {
    /// The marks of both sides at each point.
    points: Vec<[Vec<Mark>; 2]>,
    /// The delay between the first and the last point.
    pub apart: Option<Duration>,
    /// Evidence for the lineup.
    evidence: Sightings,
}

/// Decision from the copies so far.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Too little.
    Wait,
    /// Copies come at once or not at all: the capture has one point.
    OnePoint,
    /// The capture has several points.
    Points(Box<Lineup>),
    /// It has two, whose packets have the same marks: the delays of both sides, in ns.
    Ordered([u64; 2]),
    /// It has several, which cannot be told apart.
    Inseparable(WhyInseparable),
}

/// Decides how many capture points there are. `known`: the last decision, if there were several;
/// `last`: no more packets will come.
pub(crate) fn decide(evidence: &Sightings, known: Option<&Lineup>, last: bool) -> Decision {
    let mut groups = [0, 1].map(|side| evidence.groups(side));
    let most = groups.iter().map(Vec::len).max().unwrap_or(0);
    if most > 1 && last {
        // Super-segments at one point have no copies at the other.
        for (side, groups) in groups.iter_mut().enumerate() {
            let by_hop_limit = evidence.groups_by_hop_limit(side);
            if let Some(other) = by_hop_limit.filter(|other| other.len() == most) {
                *groups = other;
            }
        }
    }
    let known_points = known.map_or(1, Lineup::complete);
    let equal = most > known_points && groups[0].len() == groups[1].len();
    let complete = equal && (last || evidence.all_marks_have_copies());
    let several = most > 1 && (complete || last);
    let apart = if several { evidence.are_copies_apart(last) } else { None };
    if let Some([there, back]) = evidence.repeats() {
        match repetition([&there, &back], last) {
            Repetition::Ordered(delays) => return Decision::Ordered(delays),
            Repetition::Inseparable(why) => return Decision::Inseparable(why),
            Repetition::None => {}
        }
    }
    match apart {
        Some(true) if complete || known.is_some() || evidence.has_many_copies() => {
            Decision::Points(Box::new(Lineup::new(evidence, &groups)))
        }
        Some(false) if complete => Decision::OnePoint,
        _ if last => Decision::OnePoint,
        _ => Decision::Wait,
    }
}

impl Lineup {
    fn new(evidence: &Sightings, groups: &[Vec<Group>; 2]) -> Self {
        let groups = [0, 1].map(|side| Groups::new(evidence, side, &groups[side]));
        let (mut points, positions) =
            if groups[0].len() == groups[1].len() { paired(&groups) } else { one_sided(&groups) };
        let mut order: Vec<usize> = (0..points.len()).collect();
        let apart = match positions {
            Some(positions) => {
                order.sort_by_key(|&i| positions[i]);
                let (first, last) = (positions.iter().min(), positions.iter().max());
                let apart = first.zip(last).map(|(first, last)| last.abs_diff(*first));
                apart.map(Duration::from_nanos)
            }
            None => None,
        };
        let points = order.into_iter().map(|i| std::mem::take(&mut points[i]));
        let mut evidence = evidence.clone();
        evidence.forget_packets();
        Self { points: points.collect(), apart, evidence }
    }

    /// Whether it has a point, and its evidence refers to known marks.
    pub fn is_consistent(&self) -> bool {
        !self.points.is_empty() && self.evidence.is_consistent()
    }

    /// Evidence for the lineup, without packets.
    pub fn evidence(&self) -> Sightings {
        self.evidence.clone()
    }

    /// The number of points that have marks of both sides.
    pub fn complete(&self) -> usize {
        let complete = |point: &&[Vec<Mark>; 2]| point.iter().all(|marks| !marks.is_empty());
        self.points.iter().filter(complete).count()
    }

    /// The marks of both sides at a point.
    pub fn marks(&self, point: usize) -> [Vec<Mark>; 2] {
        self.points.get(point).cloned().unwrap_or_default()
    }

    /// The number of points.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// The point where packets of `side` have this mark, counted from the sender of side 0; `None`
    /// if the mark is new.
    pub fn point(&self, side: usize, mark: Mark) -> Option<usize> {
        self.points.iter().position(|marks| marks[side].contains(&mark))
    }
}

/// The groups of one side.
struct Groups<'a> {
    evidence: &'a Sightings,
    side: usize,
    groups: &'a [Group],
    /// The groups that count, by index.
    places: Vec<usize>,
}

impl<'a> Groups<'a> {
    fn new(evidence: &'a Sightings, side: usize, groups: &'a [Group]) -> Self {
        Self { evidence, side, groups, places: (0..groups.len()).collect() }
    }

    fn without(&self, is_left_out: impl Fn(usize) -> bool) -> Self {
        let places = self.places.iter().copied();
        Self { places: places.filter(|&i| !is_left_out(i)).collect(), ..*self }
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    fn group(&self, i: usize) -> &'a Group {
        &self.groups[self.places[i]]
    }

    fn marks(&self, i: usize) -> Vec<Mark> {
        self.evidence.marks_of(self.side, self.group(i))
    }

    /// From group `i` to group `j`, in ns.
    fn delay(&self, i: usize, j: usize) -> Option<i64> {
        if i == j { Some(0) } else { (self.evidence).delay(self.side, self.group(i), self.group(j)) }
    }

    /// The value of `of` for each group; `None` where its marks differ.
    fn values<T: PartialEq>(&self, of: impl Fn(&Mark) -> T) -> Vec<Option<T>> {
        let value = |i| {
            let mut values = self.marks(i).into_iter().map(|mark| of(&mark));
            let value = values.next()?;
            values.all(|other| other == value).then_some(value)
        };
        (0..self.len()).map(value).collect()
    }

    /// Whether `of` says another thing of each group.
    fn differ_in<T: PartialEq>(&self, of: impl Fn(&Mark) -> T) -> bool {
        let values = self.values(of);
        let mut pairs = (0..values.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs.all(|(i, j)| values[i].is_some() && values[i] != values[j])
    }

    /// Whether hop limits differ between groups.
    fn differ_in_hop_limit(&self) -> bool {
        let limits = |i: usize| self.marks(i).into_iter().map(|mark| mark.hop_limit);
        (1..self.len()).all(|i| limits(i - 1).min() > limits(i).max())
    }
}

type Points = (Vec<[Vec<Mark>; 2]>, Option<Vec<i64>>);

/// Points whose packets were seen on both sides, and their positions on the path in ns.
fn paired(groups: &[Groups<'_>; 2]) -> Points {
    let [there, back] = groups;
    let pairing = pairing(there, back);
    let points = pairing.iter().enumerate();
    let points = points.map(|(i, &j)| [there.marks(i), back.marks(j)]).collect();
    // Differences between clocks cancel out: they lengthen one delay and shorten the other.
    let positions = pairing.iter().enumerate().map(|(i, &j)| {
        let (a, b) = (there.delay(0, i)?, back.delay(pairing[0], j)?);
        Some(a.saturating_sub(b) / 2)
    });
    let positions = positions.collect::<Option<Vec<i64>>>();
    (points, positions)
}

/// For each group of one side the group of the other side.
fn pairing(there: &Groups<'_>, back: &Groups<'_>) -> Vec<usize> {
    let mut pairing = vec![None; there.len()];
    pair_equal(there, back, &mut pairing, |mark, _| mark.interface);
    pair_equal(there, back, &mut pairing, |mark, _| mark.link);
    pair_equal(there, back, &mut pairing, |mark, back| mark.outgoing.map(|outgoing| outgoing != back));
    let there = there.without(|i| pairing[i].is_some());
    let back = back.without(|j| pairing.contains(&Some(j)));
    let count = there.len();
    let rest = if there.differ_in_hop_limit() && back.differ_in_hop_limit() {
        (0..count).rev().collect()
    } else {
        by_handshake(&there, &back).unwrap_or_else(|| by_responses(&there, &back))
    };
    for (i, j) in rest.into_iter().enumerate() {
        pairing[there.places[i]] = Some(back.places[j]);
    }
    pairing.into_iter().map(Option::unwrap_or_default).collect()
}

/// Rules 1 and 2: pairs the groups with a value that one group of each side has.
fn pair_equal<T: PartialEq>(
    there: &Groups<'_>,
    back: &Groups<'_>,
    pairing: &mut [Option<usize>],
    of: impl Fn(&Mark, bool) -> T,
) {
    let ours = there.values(|mark| of(mark, false));
    let theirs = back.values(|mark| of(mark, true));
    for (i, value) in ours.iter().enumerate() {
        let only = |all: &[Option<T>]| {
            let mut places = (0..all.len()).filter(|&j| value.is_some() && all[j] == *value);
            places.next().filter(|_| places.next().is_none())
        };
        let Some(j) = only(&ours).and(only(&theirs)) else {
            continue;
        };
        if pairing[i].is_none() && !pairing.contains(&Some(j)) {
            pairing[i] = Some(j);
        }
    }
}

/// Rule 4.
fn by_handshake(there: &Groups<'_>, back: &Groups<'_>) -> Option<Vec<usize>> {
    let times = |side: &Groups<'_>| {
        let times = (0..side.len()).map(|i| side.evidence.syn_at(side.side, side.group(i)));
        let nanos = times.map(|at| at.map(|at| i128::from(at.as_nanos())));
        nanos.collect::<Option<Vec<i128>>>()
    };
    let [there, back] = [times(there)?, times(back)?];
    // The side that opened sent its SYN first.
    let (first, second) = if there.iter().min() <= back.iter().min() { (&there, &back) } else { (&back, &there) };
    let mut best = None;
    if first.len() > MOST_TRIED {
        return None;
    }
    permute(&mut (0..first.len()).collect(), 0, &mut |order| {
        let responses = || order.iter().enumerate().map(|(i, &j)| second[j] - first[i]);
        if responses().any(|response| response < 0) {
            return;
        }
        let spread = responses().fold(0_i128, |sum, response| sum.saturating_add(response.saturating_mul(response)));
        if best.as_ref().is_none_or(|(most, _)| spread > *most) {
            best = Some((spread, order.to_vec()));
        }
    });
    let (_, order) = best?;
    if std::ptr::eq(first, &there) {
        return Some(order);
    }
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(i, &j)| inverse[j] = i);
    Some(inverse)
}

/// Calls `with` for each order of `items` from `from` on.
fn permute(items: &mut Vec<usize>, from: usize, with: &mut impl FnMut(&[usize])) {
    if from + 1 >= items.len() {
        return with(items);
    }
    for i in from..items.len() {
        items.swap(from, i);
        permute(items, from + 1, with);
        items.swap(from, i);
    }
}

/// Rule 5.
fn by_responses(there: &Groups<'_>, back: &Groups<'_>) -> Vec<usize> {
    let usual = by_delay(there, back);
    let follows = |from: &Groups<'_>, i: usize, to: &Groups<'_>, j: usize| {
        let response = from.evidence.response(from.side, from.group(i), to.group(j));
        response.is_none_or(|response| response >= 0)
    };
    let count = there.len();
    let fits: Vec<bool> = (0..count * count)
        .map(|n| (n / count, n % count))
        .map(|(i, j)| follows(there, i, back, j) && follows(back, j, there, i))
        .collect();
    let is_possible = |order: &[usize]| (0..count).all(|i| fits[i * count + order[i]]);
    if count > MOST_TRIED || is_possible(&usual) {
        return usual;
    }
    let mut found = None;
    permute(&mut (0..count).collect(), 0, &mut |order| {
        if found.is_none() && is_possible(order) {
            found = Some(order.to_vec());
        }
    });
    found.unwrap_or(usual)
}

/// The point that captures first on one side captures last on the other, unless clocks differ by more
/// than the delay.
fn by_delay(there: &Groups<'_>, back: &Groups<'_>) -> Vec<usize> {
    let order = |side: &Groups<'_>| {
        let mut order: Vec<usize> = (0..side.len()).collect();
        order.sort_by_key(|&i| side.delay(0, i).unwrap_or(i as i64));
        order
    };
    let (there, back) = (order(there), order(back));
    let mut pairing = vec![0; there.len()];
    for (&i, &j) in there.iter().zip(back.iter().rev()) {
        pairing[i] = j;
    }
    pairing
}

/// Points of which one side says nothing: its marks belong to the point with the same interface or
/// addresses, or else to the one nearest its sender.
fn one_sided(groups: &[Groups<'_>; 2]) -> Points {
    let side = usize::from(groups[1].len() > groups[0].len());
    let (ours, theirs) = (&groups[side], &groups[1 - side]);
    let mut points: Vec<[Vec<Mark>; 2]> = Vec::new();
    for i in 0..ours.len() {
        let mut marks = [const { Vec::new() }; 2];
        marks[side] = ours.marks(i);
        points.push(marks);
    }
    if !ours.differ_in_hop_limit() {
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by_key(|&i| ours.delay(0, i).unwrap_or(i as i64));
        points = order.iter().map(|&i| points[i].clone()).collect();
    }
    let interfaces = ours.differ_in(|mark| mark.interface);
    let links = ours.differ_in(|mark| mark.link);
    for mark in (0..theirs.len()).flat_map(|i| theirs.marks(i)) {
        let fits = |point: &[Vec<Mark>; 2]| {
            point[side]
                .iter()
                .any(|own| (interfaces && own.interface == mark.interface) || (links && own.link == mark.link))
        };
        let place = points.iter().position(fits).unwrap_or(points.len() - 1);
        points[place][1 - side].push(mark);
    }
    if side == 1 {
        points.reverse();
    }
    (points, None)
}
