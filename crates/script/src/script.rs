//! A parsed script: settings, and events in their order.

use crate::{code::Statement, error::Place, packet::Packet};
use recoup_recovery::Profile;
use std::time::Duration;

/// A parsed script.
#[derive(Clone, Debug)]
pub struct Script {
    pub(crate) name: String,
    /// The text, for quotations.
    pub(crate) lines: Vec<String>,
    pub(crate) head: Head,
    pub(crate) events: Vec<Event>,
    /// Notes on parts without effect, in order.
    pub(crate) notes: Vec<Note>,
}

impl Script {
    /// The script's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The profile that the script names, if it names one.
    pub fn profile(&self) -> Option<&Profile> {
        self.head.profile.as_ref()
    }

    /// What the script checks, if its head says so.
    pub fn claim(&self) -> Option<&Claim> {
        self.head.claim.as_ref()
    }

    pub(crate) fn line(&self, line: usize) -> &str {
        line.checked_sub(1).and_then(|i| self.lines.get(i)).map_or("", |l| l.trim_end())
    }
}

/// The settings before the first event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub profile: Option<Profile>,
    /// The MSS announced, in bytes.
    pub mss: Option<u16>,
    pub ack: Option<recoup_tcp::AckPolicy>,
    pub clock: TimestampClock,
    /// The claim that the script checks, if it says so.
    pub claim: Option<Claim>,
    /// What the stack under test must have for the script to apply to it.
    pub needs: Vec<Need>,
}

/// What a script checks, and where that is required.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// The RFC and its section: `6298 §5.5`.
    pub rfc: String,
    /// The sentence of the RFC, shortened.
    pub says: String,
    /// How much the RFC requires it.
    pub level: Level,
}

recoup_units::named! {
    /// How much an RFC requires something (RFC 2119).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Level {
        /// It is required.
        #[default]
        Must = "MUST",
        /// It is required, unless there is a good reason.
        Should = "SHOULD",
        /// It is optional: a mechanism that a stack may lack.
        May = "MAY",
    }
}

recoup_units::named! {
    /// What a stack shows in the options of its SYN.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Need {
        Mss = "mss",
        Sack = "sack",
        Timestamps = "timestamps",
        WindowScale = "wscale",
    }
}

/// How `TS val` of outgoing packets is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimestampClock {
    /// The first value sets the offset between the script's clock and ours; the others must be exact.
    #[default]
    Exact,
    /// Values are placeholders: they are not compared, and an echo of one means the value it replaced.
    Names,
}

/// A note on a part of a script that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Whether it must be shown.
    pub kind: NoteKind,
    /// The script's line.
    pub line: usize,
    /// The part without effect, and the reason.
    pub text: String,
}

impl Note {
    pub(crate) fn without_effect(line: usize, text: impl Into<String>) -> Self {
        Self { kind: NoteKind::WithoutEffect, line, text: text.into() }
    }
}

/// Whether a [`Note`] must be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// The part is correct but cannot matter here: shown on request.
    WithoutEffect,
    /// The part is probably a mistake, so that the script does not do what its author intends: always
    /// shown.
    Mistake,
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub place: Place,
    pub time: Time,
    pub action: Action,
}

/// The time of an event, from the start of the script or, with `+`, from the event before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    /// `0.1`
    At(Duration),
    /// `+0.1`
    After(Duration),
    /// `0.1~0.2`
    Between(Duration, Duration),
    /// `+0.1~+0.2`
    AfterBetween(Duration, Duration),
    /// `+1.8x~+2.2x`: multiples, in millionths, of the time between the last event and the one before it.
    Multiples(u64, u64),
    /// `*`
    Any,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Receive(Packet),
    Send(Packet),
    /// One of these packets is sent, as the stack chooses.
    SendOneOf(Vec<Packet>),
    /// This packet may be sent, in this event's time or not at all.
    Allow(Packet),
    Call(Call),
    Shell(Vec<Command>),
    Code(Vec<Statement>),
}

/// A system call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub name: String,
    pub arguments: Vec<Argument>,
    /// The time until which the call blocks: from the start of the script or, for a relative event, from
    /// the same instant as the event's own time.
    pub until: Option<Duration>,
    /// The expected result; `...`: any.
    pub result: Expression,
    /// The name of the expected error.
    pub error: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub place: Place,
    pub value: Expression,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// `...`, alone or after a string.
    Any,
    Integer(i64),
    Word(String),
    Text(String),
    /// `a|b`
    Or(Vec<Expression>),
    /// `name = value`
    Field(String, Box<Expression>),
    /// `[a, b]`
    List(Vec<Expression>),
    /// `{a, b}`
    Struct(Vec<Expression>),
    /// `name(a, b)`
    Apply(String, Vec<Expression>),
}

impl Expression {
    /// The value of the field `name`, if this is a structure with that field.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Struct(fields) = self else {
            return None;
        };
        fields.iter().find_map(|field| match field {
            Self::Field(n, value) if n == name => Some(&**value),
            _ => None,
        })
    }
}

/// One command of a shell line.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub place: Place,
    pub words: Vec<String>,
}
