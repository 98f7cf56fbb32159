//! The tools: what a model reads of them, and what they do. A module each.

pub mod captures;
pub mod connection;
pub mod draw;
pub mod explain;
pub mod retransmissions;
pub mod whatif;

use crate::answer::Answer;
use crate::arguments;
use crate::root::Root;
use crate::watch::Watch;
use recoup_captures::capture::Captures;
use recoup_captures::filter::Filter;
use recoup_captures::time_window::parse_time;
use recoup_trace::analyze::{ConnectionFilter, Settings, TimeWindow};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;

/// A tool that reads captures, and changes nothing.
pub trait CaptureTool {
    /// Its arguments.
    type Arguments: DeserializeOwned + JsonSchema + 'static;

    /// The name that calls it.
    const NAME: &'static str;

    /// Its name for people.
    const TITLE: &'static str;

    /// For a model that does not know Recoup: what it answers, and when to call it.
    const ABOUT: &'static str;

    /// The schema of its document, if it answers with one.
    fn document() -> Option<JsonObject>;

    /// Answers a call.
    ///
    /// # Errors
    /// In one line: what is wrong with the arguments or the capture.
    fn answer(arguments: Self::Arguments, call: &Call<'_>) -> Result<Answer, String>;
}

/// What a call works with.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// Where captures are.
    pub root: &'a Root,
    /// Ends the work.
    pub watch: &'a Watch,
    /// What earlier calls left.
    pub kept: &'a retransmissions::Kept,
}

/// A tool, whatever its arguments are.
pub struct Definition {
    /// As the protocol describes it.
    pub tool: Tool,
    answer: fn(JsonObject, &JsonObject, &Call<'_>) -> Result<Answer, String>,
}

impl Definition {
    fn of<T: CaptureTool>() -> Self {
        let mut tool = Tool::new(T::NAME, T::ABOUT, Arc::new(arguments::schema::<T::Arguments>())).with_title(T::TITLE);
        tool.output_schema = T::document().map(Arc::new);
        let annotations =
            ToolAnnotations::with_title(T::TITLE).read_only(true).destructive(false).idempotent(true).open_world(false);
        Self {
            tool: tool.with_annotations(annotations),
            answer: |given, schema, call| T::answer(arguments::read(given, schema)?, call),
        }
    }

    /// Answers a call.
    ///
    /// # Errors
    /// In one line: what is wrong with the arguments or the capture.
    pub fn answer(&self, given: JsonObject, call: &Call<'_>) -> Result<Answer, String> {
        (self.answer)(given, &self.tool.input_schema, call)
    }
}

/// All tools, in the order in which a model meets them.
pub fn all() -> Vec<Definition> {
    vec![
        Definition::of::<captures::ListCaptures>(),
        Definition::of::<explain::ExplainCapture>(),
        Definition::of::<connection::ExplainConnection>(),
        Definition::of::<retransmissions::ListRetransmissions>(),
        Definition::of::<whatif::WhatWouldHelp>(),
        Definition::of::<draw::DrawConnection>(),
    ]
}

/// Which part of a capture is analyzed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
pub struct Part {
    /// Only the connections that this tcpdump expression matches, such as `host 192.0.2.1 and port 443`
    filter: Option<String>,
    /// Only packets from this time on: after the capture's first segment, such as `5s`, or in UTC, such as `2026-11-22T10:00:00Z`
    from: Option<String>,
    /// Only packets before this time
    to: Option<String>,
}

impl Part {
    /// The settings of the analysis.
    fn settings(&self) -> Result<Settings, String> {
        let mark = |name, text: &Option<String>| {
            let time = text.as_deref().map(|text| parse_time(text).map_err(|why| format!("{name}: {why}")));
            time.transpose()
        };
        let window = TimeWindow { from: mark("from", &self.from)?, to: mark("to", &self.to)? };
        if window.is_empty() {
            return Err("from, to: no time in between: expected from before to".into());
        }
        Ok(Settings { filter: connection_filter(self.filter.as_deref())?, window, ..Settings::default() })
    }
}

/// Reads a filter.
fn connection_filter(text: Option<&str>) -> Result<Option<Arc<dyn ConnectionFilter>>, String> {
    let filter = text.map(|text| text.parse::<Filter>().map_err(|why| format!("filter: {why}")));
    Ok(filter.transpose()?.map(|filter| Arc::new(filter) as Arc<dyn ConnectionFilter>))
}

/// The findings of the only capture.
fn only<V>(all: Captures<V>) -> Result<recoup_captures::analysis::Analyzed<V>, String> {
    let Captures { mut analyzed, failures, .. } = all;
    let why = || failures.first().map_or_else(|| "the capture was not read".into(), ToString::to_string);
    analyzed.pop().ok_or_else(why)
}

/// A document that was written, as a value.
fn value(written: std::io::Result<()>, bytes: &[u8]) -> Result<serde_json::Value, String> {
    written.map_err(|e| e.to_string())?;
    serde_json::from_slice(bytes).map_err(|e| e.to_string())
}
