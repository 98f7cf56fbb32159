//! A host of a flow: its guest, and its application.

use recoup_guest::{Counters, Failed, Guest, Input, Status};
use recoup_tcp::flow::{Action, Script, ScriptProgress};
use recoup_units::Instant;

/// A guest with an application that follows a script and reads all data at once.
pub struct BenchHost {
    guest: Box<dyn Guest>,
    pub status: Status,
    application: ScriptProgress,
    /// The bytes that the peer's application writes.
    expected: u64,
    received: u64,
    /// Bytes that the application wrote and the stack has not taken.
    unwritten: u64,
    closing: Closing,
    packets: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    No,
    /// As soon as everything is written.
    Wanted,
    Done,
}

impl BenchHost {
    pub fn new(guest: Box<dyn Guest>, script: &Script, expected: u64) -> Self {
        Self {
            guest,
            status: Status::default(),
            application: ScriptProgress::new(script),
            expected,
            received: 0,
            unwritten: 0,
            closing: Closing::No,
            packets: 0,
        }
    }

    /// When something happens next without a packet.
    pub fn next_event(&self) -> Option<Instant> {
        [self.status.wake, self.application_due()].into_iter().flatten().min()
    }

    pub fn counters(&self) -> Counters {
        self.guest.counters()
    }

    pub fn application_due(&self) -> Option<Instant> {
        self.application.due()
    }

    pub fn has_all(&self) -> bool {
        self.status.open && self.received >= self.expected
    }

    pub fn next_ordinal(&mut self) -> u64 {
        self.packets += 1;
        self.packets - 1
    }
}

/// What happens at a host at one instant.
pub struct Turn<'a> {
    pub now: Instant,
    pub host: &'a mut BenchHost,
    pub packets: Vec<Vec<u8>>,
}

impl Turn<'_> {
    /// The input, then everything that the application does.
    pub fn run(&mut self, input: Option<Input<'_>>) -> Result<(), Failed> {
        if let Some(input) = input {
            self.step(input)?;
        }
        loop {
            if self.host.status.readable > 0 {
                let taken = self.step(Input::Read(self.host.status.readable))?;
                self.host.received += taken;
                if taken > 0 {
                    continue;
                }
            }
            if self.next_action() || self.write()? || self.close()? {
                continue;
            }
            return Ok(());
        }
    }

    fn step(&mut self, input: Input<'_>) -> Result<u64, Failed> {
        let host = &mut *self.host;
        host.status = host.guest.step(self.now, input, &mut self.packets)?;
        Ok(host.status.taken)
    }

    /// Whether the application's script went on.
    fn next_action(&mut self) -> bool {
        let host = &mut *self.host;
        // A script that has begun goes on, so that its timed writes do not depend on how the connection ends.
        if host.application.is_finished() || (!host.application.has_begun() && !host.status.open) {
            return false;
        }
        // What was acknowledged is not known of every stack: no script of the bench waits for it.
        let Some(action) = host.application.poll(self.now, host.received, 0) else { return false };
        if let Action::Write(bytes) | Action::WriteAndClose(bytes) = action {
            host.unwritten += bytes;
        }
        if !matches!(action, Action::Write(_)) {
            host.closing = Closing::Wanted;
        }
        true
    }

    fn write(&mut self) -> Result<bool, Failed> {
        if self.host.unwritten == 0 || self.host.status.writable == 0 {
            return Ok(false);
        }
        let taken = self.step(Input::Write(self.host.unwritten))?;
        self.host.unwritten = self.host.unwritten.saturating_sub(taken);
        Ok(taken > 0)
    }

    fn close(&mut self) -> Result<bool, Failed> {
        if self.host.closing != Closing::Wanted || self.host.unwritten > 0 {
            return Ok(false);
        }
        self.host.closing = Closing::Done;
        self.step(Input::Close)?;
        Ok(true)
    }
}
