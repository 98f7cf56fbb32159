//! Diagrams of an event stream, the JSON lines of `recoup run --events`.
//!
//! `sent` events become segments, the flags of `packet_sent` events become SYNs, FINs and resets, and
//! `packet_arrived` events become ACKs. All other events are ignored.

use super::source::{Choice, Directions, Source, SourceError, unknown};
use recoup_draw::sequence::{AckArrival, Control, MarkRecorder, Panel, SequenceScale};
use recoup_recovery::Trigger;
use recoup_support::event_stream::SCHEMA;
use recoup_support::input::read_line;
use recoup_table::Schema;
use recoup_units::{Direction, Instant, Offset, Span};
use serde::Deserialize;
use std::io::{BufRead, ErrorKind};
use std::mem;

/// A line of the stream: the fields that all events have, and those that diagrams need.
#[derive(Deserialize)]
struct EventLine {
    time_ms: f64,
    profile: String,
    flow: u64,
    host: Option<String>,
    event: String,
    what: Option<String>,
    start: Option<u64>,
    end: Option<u64>,
    trigger: Option<String>,
    seq: Option<u64>,
    ack: Option<u64>,
    len: Option<u64>,
    flags: Option<String>,
    #[serde(default)]
    sack: Vec<[u64; 2]>,
    #[serde(default)]
    damaged: bool,
}

/// The flow of one profile.
struct ProfileFlow {
    profile: String,
    /// The data of the client, and the data of the server.
    hosts: [MarkRecorder; 2],
}

/// A stream while it is read.
struct EventStream<'a> {
    choice: &'a Choice,
    flow: Option<u64>,
    /// The lowest and the highest flow number seen.
    flows: Option<(u64, u64)>,
    /// All profiles seen.
    profiles: Vec<String>,
    /// The chosen flow of each chosen profile.
    found: Vec<ProfileFlow>,
}

/// The longest line that is read, in bytes. The longest that `recoup run --events` writes has some 500.
const LONGEST_LINE: u64 = 1 << 20;

pub(super) fn read(file: &str, mut input: impl BufRead, choice: &Choice) -> Result<Source, SourceError> {
    let mut stream = EventStream { choice, flow: choice.flow, flows: None, profiles: Vec::new(), found: Vec::new() };
    let (mut text, mut number) = (String::new(), 0);
    loop {
        number += 1;
        let wrong = |why| SourceError::Line { file: file.into(), line: number, why };
        match read_line(&mut input, &mut text, LONGEST_LINE) {
            Ok(false) => return stream.finish(file),
            Ok(true) => {
                let line = text.trim_start_matches('\u{feff}').trim();
                if !line.is_empty() && !is_header(line).map_err(wrong)? {
                    stream.take(line).map_err(wrong)?;
                }
            }
            Err(e) if matches!(e.kind(), ErrorKind::InvalidData | ErrorKind::FileTooLarge) => {
                return Err(wrong(e.to_string()));
            }
            Err(source) => {
                return Err(SourceError::Unreadable { file: file.into(), source });
            }
        }
    }
}

/// Whether a line names the schema of the lines that follow, rather than an event.
///
/// # Errors
/// A schema that is not the event stream's, or a later version of it.
fn is_header(line: &str) -> Result<bool, String> {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
        version: u32,
    }
    let Ok(Header { schema, version }) = serde_json::from_str(line) else {
        return Ok(false);
    };
    let Schema { name, version: known } = SCHEMA;
    match schema == name && version == known {
        true => Ok(true),
        false => Err(format!("this is {schema}, version {version}: expected {name}, version {known}")),
    }
}

impl EventStream<'_> {
    fn take(&mut self, text: &str) -> Result<(), String> {
        let mut line: EventLine = serde_json::from_str(text).map_err(|e| json_error(&e))?;
        let (low, high) = self.flows.unwrap_or((line.flow, line.flow));
        self.flows = Some((low.min(line.flow), high.max(line.flow)));
        if !self.profiles.contains(&line.profile) {
            self.profiles.push(line.profile.clone());
        }
        let wanted = self.choice.profile.as_ref();
        if wanted.is_some_and(|profile| *profile != line.profile) || *self.flow.get_or_insert(line.flow) != line.flow {
            return Ok(());
        }
        let at = instant(line.time_ms)?;
        let flow = self.flow_of(mem::take(&mut line.profile));
        let host = match line.host.as_deref() {
            Some("client") => &mut flow.hosts[0],
            Some("server") => &mut flow.hosts[1],
            None => return Ok(()),
            Some(word) => return Err(unknown("host", word, &["client", "server"])),
        };
        match line.event.as_str() {
            "sent" => segment_sent(host, at, &line),
            "packet_sent" => {
                flags_sent(host, at, &line);
                Ok(())
            }
            "packet_arrived" => {
                packet_arrived(host, at, &line);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn flow_of(&mut self, profile: String) -> &mut ProfileFlow {
        let place = self.found.iter().position(|flow| flow.profile == profile).unwrap_or_else(|| {
            self.found.push(ProfileFlow { profile, hosts: Default::default() });
            self.found.len() - 1
        });
        &mut self.found[place]
    }

    fn finish(self, file: &str) -> Result<Source, SourceError> {
        let refuse = |why| SourceError::Choice { file: file.into(), why, list: vec![], notes: vec![] };
        let profiles: Vec<&str> = self.profiles.iter().map(String::as_str).collect();
        if let Some(profile) = &self.choice.profile
            && !profiles.contains(&profile.as_str())
        {
            return Err(refuse(unknown("profile", profile, &profiles)));
        }
        let (low, high) = self.flows.unwrap_or_default();
        let number = self.flow.unwrap_or_default();
        if self.choice.flow.is_none() && low < high {
            let why = format!("there are flows {low} to {high}: choose one with --flow");
            return Err(refuse(why));
        }
        if self.found.is_empty() {
            let why = format!("no flow {number}: expected one from {low} to {high}");
            return Err(refuse(why));
        }
        Ok(drawing(self.found, number, self.choice.directions))
    }
}

/// The panels of flow `number` of each profile.
fn drawing(found: Vec<ProfileFlow>, number: u64, directions: Directions) -> Source {
    let bytes = [0, 1].map(|host: usize| {
        let flows = found.iter();
        flows.map(|flow| flow.hosts[host].unique_bytes()).sum::<u64>()
    });
    let main = match bytes[0] > bytes[1] {
        true => Direction::Up,
        false => Direction::Down,
    };
    let other = main.reverse();
    let alone = found.len() == 1;
    let drawn = match directions {
        Directions::Only(direction) => vec![direction],
        Directions::Both => vec![main, other],
        Directions::All if alone && bytes[other as usize] > 0 => vec![main, other],
        Directions::All | Directions::Main => vec![main],
    };
    let title = match found.as_slice() {
        [only] => format!("{}, flow {number}", only.profile),
        _ => format!("flow {number}"),
    };
    let panel_title = |profile: &str, direction: Direction| {
        let sender = match direction {
            Direction::Up => "data of the client",
            Direction::Down => "data of the server",
        };
        match (alone, drawn.len()) {
            (true, 1) => String::new(),
            (true, _) => sender.into(),
            (false, 1) => profile.into(),
            (false, _) => format!("{profile}, {sender}"),
        }
    };
    let mut panels = Vec::new();
    for flow in found {
        let mut hosts = flow.hosts.map(Some);
        for &direction in &drawn {
            let recorder = hosts[direction as usize].take();
            panels.push(Panel {
                title: panel_title(&flow.profile, direction),
                marks: recorder.unwrap_or_default().into_marks(),
            });
        }
    }
    Source {
        title,
        panels,
        senders: Vec::new(),
        scale: match drawn.len() {
            1 => SequenceScale::Shared,
            _ => SequenceScale::OnePerPanel,
        },
        notes: vec![],
    }
}

/// serde's error text without its line number, which is always 1.
fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(why) if error.column() > 0 => format!("column {}: {why}", error.column()),
        Some(why) => why.into(),
        None => text,
    }
}

fn instant(ms: f64) -> Result<Instant, String> {
    // 1.8e13 ms of nanoseconds just fit 64 bits. Event streams have six decimals, which f64 keeps.
    if !(0.0..=1.8e13).contains(&ms) {
        return Err(format!("time_ms {ms}: expected 0 or more"));
    }
    Ok(Instant::from_nanos((ms * 1e6).round() as u64))
}

fn segment_sent(host: &mut MarkRecorder, at: Instant, line: &EventLine) -> Result<(), String> {
    let span = || match (line.start, line.end) {
        (Some(start), Some(end)) if start <= end => Ok(Span::new(Offset(start), Offset(end))),
        _ => Err("sent: expected start and end, in order".to_string()),
    };
    match line.what.as_deref() {
        Some("new" | "new_probe") => host.data_sent(at, span()?),
        Some("again") => {
            let word = line.trigger.as_deref().unwrap_or_default();
            let known = Trigger::ALL.map(Trigger::name);
            let trigger = Trigger::ALL.into_iter().find(|t| t.name() == word);
            let trigger = trigger.ok_or_else(|| unknown("trigger", word, &known))?;
            host.retransmitted(at, span()?, Some(trigger.name()));
        }
        Some("copy") => host.extra_copy_sent(at, span()?),
        Some("window_probe") => {}
        word => {
            let known = ["new", "new_probe", "again", "copy", "window_probe"];
            let word = word.unwrap_or_default();
            return Err(format!("sent: what: {}", unknown("kind", word, &known)));
        }
    }
    Ok(())
}

fn flags_sent(host: &mut MarkRecorder, at: Instant, line: &EventLine) {
    let Some(start) = line.seq.map(Offset) else {
        return;
    };
    let flags = line.flags.as_deref().unwrap_or_default();
    let syn = u64::from(flags.contains('S'));
    let behind = Offset(start.0.saturating_add(syn).saturating_add(line.len.unwrap_or(0)));
    for (letter, flag, offset) in
        [('S', Control::Syn, start), ('F', Control::Fin, behind), ('R', Control::Reset, start)]
    {
        if flags.contains(letter) {
            host.control_sent(at, flag, offset);
        }
    }
}

fn packet_arrived(host: &mut MarkRecorder, at: Instant, line: &EventLine) {
    let Some(ack) = line.ack.filter(|_| !line.damaged) else {
        return;
    };
    let flags = line.flags.as_deref().unwrap_or_default();
    let arrival = AckArrival {
        una: Offset(ack),
        may_be_duplicate: line.len.unwrap_or(0) == 0 && !flags.contains(['S', 'F', 'R']),
        window: None,
    };
    let blocks = line.sack.iter().map(|&[start, end]| Span::new(Offset(start), Offset(end)));
    host.ack_arrived(at, arrival, blocks);
}

#[cfg(test)]
mod tests;
