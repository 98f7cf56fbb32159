//! Reads, analyzes and looks, again and again.

use crate::event::Event;
use crate::outlet::Outlet;
use crate::recent::{Recent, Survey};
use crate::said::Said;
use crate::signals::Signals;
use crate::source::{LiveSource, now};
use crate::totals::Totals;
use recoup_captures::wording::{count, grouped};
use recoup_net::RingEvent;
use recoup_trace::analyze::{Analyzer, Findings, Look, Settings};
use recoup_trace::finding::{Connection, Retransmission, Revision};
use recoup_trace::read::{Counts, PacketSource, ReadError};
use recoup_units::Instant;
use std::io;
use std::mem::take;
use std::time::{self, Duration};
use thiserror::Error;

/// How often what is new is said.
const TICK: Duration = Duration::from_millis(50);

/// How long the program sleeps at most while nothing comes.
const SLEEP: Duration = Duration::from_millis(500);

/// How often open connections are surveyed at most.
const SURVEY: Duration = Duration::from_secs(2);

/// At most this part of the time goes into surveys.
const SURVEY_SHARE: u32 = 20;

/// How often the kernel is asked what it dropped.
const STATISTICS: Duration = Duration::from_secs(1);

/// Why watching ends before it is told to.
#[derive(Debug, Error)]
pub enum WatchError {
    /// An interface cannot be read.
    #[error("cannot read packets: {0}")]
    Source(io::Error),
    /// Events cannot be written.
    #[error("cannot write events: {0}")]
    Outlet(io::Error),
    /// The analysis cannot be ended.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// All interfaces are gone.
    #[error("{0}: no interface is left to watch")]
    Over(String),
}

/// Findings of a shard since the last look.
#[derive(Debug, Default)]
struct Heard {
    open: Vec<(Connection, Vec<Retransmission>)>,
    ended: Vec<(Connection, Vec<Retransmission>)>,
    revisions: Vec<Revision>,
}

impl Findings for Heard {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.ended.push((connection, retransmissions.to_vec()));
    }

    fn revision(&mut self, revision: &Revision) {
        self.revisions.push(*revision);
    }

    fn so_far(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.open.push((connection, retransmissions.to_vec()));
    }
}

/// What is known at some time.
#[derive(Debug, Default)]
pub struct Status {
    /// What is watched.
    pub name: String,
    /// Counts since the start.
    pub totals: Totals,
    /// The frames so far.
    pub counts: Counts,
    /// Bytes on the wire so far.
    pub bytes: u64,
    /// Open connections.
    pub open: u64,
    /// Memory of open connections, in bytes.
    pub memory: usize,
    /// Frames that the kernel dropped.
    pub dropped: u64,
    /// The last survey.
    pub survey: Option<Survey>,
}

/// Watches interfaces.
pub struct Watcher {
    source: LiveSource,
    analyzer: Analyzer<Heard>,
    said: Said,
    recent: Recent,
    status: Status,
    outlet: Outlet,
    next_survey: time::Instant,
    next_statistics: time::Instant,
}

impl Watcher {
    pub fn new(source: LiveSource, settings: &Settings, outlet: Outlet) -> Self {
        let mut analyzer = Analyzer::new(settings, Heard::default);
        analyzer.begin_looks();
        let status = Status { name: source.name().to_owned(), ..Status::default() };
        let now = time::Instant::now();
        Self {
            source,
            analyzer,
            said: Said::default(),
            recent: Recent::default(),
            status,
            outlet,
            next_survey: now + SURVEY,
            next_statistics: now + STATISTICS,
        }
    }

    /// Watches until a signal comes, or until `most` has passed. Returns what is known at the end.
    ///
    /// # Errors
    /// When packets cannot be read or events not be written, or all interfaces are gone.
    pub fn run(mut self, signals: &Signals, most: Option<Duration>) -> Result<Status, WatchError> {
        let end = most.map(|most| time::Instant::now() + most);
        let is_over = |now| signals.is_end() || end.is_some_and(|end| now >= end);
        let mut tick = time::Instant::now();
        while !is_over(time::Instant::now()) && !self.source.is_over() {
            if signals.take_reopen() {
                self.outlet.reopen().map_err(WatchError::Outlet)?;
            }
            let sleep = end.map_or(SLEEP, |end| end.saturating_duration_since(time::Instant::now()).min(SLEEP));
            let happened = self.source.wait(sleep).map_err(WatchError::Source)?;
            self.note(happened)?;
            // Blocks of a few packets come one after another: those of a tick are taken together.
            let pause = TICK.saturating_sub(tick.elapsed());
            std::thread::sleep(pause);
            tick = time::Instant::now();
            self.read(tick + TICK);
            self.say()?;
            self.survey(false)?;
        }
        self.finish()
    }

    /// Reads what is due, until `until` at most.
    fn read(&mut self, until: time::Instant) {
        let mut count = 0_u32;
        self.analyzer.read_part(&mut self.source, |_| {
            count = count.wrapping_add(1);
            !count.is_multiple_of(1024) || time::Instant::now() < until
        });
        self.analyzer.end_round(self.source.settled());
        self.analyzer.look(Look::Troubled);
    }

    /// Says what is new.
    fn say(&mut self) -> Result<(), WatchError> {
        let mut events = Vec::new();
        let (mut open, mut ended, mut revisions) = (Vec::new(), Vec::new(), Vec::new());
        for heard in self.analyzer.findings_mut() {
            open.append(&mut heard.open);
            ended.append(&mut heard.ended);
            revisions.append(&mut heard.revisions);
        }
        for (connection, rows) in open {
            self.said.hear(&connection, &rows, false, |event| events.push(event));
            self.status.totals.lose(&connection, false);
        }
        for (connection, rows) in ended {
            self.said.hear(&connection, &rows, true, |event| events.push(event));
            self.status.totals.lose(&connection, true);
            self.recent.end(connection.clone(), &rows);
            events.push(Event::Ended { connection: Box::new(connection) });
        }
        events.extend(revisions.iter().map(Said::revise));
        self.pass_on(&events)
    }

    fn pass_on(&mut self, events: &[Event]) -> Result<(), WatchError> {
        events.iter().for_each(|event| self.status.totals.hear(event));
        self.outlet.write(events, now()).map_err(WatchError::Outlet)
    }

    /// Says what happened to interfaces, and what the kernel dropped.
    fn note(&mut self, happened: Vec<RingEvent>) -> Result<(), WatchError> {
        let mut notes: Vec<String> = happened
            .into_iter()
            .map(|event| match event {
                RingEvent::InterfaceDown { name, .. } => {
                    format!("{name} is down: its packets come again when it is up")
                }
                RingEvent::InterfaceGone { name, .. } => format!("{name} is gone"),
            })
            .collect();
        if time::Instant::now() >= self.next_statistics {
            self.next_statistics = time::Instant::now() + STATISTICS;
            let dropped = self.source.count_dropped().map_err(WatchError::Source)?;
            self.status.dropped += dropped;
            if dropped > 0 {
                notes.push(format!(
                    "the kernel dropped {} before they were read: findings about them are missing, and losses are not \
                     concluded from it where the capture shows the gap",
                    count(dropped, "frame")
                ));
            }
        }
        let events: Vec<Event> = notes.into_iter().map(|text| Event::Note { text }).collect();
        self.pass_on(&events)
    }

    /// Surveys open connections, if it is time to.
    fn survey(&mut self, now_or_never: bool) -> Result<(), WatchError> {
        let begun = time::Instant::now();
        self.status.counts = self.analyzer.counts();
        self.status.counts.append(self.source.counts().clone());
        self.status.bytes = self.source.taken();
        self.status.open = self.analyzer.open() as u64;
        self.status.memory = self.analyzer.memory();
        if begun < self.next_survey && !now_or_never {
            return Ok(());
        }
        let at = self.source.settled();
        self.analyzer.look(Look::Since(Recent::since(at)));
        let open = self.analyzer.findings_mut().flat_map(|heard| take(&mut heard.open)).collect();
        self.status.survey = Some(self.recent.survey(at, open));
        self.next_survey = begun + SURVEY.max(begun.elapsed() * SURVEY_SHARE);
        Ok(())
    }

    /// Ends all connections, and says what is new of them.
    fn finish(mut self) -> Result<Status, WatchError> {
        self.note(Vec::new())?;
        self.read(time::Instant::now() + TICK);
        self.say()?;
        self.survey(true)?;
        let (name, over) = (self.status.name.clone(), self.source.is_over());
        let Self { source, mut analyzer, mut said, mut status, mut outlet, .. } = self;
        analyzer.end_capture(source)?;
        let mut analysis = analyzer.finish()?;
        let mut events = Vec::new();
        for heard in &mut analysis.findings {
            for (connection, rows) in take(&mut heard.ended) {
                said.hear(&connection, &rows, true, |event| events.push(event));
                status.totals.lose(&connection, true);
                events.push(Event::Ended { connection: Box::new(connection) });
            }
            events.extend(heard.revisions.iter().map(Said::revise));
        }
        events.iter().for_each(|event| status.totals.hear(event));
        outlet.write(&events, now()).map_err(WatchError::Outlet)?;
        status.counts = analysis.counts;
        if over { Err(WatchError::Over(name)) } else { Ok(status) }
    }
}

impl Status {
    /// What was watched, in a sentence.
    pub fn summary(&self) -> String {
        let retransmissions: u64 = self.totals.retransmissions.iter().sum();
        format!(
            "{}: {} TCP packets of {}, {}, {}; the kernel dropped {}",
            self.name,
            grouped(self.counts.packets),
            count(self.counts.frames, "frame"),
            count(self.totals.ended.iter().sum(), "connection"),
            count(retransmissions, "retransmission"),
            grouped(self.dropped),
        )
    }
}

/// The time since 1970 of a survey, for those who show it.
pub fn age(at: Instant) -> Duration {
    now().since(at)
}
