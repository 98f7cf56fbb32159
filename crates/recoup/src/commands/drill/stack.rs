//! The program that scripts and vectors are run against: a process of its own for each.

use crate::Failure;
use recoup_guest::{Child, Guest, Setup, Transport};
use recoup_script::{Report, Script, ScriptError};
use std::{collections::BTreeMap, process::Command};

/// A stack in another program.
pub(super) struct Stack {
    program: String,
    arguments: Vec<String>,
    seed: u64,
}

impl Stack {
    /// The stack in the program that `command` starts.
    pub fn new(command: &str, seed: u64) -> Result<Self, Failure> {
        let wrong =
            || Failure::Wrong(format!("--stack {command}: expected a program and its arguments, with closed quotes"));
        let mut words = shlex::split(command).ok_or_else(wrong)?.into_iter();
        let program = words.next().ok_or_else(wrong)?;
        Ok(Self { program, arguments: words.collect(), seed })
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    /// Tries to start it once.
    pub fn check(&self) -> Result<(), Failure> {
        let setup = Setup {
            seed: self.seed,
            mtu: 1500,
            local: ([192, 0, 2, 1], 8080).into(),
            peer: ([192, 0, 2, 2], 40_000).into(),
            options: BTreeMap::new(),
        };
        let wrong = |why: String| Failure::Wrong(format!("--stack: {why}"));
        let child = Child::start(self.command(), &setup).map_err(|failed| wrong(failed.0))?;
        match child.about().transport {
            Transport::Tcp => Ok(()),
            Transport::Quic | Transport::Sctp => Err(wrong(format!("`{}`: expected a stack of TCP", self.program))),
        }
    }

    /// Runs a script.
    pub fn run(&self, script: &Script) -> Result<Report, ScriptError> {
        let mut make = |setup: &Setup| Ok(Box::new(Child::start(self.command(), setup)?) as Box<dyn Guest>);
        script.run_guest(&mut make, self.seed)
    }
}
