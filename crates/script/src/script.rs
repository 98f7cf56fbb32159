//! A script as read: settings, and events in the order in which they stand.

use crate::code::Statement;
use crate::error::Place;
use crate::packet::Packet;
use recoup_recovery::Profile;
use std::time::Duration;

/// A script.
#[derive(Clone, Debug)]
pub struct Script {
    pub(crate) name: String,
    /// The text, for quoting.
    pub(crate) lines: Vec<String>,
    pub(crate) head: Head,
    pub(crate) events: Vec<Event>,
    /// What was read and has no effect, in order.
    pub(crate) notes: Vec<Note>,
}

impl Script {
    /// The name it was read under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The profile its head names, if it does.
    pub fn profile(&self) -> Option<&Profile> {
        self.head.profile.as_ref()
    }

    pub(crate) fn line(&self, line: usize) -> &str {
        line.checked_sub(1)
            .and_then(|i| self.lines.get(i))
            .map_or("", |l| l.trim_end())
    }
}

/// What stands before the first event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub profile: Option<Profile>,
    /// The MSS announced, in bytes.
    pub mss: Option<u16>,
    pub ack: Option<recoup_tcp::AckPolicy>,
    pub clock: TimestampClock,
}

/// How `TS val` of a packet out is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimestampClock {
    /// The first tells how far the script's clock is ahead of ours; the rest must be exact.
    #[default]
    Exact,
    /// Values are names: they are not compared, and an echo of one is the value it stood for.
    Names,
}

/// Something of a script that has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Whether it must be told.
    pub kind: NoteKind,
    /// Its line.
    pub line: usize,
    /// What, and why not.
    pub text: String,
}

impl Note {
    pub(crate) fn without_effect(line: usize, text: impl Into<String>) -> Self {
        Self {
            kind: NoteKind::WithoutEffect,
            line,
            text: text.into(),
        }
    }
}

/// Whether a [`Note`] must be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// It is in order, and cannot matter here: for those who ask.
    WithoutEffect,
    /// It is most likely a mistake, and the script runs otherwise than its author thinks: always.
    Mistake,
}

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub place: Place,
    pub time: Time,
    pub action: Action,
}

/// When an event happens, from the start of the script or, after `+`, from the event before.
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
    /// `*`
    Any,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Receive(Packet),
    Send(Packet),
    Call(Call),
    Shell(Vec<Command>),
    Code(Vec<Statement>),
}

/// A system call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub name: String,
    pub arguments: Vec<Argument>,
    /// It blocks, until then: from the start of the script or, with a relative event, from the same
    /// moment as the event's own time.
    pub until: Option<Duration>,
    /// `...` where it does not matter.
    pub result: Expression,
    /// The name of the error expected.
    pub error: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub place: Place,
    pub value: Expression,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// `...`, alone or after a text.
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
    /// The value of the field called `name`, if this is a structure that has one.
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
