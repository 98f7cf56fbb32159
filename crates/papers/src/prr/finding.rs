//! Findings from single flows: a question, the profile and the settings that vary, and the result.

use super::NAME;
use crate::prelude::*;

/// An answer that a flow, or a group of flows, gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The question: the id of the claim that it decides, or a group of claims.
    pub question: &'static str,
    /// The profile.
    pub profile: String,
    /// The settings that vary.
    pub input: String,
    /// The result, with its quantity.
    pub result: String,
}

impl Finding {
    /// A finding.
    pub fn new(
        question: &'static str,
        profile: impl Into<String>,
        input: impl Into<String>,
        result: impl Into<String>,
    ) -> Self {
        Self { question, profile: profile.into(), input: input.into(), result: result.into() }
    }
}

fn columns(figure: &'static str) -> Columns<Finding> {
    columns!(columns_of_figure::<Finding>(figure), f;
        question, "", "what the flows show";
        profile, "", "the server's profile" => f.profile.clone();
        input, "", "the settings that vary" => f.input.clone();
        result, "", "the result" => f.result.clone();
    )
}

/// The sheet of an experiment whose data are findings.
pub fn sheet(
    figure: &'static str,
    title: &str,
    findings: Vec<Finding>,
    claims: Vec<Claim>,
    picture: impl Into<Picture>,
) -> Sheet {
    let columns = columns(figure);
    let shown = ["question", "profile", "input", "result"];
    Figure::new(NAME, figure, title, claims, picture, findings).sheet(|rows| columns.to_text(rows, &shown), &columns)
}

/// Numbers separated by spaces.
pub fn list<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    numbers.join(" ")
}
