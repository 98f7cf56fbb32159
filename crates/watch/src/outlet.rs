//! Where events go: lines for people, JSON lines for programs.

use crate::event::{Event, JsonLines, Judgement};
use recoup_captures::explain::{episode, lost_by};
use recoup_captures::wording::{bytes, count, duration};
use recoup_table::utc;
use recoup_trace::finding::{Closing, Connection, Retransmission, Verdict};
use recoup_units::Instant;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The form of events.
pub enum Form {
    /// Sentences.
    Lines,
    /// JSON.
    Json(Box<JsonLines>),
}

impl Form {
    pub fn json() -> Self {
        Self::Json(Box::new(JsonLines::new()))
    }

    fn append(&self, event: &Event, said: Said, to: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Json(json) => json.append(event, said.at, to)?,
            Self::Lines => {
                if let Some(text) = sentence(event) {
                    let at = if let Event::Retransmission { row, .. } = event { row.at } else { said.captured };
                    writeln!(to, "{} {text}", utc(at))?;
                }
            }
        }
        Ok(())
    }
}

/// When events were said.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// By the clock.
    pub at: Instant,
    /// All packets that were captured before this time were read.
    pub captured: Instant,
}

/// Writes events to standard output or a file.
pub struct Outlet {
    form: Form,
    to: Destination,
    buffer: Vec<u8>,
}

enum Destination {
    StandardOutput,
    File(PathBuf, File),
}

impl Outlet {
    /// Appends to the file at this path; `-` is standard output.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(form: Form, path: &Path) -> io::Result<Self> {
        let to = match path.as_os_str() == "-" {
            true => Destination::StandardOutput,
            false => Destination::File(path.to_owned(), append_to(path)?),
        };
        Ok(Self { form, to, buffer: Vec::new() })
    }

    /// Opens the file again, which somebody may have renamed.
    ///
    /// # Errors
    /// When it cannot be opened. Events still go to the old one.
    pub fn reopen(&mut self) -> io::Result<()> {
        if let Destination::File(path, file) = &mut self.to {
            *file = append_to(path).map_err(|why| named(path, &why))?;
        }
        Ok(())
    }

    /// Writes events that were said at this time, whole lines at once.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write(&mut self, events: &[Event], said: Said) -> io::Result<()> {
        self.buffer.clear();
        for event in events {
            self.form.append(event, said, &mut self.buffer)?;
        }
        if self.buffer.is_empty() {
            return Ok(());
        }
        match &mut self.to {
            Destination::File(path, file) => file.write_all(&self.buffer).map_err(|why| named(path, &why)),
            Destination::StandardOutput => {
                let mut out = io::stdout().lock();
                out.write_all(&self.buffer)?;
                out.flush()
            }
        }
    }
}

fn named(path: &Path, why: &io::Error) -> io::Error {
    io::Error::new(why.kind(), format!("{}: {why}", path.display()))
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// An event in a sentence; `None` if it says too little for one.
pub fn sentence(event: &Event) -> Option<String> {
    Some(match event {
        Event::Retransmission { row, decided } => {
            let judged = if *decided { judged(row) } else { "not acknowledged yet".into() };
            format!("{}: {}: {judged}", place(row), retransmission(row))
        }
        Event::Verdict { row, was, .. } => {
            let changed = match was.decided && was.verdict != row.verdict {
                true => format!(" (it was taken for {})", was.verdict.name()),
                false => trigger_changed(row, *was),
            };
            format!("{}: seq {}: {}{changed}", place(row), row.seq.0, judged(row))
        }
        Event::Withdrawn { was, .. } => format!("{}: seq {}: no retransmission after all", place(was), was.seq.0),
        Event::Episode { cost, .. } if cost.lost.is_zero() => return None,
        Event::Episode { row, cost, .. } => {
            format!("{}: lost {}: {}", place(row), duration(cost.lost), episode(row, cost.cause))
        }
        Event::KernelReason { row, reason, agrees } => {
            let differs = if *agrees { String::new() } else { format!(" (not {})", row.triggers) };
            format!("{}: seq {}: kernel: {}{differs}", place(row), row.seq.0, reason.title())
        }
        Event::KernelOnly { connection, report, .. } => {
            let (ends, reason) = (report.endpoints, report.reason.title());
            format!("#{connection} {ends}: seq {}: only the kernel reports a retransmission: {reason}", report.seq.0)
        }
        Event::Ended { connection } => ended(connection)?,
        Event::Note { text } => format!("note: {text}"),
    })
}

/// The number of the connection, and the direction.
fn place(row: &Retransmission) -> String {
    format!("#{} {}", row.connection, row.endpoints)
}

fn retransmission(row: &Retransmission) -> String {
    let what = match (row.syn, row.fin, row.len) {
        (true, ..) => "SYN".into(),
        (_, true, 0) => "FIN".into(),
        (_, _, len) => bytes(len.into()),
    };
    let after = row.detection.map_or(String::new(), |detection| format!(" {} after the original", duration(detection)));
    format!("seq {} ({what}) retransmitted by {}{after}", row.seq.0, row.triggers)
}

fn judged(row: &Retransmission) -> String {
    let verdict = match row.verdict {
        Verdict::Needed => "needed",
        Verdict::Spurious => "spurious",
        Verdict::Unknowable => "unknowable whether needed",
    };
    format!("{verdict}: {}", row.evidence.reason())
}

fn trigger_changed(row: &Retransmission, was: Judgement) -> String {
    match was.triggers == row.triggers {
        true => String::new(),
        false => format!(" (by {}, not {})", row.triggers, was.triggers),
    }
}

/// Less lost time is not worth a sentence.
const LITTLE: Duration = Duration::from_millis(1);

/// A connection that lost time or retransmitted; nothing is said of others.
fn ended(connection: &Connection) -> Option<String> {
    let lost = lost_by(connection).total();
    let retransmissions: u64 = connection.directions.iter().map(|d| d.retransmissions.total()).sum();
    if lost < LITTLE && retransmissions == 0 {
        return None;
    }
    let how = match connection.closing {
        Closing::Closed => "closed",
        Closing::Reset => "reset",
        Closing::Idle => "silent for long",
        Closing::Replaced => "replaced by another connection",
        Closing::Evicted => "followed no longer, to limit memory",
        Closing::CaptureEnd => "still open",
    };
    let (lost, life) = (duration(lost), duration(connection.duration()));
    let retransmissions = count(retransmissions, "retransmission");
    Some(format!("#{} {}: {how} after {life}: lost {lost}, {retransmissions}", connection.id, connection.name()))
}

#[cfg(test)]
mod tests;
