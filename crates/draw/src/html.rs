//! Shared by HTML documents: the head with its content security policy, escaped text, the base of the style sheet and
//! of the scripts, and the dark theme of pictures.
//!
//! A document permits its own style and script by their hashes, and nothing else, so nothing that it shows can load
//! or run anything.

use crate::canvas::{self, Colour};
use crate::sequence;
use crate::text::printable_lines;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The base of every style sheet.
pub const BASE_STYLE: &str = include_str!("html/base.css");

/// The base of every script.
pub const BASE_SCRIPT: &str = include_str!("html/base.js");

/// Switches between the light and the dark theme.
pub const THEME_SCRIPT: &str = include_str!("html/theme.js");

/// The beginning of a document.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The title, also as the first heading.
    pub title: &'a str,
    /// One line below the title.
    pub summary: &'a str,
    /// The style sheet.
    pub style: &'a str,
    /// The script at the end of the document.
    pub script: &'a str,
    /// The id of the element to which keyboard users skip, and the link's text.
    pub skip: (&'a str, &'a str),
}

/// Writes a document up to its main part.
pub fn open(html: &mut String, head: &Head<'_>) {
    let title = escaped(head.title);
    // Writing to a string cannot fail, so the result is ignored.
    write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#{skip}\">{skip_text}</a>\n\
         <header><div><h1>{title}</h1>\n<p class=\"summary\">{summary}</p></div>\n\
         <button type=\"button\" id=\"theme\" hidden>Dark</button></header>\n<main>\n",
        policy = policy(head.style, head.script),
        style = head.style,
        summary = escaped(head.summary),
        skip = escaped(head.skip.0),
        skip_text = escaped(head.skip.1),
    )
    .ok();
}

/// The content security policy: the document's own style and script, and nothing from anywhere else.
fn policy(style: &str, script: &str) -> String {
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
         form-action 'none'",
        hash(style),
        hash(script)
    )
}

/// `text` for HTML, between tags or in an attribute with double quotes.
pub fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in printable_lines(text).chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

/// A number with commas between groups of three digits.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The rules of a style sheet that paint pictures in the dark theme. A picture names its colours as they are on white
/// paper. For each colour that occurs, a rule paints it in its counterpart when the page is dark. The pictures
/// themselves stay as they are.
pub fn dark_rules<'a>(pictures: impl Iterator<Item = &'a str>) -> String {
    let mut used = BTreeSet::new();
    for svg in pictures {
        for property in ["fill", "stroke"] {
            let start = format!(" {property}=\"#");
            for (at, _) in svg.match_indices(&start) {
                let digits = svg.get(at + start.len()..at + start.len() + 6);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (12_345_678, "12,345,678")];
        for (number, text) in cases {
            assert_eq!(thousands(number), text);
        }
    }
}
