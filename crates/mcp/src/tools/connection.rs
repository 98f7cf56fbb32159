//! `explain_connection`.

use super::{Call, CaptureTool, Part, value};
use crate::answer::Answer;
use crate::schema;
use recoup_captures::capture::Input;
use recoup_captures::explain::{TextShape, connection_text, explain_connection, write_connection};
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// Lines of a text.
const LINES: usize = 80;

/// What to ask for if an answer is too large.
const NARROWER: &str =
    "choose a shorter time with from and to, or list single retransmissions with list_retransmissions";

/// Explains one connection.
pub struct ExplainConnection;

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
pub struct Arguments {
    /// Path of the capture, as list_captures gives it
    capture: String,
    /// The connection's number, from 0 in the order of first packets, as the other tools give it
    connection: u32,
    #[serde(flatten)]
    part: Part,
}

impl CaptureTool for ExplainConnection {
    type Arguments = Arguments;
    const NAME: &'static str = "explain_connection";
    const TITLE: &'static str = "Explain one TCP connection";
    const ABOUT: &'static str = "Explains one TCP connection of a packet capture: where the time of each sender went, and every episode of \
        lost time, with when it began, its frame, what triggered the first retransmission (fast retransmit, timeout, tail loss probe, …), \
        whether that was needed or spurious, the cause, and how much later the data was acknowledged. Call it after explain_capture, \
        with the number of a connection it names.";

    fn document() -> Option<JsonObject> {
        Some(schema::of_document(include_str!("../../schemas/recoup.connection.v1.txt"), &[], &[], &[]))
    }

    fn answer(arguments: Arguments, call: &Call<'_>) -> Result<Answer, String> {
        let Arguments { capture, connection, part } = arguments;
        let settings = part.settings()?;
        let file = call.root.capture(&capture)?;
        let explained = explain_connection(Input::Source(&file), connection.into(), &settings, call.watch);
        let analyzed = explained.map_err(|e| e.to_string())?;
        let shape = TextShape {
            lines: Some(LINES),
            connections: 1,
            groups: 0,
            one_connection: String::new(),
            option: "",
            all: "the document has them, or a shorter time with from and to",
        };
        let text = connection_text(&analyzed, &shape).unwrap_or_default();
        let mut out = Vec::new();
        let document = value(write_connection(&analyzed, &mut out), &out)?;
        Ok(Answer { text, document: Some(document), narrower: NARROWER, ..Answer::default() })
    }
}
