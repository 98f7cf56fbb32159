//! The ledger: all claims in one table.

use super::experiment::{ours, place, was};
use super::summary::badge;
use super::{Claim, Experiment, Paper, Report};
use recoup_draw::html::escaped;
use std::fmt::Write;

// Writing to a string cannot fail, so results are ignored.
pub(super) fn write(html: &mut String, report: &Report) {
    html.push_str(
        "<section id=\"ledger\" aria-labelledby=\"ledger-heading\">\n\
         <h2 id=\"ledger-heading\">Ledger</h2>\n\
         <p>Each claim with its check, the paper's figure, our result and the command that repeats it.</p>\n\
         <div id=\"controls\"></div>\n\
         <table class=\"ledger\"><thead><tr><th scope=\"col\">Verdict</th><th scope=\"col\">Place</th>\
         <th scope=\"col\">Claim</th><th scope=\"col\">The paper's figure</th><th scope=\"col\">Our result</th></tr></thead>\n<tbody>\n",
    );
    for (paper, experiment) in report.experiments() {
        for claim in &experiment.claims {
            row(html, paper, experiment, claim);
        }
    }
    html.push_str("</tbody></table>\n</section>\n");
}

fn row(html: &mut String, paper: &Paper, experiment: &Experiment, claim: &Claim) {
    let address = paper.address(&experiment.name, &claim.id);
    write!(
        html,
        "<tr id=\"{id}\" data-paper=\"{paper}\" data-verdict=\"{verdict}\">\
         <td>{badge}{was}</td>\
         <td class=\"place\"><a href=\"#{id}\">{shown}</a> <span>{section}</span></td>\
         <td class=\"what\"><p class=\"statement\">{statement}</p>",
        id = escaped(&address),
        paper = escaped(&paper.id),
        verdict = claim.verdict.class(),
        badge = badge(claim.verdict),
        was = was(claim.ledger),
        // A name may break after each part.
        shown = escaped(&address).replace('/', "/<wbr>"),
        section = escaped(&[place(&claim.section), claim.class.name().into()].join(" ")),
        statement = escaped(&claim.statement),
    )
    .ok();
    if !claim.check.is_empty() {
        write!(html, "<p class=\"check\">Check: {}</p>", escaped(&claim.check)).ok();
    }
    if let Some(note) = &claim.note {
        write!(html, "<p class=\"note\">Note: {}</p>", escaped(note)).ok();
    }
    if !claim.command.is_empty() {
        let command = escaped(&claim.command);
        write!(html, "<p class=\"command\"><code>{command}</code></p>").ok();
    }
    writeln!(
        html,
        "</td><td data-label=\"The paper's figure\">{}</td><td data-label=\"Our result\">{}</td></tr>",
        escaped(claim.paper.as_deref().unwrap_or("–")),
        escaped(&ours(claim))
    )
    .ok();
}
