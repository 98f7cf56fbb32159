//! A hop at work: what it does to each packet, and the packets it holds.
//!
//! Every hop releases what it holds in the order it took it (a reordering hop holds only the
//! packets it chose, each equally long), and knows when it takes a packet when it will release it.
//! So all hops are the same first-in first-out [`Store`], and differ in the verdict alone. A verdict
//! can also end a packet held before: where ACKs are thinned, one makes another needless.

use std::time::Duration;

use recoup_units::{BitRate, Direction, Instant};

use crate::fate::{Fate, Identity, Purpose};
use crate::inside::Place;
use crate::link::{LinkClock, Transit};
use crate::loss::{Channels, Sighting};
use crate::store::Store;
use crate::thin::Thinning;
use crate::{DropCause, HopSpec, LossKind, LossSpec, Packet, Probability, Queue};

/// A packet on its way.
#[derive(Clone, Debug)]
pub(crate) struct Carried<P> {
    pub packet: P,
    pub who: Identity,
    pub slot: usize,
    pub sighting: Sighting,
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
    /// Goes on at once, and the packet kept there, which this hop held, ends here as needless.
    Replace(Place),
    /// Ends here.
    Drop(DropCause),
}

/// One hop of a chain.
#[derive(Debug)]
pub(crate) struct Hop {
    action: Action,
    fate: Fate,
    index: u32,
    store: Store,
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
    ThinAcks(Thinning),
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
            HopSpec::Duplicate { probability } => Self::Duplicate {
                probability,
                bit: 1 << (duplicating % 64),
            },
            HopSpec::Corrupt { probability } => Self::Corrupt { probability },
            HopSpec::ThinAcks { hold } => Self::ThinAcks(Thinning::new(hold)),
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
            store: Store::default(),
        }
    }

    /// Becomes another hop in the same place, keeping allocations.
    pub fn respecify(&mut self, spec: &HopSpec, duplicating: u32) {
        self.action = Action::new(spec, duplicating);
    }

    /// Forgets everything that happened.
    pub fn reset(&mut self, seed: u64, direction: Direction) {
        self.fate = Fate::new(seed, direction, self.index);
        self.store.clear();
        match &mut self.action {
            Action::Rate { free_at, .. } => *free_at = Instant::ZERO,
            Action::Link { clock, .. } => clock.reset(),
            Action::GilbertElliott { channels, .. } => channels.reset(),
            Action::ThinAcks(thinning) => thinning.reset(),
            _ => {}
        }
    }

    /// Decides about a packet that arrives at `at`. Everything held until then or earlier must
    /// have been released.
    pub fn judge<P: Packet>(&mut self, at: Instant, carried: &mut Carried<P>) -> Verdict {
        let (fate, who, sighting) = (self.fate, carried.who, carried.sighting);
        let strikes = |p: Probability| p.happens(|| fate.draw(who, Purpose::Strike));
        let concerns = |t: Option<u32>| t.is_none_or(|t| t == sighting.transmission);
        match self.action {
            Action::Nothing => Verdict::Pass,
            Action::Delay(delay) => hold(at, at + delay),
            Action::Rate { .. } | Action::Link { .. } => self.serve(at, carried.packet.ip_len()),
            Action::Named => lose(sighting.doomed == Some(self.index)),
            Action::Bernoulli {
                probability,
                transmission,
            } => lose(concerns(transmission) && strikes(probability)),
            Action::GilbertElliott {
                ref mut channels,
                transmission,
            } => lose(concerns(transmission) && channels.lose(&fate, carried.slot, who)),
            Action::Reorder { probability, extra } if strikes(probability) => hold(at, at + extra),
            Action::Duplicate { probability, bit } if strikes(probability) => Verdict::Copy(bit),
            Action::Corrupt { probability } if strikes(probability) => {
                carried.packet.corrupt(fate.draw(who, Purpose::Manner));
                Verdict::Pass
            }
            Action::ThinAcks(ref mut thinning) => {
                thinning.judge(at, carried.slot, carried.packet.tcp(), &mut self.store)
            }
            Action::Reorder { .. } | Action::Duplicate { .. } | Action::Corrupt { .. } => {
                Verdict::Pass
            }
        }
    }

    /// Queues a packet of `len` bytes for the transmitter or link, if there is room.
    fn serve(&mut self, at: Instant, len: u32) -> Verdict {
        match &mut self.action {
            Action::Rate {
                rate,
                queue,
                free_at,
            } => {
                // An idle transmitter takes the packet at once: it need not wait.
                if !self.store.is_empty() && !self.store.has_room(*queue, at, len) {
                    return Verdict::Drop(DropCause::QueueFull);
                }
                let starts = at.max(*free_at);
                *free_at = starts + rate.time_for(len.into());
                hold(starts, *free_at)
            }
            Action::Link { queue, .. } if !self.store.has_room(*queue, at, len) => {
                Verdict::Drop(DropCause::QueueFull)
            }
            Action::Link { clock, .. } => Verdict::Hold(clock.take(at, len)),
            _ => Verdict::Pass,
        }
    }

    /// Holds a packet of `len` bytes until its transit ends.
    pub fn hold(&mut self, transit: Transit, place: Place, len: u32) {
        self.store.put(transit, place, len);
    }

    /// When the next packet leaves.
    pub fn next_release(&self) -> Option<Instant> {
        self.store.next_release()
    }

    /// The packet that leaves next.
    pub fn release(&mut self) -> Option<Place> {
        self.store.release()
    }
}

/// Service from `starts` on, and departure at `leaves`.
pub(crate) const fn hold(starts: Instant, leaves: Instant) -> Verdict {
    Verdict::Hold(Transit { starts, leaves })
}

const fn lose(lost: bool) -> Verdict {
    if lost {
        Verdict::Drop(DropCause::Loss)
    } else {
        Verdict::Pass
    }
}
