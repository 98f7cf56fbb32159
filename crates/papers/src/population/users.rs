//! Users who give up, and captures that end.
//!
//! A client waits for its connection to open, and then for the rest of the response. Each byte of it begins the wait anew.
//! After its patience the client closes the connection, as a browser does: an unanswered SYN is abandoned, other
//! connections get a FIN, and a reset if the server sends more. The server goes on retransmitting until it hears of it.
//!
//! A flow begins anywhere in its capture. What happens after the end of the capture is not in it.

use super::Population;
use super::draw::{Draws, Purpose};
use crate::prelude::*;
use recoup_sim::Application;
use recoup_tcp::flow::{Action, Script, ScriptProgress, Workload};

/// The clients' patience, and the length of the captures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Users {
    /// How long a client waits for the next byte, in s.
    pub patience: LogNormal,
    /// How long a capture lasts, in s.
    pub capture_s: f64,
}

impl Users {
    fn patience(&self, population: &Population, number: u64) -> Duration {
        let draws = Draws::new(population.seed, number);
        seconds(draws.lognormal(&self.patience, Purpose::Patience, 0))
    }

    /// How long after the beginning of a flow its capture ends.
    pub fn captured(&self, population: &Population, number: u64) -> Duration {
        let draws = Draws::new(population.seed, number);
        seconds(self.capture_s * draws.uniform(Purpose::CaptureEnd, 0))
    }
}

fn seconds(s: f64) -> Duration {
    Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX)
}

/// The applications of a flow: the client's, which has a patience, and the server's.
pub fn applications(population: &Population, number: u64, workload: &Workload) -> [Patient; 2] {
    let patience = population.users.map(|users| users.patience(population, number));
    let client = Patient::new(&workload.client, patience, workload.server.total());
    [client, Patient::new(&workload.server, None, 0)]
}

/// An application that follows a script until it has waited too long.
#[derive(Clone, Debug)]
pub struct Patient {
    script: ScriptProgress,
    /// `None`: it waits for ever.
    patience: Option<Duration>,
    /// All bytes that the peer's script writes.
    expected: u64,
    received: Offset,
    /// Since when it waits; `None` if it waits for nothing.
    waits_since: Option<Instant>,
    has_given_up: bool,
}

impl Patient {
    fn new(script: &Script, patience: Option<Duration>, expected: u64) -> Self {
        let (script, waits_since) = (ScriptProgress::new(script), Some(Instant::ZERO));
        Self { script, patience, expected, received: Offset(0), waits_since, has_given_up: false }
    }

    /// Bytes that must arrive before it goes on.
    fn wanted(&self) -> u64 {
        self.script.next_step().map_or(self.expected, |step| step.received)
    }

    /// Notes what has arrived.
    fn look_at(&mut self, now: Instant, endpoint: &Endpoint) {
        let receiver = endpoint.receiver();
        let next = receiver.next();
        let data = next.0.saturating_sub(Offset::DATA.0 + u64::from(receiver.finished()));
        // Its peer's SYN comes before the data.
        let waits = next < Offset::DATA || data < self.wanted();
        if next != self.received || !waits {
            self.received = next;
            self.waits_since = waits.then_some(now);
        } else if self.waits_since.is_none() {
            self.waits_since = Some(now);
        }
    }

    fn gives_up_at(&self) -> Option<Instant> {
        Some(self.waits_since? + self.patience?)
    }
}

impl Application for Patient {
    fn poll(&mut self, now: Instant, endpoint: &Endpoint) -> Option<Action> {
        if self.has_given_up {
            return None;
        }
        self.look_at(now, endpoint);
        let action = Application::poll(&mut self.script, now, endpoint);
        if action.is_some() {
            self.waits_since = Some(now);
            return action;
        }
        self.has_given_up = self.gives_up_at().is_some_and(|at| at <= now);
        self.has_given_up.then_some(Action::Release)
    }

    fn wake(&self) -> Option<Instant> {
        if self.has_given_up {
            return None;
        }
        [self.script.due(), self.gives_up_at()].into_iter().flatten().min()
    }

    fn total(&self) -> Option<u64> {
        Application::total(&self.script)
    }
}

#[cfg(test)]
mod tests;
