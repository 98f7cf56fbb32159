//! Calls that block.

use super::{
    Runner, Stop,
    calls::{Attempt, Returned},
    host::Host,
    report::{micros, seconds},
};
use crate::{
    error::Place,
    script::{Call, Expression},
};
use recoup_units::Instant;

/// A call that has not returned.
#[derive(Clone, Debug)]
pub(super) struct Waiting<'a> {
    pub call: &'a Call,
    pub place: Place,
    pub begun: Instant,
    /// When it must return by the script.
    pub end: Instant,
    /// When it returns by its timeout.
    pub wakes_at: Option<Instant>,
}

impl<'a> Runner<'a> {
    /// Runs a system call. With `end`, it must block until then.
    pub fn call(&mut self, call: &'a Call, end: Option<Instant>) -> Result<(), Stop> {
        let begun = self.host.now;
        match self.attempt(call, begun, true)? {
            Attempt::Returned(returned) => self.returned(call, &returned, end)?,
            Attempt::Blocks { wakes_at } => {
                let Some(end) = end else {
                    let message = format!(
                        "`{}` blocks; where that is meant, write when it returns: `0.1...0.2 {}(…)`",
                        call.name, call.name
                    );
                    return Err(self.failed(message, None));
                };
                self.waiting.push(Waiting { call, place: self.place, begun, end, wakes_at });
            }
        }
        self.on_host(Host::transmit)?;
        self.settle()
    }

    /// Retries blocked calls after an event.
    pub fn settle(&mut self) -> Result<(), Stop> {
        let mut i = 0;
        while i < self.waiting.len() {
            let Waiting { call, place, begun, end, .. } = self.waiting[i];
            match self.attempt(call, begun, false)? {
                Attempt::Blocks { wakes_at } => {
                    self.waiting[i].wakes_at = wakes_at;
                    i += 1;
                }
                Attempt::Returned(returned) => {
                    self.waiting.remove(i);
                    let playing = std::mem::replace(&mut self.place, place);
                    self.returned(call, &returned, Some(end))?;
                    self.place = playing;
                    self.on_host(Host::transmit)?;
                    i = 0;
                }
            }
        }
        Ok(())
    }

    /// Fails if a call that should have returned before `time` still blocks.
    pub fn overdue(&mut self, time: Instant) -> Result<(), Stop> {
        let late = self.waiting.iter().find(|w| micros(w.end) < micros(time));
        let Some(Waiting { call, place, end, .. }) = late else {
            return Ok(());
        };
        let message = format!("`{}` has not returned at {}", call.name, seconds(*end));
        self.place = *place;
        Err(self.failed(message, None))
    }

    fn returned(&mut self, call: &Call, returned: &Returned, end: Option<Instant>) -> Result<(), Stop> {
        let now = self.host.now;
        if let Some(end) = end
            && micros(end) != micros(now)
        {
            let (name, now, end) = (&call.name, seconds(now), seconds(end));
            return Err(self.failed(format!("`{name}` returned at {now}, expected at {end}"), None));
        }
        let expected = match &call.result {
            Expression::Any => None,
            value => Some(Self::integer(value, self.place)?),
        };
        let same_error = |wanted: &String| match returned.error {
            Some("EAGAIN") => wanted == "EAGAIN" || wanted == "EWOULDBLOCK",
            error => error == Some(wanted.as_str()),
        };
        let right = expected.is_none_or(|value| value == returned.value) && call.error.as_ref().is_none_or(same_error);
        if !right {
            let name = &call.name;
            let error = call.error.as_ref().map_or(String::new(), |e| format!(" {e}"));
            let wanted = expected.map_or("anything".into(), |value| value.to_string());
            let got = returned.error.map_or(String::new(), |e| format!(" {e}"));
            let value = returned.value;
            return Err(self.failed(format!("`{name}` returned {value}{got}, expected {wanted}{error}"), None));
        }
        match &returned.mismatch {
            Some(mismatch) => Err(self.failed(mismatch.clone(), None)),
            None => Ok(()),
        }
    }
}
