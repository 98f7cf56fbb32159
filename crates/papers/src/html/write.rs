//! The document around its parts.

use super::{Report, coverage, experiment, ledger, summary};
use recoup_draw::html::{self, escaped};
use std::fmt::Write;

/// The styles that follow the base of every document.
const STYLE: &str = concat!(include_str!("report.css"), include_str!("print.css"));

/// The report's own scripts.
const SCRIPT: &str = concat!(
    include_str!("marks.js"),
    include_str!("figure.js"),
    include_str!("gestures.js"),
    include_str!("ledger.js"),
    include_str!("start.js"),
);

// Writing to a string cannot fail, so results are ignored.
pub(super) fn write(report: &Report) -> String {
    let mut html = String::new();
    let pictures = report.experiments().flat_map(|(_, of)| &of.figures);
    let dark = html::dark_rules(pictures.map(|figure| &*figure.svg));
    let style = format!("{}{STYLE}{dark}", html::BASE_STYLE);
    // One script, so that one hash in the policy permits it.
    let script = format!("(() => {{\n\"use strict\";\n{}{}{SCRIPT}}})();\n", html::BASE_SCRIPT, html::THEME_SCRIPT);
    html::open(
        &mut html,
        &html::Head {
            title: &report.title,
            summary: &report.made,
            style: &style,
            script: &script,
            skip: ("ledger", "Skip to the ledger of all claims"),
        },
    );
    html.push_str(summary::ICONS);
    navigation(&mut html, report);
    summary::write(&mut html, report);
    for paper in &report.papers {
        experiment::paper(&mut html, paper);
    }
    ledger::write(&mut html, report);
    coverage::write(&mut html, report);
    end(&mut html, report, &script);
    html
}

/// Links to the parts of the page.
fn navigation(html: &mut String, report: &Report) {
    html.push_str("<nav aria-label=\"Parts of the report\"><ul>\n");
    let mut link = |id: &str, text: &str| {
        let (id, text) = (escaped(id), escaped(text));
        writeln!(html, "<li><a href=\"#{id}\">{text}</a></li>").ok();
    };
    link("summary", "Summary");
    for paper in &report.papers {
        link(&paper.id, &paper.name);
    }
    link("ledger", "Ledger");
    if report.papers.iter().any(|paper| !paper.sentences.is_empty()) {
        link("coverage", "Coverage");
    }
    html.push_str("</ul></nav>\n");
}

fn end(html: &mut String, report: &Report, script: &str) {
    html.push_str("</main>\n<footer>\n");
    for note in &report.notes {
        writeln!(html, "<p>{}</p>", escaped(note)).ok();
    }
    write!(html, "<p>{}</p>\n</footer>\n<script>{script}</script>\n</body>\n</html>\n", escaped(&report.generator))
        .ok();
}
