//! `explain_capture`.

use super::{Call, CaptureTool, Part, only, value};
use crate::answer::Answer;
use crate::schema;
use recoup_captures::capture::Input;
use recoup_captures::explain::{
    Facts, GroupBy, Report, SortBy, TextShape, explain, explanation_text, group_columns, write_explanations,
};
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// Connections that an answer has, if the caller does not say how many.
const CONNECTIONS: u32 = 3;

/// The most connections that an answer has.
const MOST_CONNECTIONS: u32 = 100;

/// Groups that a text lists.
const GROUPS: usize = 20;

/// Lines of a text.
const LINES: usize = 80;

/// What to ask for if an answer is too large.
pub const NARROWER: &str = "choose less with filter, from and to, or a smaller top";

/// Explains a capture.
pub struct ExplainCapture;

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
pub struct Arguments {
    /// Path of the capture, as list_captures gives it
    capture: String,
    #[serde(flatten)]
    part: Part,
    /// Also compare groups of connections: `server`, `client`, `prefix:24` (client networks of this length), `port` (the server's)
    /// or `path` (client and server network)
    by: Option<String>,
    /// How many of the connections that lost most time are described. Default: 3, at most 100
    top: Option<u32>,
}

impl CaptureTool for ExplainCapture {
    type Arguments = Arguments;
    const NAME: &'static str = "explain_capture";
    const TITLE: &'static str = "Explain why a capture is slow";
    const ABOUT: &'static str = "Says why the TCP connections of a packet capture are slow. Recoup replays TCP loss recovery over the capture \
        and measures how much later data was acknowledged because of each loss, timeout, delay or full window. The answer ranks the \
        causes by the time that each one cost (ms of connection time), says where the rest of the time went (application, network, \
        receiver window, …), which clients or servers stand out, which connections lost most, and what the capture cannot show. Call it \
        first. Then call explain_connection for a connection it names, or what_would_help for remedies. Times are of the connections \
        together: parallel connections add up.";

    fn document() -> Option<JsonObject> {
        let fields = include_str!("../../schemas/recoup.explain.v1.txt");
        // An answer is about one capture.
        let without = ["total."];
        Some(schema::of_document(fields, &[("captures[].groups[]", schema::plain(&group_columns()))], &without, &[]))
    }

    fn answer(arguments: Arguments, call: &Call<'_>) -> Result<Answer, String> {
        let Arguments { capture, part, by, top } = arguments;
        let settings = part.settings()?;
        let by = by.map(|by| by.parse::<GroupBy>().map_err(|why| format!("by {by}: {why}"))).transpose()?;
        let top = top.unwrap_or(CONNECTIONS);
        if top > MOST_CONNECTIONS {
            return Err(format!("top: expected at most {MOST_CONNECTIONS}, found {top}"));
        }
        let top = top as usize;
        let file = call.root.capture(&capture)?;
        let by: Vec<GroupBy> = by.into_iter().collect();
        let view = || Facts::new(SortBy::TimeLost, top).with_groups(&by);
        let all = [only(explain(Input::Source(&file), &settings, call.watch, view))?];
        let shape = TextShape {
            lines: Some(LINES),
            connections: top,
            groups: GROUPS,
            one_connection: "explain_connection with connection".into(),
            option: "",
            all: NARROWER,
        };
        let text = explanation_text(&Report::new(&all[0]), &shape);
        let mut out = Vec::new();
        let document = value(write_explanations(&all, None, &mut out), &out)?;
        Ok(Answer { text, document: Some(document), narrower: NARROWER, ..Answer::default() })
    }
}
