//! A guest in a child process.

use crate::lines::{Begin, InputLine, Request, Stepped};
use crate::{About, Failed, Guest, Input, Process, Setup, Status};
use recoup_units::Instant;
use std::process::Command;

/// A guest in a child process that speaks JSON lines on its standard input and output. Its standard error is ours.
///
/// The child is killed when this is dropped.
#[derive(Debug)]
pub struct Child {
    process: Process,
    about: About,
}

impl Child {
    /// Starts the command and tells it what to be.
    ///
    /// # Errors
    /// When it cannot be started, or does not answer as the protocol says, or refuses `setup`.
    pub fn start(command: Command, setup: &Setup) -> Result<Self, Failed> {
        let mut process = Process::start(command)?;
        let about = process.ask(&Begin::from(setup), &About::FIELDS)?;
        Ok(Self { process, about })
    }
}

impl Guest for Child {
    fn about(&self) -> &About {
        &self.about
    }

    fn step(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed> {
        let request = Request { now: now.as_nanos(), input: InputLine::new(input) };
        let stepped: Stepped = self.process.ask(&request, &Stepped::FIELDS)?;
        stepped.take(packets).map_err(|failed| self.process.failed(failed))
    }
}
