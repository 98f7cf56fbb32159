//! Runs a script.
//!
//! Time is virtual and exact. At one instant, the script's events precede the endpoint's timers, unless the
//! next event expects a packet that a timer sends. A packet that the endpoint sends must be the next one
//! the script expects, at a time it allows. A packet that leaves too early is a failure. So is a packet that
//! no event expects before the script goes on to a later time or ends. (packetdrill accepts the latter.)

mod arguments;
mod calls;
mod events;
mod expect;
mod host;
mod options;
mod report;
mod setup;
mod sockets;
mod waiting;

pub use report::{Failure, Report};

use crate::{
    code::{self, Variables},
    error::{Place, ScriptError, Wrong},
    packet::Packet,
    script::{Action, Command, Event, Note, Script, Time},
    wire::{Clock, Numbers},
};
use host::{Endless, Host, Sent};
use recoup_recovery::Profile;
use recoup_recovery::profile::CURRENT_LINUX;
use recoup_tcp::Info;
use recoup_units::Instant;
use recoup_wire::{Flags, SeqNumber};
use report::{Details, micros, seconds, shown, trace_line};
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
        let mut runner = Runner::new(self, settings);
        match runner.play() {
            Ok(()) => Ok(runner.report(None)),
            Err(Stop::Failed(failure)) => Ok(runner.report(Some(failure))),
            Err(Stop::Wrong(wrong)) => Err(wrong.in_script(&self.name)),
        }
    }
}

/// The reason why a run ends early.
enum Stop {
    Failed(Failure),
    Wrong(Wrong),
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
    host: Host,
    sockets: Sockets,
    waiting: Vec<Waiting<'a>>,
    variables: Variables,
    printed: Vec<(usize, String)>,
    notes: Vec<Note>,
    /// The time of the last event, and whether relative times count from it instead of from now.
    last: Instant,
    anchored: bool,
    /// The place of the current event.
    place: Place,
}

impl<'a> Runner<'a> {
    fn new(script: &'a Script, settings: &Settings) -> Self {
        let profile = settings.profile.clone().or_else(|| script.head.profile.clone());
        let profile = profile.or_else(|| CURRENT_LINUX.parse().ok()).unwrap_or_default();
        let numbers = Numbers { local: first_syn_out(script), remote: None, clock: Clock::new(script.head.clock) };
        Self {
            script,
            setup: Setup::new(&profile, &script.head),
            profile,
            host: Host::new(numbers),
            sockets: Sockets::default(),
            waiting: Vec::new(),
            variables: Variables::new(),
            printed: Vec::new(),
            notes: script.notes.clone(),
            last: Instant::ZERO,
            anchored: true,
            place: Place::default(),
        }
    }

    fn report(mut self, failure: Option<Failure>) -> Report {
        self.notes.sort_by_key(|note| note.line);
        Report {
            profile: self.profile,
            failure,
            trace: self.host.trace.iter().map(|p| trace_line(p, &self.host.numbers.clock)).collect(),
            printed: self.printed,
            notes: self.notes,
        }
    }

    fn play(&mut self) -> Result<(), Stop> {
        for event in &self.script.events {
            self.place = event.place;
            let window = self.window(event)?;
            self.event(event, window)?;
            self.last = window.from;
            self.anchored = window.anchored;
        }
        let last = self.waiting.iter().map(|w| w.end).max();
        if let Some(last) = last {
            self.reach(last + Duration::from_micros(1))?;
        }
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
            Time::Any => window(now, Instant::from_nanos(u64::MAX), false),
        };
        if micros(window.to) < micros(now) {
            let message = format!("the event's time, {}, has passed: it is {}", seconds(window.to), seconds(now));
            return Err(self.failed(message, None));
        }
        Ok(window)
    }

    fn event(&mut self, event: &'a Event, window: Window) -> Result<(), Stop> {
        if let Action::Send(packet) = &event.action {
            return self.expect(packet, window);
        }
        self.reach(window.from)?;
        match &event.action {
            Action::Receive(packet) => self.receive(packet),
            Action::Call(call) => self.call(call, call_end(event.time, call.until, window.from)),
            Action::Shell(commands) => self.shell(commands),
            Action::Code(statements) => self.code(statements),
            Action::Send(_) => Ok(()),
        }
    }

    fn receive(&mut self, packet: &Packet) -> Result<(), Stop> {
        let config = self.setup.config(None, self.host.numbers.local);
        self.on_host(|host| host.receive(packet, &config))?;
        self.settle()
    }

    fn shell(&mut self, commands: &[Command]) -> Result<(), Stop> {
        for command in commands {
            if let Some(text) = self.setup.shell(command)? {
                let line = command.place.line;
                self.notes.push(Note::without_effect(line, text));
            }
        }
        Ok(())
    }

    fn code(&mut self, statements: &[code::Statement]) -> Result<(), Stop> {
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

    /// Checks that the next outgoing packet is this one.
    fn expect(&mut self, expected: &Packet, window: Window) -> Result<(), Stop> {
        let endpoint = self.host.endpoint.as_ref();
        let mss = endpoint.map_or(u32::MAX, |endpoint| endpoint.info(self.host.now).snd_mss);
        let bursts = self.setup.pushes_bursts();
        for segment in expect::segments(expected, mss, bursts) {
            while self.host.outbox.is_empty() {
                match self.next_wake().filter(|at| micros(*at) <= micros(window.to)) {
                    Some(_) => self.wake()?,
                    None => return Err(self.nothing_left(&segment.packet, window)),
                }
            }
            if let Some(sent) = self.host.outbox.pop_front() {
                self.compare(&segment, &sent, window)?;
            }
        }
        self.overdue(window.from)?;
        self.host.now = self.host.now.max(window.from);
        Ok(())
    }

    fn compare(&mut self, expected: &expect::Expected, sent: &Sent, window: Window) -> Result<(), Stop> {
        let clock = &mut self.host.numbers.clock;
        let mut found = expect::differences(expected, &sent.packet, clock);
        let at = micros(sent.at);
        if at < micros(window.from) {
            let early = micros(window.from) - at;
            found.insert(0, format!("{:.6} s too early", early as f64 / 1e6));
        } else if at > micros(window.to) {
            let late = at - micros(window.to);
            found.insert(0, format!("{:.6} s too late", late as f64 / 1e6));
        }
        if found.is_empty() {
            return Ok(());
        }
        let message = format!("the packet is not as expected: {}", found.join("; "));
        let actual = format!("{} > {}", seconds(sent.at), shown(&sent.packet, &self.host.numbers.clock));
        let expected = format!("{} > {}", window_text(window), expected.packet);
        let compared = Some((expected, actual));
        Err(self.failed_after(sent.crossed, message, compared))
    }

    fn nothing_left(&self, expected: &Packet, window: Window) -> Stop {
        let next = match self.next_wake() {
            Some(at) => format!("the next timer goes off at {}", seconds(at)),
            None => "no timer runs".into(),
        };
        let compared = (format!("{} > {expected}", window_text(window)), format!("nothing; {next}"));
        self.failed("no packet left by then".into(), Some(compared))
    }

    /// The failure for the first packet in the outbox, which the script does not expect.
    fn unexpected(&self, when: &str) -> Stop {
        let Some(sent) = self.host.outbox.front() else {
            return self.failed("no packet left".into(), None);
        };
        let packet = shown(&sent.packet, &self.host.numbers.clock);
        let message = format!("a packet left at {} that the script does not expect, {when}", seconds(sent.at));
        let compared = ("no packet".into(), format!("{} > {packet}", seconds(sent.at)));
        self.failed_after(sent.crossed, message, Some(compared))
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

    fn on_host(&mut self, act: impl FnOnce(&mut Host) -> Result<(), Endless>) -> Result<(), Stop> {
        act(&mut self.host).map_err(|Endless| {
            Stop::Wrong(Wrong::new(self.place, "this makes more packets or timers than a script may have (100000)"))
        })
    }
}

/// The sequence number of the script's first outgoing SYN, which becomes the endpoint's ISN.
fn first_syn_out(script: &Script) -> SeqNumber {
    let syn = script.events.iter().find_map(|event| match &event.action {
        Action::Send(packet) if packet.flags.contains(Flags::SYN) => Some(packet.seq),
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
