//! The progress of an application through its script.

use super::{Script, When};
use recoup_units::Instant;

/// A step of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It writes this many bytes.
    Write(u64),
    /// It writes its last bytes and closes at once, so that the FIN goes with the last segment.
    WriteAndClose(u64),
    /// It closes.
    Close,
    /// It closes the connection and reads no more: [`Endpoint::release`](crate::Endpoint::release).
    /// No script has this step.
    Release,
}

/// An application that follows a script.
#[derive(Clone, Debug, Default)]
pub struct ScriptProgress {
    script: Script,
    /// How many writes are done.
    done: usize,
    closed: bool,
    /// When the next step is due, if its condition on the data is met.
    due: Option<Instant>,
    /// When the previous step was due. Later steps count from it and not from when the step was done, so
    /// that an application that runs late does not delay all further steps.
    previous: Option<Instant>,
}

impl ScriptProgress {
    /// An application at the beginning of its script.
    pub fn new(script: &Script) -> Self {
        Self { script: script.clone(), ..Self::default() }
    }

    /// The script.
    pub const fn script(&self) -> &Script {
        &self.script
    }

    /// Whether the condition of its first step has been met.
    pub const fn has_begun(&self) -> bool {
        self.due.is_some() || self.previous.is_some()
    }

    /// Whether it has done everything.
    #[inline]
    pub fn is_finished(&self) -> bool {
        self.next_step().is_none()
    }

    /// When the next step is due. `None` while its condition on the data is not met, and at the end.
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The next step's condition and delay. `None` at the end.
    pub fn next_step(&self) -> Option<&When> {
        match self.script.writes.get(self.done) {
            Some(write) => Some(&write.when),
            None if self.closed => None,
            None => self.script.close.as_ref(),
        }
    }

    /// The next step, if it is due by `now`. To be called only once the connection is open. `received` counts
    /// the bytes received in order, `acknowledged` those of its own stream that were acknowledged.
    pub fn poll(&mut self, now: Instant, received: u64, acknowledged: u64) -> Option<Action> {
        if self.due.is_none() {
            self.arm(now, received, acknowledged);
        }
        let due = self.due.take_if(|due| *due <= now)?;
        self.previous = Some(due);
        let Some(bytes) = self.script.writes.get(self.done).map(|write| write.bytes) else {
            self.closed = true;
            return Some(Action::Close);
        };
        self.done += 1;
        self.arm(due, received, acknowledged);
        if self.done == self.script.writes.len() && self.due.take_if(|due| *due <= now).is_some() {
            self.closed = true;
            return Some(Action::WriteAndClose(bytes));
        }
        Some(Action::Write(bytes))
    }

    /// Computes when the next step is due, if its condition is met, since `met`.
    fn arm(&mut self, met: Instant, received: u64, acknowledged: u64) {
        let Some(when) = self.next_step() else {
            return;
        };
        if received >= when.received && acknowledged >= when.acknowledged {
            let base = self.previous.map_or(met, |previous| previous.max(met));
            self.due = Some(base + when.after);
        }
    }
}

#[cfg(test)]
mod tests;
