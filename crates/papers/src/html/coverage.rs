//! The papers' sentences: which claims decide them, or why none does.

use super::experiment::place;
use super::summary::icon;
use super::{Claim, Paper, Report, Sentence};
use recoup_draw::html::escaped;
use std::collections::HashMap;
use std::fmt::Write;

// Writing to a string cannot fail, so results are ignored.
pub(super) fn write(html: &mut String, report: &Report) {
    if report.papers.iter().all(|paper| paper.sentences.is_empty()) {
        return;
    }
    html.push_str(
        "<section id=\"coverage\" aria-labelledby=\"coverage-heading\">\n\
         <h2 id=\"coverage-heading\">Coverage</h2>\n\
         <p>Every sentence of a paper that can be computed or measured, in our words, with the claims that decide it \
         or the reason why none does.</p>\n",
    );
    for paper in &report.papers {
        if !paper.sentences.is_empty() {
            sentences(html, paper);
        }
    }
    html.push_str("</section>\n");
}

fn sentences(html: &mut String, paper: &Paper) {
    let untested = paper.sentences.iter().filter_map(|of| of.untested.as_ref());
    let mut reasons: Vec<(&str, usize)> = vec![];
    for of in untested {
        match reasons.iter_mut().find(|(kind, _)| *kind == of.kind) {
            Some((_, count)) => *count += 1,
            None => reasons.push((&of.kind, 1)),
        }
    }
    let all = paper.sentences.len();
    let not: usize = reasons.iter().map(|(_, count)| count).sum();
    let reasons: Vec<String> = reasons.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let reasons = match not {
        0 => String::new(),
        _ => format!(" ({})", reasons.join(", ")),
    };
    write!(
        html,
        "<details class=\"coverage\" id=\"coverage-{id}\"><summary><h3>{name}</h3> \
         <span>{} of {all} sentences decided, {not} not{}</span></summary>\n\
         <table><thead><tr><th scope=\"col\">Section</th><th scope=\"col\">The paper says</th>\
         <th scope=\"col\">Decided by</th></tr></thead>\n<tbody>\n",
        all - not,
        escaped(&reasons),
        id = escaped(&paper.id),
        name = escaped(&paper.name),
    )
    .ok();
    let claims = claims(paper);
    for of in &paper.sentences {
        sentence(html, paper, of, &claims);
    }
    html.push_str("</tbody></table></details>\n");
}

/// The claims by the names that sentences use.
fn claims(paper: &Paper) -> HashMap<String, &Claim> {
    let mut claims = HashMap::new();
    for of in &paper.experiments {
        for claim in &of.claims {
            claims.insert(format!("{}/{}", of.name, claim.id), claim);
        }
    }
    claims
}

fn sentence(html: &mut String, paper: &Paper, of: &Sentence, claims: &HashMap<String, &Claim>) {
    write!(
        html,
        "<tr><td class=\"section\">{}</td><td>{}</td><td class=\"by\">",
        escaped(&place(&of.section)),
        escaped(&of.says)
    )
    .ok();
    for name in &of.claims {
        let shown = escaped(name);
        match claims.get(name) {
            Some(claim) => write!(
                html,
                "<a href=\"#{}/{shown}\">{}{shown}<span class=\"off-screen\"> ({})</span></a> ",
                escaped(&paper.id),
                icon(claim.verdict),
                claim.verdict.name()
            ),
            None => write!(html, "<span>{shown} (not in this run)</span> "),
        }
        .ok();
    }
    if let Some(untested) = &of.untested {
        write!(
            html,
            "<span class=\"untested\">not decided: {}</span> {}",
            escaped(&untested.kind),
            escaped(&untested.because)
        )
        .ok();
    }
    html.push_str("</td></tr>\n");
}
