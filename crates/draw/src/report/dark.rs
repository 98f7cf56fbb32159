//! The colours of pictures in the dark theme.
//!
//! A picture names its colours as they are on white paper. For each colour that occurs, the style sheet has a rule
//! that paints it in its counterpart when the page is dark. The pictures themselves stay as they are.

use super::Report;
use crate::canvas::{self, Colour};
use crate::sequence;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The rules for all pictures of a report.
pub(super) fn rules(report: &Report) -> String {
    let figures = report.experiments().flat_map(|(_, of)| &of.figures);
    let mut used = BTreeSet::new();
    for figure in figures {
        for property in ["fill", "stroke"] {
            let start = format!(" {property}=\"#");
            for (at, _) in figure.svg.match_indices(&start) {
                let digits = figure.svg.get(at + start.len()..at + start.len() + 6);
                if let Some(colour) = digits.and_then(Colour::from_hex) {
                    used.insert((property, colour.to_string()));
                }
            }
        }
    }
    let mut rules = String::new();
    for (property, light) in used {
        let digits = light.trim_start_matches('#');
        let Some(dark) = Colour::from_hex(digits).map(on_dark) else {
            continue;
        };
        // Writing to a string cannot fail, so the result is ignored.
        writeln!(rules, ".picture [{property}=\"{light}\"] {{ {property}: light-dark({light}, {dark}); }}").ok();
    }
    rules
}

/// The counterpart of a colour on a dark ground.
fn on_dark(light: Colour) -> Colour {
    let named = canvas::PAINTS.iter().chain(sequence::PAINTS);
    let counterpart = named.clone().find(|paint| paint.light == light);
    counterpart.map_or_else(|| light.of_series_on_dark(), |paint| paint.dark)
}
