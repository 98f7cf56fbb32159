//! Runs a script.
//!
//! Time is virtual and exact. At one instant, the script's events precede the endpoint's timers, unless the
//! next event expects a packet that a timer sends. A packet that the endpoint sends must be the next one
//! the script expects, at a time it allows. A packet that leaves too early is a failure. So is a packet that
//! no event expects before the script goes on to a later time or ends. (packetdrill accepts the latter.)
//!
//! The machine under test is our endpoint or a guest. A guest is compared less strictly ([`expect::Strictness`]).

mod arguments;
mod calls;
mod events;
mod expect;
mod guest;
mod guest_calls;
mod host;
mod options;
mod outgoing;
mod report;
mod setup;
mod sockets;
mod waiting;

pub use guest::MakeGuest;
pub use report::{Failure, NotApplicable, Report, Subject};

use crate::{
    code::{self, Variables},
    error::{Place, ScriptError, Wrong},
    packet::Packet,
    script::{Action, Command, Event, Note, Script, Time, TimestampClock},
    wire::{Clock, Numbers},
};
use guest::GuestHost;
use host::{Host, Stopped};
use recoup_recovery::Profile;
use recoup_recovery::profile::CURRENT_LINUX;
use recoup_tcp::Info;
use recoup_units::Instant;
use recoup_wire::{Flags, SeqNumber};
use report::{Details, micros, seconds, trace_line};
use setup::Setup;
use sockets::Sockets;
use std::time::Duration;
use waiting::Waiting;

/// The most lines that the code of a script prints.
const MOST_PRINTED: usize = 10_000;

/// Settings for running scripts.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The profile, which overrides the script's; `None`: the script's profile, or
    /// [`CURRENT_LINUX`].
    pub profile: Option<Profile>,
}

impl Script {
    /// Runs the script.
    ///
    /// # Errors
    /// When it asks for something that is not supported, such as an unknown socket option.
    pub fn run(&self, settings: &Settings) -> Result<Report, ScriptError> {
        Runner::new(self, settings, None).run()
    }

    /// Runs the script against the guest that `make` makes, whose random numbers follow from `seed`.
    ///
    /// # Errors
    /// As [`run`](Self::run). What a guest lacks is no error: the report says that the script does not apply.
    pub fn run_guest<'a>(&'a self, make: &'a mut MakeGuest<'a>, seed: u64) -> Result<Report, ScriptError> {
        let guest = GuestHost::new(make, seed, self.head.mss, first_syn_out(self));
        Runner::new(self, &Settings::default(), Some(guest)).run()
    }
}

/// The reason why a run ends early.
enum Stop {
    Failed(Failure),
    Wrong(Wrong),
    NotApplicable { line: usize, reason: String },
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

/// The time range of an event, both ends included.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Instant,
    to: Instant,
    anchored: bool,
}

struct Runner<'a> {
    script: &'a Script,
    profile: Profile,
    setup: Setup,
    host: Host<'a>,
    sockets: Sockets,
    waiting: Vec<Waiting<'a>>,
    /// Packets that may be sent.
    allowed: Vec<(&'a Packet, Window)>,
    variables: Variables,
    printed: Vec<(usize, String)>,
    notes: Vec<Note>,
    /// The time of the last event, and whether relative times count from it instead of from now.
    last: Instant,
    anchored: bool,
    /// When the last event happened, and how long after the one before it.
    happened: Instant,
    interval: Duration,
    /// The place of the current event.
    place: Place,
}

impl<'a> Runner<'a> {
    fn new(script: &'a Script, settings: &Settings, guest: Option<GuestHost<'a>>) -> Self {
        let profile = settings.profile.clone().or_else(|| script.head.profile.clone());
        let profile = profile.or_else(|| CURRENT_LINUX.parse().ok()).unwrap_or_default();
        // A guest's clock is its own.
        let clock = if guest.is_some() { TimestampClock::Names } else { script.head.clock };
        let numbers = Numbers { local: first_syn_out(script), remote: None, clock: Clock::new(clock) };
        Self {
            script,
            setup: Setup::new(&profile, &script.head),
            profile,
            host: Host::new(numbers, guest),
            sockets: Sockets::default(),
            waiting: Vec::new(),
            allowed: Vec::new(),
            variables: Variables::new(),
            printed: Vec::new(),
            notes: script.notes.clone(),
            last: Instant::ZERO,
            anchored: true,
            happened: Instant::ZERO,
            interval: Duration::ZERO,
            place: Place::default(),
        }
    }

    fn run(mut self) -> Result<Report, ScriptError> {
        match self.play() {
            Ok(()) => Ok(self.report(None, None)),
            Err(Stop::Failed(failure)) => Ok(self.report(Some(failure), None)),
            Err(Stop::NotApplicable { line, reason }) => Ok(self.report(None, Some(NotApplicable { line, reason }))),
            Err(Stop::Wrong(wrong)) => Err(wrong.in_script(&self.script.name)),
        }
    }

    fn report(mut self, failure: Option<Failure>, not_applicable: Option<NotApplicable>) -> Report {
        self.notes.sort_by_key(|note| note.line);
        let guest = self.host.guest.as_ref().map(|guest| guest.about().cloned());
        Report {
            subject: match guest {
                None => Subject::Engine(Box::new(self.profile)),
                Some(about) => Subject::Guest(about),
            },
            claim: self.script.head.claim.clone(),
            failure,
            not_applicable,
            trace: self.host.trace.iter().map(|p| trace_line(p, &self.host.numbers.clock)).collect(),
            printed: self.printed,
            notes: self.notes,
        }
    }

    fn play(&mut self) -> Result<(), Stop> {
        for event in &self.script.events {
            self.place = event.place;
            let window = self.window(event)?;
            if let Action::Allow(packet) = &event.action {
                self.allowed.push((packet, window));
                continue;
            }
            self.event(event, window)?;
            self.last = window.from;
            self.anchored = window.anchored;
            self.interval = self.host.now.since(self.happened);
            self.happened = self.host.now;
        }
        let last = self.waiting.iter().map(|w| w.end).max();
        if let Some(last) = last {
            self.reach(last + Duration::from_micros(1))?;
        }
        self.drop_allowed();
        match self.host.outbox.front() {
            Some(_) => Err(self.unexpected("and the script ends")),
            None => Ok(()),
        }
    }

    fn window(&self, event: &Event) -> Result<Window, Stop> {
        let base = if self.anchored { self.last } else { self.host.now };
        let window = |from, to, anchored| Window { from, to, anchored };
        let (now, zero) = (self.host.now, Instant::ZERO);
        let window = match event.time {
            Time::At(t) => window(zero + t, zero + t, true),
            Time::After(t) => window(base + t, base + t, true),
            Time::Between(a, b) => window(zero + a, zero + b, false),
            Time::AfterBetween(a, b) => window(now + a, now + b, false),
            Time::Multiples(a, b) => window(now + times(self.interval, a), now + times(self.interval, b), false),
            Time::Any => window(now, Instant::from_nanos(u64::MAX), false),
        };
        if micros(window.to) < micros(now) {
            let message = format!("the event's time, {}, has passed: it is {}", seconds(window.to), seconds(now));
            return Err(self.failed(message, None));
        }
        Ok(window)
    }

    fn event(&mut self, event: &'a Event, window: Window) -> Result<(), Stop> {
        match &event.action {
            Action::Send(packet) => return self.expect(packet, window),
            Action::SendOneOf(packets) => return self.expect_one_of(packets, window),
            _ => {}
        }
        self.reach(window.from)?;
        match &event.action {
            Action::Receive(packet) => self.receive(packet),
            Action::Call(call) => self.call(call, call_end(event.time, call.until, window.from)),
            Action::Shell(commands) => self.shell(commands),
            Action::Code(statements) => self.code(statements),
            Action::Send(_) | Action::SendOneOf(_) | Action::Allow(_) => Ok(()),
        }
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), Stop> {
        if self.host.guest.is_some() && packet.mark.is_some() {
            return Err(self.not_applicable("marks of ECN are not given to a guest"));
        }
        let config = self.setup.config(None, self.host.numbers.local);
        self.on_host(|host| host.receive(packet, &config))?;
        self.settle()
    }

    fn shell(&mut self, commands: &[Command]) -> Result<(), Stop> {
        if self.host.guest.is_some() {
            return Err(self.not_applicable("a guest has no commands"));
        }
        for command in commands {
            if let Some(text) = self.setup.shell(command)? {
                let line = command.place.line;
                self.notes.push(Note::without_effect(line, text));
            }
        }
        Ok(())
    }

    fn code(&mut self, statements: &[code::Statement]) -> Result<(), Stop> {
        if self.host.guest.is_some() {
            return Err(self.not_applicable("nothing looks into a guest: it has no TCP_INFO"));
        }
        let endpoint = self.host.endpoint.as_ref();
        let nobody = Info { state: 7, snd_ssthresh: Info::INFINITE_SSTHRESH, ..Info::default() };
        let info = endpoint.map_or(nobody, |endpoint| endpoint.info(self.host.now));
        let printed = &mut self.printed;
        let outcome = code::run(statements, &info, &mut self.variables, |place, line| {
            if printed.len() >= MOST_PRINTED {
                return Err(Wrong::new(place, format!("expected at most {MOST_PRINTED} printed lines")));
            }
            printed.push((place.line, line));
            Ok(())
        });
        match outcome? {
            code::Outcome::Passed => Ok(()),
            code::Outcome::Failed(place, message) => {
                self.place = place;
                Err(self.failed(message, None))
            }
        }
    }

    /// Handles everything due before `time`, which becomes the current time.
    fn reach(&mut self, time: Instant) -> Result<(), Stop> {
        while let Some(at) = self.next_wake()
            && at < time
        {
            self.wake()?;
        }
        self.drop_allowed();
        let early = self.host.outbox.front().filter(|sent| micros(sent.at) < micros(time));
        if early.is_some() {
            return Err(self.unexpected("and the script goes on"));
        }
        self.overdue(time)?;
        self.host.now = self.host.now.max(time);
        Ok(())
    }

    /// The earliest timer of the endpoint or of a blocked call.
    fn next_wake(&self) -> Option<Instant> {
        let calls = self.waiting.iter().filter_map(|w| w.wakes_at);
        calls.chain(self.host.next_timer()).min()
    }

    fn wake(&mut self) -> Result<(), Stop> {
        let call = self.waiting.iter().filter_map(|w| w.wakes_at).min();
        let timer = self.host.next_timer();
        match (call, timer) {
            (Some(call), _) if timer.is_none_or(|timer| call < timer) => {
                self.host.now = self.host.now.max(call);
            }
            _ => {
                self.on_host(Host::fire)?;
            }
        }
        self.settle()
    }

    fn failed(&self, message: String, compared: Option<(String, String)>) -> Stop {
        self.failed_after(self.host.trace.len(), message, compared)
    }

    /// A failure; `crossed` is the number of packets that crossed the wire before the faulty one.
    fn failed_after(&self, crossed: usize, message: String, compared: Option<(String, String)>) -> Stop {
        let clock = &self.host.numbers.clock;
        let before = self.host.trace.iter().take(crossed);
        let line = self.place.line;
        let details = Details {
            line,
            quoted: self.script.line(line),
            compared,
            before: before.map(|p| trace_line(p, clock)).collect(),
        };
        Stop::Failed(Failure { line, message, details: details.text() })
    }

    fn on_host(&mut self, act: impl FnOnce(&mut Host<'a>) -> Result<(), Stopped>) -> Result<(), Stop> {
        act(&mut self.host).map_err(|stopped| match stopped {
            Stopped::Endless => {
                Stop::Wrong(Wrong::new(self.place, "this makes more packets or timers than a script may have (100000)"))
            }
            Stopped::Guest(reason) => self.failed(format!("the stack failed: {reason}"), None),
            Stopped::Sends(what) => self.failed(format!("the stack sends {what}"), None),
            Stopped::Lacks(reason) => self.not_applicable(reason),
        })
    }
}

/// The sequence number of the script's first outgoing SYN, which becomes the endpoint's ISN.
fn first_syn_out(script: &Script) -> SeqNumber {
    let syn = script.events.iter().find_map(|event| match &event.action {
        Action::Send(packet) | Action::Allow(packet) if packet.flags.contains(Flags::SYN) => Some(packet.seq),
        _ => None,
    });
    SeqNumber(syn.unwrap_or(0))
}

/// When a blocking call must return; `until` counts from the same instant as the event's own time.
fn call_end(time: Time, until: Option<Duration>, from: Instant) -> Option<Instant> {
    let until = until?;
    Some(match time {
        Time::After(after) => from - after + until,
        _ => Instant::ZERO + until,
    })
}

/// A time, multiplied by so many millionths.
fn times(time: Duration, millionths: u64) -> Duration {
    let nanos = time.as_nanos().saturating_mul(u128::from(millionths)) / 1_000_000;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

fn window_text(window: Window) -> String {
    if window.to == Instant::from_nanos(u64::MAX) {
        return "*".into();
    }
    if window.from == window.to {
        seconds(window.from)
    } else {
        format!("{}~{}", seconds(window.from), seconds(window.to))
    }
}

#[cfg(test)]
mod tests;
