//! A stack on the bench: one of this program's guests, or a command that is one.

use crate::{guests::GuestName, senders::Sender};
use recoup_guest::{About, Child, Guest, Setup, Transport};
use std::{collections::BTreeMap, process::Command};

/// A stack that trials are made of.
pub struct Stack {
    name: String,
    source: Source,
    about: About,
}

enum Source {
    /// One that reads the clock itself.
    RealTime(Sender),
    Named(GuestName),
    /// A program and its arguments.
    Command(Vec<String>),
}

impl Stack {
    /// One of this program's guests.
    ///
    /// # Errors
    /// In one line: what it lacks on this machine.
    pub fn named(name: GuestName) -> Result<Self, String> {
        Self::new(name.name(), Source::Named(name))
    }

    /// A program that speaks the guests' protocol (docs/conformance.md).
    ///
    /// # Errors
    /// In one line: why it is no guest.
    pub fn command(words: &str) -> Result<Self, String> {
        let program = words.split_whitespace().map(str::to_owned).collect();
        Self::new(words.to_owned(), Source::Command(program))
    }

    /// A stack that reads the clock itself, over the emulator.
    ///
    /// # Errors
    /// In one line: what this machine lacks.
    pub fn in_real_time(sender: Sender) -> Result<Self, String> {
        sender.prepare().map_err(|error| error.to_string())?;
        let about = About {
            name: sender.title(),
            version: String::new(),
            transport: Transport::Tcp,
            configuration: "in real time, over the emulator, to the kernel's TCP; docs/peers.md".into(),
            repeatable: false,
        };
        Ok(Self { name: format!("{} (real time)", sender.name()), source: Source::RealTime(sender), about })
    }

    /// The sender, if it runs in real time.
    pub const fn real_time(&self) -> Option<Sender> {
        match self.source {
            Source::RealTime(sender) => Some(sender),
            _ => None,
        }
    }

    fn new(name: String, source: Source) -> Result<Self, String> {
        let nowhere = ([192, 0, 2, 1], 80).into();
        let setup = Setup { seed: 0, mtu: 1500, local: nowhere, peer: nowhere, options: BTreeMap::new() };
        let about = source.make(&setup)?.about().clone();
        Ok(Self { name, source, about })
    }

    /// Whether it is known to take the option `no-delay`.
    pub const fn has_nagle(&self) -> bool {
        matches!(self.source, Source::Named(name) if name.has_nagle())
    }

    /// The name in tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub const fn about(&self) -> &About {
        &self.about
    }

    /// A host with it.
    ///
    /// # Errors
    /// In one line.
    pub fn make(&self, setup: &Setup) -> Result<Box<dyn Guest>, String> {
        self.source.make(setup)
    }
}

impl Source {
    fn make(&self, setup: &Setup) -> Result<Box<dyn Guest>, String> {
        match self {
            Self::RealTime(_) => Err("it reads the clock itself".into()),
            Self::Named(name) => name.make(setup).map_err(|error| error.to_string()),
            Self::Command(words) => {
                let [program, arguments @ ..] = &words[..] else {
                    return Err("--stack: expected a command".into());
                };
                let mut command = Command::new(program);
                command.args(arguments);
                let child = Child::start(command, setup).map_err(|error| error.to_string())?;
                Ok(Box::new(child))
            }
        }
    }
}
