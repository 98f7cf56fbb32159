//! A hop at work: what it does to each packet, and the packets it holds.
//!
//! Every hop releases what it holds in the order it took it (a reordering hop holds only the
//! packets it chose, each equally long), and knows when it takes a packet when it will release it.
//! So all hops are the same first-in first-out store, and differ in the verdict alone.

use std::collections::VecDeque;
use std::time::Duration;

use recoup_units::{BitRate, Direction, Instant};

use crate::fate::{Fate, Identity, Purpose};
use crate::inside::Place;
use crate::link::{LinkClock, Transit};
use crate::loss::{Channels, Sighting};
use crate::{DropCause, HopSpec, LossKind, LossSpec, Packet, Probability, Queue};

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Carried<P> {
    pub packet: P,
    pub who: Identity,
    pub slot: usize,
    pub sighting: Sighting,
}

/// A packet a hop holds: where the chain keeps it, how long it is, and its transit.
#[derive(Clone, Copy, Debug)]
struct Held {
    transit: Transit,
    place: Place,
    len: u32,
}

/// What becomes of a packet that reaches a hop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    /// Goes on at once.
    Pass,
    /// Stays until its transit ends.
    Hold(Transit),
    /// Goes on at once, and so does a copy whose number has this bit besides.
    Copy(u64),
    /// Ends here.
    Drop(DropCause),
}

/// One hop of a chain.
#[derive(Debug)]
pub(crate) struct Hop {
    action: Action,
    fate: Fate,
    index: u32,
    held: VecDeque<Held>,
    /// Of all held packets.
    held_bytes: u64,
}

#[derive(Debug)]
enum Action {
    Nothing,
    Delay(Duration),
    Rate {
        rate: BitRate,
        queue: Queue,
        free_at: Instant,
    },
    Link {
        clock: LinkClock,
        queue: Queue,
    },
    Named,
    Bernoulli {
        probability: Probability,
        transmission: Option<u32>,
    },
    GilbertElliott {
        channels: Channels,
        transmission: Option<u32>,
    },
    Reorder {
        probability: Probability,
        extra: Duration,
    },
    Duplicate {
        probability: Probability,
        bit: u64,
    },
    Corrupt {
        probability: Probability,
    },
}

impl Action {
    /// `duplicating` counts the duplicating hops before this one.
    fn new(spec: &HopSpec, duplicating: u32) -> Self {
        match *spec {
            HopSpec::Delay(delay) => Self::Delay(delay),
            HopSpec::Rate { rate, queue } => Self::Rate {
                rate,
                queue,
                free_at: Instant::ZERO,
            },
            HopSpec::Link { ref trace, queue } => Self::Link {
                clock: LinkClock::new(trace.clone()),
                queue,
            },
            HopSpec::Loss(LossSpec { kind, transmission }) => match kind {
                LossKind::None => Self::Nothing,
                LossKind::Bernoulli(probability) => Self::Bernoulli {
                    probability,
                    transmission,
                },
                LossKind::GilbertElliott(spec) => Self::GilbertElliott {
                    channels: Channels::new(spec),
                    transmission,
                },
                _ => Self::Named,
            },
            HopSpec::Reorder { probability, extra } => Self::Reorder { probability, extra },
            HopSpec::Duplicate { probability } => {
                // With the 64th duplicating hop, bits run out; its copies share the last one.
                Self::Duplicate {
                    probability,
                    bit: 1 << duplicating.min(63),
                }
            }
            HopSpec::Corrupt { probability } => Self::Corrupt { probability },
        }
    }
}

impl Hop {
    pub fn new(
        spec: &HopSpec,
        index: u32,
        duplicating: u32,
        seed: u64,
        direction: Direction,
    ) -> Self {
        Self {
            action: Action::new(spec, duplicating),
            fate: Fate::new(seed, direction, index),
            index,
            held: VecDeque::new(),
            held_bytes: 0,
        }
    }

    /// Becomes another hop in the same place, keeping allocations.
    pub fn respecify(&mut self, spec: &HopSpec, duplicating: u32) {
        self.action = Action::new(spec, duplicating);
    }

    /// Forgets everything that happened.
    pub fn reset(&mut self, seed: u64, direction: Direction) {
        self.fate = Fate::new(seed, direction, self.index);
        self.held.clear();
        self.held_bytes = 0;
        match &mut self.action {
            Action::Rate { free_at, .. } => *free_at = Instant::ZERO,
            Action::Link { clock, .. } => clock.reset(),
            Action::GilbertElliott { channels, .. } => channels.reset(),
            _ => {}
        }
    }

    /// Decides about a packet that arrives at `at`. Everything held until then or earlier must
    /// have been released.
    pub fn judge<P: Packet>(&mut self, at: Instant, carried: &mut Carried<P>) -> Verdict {
        let Carried {
            packet,
            who,
            slot,
            sighting,
        } = carried;
        let fate = self.fate;
        let strikes = |p: Probability| p.happens(|| fate.draw(*who, Purpose::Strike));
        let concerns = |t: Option<u32>| t.is_none_or(|t| t == sighting.transmission);
        let hold_for = |time| {
            Verdict::Hold(Transit {
                starts: at,
                leaves: at + time,
            })
        };
        let lose = |lost| {
            if lost {
                Verdict::Drop(DropCause::Loss)
            } else {
                Verdict::Pass
            }
        };
        match &mut self.action {
            Action::Nothing => Verdict::Pass,
            Action::Delay(delay) => hold_for(*delay),
            Action::Rate {
                rate,
                queue,
                free_at,
            } => {
                let len = packet.ip_len();
                // Serving never pauses, so the first of the held is in service and the rest wait.
                if let Some(serving) = self.held.front() {
                    let waiting_bytes = self.held_bytes - u64::from(serving.len);
                    if !queue.admits(self.held.len() - 1, waiting_bytes, len) {
                        return Verdict::Drop(DropCause::QueueFull);
                    }
                }
                let starts = at.max(*free_at);
                *free_at = starts + rate.time_for(len.into());
                let leaves = *free_at;
                Verdict::Hold(Transit { starts, leaves })
            }
            Action::Link { clock, queue } => {
                let len = packet.ip_len();
                let (mut waiting, mut waiting_bytes) = (self.held.len(), self.held_bytes);
                if let Some(serving) = self.held.front()
                    && serving.transit.starts <= at
                {
                    waiting -= 1;
                    waiting_bytes -= u64::from(serving.len);
                }
                if !queue.admits(waiting, waiting_bytes, len) {
                    return Verdict::Drop(DropCause::QueueFull);
                }
                Verdict::Hold(clock.take(at, len))
            }
            Action::Named => lose(sighting.doomed == Some(self.index)),
            Action::Bernoulli {
                probability,
                transmission,
            } => lose(concerns(*transmission) && strikes(*probability)),
            Action::GilbertElliott {
                channels,
                transmission,
            } => lose(concerns(*transmission) && channels.lose(&fate, *slot, *who)),
            Action::Reorder { probability, extra } => {
                if strikes(*probability) {
                    hold_for(*extra)
                } else {
                    Verdict::Pass
                }
            }
            Action::Duplicate { probability, bit } => {
                if strikes(*probability) {
                    Verdict::Copy(*bit)
                } else {
                    Verdict::Pass
                }
            }
            Action::Corrupt { probability } => {
                if strikes(*probability) {
                    packet.corrupt(fate.draw(*who, Purpose::Manner));
                }
                Verdict::Pass
            }
        }
    }

    /// Holds a packet of `len` bytes until its transit ends.
    pub fn hold(&mut self, transit: Transit, place: Place, len: u32) {
        self.held_bytes += u64::from(len);
        self.held.push_back(Held {
            transit,
            place,
            len,
        });
    }

    /// When the next packet leaves.
    pub fn next_release(&self) -> Option<Instant> {
        self.held.front().map(|held| held.transit.leaves)
    }

    /// The packet that leaves next.
    pub fn release(&mut self) -> Option<Place> {
        let held = self.held.pop_front()?;
        self.held_bytes -= u64::from(held.len);
        Some(held.place)
    }
}
