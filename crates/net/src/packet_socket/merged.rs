//! Several rings in the order of time.
//!
//! A frame is handed out once no ring can give an earlier one. A ring with frames cannot, because its own are in order,
//! but for those that two processors saw within a microsecond. A ring without frames may still have some in the block
//! that the kernel is filling, but none that are older than the block timeout. So frames wait for that time at most, in
//! their rings: nothing is copied. The rings must hold what comes in that time.

use super::{PacketRing, PacketSocketOptions, Readiness, RingFrame, RingStatistics};
use crate::{
    NetError,
    clock::{monotonic, timespec},
};
use recoup_units::Instant;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    time::{ClockId, clock_gettime},
};
use std::{io, time::Duration};

/// How much later than the block timeout the kernel may hand over a block: its timer counts in ticks of up to 10 ms,
/// and runs when no interrupt is being served.
const SLACK: Duration = Duration::from_millis(20);

/// If the system's clock was set back by more than this, frames from before do not count as later ones.
const CLOCK_STEP: Duration = Duration::from_secs(1);

/// What happened to an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingEvent {
    /// It is down. Its frames come again when it is up.
    InterfaceDown {
        /// Its number, from 0, as it was opened.
        number: usize,
        /// Its name.
        name: String,
    },
    /// It was removed, or moved to another namespace. All of its frames were handed out.
    InterfaceGone {
        /// Its number, from 0, as it was opened.
        number: usize,
        /// Its name.
        name: String,
    },
}

/// Rings whose frames are read in the order of time.
#[derive(Debug)]
pub struct MergedRings {
    members: Vec<Member>,
    names: Vec<Option<String>>,
    /// How long frames wait for a ring without frames.
    hold: Duration,
    /// When the latest frame was seen that was handed out.
    latest: Instant,
    out_of_order: u64,
    /// What rings counted that are closed.
    closed: RingStatistics,
}

#[derive(Debug)]
struct Member {
    ring: PacketRing,
    /// The number of its interface.
    number: usize,
    /// When its next frame was seen, once that is known.
    head: Option<Instant>,
    /// When its interface was found to be gone, by CLOCK_MONOTONIC in nanoseconds.
    gone_since: Option<u64>,
}

impl Member {
    fn head(&mut self) -> Option<Instant> {
        if self.head.is_none() {
            self.head = self.ring.head_at();
        }
        self.head
    }
}

impl MergedRings {
    /// Opens rings for interfaces of the calling thread's network namespace, or one for all of them if none are named.
    /// With `rings_each`, several rings share the frames of each.
    ///
    /// # Errors
    /// As those of [`PacketRing::open`].
    pub fn open(interfaces: &[&str], options: &PacketSocketOptions, rings_each: usize) -> Result<Self, NetError> {
        let names: Vec<_> =
            if interfaces.is_empty() { vec![None] } else { interfaces.iter().copied().map(Some).collect() };
        let groups = names.into_iter().map(|name| PacketRing::open_group(name, options, rings_each));
        groups.collect::<Result<_, _>>().map(Self::new)
    }

    /// Reads these rings: for each interface, the rings that share its frames.
    pub fn new(interfaces: Vec<Vec<PacketRing>>) -> Self {
        let name = |rings: &Vec<PacketRing>| rings.first().and_then(|ring| ring.interface().map(ToOwned::to_owned));
        let names = interfaces.iter().map(name).collect();
        let rings = interfaces
            .into_iter()
            .enumerate()
            .flat_map(|(number, rings)| rings.into_iter().map(move |ring| (number, ring)));
        let members: Vec<_> =
            rings.map(|(number, ring)| Member { ring, number, head: None, gone_since: None }).collect();
        let longest = members.iter().map(|member| member.ring.block_timeout()).max().unwrap_or_default();
        Self {
            members,
            names,
            hold: longest + SLACK,
            latest: Instant::ZERO,
            out_of_order: 0,
            closed: RingStatistics::default(),
        }
    }

    /// The name of an interface by its number; `None` for all interfaces together.
    pub fn name(&self, number: usize) -> Option<&str> {
        self.names.get(number)?.as_deref()
    }

    /// How long frames wait in the rings at most: once [`drain`](Self::drain) hands out none, all that were seen before
    /// that time were handed out.
    pub const fn hold(&self) -> Duration {
        self.hold
    }

    /// The name that the interface with this index has now, in the namespace of the interface with this number. For
    /// frames of all interfaces together.
    pub fn name_of(&self, number: usize, index: u32) -> Option<String> {
        self.members.iter().find(|member| member.number == number)?.ring.name_of(index)
    }

    /// Whether all interfaces are gone.
    pub fn is_over(&self) -> bool {
        self.members.is_empty()
    }

    /// Frames that were handed out after later ones: the system delayed their ring, or processors saw them at almost
    /// the same time.
    pub const fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// Hands out at most `most` frames that are due, in the order of time, each with the number of its interface.
    /// Returns how many. Never waits.
    pub fn drain(&mut self, most: usize, mut take: impl FnMut(usize, RingFrame<'_>)) -> usize {
        // Read first: what was seen before it less the holding time is in the rings when they are looked at.
        let now = realtime();
        let settled = Instant::from_nanos(now.as_nanos().saturating_sub(self.hold.as_nanos() as u64));
        let mut count = 0;
        while count < most {
            let Some((place, bound)) = self.next_due(now, settled) else { break };
            let Some(member) = self.members.get_mut(place) else { break };
            member.head = None;
            let (number, latest, out_of_order) = (member.number, &mut self.latest, &mut self.out_of_order);
            count += member.ring.drain_until(bound, most - count, &mut |frame| {
                let is_late = frame.at < *latest;
                *out_of_order += u64::from(is_late);
                if !is_late || latest.since(frame.at) > CLOCK_STEP {
                    *latest = frame.at;
                }
                take(number, frame);
            });
        }
        count
    }

    /// The ring with the earliest frame, if that is due, and until when its frames are due.
    fn next_due(&mut self, now: Instant, settled: Instant) -> Option<(usize, Instant)> {
        let mut first: Option<(usize, Instant)> = None;
        let mut bound = Instant::from_nanos(u64::MAX);
        let mut waits = false;
        for (place, member) in self.members.iter_mut().enumerate() {
            match (member.head(), first) {
                (None, _) => waits = true,
                (Some(head), Some((_, earliest))) if head >= earliest => bound = bound.min(head),
                (Some(head), earlier) => {
                    first = Some((place, head));
                    bound = earlier.map_or(bound, |(_, at)| bound.min(at));
                }
            }
        }
        let (place, head) = first?;
        // The clock was set back since a frame of the future was seen: waiting would not help.
        if waits && head <= now {
            bound = bound.min(settled);
        }
        (head <= bound).then_some((place, bound))
    }

    /// Waits until frames are due, an interface changes or `most` has passed. Returns what happened to interfaces.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn wait(&mut self, most: Duration) -> io::Result<Vec<RingEvent>> {
        let mut events = Vec::new();
        for member in self.members.iter_mut().filter(|member| member.gone_since.is_none()) {
            if member.ring.is_removed()? {
                member.gone_since = Some(monotonic());
            }
        }
        self.close_ended(&mut events);
        if !events.is_empty() || self.is_over() {
            return Ok(events);
        }
        let now = realtime();
        let most = self.wait_for_frames(now, most);
        let mut watched: Vec<_> = (self.members.iter())
            .map(|member| {
                // A ring with frames is always ready. It is watched for errors alone, which are always reported.
                let what = if member.head.is_some() { PollFlags::empty() } else { PollFlags::IN };
                PollFd::new(&member.ring, what)
            })
            .collect();
        match poll(&mut watched, Some(&timespec(most))) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(events),
            Err(e) => return Err(e.into()),
        }
        let failed: Vec<_> = watched.iter().map(|fd| fd.revents().contains(PollFlags::ERR)).collect();
        let mut reported = None;
        for (member, _) in self.members.iter_mut().zip(failed).filter(|(_, has_failed)| *has_failed) {
            match member.ring.change()? {
                Some(Readiness::Gone) => member.gone_since = Some(monotonic()),
                // The rings of one interface follow each other.
                Some(Readiness::Down) if reported != Some(member.number) => {
                    reported = Some(member.number);
                    let (number, name) = named(&self.names, member.number);
                    events.push(RingEvent::InterfaceDown { number, name });
                }
                _ => {}
            }
        }
        Ok(events)
    }

    /// How long to wait, at most `most`: not beyond the time when the earliest frame is due, or when a ring whose
    /// interface is gone has given its last one.
    fn wait_for_frames(&mut self, now: Instant, most: Duration) -> Duration {
        let mut wait = most;
        let mut has_empty = false;
        let mut earliest: Option<Instant> = None;
        for member in &mut self.members {
            match member.head() {
                None => has_empty = true,
                Some(head) => earliest = Some(earliest.map_or(head, |at| at.min(head))),
            }
            if member.gone_since.is_some() {
                wait = wait.min(self.hold);
            }
        }
        match earliest {
            Some(_) if !has_empty => Duration::ZERO,
            Some(at) if at > now => Duration::ZERO,
            // A nanosecond more: the frame is due then, and not just before.
            Some(at) => wait.min(self.hold.saturating_sub(now.since(at)) + Duration::from_nanos(1)),
            None => wait,
        }
    }

    /// Closes the rings of interfaces that are gone, once they have given all frames.
    fn close_ended(&mut self, events: &mut Vec<RingEvent>) {
        let now = monotonic();
        let hold = self.hold.as_nanos() as u64;
        let mut place = 0;
        while let Some(member) = self.members.get_mut(place) {
            let has_ended = member.gone_since.is_some_and(|since| now.saturating_sub(since) >= hold);
            if !has_ended || member.head().is_some() {
                place += 1;
                continue;
            }
            let mut member = self.members.remove(place);
            // The counts are lost if the system does not give them.
            self.closed += member.ring.take_statistics().unwrap_or_default();
            if self.members.iter().all(|other| other.number != member.number) {
                let (number, name) = named(&self.names, member.number);
                events.push(RingEvent::InterfaceGone { number, name });
            }
        }
    }

    /// What the kernel counted for all rings since the last call.
    ///
    /// # Errors
    /// When a system call fails.
    pub fn take_statistics(&mut self) -> io::Result<RingStatistics> {
        let mut sum = std::mem::take(&mut self.closed);
        for member in &mut self.members {
            sum += member.ring.take_statistics()?;
        }
        Ok(sum)
    }
}

fn named(names: &[Option<String>], number: usize) -> (usize, String) {
    (number, names.get(number).cloned().flatten().unwrap_or_default())
}

/// CLOCK_REALTIME, by which the kernel stamps frames.
fn realtime() -> Instant {
    let time = clock_gettime(ClockId::Realtime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Instant::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
}
