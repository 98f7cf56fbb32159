//! The document around its parts.

use super::{Report, coverage, dark, experiment, ledger, summary};
use crate::html::{self, escaped};
use std::fmt::Write;

const STYLE: &str = concat!(include_str!("../html/base.css"), include_str!("report.css"), include_str!("print.css"));

/// One script, so that one hash in the policy permits it.
const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("../html/base.js"),
    include_str!("../html/theme.js"),
    include_str!("marks.js"),
    include_str!("figure.js"),
    include_str!("gestures.js"),
    include_str!("ledger.js"),
    include_str!("start.js"),
    "})();\n"
);

// Writing to a string cannot fail, so results are ignored.
pub(super) fn write(report: &Report) -> String {
    let mut html = String::new();
    let style = format!("{STYLE}{}", dark::rules(report));
    html::open(
        &mut html,
        &html::Head {
            title: &report.title,
            summary: &report.made,
            style: &style,
            script: SCRIPT,
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
    end(&mut html, report);
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

fn end(html: &mut String, report: &Report) {
    html.push_str("</main>\n<footer>\n");
    for note in &report.notes {
        writeln!(html, "<p>{}</p>", escaped(note)).ok();
    }
    write!(html, "<p>{}</p>\n</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n", escaped(&report.generator))
        .ok();
}
