//! A path that does to one packet what no setting can.

use crate::prelude::*;
use recoup_path::{DropCause, Exit};
use recoup_sim::{Chains, Entrance};

/// The packet that is treated differently, and how.
#[derive(Clone, Copy, Debug)]
pub enum Tamper {
    /// The server's first FIN is lost.
    LoseFin,
    /// The client's first SYN is held back this long. So the flow begins later, as the hosts' clocks see it.
    HoldSyn(Duration),
}

/// A path with a packet that is tampered with.
#[derive(Debug)]
pub struct Tampered {
    chains: Chains,
    tamper: Tamper,
    is_done: bool,
    /// The packet, until it is lost or goes on.
    held: Option<(Instant, Box<Packet>)>,
}

impl Tampered {
    /// The path of these chains.
    pub const fn new(chains: Chains, tamper: Tamper) -> Self {
        Self { chains, tamper, is_done: false, held: None }
    }

    /// From the next flow on something else happens.
    pub const fn change(&mut self, tamper: Tamper) {
        self.tamper = tamper;
    }
}

impl Entrance for Tampered {
    fn enter(&mut self, now: Instant, direction: Direction, packet: Box<Packet>) {
        let (from, flag, until) = match self.tamper {
            Tamper::LoseFin => (Direction::Down, Flags::FIN, now),
            Tamper::HoldSyn(time) => (Direction::Up, Flags::SYN, now + time),
        };
        let is_it = direction == from && packet.segment.flags.contains(flag);
        if is_it && !self.is_done {
            self.is_done = true;
            self.held = Some((until, packet));
        } else {
            self.chains.enter(now, direction, packet);
        }
    }
}

impl Network for Tampered {
    fn begin(&mut self, seed: u64, flow: FlowId) {
        self.is_done = false;
        self.held = None;
        self.chains.begin(seed, flow);
    }

    fn next_event(&self) -> Option<Instant> {
        let held = self.held.as_ref().map(|(until, _)| *until);
        [held, self.chains.next_event()].into_iter().flatten().min()
    }

    fn next_exit(&mut self, now: Instant, direction: Direction) -> Option<Exit<Box<Packet>>> {
        let is_due = self.held.as_ref().is_some_and(|(until, _)| *until <= now);
        match self.tamper {
            Tamper::LoseFin if is_due && direction == Direction::Down => {
                let (_, packet) = self.held.take()?;
                return Some(Exit::Dropped { packet, hop: 0, cause: DropCause::Loss });
            }
            Tamper::HoldSyn(_) if is_due => {
                let (until, packet) = self.held.take()?;
                self.chains.enter(until, Direction::Up, packet);
            }
            _ => {}
        }
        self.chains.next_exit(now, direction)
    }
}
