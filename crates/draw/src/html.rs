//! Shared by HTML documents: the head with its content security policy, escaped text, the base of the style sheet
//! and of the scripts.
//!
//! A document permits its own style and script by their hashes, and nothing else, so nothing that it shows can load
//! or run anything.

use crate::text::printable_lines;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The beginning of a document.
pub(crate) struct Head<'a> {
    /// The title, also as the first heading.
    pub title: &'a str,
    /// One line below the title.
    pub summary: &'a str,
    pub style: &'a str,
    /// The script at the end of the document.
    pub script: &'a str,
    /// The id of the element to which keyboard users skip, and the link's text.
    pub skip: (&'a str, &'a str),
}

/// Writes a document up to its main part.
pub(crate) fn open(html: &mut String, head: &Head<'_>) {
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
pub(crate) fn escaped(text: &str) -> String {
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
pub(crate) fn thousands(number: u64) -> String {
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
