//! `list_retransmissions`.

use super::{Call, CaptureTool, connection_filter, only, value};
use crate::answer::Answer;
use crate::arguments::one_of;
use crate::schema;
use recoup_captures::analysis::{AllRetransmissions, Analyzed, Tabular, analyze_all, retransmissions};
use recoup_captures::capture::{CaptureSource, Input, OpenedFile, Progress};
use recoup_captures::time_window::parse_time;
use recoup_recovery::Trigger;
use recoup_table::{Columns, Field, Layout, utc};
use recoup_trace::analyze::Settings;
use recoup_trace::finding::{Cause, ConnectionKey, Retransmission, Verdict};
use recoup_units::Instant;
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Retransmissions of an answer, if the caller does not say how many, and at most.
const LISTED: u32 = 30;
const MOST_LISTED: u32 = 1_000;

/// Retransmissions of an analysis that is kept for the next page: they take up to 30 MB.
const MOST_KEPT: usize = 100_000;

/// What to ask for if an answer is too large.
const NARROWER: &str = "ask for fewer with limit, and for the next ones with offset";

/// Lists retransmissions.
pub struct ListRetransmissions;

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
pub struct Arguments {
    /// Path of the capture, as list_captures gives it
    capture: String,
    /// Only of connections that this tcpdump expression matches, such as `host 192.0.2.1 and port 443`
    filter: Option<String>,
    /// Only of the connection with this number
    connection: Option<u32>,
    /// Only those sent for this reason: `fast`, `early`, `rto`, `slow_start`, `tlp`, `pmtu`, `mtu_probe`, `syn`, `syn_ack` or `unknown`
    trigger: Option<String>,
    /// Only `needed` ones (the data was lost), `spurious` ones (it had arrived) or `unknowable` ones
    verdict: Option<String>,
    /// Only those of episodes with this cause, such as `tail_by_timeout`, as explain_capture names causes
    cause: Option<String>,
    /// Only those from this time on: after the capture's first segment, such as `5s`, or in UTC
    from: Option<String>,
    /// Only those before this time
    to: Option<String>,
    /// How many are listed. Default: 30, at most 1000
    limit: Option<u32>,
    /// How many of those that match are skipped before. Default: 0
    offset: Option<u32>,
}

/// Which retransmissions are listed.
struct Choice {
    connection: Option<u64>,
    /// `Some(None)`: an unknown trigger.
    trigger: Option<Option<Trigger>>,
    verdict: Option<Verdict>,
    cause: Option<Cause>,
    /// From the first to before the last.
    times: (Instant, Instant),
}

impl Choice {
    fn new(arguments: &Arguments, begun: Instant) -> Result<Self, String> {
        let mut triggers: Vec<(&str, Option<Trigger>)> =
            Trigger::ALL.iter().map(|one| (one.name(), Some(*one))).collect();
        triggers.push(("unknown", None));
        let trigger = arguments.trigger.as_deref().map(|name| one_of("trigger", name, &triggers));
        let verdict = arguments
            .verdict
            .as_deref()
            .map(|name| one_of("verdict", name, &Verdict::ALL.map(|one| (one.name(), one))));
        let cause =
            arguments.cause.as_deref().map(|name| one_of("cause", name, &Cause::ALL.map(|one| (one.name(), one))));
        let time = |name, text: &Option<String>, usual| match text {
            None => Ok(usual),
            Some(text) => parse_time(text).map(|mark| mark.instant(begun)).map_err(|why| format!("{name}: {why}")),
        };
        Ok(Self {
            connection: arguments.connection.map(u64::from),
            trigger: trigger.transpose()?,
            verdict: verdict.transpose()?,
            cause: cause.transpose()?,
            times: (
                time("from", &arguments.from, Instant::ZERO)?,
                time("to", &arguments.to, Instant::from_nanos(u64::MAX))?,
            ),
        })
    }

    fn has(&self, row: &Retransmission, cause: Option<Cause>) -> bool {
        let is_of = |trigger: Option<Trigger>| match trigger {
            Some(trigger) => row.triggers.iter().any(|one| one == trigger),
            None => row.triggers.first().is_none(),
        };
        self.connection.is_none_or(|number| row.connection == number)
            && self.trigger.is_none_or(is_of)
            && self.verdict.is_none_or(|verdict| row.verdict == verdict)
            && self.cause.is_none_or(|wanted| cause == Some(wanted))
            && (self.times.0..self.times.1).contains(&row.at)
    }
}

/// Some of the retransmissions that match.
struct Page {
    rows: Vec<Retransmission>,
    causes: HashMap<RowKey, Cause>,
    /// How many match.
    matching: usize,
}

/// Frame and sequence number of a retransmission. A super-segment is one frame and may hold several.
type RowKey = (u64, u32);

fn key(row: &Retransmission) -> RowKey {
    (row.frame, row.seq.0)
}

impl Page {
    /// `rows` are in the order of the capture. The first retransmission of an episode has its cause, which is that of the
    /// others, too.
    fn of(rows: &[Retransmission], choice: &Choice, offset: usize, limit: usize) -> Self {
        let mut current: HashMap<(ConnectionKey, SocketAddr), Cause> = HashMap::new();
        let mut page = Self { rows: Vec::new(), causes: HashMap::new(), matching: 0 };
        for row in rows {
            let sender = (row.connection_key(), row.endpoints.src);
            if let Some(cost) = &row.cost {
                current.insert(sender, cost.cause);
            }
            let cause = current.get(&sender).copied();
            if !choice.has(row, cause) {
                continue;
            }
            if page.matching >= offset && page.rows.len() < limit {
                page.rows.push(*row);
                page.causes.extend(cause.map(|cause| (key(row), cause)));
            }
            page.matching += 1;
        }
        page
    }
}

/// The columns of `recoup analyze --retransmissions`, and two more.
fn columns(causes: HashMap<RowKey, Cause>, begun: Instant) -> Columns<Retransmission> {
    let more = Columns::<Retransmission>::new()
        .column("since_start_s", "s", "when it was captured, after the capture's first segment", move |row| {
            row.at.since(begun).as_nanos() as f64 / 1e9
        })
        .digits(6)
        .heading("since start");
    let with_time = retransmissions().behind("time", more);
    with_time.column("cause", "", "cause of the time that its episode lost, as in explain_capture", move |row| {
        causes.get(&key(row)).map(|cause| cause.name())
    })
}

/// The columns of a text.
const SHOWN: [&str; 8] = ["frame", "since_start_s", "connection", "src", "trigger", "verdict", "cause", "detection_ms"];

/// What an answer has besides its rows.
fn counts() -> [Field; 3] {
    let count = |path: &str, about: &str| Field { path: path.into(), kind: "integer", unit: "", about: about.into() };
    [
        count("captures[].matching", "retransmissions that match, listed or not"),
        count("captures[].offset", "how many of them come before those listed"),
        count("captures[].all", "retransmissions of the capture"),
    ]
}

impl CaptureTool for ListRetransmissions {
    type Arguments = Arguments;
    const NAME: &'static str = "list_retransmissions";
    const TITLE: &'static str = "List retransmissions";
    const ABOUT: &'static str = "Lists single TCP retransmissions of a packet capture, in the order of time, with the frame number (as in \
        Wireshark), what triggered each one, whether it was needed or spurious and how that is known, the cause of its episode, and how \
        long detection and recovery took. Arguments choose some; the answer says how many match. Call it to look at evidence behind \
        explain_capture, or to count retransmissions of a kind (with limit 0).";

    fn document() -> Option<JsonObject> {
        let fields = include_str!("../../schemas/recoup.analyze.retransmissions.v1.txt");
        let columns = columns(HashMap::new(), Instant::ZERO).fields();
        Some(schema::of_document(fields, &[("captures[].retransmissions[]", columns)], &[], &counts()))
    }

    fn answer(arguments: Arguments, call: &Call<'_>) -> Result<Answer, String> {
        let limit = arguments.limit.unwrap_or(LISTED);
        if limit > MOST_LISTED {
            return Err(format!("limit: expected at most {MOST_LISTED}, found {limit}"));
        }
        // Wrong arguments are found before the capture is read.
        Choice::new(&arguments, Instant::ZERO)?;
        let file = call.root.capture(&arguments.capture)?;
        let analyzed = call.kept.analyze(&file, arguments.filter.as_deref(), call)?;
        let begun = analyzed.findings.begun().unwrap_or_default();
        let choice = Choice::new(&arguments, begun)?;
        let offset = arguments.offset.unwrap_or_default() as usize;
        let all = analyzed.findings.rows.len();
        let Page { rows, causes, matching } = Page::of(&analyzed.findings.rows, &choice, offset, limit as usize);
        let columns = columns(causes, begun);
        let text = match rows.len() {
            0 => format!("{matching} of {all} retransmissions match; none is listed.\n"),
            n => format!(
                "{matching} of {all} retransmissions match; {} to {} are listed.\nsince start: after {}\n\n{}\n",
                offset + 1,
                offset + n,
                utc(begun),
                columns.to_text(&rows, &SHOWN)
            ),
        };
        let body = json!({
            "captures": [{
                "capture": analyzed.capture,
                "notes": analyzed.notes(),
                "all": all,
                "matching": matching,
                "offset": offset,
                "retransmissions": serde_json::to_value(columns.to_json(&rows)).map_err(|e| e.to_string())?,
            }]
        });
        let mut out = Vec::new();
        let document = value(AllRetransmissions::SCHEMA.write(&body, Layout::Lines, &mut out), &out)?;
        Ok(Answer { text, document: Some(document), narrower: NARROWER, ..Answer::default() })
    }
}

/// The latest analysis, kept for the next page of a list.
#[derive(Debug, Default)]
pub struct Kept(Mutex<Option<(Origin, Arc<Analyzed<AllRetransmissions>>)>>);

/// What an analysis is of: the same file, not written since.
#[derive(Clone, Debug, PartialEq)]
struct Origin {
    name: String,
    size: u64,
    modified: Option<SystemTime>,
    filter: Option<String>,
}

impl Kept {
    /// The analysis of this file, made now or kept.
    fn analyze(
        &self,
        file: &OpenedFile,
        filter: Option<&str>,
        call: &Call<'_>,
    ) -> Result<Arc<Analyzed<AllRetransmissions>>, String> {
        let origin = Origin {
            name: file.name().into(),
            size: file.size(),
            modified: file.modified(),
            filter: filter.map(String::from),
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, analyzed)) = kept.as_ref()
            && *of == origin
        {
            return Ok(Arc::clone(analyzed));
        }
        *kept = None;
        let settings = Settings { filter: connection_filter(filter)?, ..Settings::default() };
        let all = analyze_all(Input::Source(file), &settings, call.watch, AllRetransmissions::default);
        let analyzed = Arc::new(only(all)?);
        // What was cut short is not what the next page belongs to.
        if analyzed.findings.rows.len() <= MOST_KEPT && !call.watch.is_stopped() {
            *kept = Some((origin, Arc::clone(&analyzed)));
        }
        Ok(analyzed)
    }
}
