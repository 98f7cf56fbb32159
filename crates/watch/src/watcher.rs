//! Reads, analyzes and looks, again and again.

use crate::event::Event;
use crate::kernel_reasons::KernelReasons;
use crate::outlet::{self, Outlet};
use crate::recent::Recent;
use crate::said::Said;
use crate::saver::Saver;
use crate::shared::{Shared, Status};
use crate::source::{Source, now};
use recoup::signals::Signals;
use recoup_captures::wording::count;
use recoup_net::RingEvent;
use recoup_trace::analyze::{Analyzer, Findings, Look, Settings};
use recoup_trace::finding::{Connection, Retransmission, Revision};
use recoup_trace::read::ReadError;
use recoup_units::Instant;
use std::io;
use std::mem::take;
use std::sync::Arc;
use std::time::{self, Duration};
use thiserror::Error;

/// How often what is new is said.
const TICK: Duration = Duration::from_millis(50);

/// How long the program sleeps at most while nothing comes.
const SLEEP: Duration = Duration::from_millis(500);

/// How long packets that were captured before the end are waited for.
const LAST: Duration = Duration::from_millis(100);

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
    /// Findings cannot be written.
    #[error("cannot write findings: {0}")]
    Outlet(io::Error),
    /// Packets cannot be saved.
    #[error("cannot save packets: {0}")]
    Save(io::Error),
    /// The analysis cannot be ended.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Nothing is left to read.
    #[error("{0}: {1}")]
    Over(String, &'static str),
}

/// Findings of a shard since the last look.
#[derive(Debug, Default)]
struct Heard {
    open: Vec<(Connection, Vec<Retransmission>)>,
    /// Boxed, because many end together when memory is full.
    ended: Vec<(Box<Connection>, Vec<Retransmission>)>,
    revisions: Vec<Revision>,
}

impl Findings for Heard {
    fn connection(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.ended.push((Box::new(connection), retransmissions.to_vec()));
    }

    fn revision(&mut self, revision: &Revision) {
        self.revisions.push(*revision);
    }

    fn so_far(&mut self, connection: Connection, retransmissions: &[Retransmission]) {
        self.open.push((connection, retransmissions.to_vec()));
    }
}

/// Makes events of what is heard.
#[derive(Default)]
struct Talk {
    said: Said,
    /// Where surveys are asked for.
    recent: Option<Recent>,
    kernel: Option<KernelReasons>,
}

impl Talk {
    /// What is new in these findings, which are taken out.
    fn events<'a>(&mut self, all: impl Iterator<Item = &'a mut Heard>, shared: &Shared) -> Vec<Event> {
        let mut events = Vec::new();
        let mut revisions = Vec::new();
        let lose = |connection: &Connection, has_ended| shared.status().totals.lose(connection, has_ended);
        for heard in all {
            for (connection, rows) in take(&mut heard.open) {
                self.said.hear(&connection, &rows, false, |event| events.push(event));
                lose(&connection, false);
            }
            for (connection, rows) in take(&mut heard.ended) {
                self.said.hear(&connection, &rows, true, |event| events.push(event));
                lose(&connection, true);
                if let Some(recent) = &mut self.recent {
                    recent.end(Connection::clone(&connection), &rows);
                }
                events.push(Event::Ended { connection });
            }
            revisions.append(&mut heard.revisions);
        }
        events.extend(revisions.iter().map(Said::revise));
        if let Some(kernel) = &mut self.kernel {
            kernel.hear(&mut events);
            shared.status().kernel = Some(kernel.agreement().clone());
        }
        events
    }
}

/// Watches interfaces.
pub struct Watcher<S> {
    source: S,
    analyzer: Analyzer<Heard>,
    talk: Talk,
    shared: Arc<Shared>,
    outlet: Option<Outlet>,
    saver: Option<Saver>,
    next_survey: time::Instant,
    next_statistics: time::Instant,
}

impl<S: Source> Watcher<S> {
    /// Shares what it finds, and writes events to `outlet`.
    pub fn new(source: S, settings: &Settings, shared: Arc<Shared>, outlet: Option<Outlet>) -> Self {
        let mut analyzer = Analyzer::new(settings, Heard::default);
        analyzer.begin_looks();
        let now = time::Instant::now();
        Self {
            source,
            analyzer,
            talk: Talk::default(),
            shared,
            outlet,
            saver: None,
            next_survey: now + SURVEY,
            next_statistics: now + STATISTICS,
        }
    }

    /// Also saves the packets around findings.
    #[must_use]
    pub fn with_saver(mut self, saver: Option<Saver>) -> Self {
        self.saver = saver;
        self
    }

    /// Also says the kernel's own reasons.
    #[must_use]
    pub fn with_kernel_reasons(mut self, kernel: Option<KernelReasons>) -> Self {
        self.talk.kernel = kernel;
        self
    }

    /// Also surveys the last minute, for those who look at what is shared.
    #[must_use]
    pub fn with_surveys(mut self) -> Self {
        self.talk.recent = Some(Recent::default());
        self
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
            if signals.take_reopen()
                && let Some(outlet) = &mut self.outlet
            {
                outlet.reopen().map_err(WatchError::Outlet)?;
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
            self.survey(false);
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
        let events = self.talk.events(self.analyzer.findings_mut(), &self.shared);
        if let Some(saver) = &mut self.saver {
            events.iter().for_each(|event| saver.hear(event));
            saver.save(self.source.settled(), &self.shared.kept()).map_err(WatchError::Save)?;
        }
        self.pass_on(&events)
    }

    fn pass_on(&mut self, events: &[Event]) -> Result<(), WatchError> {
        pass_on(&self.shared, self.outlet.as_mut(), events, self.source.settled())
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
            let dropped = self.source.take_dropped().map_err(WatchError::Source)?;
            self.shared.status().dropped += dropped;
            if dropped > 0 {
                notes.push(format!(
                    "the kernel dropped {} before they were read: findings about them are missing",
                    count(dropped, "frame")
                ));
            }
        }
        let events: Vec<Event> = notes.into_iter().map(|text| Event::Note { text }).collect();
        self.pass_on(&events)
    }

    /// Shares the counts so far, and surveys open connections if it is time to, or for the last time.
    fn survey(&mut self, is_last: bool) {
        let begun = time::Instant::now();
        let settled = self.source.settled();
        let mut counts = self.analyzer.counts();
        counts.append(self.source.counts().clone());
        {
            let mut status = self.shared.status();
            (status.counts, status.settled) = (counts, settled);
            (status.bytes, status.memory) = (self.source.taken(), self.analyzer.memory());
            status.open = self.analyzer.open() as u64;
        }
        let Some(recent) = self.talk.recent.as_mut().filter(|_| is_last || begun >= self.next_survey) else {
            return;
        };
        let mut survey = recent.begin(settled);
        self.analyzer.look_in_parts(Recent::since(settled), |heard| recent.add(&mut survey, take(&mut heard.open)));
        let survey = Arc::new(recent.finish(survey));
        self.shared.status().survey = Some(survey);
        self.next_survey = begun + SURVEY.max(begun.elapsed() * SURVEY_SHARE);
    }

    /// Ends all connections, and says what is new of them.
    fn finish(mut self) -> Result<Status, WatchError> {
        self.note(Vec::new())?;
        let (end, latest) = (now(), time::Instant::now() + LAST);
        loop {
            self.read(latest);
            if self.source.settled() >= end || self.source.is_over() || time::Instant::now() >= latest {
                break;
            }
            std::thread::sleep(LAST / 20);
        }
        self.say()?;
        self.survey(true);
        if let Some(saver) = &mut self.saver {
            saver.save_rest(&self.shared.kept()).map_err(WatchError::Save)?;
        }
        let over = self.source.is_over().then(|| self.source.gone());
        let captured = self.source.settled();
        let Self { source, mut analyzer, mut talk, shared, mut outlet, .. } = self;
        analyzer.end_capture(source)?;
        let mut written = Ok(());
        let mut say = |findings: &mut [Heard]| {
            let events = talk.events(findings.iter_mut(), &shared);
            let now = pass_on(&shared, outlet.as_mut(), &events, captured);
            written = std::mem::replace(&mut written, Ok(())).and(now);
        };
        analyzer.close_in_parts(&mut say);
        let mut analysis = analyzer.finish()?;
        say(&mut analysis.findings);
        written?;
        let mut status = shared.status();
        status.counts = analysis.counts;
        match over {
            Some(gone) => Err(WatchError::Over(status.name.clone(), gone)),
            None => Ok(status.clone()),
        }
    }
}

/// Counts events, keeps them for those who look later, and writes them.
fn pass_on(
    shared: &Shared,
    outlet: Option<&mut Outlet>,
    events: &[Event],
    captured: Instant,
) -> Result<(), WatchError> {
    if events.is_empty() {
        return Ok(());
    }
    let at = now();
    {
        let mut status = shared.status();
        events.iter().for_each(|event| status.totals.hear(event));
    }
    shared.keep(events, at);
    let said = outlet::Said { at, captured: captured.min(at) };
    outlet.map_or(Ok(()), |outlet| outlet.write(events, said).map_err(WatchError::Outlet))
}
