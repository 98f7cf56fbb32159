//! `what_would_help`.

use super::{Call, CaptureTool, Part, value};
use crate::answer::Answer;
use crate::schema;
use recoup_captures::capture::Input;
use recoup_captures::whatif::{Alternative, Request, Sample, answer_text, results, what_if_sampled, write_answers};
use rmcp::model::JsonObject;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

/// Runs of each connection and alternative where the fates of packets are drawn.
const DRAWS: u32 = 5;

/// The most alternatives of a call.
const MOST_TRIED: usize = 20;

/// What to ask for if an answer is too large.
const NARROWER: &str = "name fewer alternatives with try, or choose less with filter, from and to";

/// Says what would have helped.
pub struct WhatWouldHelp;

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "schemars")]
pub struct Arguments {
    /// Path of the capture, as list_captures gives it
    capture: String,
    #[serde(flatten)]
    part: Part,
    /// What to try: settings of an operator such as `congestion-control=bbr` or `rto-min-sysctl=50000`, other TCP stacks such as
    /// `linux-6`, or mechanisms added to what each sender has, such as `+tlp` or `+rack`. Default: the settings that may matter
    /// here, and what only other stacks have
    r#try: Option<Vec<String>>,
    /// Run every connection again, not only a sample of 150 that had trouble. It may take minutes. Default: false
    all_connections: Option<bool>,
}

impl CaptureTool for WhatWouldHelp {
    type Arguments = Arguments;
    const NAME: &'static str = "what_would_help";
    const TITLE: &'static str = "Say what would have helped";
    const ABOUT: &'static str = "Predicts which settings or other TCP loss recovery would have made the connections of a packet capture end \
        sooner. Recoup runs connections again in a simulator, over the network that the capture shows, with and without each change. The \
        answer ranks the changes by time saved, with 95 % intervals, who would lose, what it costs in retransmissions, and for \
        settings the command that switches them on. Only captures taken at or near the sender of the data can be run again; the \
        answer says which connections could not. Call it after explain_capture showed lost time. It takes seconds to a minute.";

    fn document() -> Option<JsonObject> {
        let fields = include_str!("../../schemas/recoup.whatif.v1.txt");
        // An answer is about mechanisms, not about each connection.
        let without = ["captures[].connections[]"];
        Some(schema::of_document(fields, &[("captures[].results[]", schema::plain(&results()))], &without, &[]))
    }

    fn answer(arguments: Arguments, call: &Call<'_>) -> Result<Answer, String> {
        let Arguments { capture, part, r#try, all_connections } = arguments;
        let settings = part.settings()?;
        let tried = r#try.unwrap_or_default();
        if tried.len() > MOST_TRIED {
            return Err(format!("try: expected at most {MOST_TRIED} alternatives, found {}", tried.len()));
        }
        let alternatives =
            tried.iter().map(|text| Alternative::parse(text).map_err(|why| format!("try {text}: {why}")));
        let request = Request {
            alternatives: alternatives.collect::<Result<_, _>>()?,
            draws: DRAWS,
            seed: 1,
            names_profile: true,
        };
        let sample = match all_connections {
            Some(true) => Sample::default(),
            _ => Sample::SMALL,
        };
        let file = call.root.capture(&capture)?;
        let answered = Input::Source(&file)
            .first(call.watch, |opened| what_if_sampled(opened, sample, &request, &settings, call.watch));
        let all = [answered.map_err(|e| e.to_string())?];
        let mut text = answer_text(&all[0]);
        let mut notes = all[0].notes();
        notes.extend(all[0].findings.notes.iter().cloned());
        for note in notes {
            text += &format!("\nNote: {note}.\n");
        }
        let mut out = Vec::new();
        let document = value(write_answers(&all, false, &mut out), &out)?;
        Ok(Answer { text, document: Some(document), narrower: NARROWER, ..Answer::default() })
    }
}
