//! The first screen: how many claims hold, in all and by paper.

use super::{Claim, Ledger, Paper, Report, Verdict};
use crate::claims::Class;
use Verdict::{ByConstruction, Fails, Holds, Undecided};
use recoup_draw::html::{escaped, thousands};
use std::fmt::Write;

/// A sign for each verdict, so that verdicts differ in more than their colour.
pub(super) const ICONS: &str = "<svg class=\"definitions\" aria-hidden=\"true\">\
    <symbol id=\"icon-holds\" viewBox=\"0 0 16 16\"><path d=\"M3 8.5 6.5 12 13 4.5\"></path></symbol>\
    <symbol id=\"icon-construction\" viewBox=\"0 0 16 16\"><path d=\"M3.5 4.5h9M3.5 8h9M3.5 11.5h9\"></path></symbol>\
    <symbol id=\"icon-fails\" viewBox=\"0 0 16 16\"><path d=\"M4 4l8 8M12 4l-8 8\"></path></symbol>\
    <symbol id=\"icon-undecided\" viewBox=\"0 0 16 16\"><path d=\"M5.2 6a2.8 2.8 0 1 1 4 2.5c-.8.4-1.2.9-1.2 1.7M8 12.4v.6\"></path></symbol>\
    </svg>\n";

/// The width of a bar in its own units.
const BAR: f64 = 1000.0;

/// The numbers of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts([usize; Verdict::ALL.len()]);

impl Counts {
    pub fn of<'a>(claims: impl Iterator<Item = &'a Claim>) -> Self {
        let mut counts = Self::default();
        for claim in claims {
            counts.0[claim.verdict as usize] += 1;
        }
        counts
    }

    pub fn get(self, verdict: Verdict) -> usize {
        self.0[verdict as usize]
    }

    pub fn total(self) -> usize {
        self.0.iter().sum()
    }

    /// The claims that hold, in whatever way.
    pub fn holding(self) -> usize {
        self.total() - self.get(Fails) - self.get(Undecided)
    }

    /// Verdicts that occur, with their numbers.
    pub fn present(self) -> impl Iterator<Item = (Verdict, usize)> {
        Verdict::ALL.into_iter().map(move |verdict| (verdict, self.get(verdict))).filter(|(_, count)| *count > 0)
    }
}

/// The sign of a verdict.
pub(super) fn icon(verdict: Verdict) -> String {
    let class = verdict.class();
    format!("<svg class=\"icon {class}\" aria-hidden=\"true\"><use href=\"#icon-{class}\"></use></svg>")
}

/// A verdict as sign and word.
pub(super) fn badge(verdict: Verdict) -> String {
    let (class, name) = (verdict.class(), verdict.name());
    format!("<span class=\"verdict {class}\">{}{name}</span>", icon(verdict))
}

/// A bar of the verdicts, as wide as its place.
pub(super) fn bar(counts: Counts) -> String {
    let words: Vec<String> = counts.present().map(|(verdict, count)| format!("{count} {}", verdict.name())).collect();
    let mut svg = format!(
        "<svg class=\"bar\" viewBox=\"0 0 {BAR} 20\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
        words.join(", ")
    );
    let mut left = 0.0;
    for (verdict, count) in counts.present() {
        let width = count as f64 / counts.total() as f64 * BAR;
        write!(
            svg,
            "<rect class=\"{}\" x=\"{left:.2}\" width=\"{width:.2}\" height=\"20\"><title>{count} {}</title></rect>",
            verdict.class(),
            verdict.name()
        )
        .ok();
        left += width;
    }
    svg.push_str("</svg>");
    svg
}

/// The verdicts that occur, with their numbers and signs. They lead to the ledger, where a script shows only the
/// claims with that verdict, of that paper if one is given.
pub(super) fn tally(counts: Counts, paper: Option<&Paper>) -> String {
    let paper = escaped(paper.map_or("", |paper| &paper.id));
    let mut html = String::from("<ul class=\"tally\">");
    for (verdict, count) in counts.present() {
        let words = match (count, verdict) {
            (1, _) | (_, Undecided) => verdict.name(),
            (_, Holds) => "hold",
            (_, ByConstruction) => "hold by construction",
            (_, Fails) => "fail",
        };
        write!(
            html,
            "<li><a href=\"#ledger\" data-only=\"{}\" data-of=\"{paper}\">{}<strong>{}</strong> {words}</a></li>",
            verdict.class(),
            icon(verdict),
            thousands(count as u64),
        )
        .ok();
    }
    html.push_str("</ul>");
    html
}

// Writing to a string cannot fail, so results are ignored.
pub(super) fn write(html: &mut String, report: &Report) {
    let counts = Counts::of(report.claims());
    write!(
        html,
        "<section id=\"summary\" aria-labelledby=\"summary-heading\">\n\
         <h2 id=\"summary-heading\">{}</h2>\n{}{}\n",
        headline(counts),
        bar(counts),
        tally(counts, None)
    )
    .ok();
    papers(html, report);
    classes(html, report);
    changes(html, report);
    unfinished(html, report);
    list(html, report, Fails);
    list(html, report, Undecided);
    html.push_str("</section>\n");
}

fn headline(counts: Counts) -> String {
    let number = |count: usize| thousands(count as u64);
    let verb = |count: usize, one: &'static str, many: &'static str| match count {
        1 => one,
        _ => many,
    };
    let (fails, undecided) = (counts.get(Fails), counts.get(Undecided));
    format!(
        "{} of {} claims {}, {} {}, {} {} undecided",
        number(counts.holding()),
        number(counts.total()),
        verb(counts.holding(), "holds", "hold"),
        number(fails),
        verb(fails, "fails", "fail"),
        number(undecided),
        verb(undecided, "is", "are"),
    )
}

/// The claims by paper and verdict.
fn papers(html: &mut String, report: &Report) {
    html.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Claims by paper\">\
         <table class=\"papers\"><caption>Claims by paper and verdict</caption>\
         <thead><tr><th scope=\"col\">Paper</th><th scope=\"col\"><span class=\"off-screen\">Bar</span></th>",
    );
    for verdict in Verdict::ALL {
        write!(html, "<th scope=\"col\" class=\"number\">{}</th>", verdict.name()).ok();
    }
    html.push_str("<th scope=\"col\" class=\"number\">all</th><th scope=\"col\" class=\"number\">Sentences decided</th></tr></thead>\n<tbody>\n");
    for paper in &report.papers {
        let counts = Counts::of(paper.claims());
        let (id, name) = (escaped(&paper.id), escaped(&paper.name));
        write!(html, "<tr><th scope=\"row\"><a href=\"#{id}\">{name}</a></th><td class=\"bars\">{}</td>", bar(counts))
            .ok();
        for verdict in Verdict::ALL {
            let count = counts.get(verdict);
            let class = if count == 0 { "number none" } else { "number" };
            write!(html, "<td class=\"{class}\" data-label=\"{}\">{count}</td>", verdict.name()).ok();
        }
        writeln!(
            html,
            "<td class=\"number\" data-label=\"all\">{}</td>\
             <td class=\"number\" data-label=\"sentences decided\">{}</td></tr>",
            counts.total(),
            decided(paper)
        )
        .ok();
    }
    html.push_str("</tbody></table></div>\n");
}

/// The claims by class and verdict: what a verdict rests on decides what it says.
fn classes(html: &mut String, report: &Report) {
    let is_there = |class: &Class| report.claims().any(|claim| claim.class == *class);
    let there: Vec<Class> = Class::ALL.into_iter().filter(is_there).collect();
    if there.is_empty() {
        return;
    }
    html.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Claims by class\">\
         <table class=\"papers\"><caption>Claims by what their verdict rests on</caption>\
         <thead><tr><th scope=\"col\">Class</th>",
    );
    for verdict in Verdict::ALL {
        write!(html, "<th scope=\"col\" class=\"number\">{}</th>", verdict.name()).ok();
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for one in there {
        let counts = Counts::of(report.claims().filter(|claim| claim.class == one));
        write!(html, "<tr><th scope=\"row\">{}: {}</th>", escaped(one.name()), escaped(one.about())).ok();
        for verdict in Verdict::ALL {
            let count = counts.get(verdict);
            let class = if count == 0 { "number none" } else { "number" };
            write!(html, "<td class=\"{class}\" data-label=\"{}\">{count}</td>", verdict.name()).ok();
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

/// How many of a paper's sentences a claim decides.
fn decided(paper: &Paper) -> String {
    let tested = paper.sentences.iter().filter(|of| of.untested.is_none());
    match paper.sentences.len() {
        0 => "–".into(),
        all => format!("{} of {all}", tested.count()),
    }
}

/// The claims whose verdicts are not those of the committed ledger.
fn changes(html: &mut String, report: &Report) {
    let mut changed = vec![];
    for (paper, experiment) in report.experiments() {
        for claim in &experiment.claims {
            let was = match claim.ledger {
                Ledger::NotCompared | Ledger::Same => continue,
                Ledger::New => "not in the ledger".to_string(),
                Ledger::Differs(verdict) => format!("ledger: {}", verdict.name()),
            };
            changed.push(format!(
                "<li>{} {} <span class=\"was\">{was}</span></li>\n",
                badge(claim.verdict),
                link(paper, &experiment.name, claim),
            ));
        }
    }
    if changed.is_empty() {
        if report.claims().any(|claim| claim.ledger == Ledger::Same) {
            html.push_str("<p>All verdicts are those of the committed ledger.</p>\n");
        }
        return;
    }
    let (count, verb) = match changed.len() {
        1 => ("1 verdict".to_string(), "differs"),
        many => (format!("{many} verdicts"), "differ"),
    };
    write!(
        html,
        "<div class=\"warning\"><h3>{count} {verb} from the committed ledger</h3>\n<ul>\n{}</ul></div>\n",
        changed.concat()
    )
    .ok();
}

/// The experiments without results.
fn unfinished(html: &mut String, report: &Report) {
    let missing: String = report
        .experiments()
        .filter_map(|(paper, experiment)| {
            let why = escaped(experiment.missing()?);
            let name = escaped(&format!("{} {}", paper.id, experiment.name));
            let address = escaped(&format!("{}/{}", paper.id, experiment.name));
            Some(format!("<li><a href=\"#{address}\">{name}</a>: {why}</li>\n"))
        })
        .collect();
    if !missing.is_empty() {
        write!(html, "<div class=\"warning\"><h3>Missing experiments</h3>\n<ul>\n{missing}</ul></div>\n").ok();
    }
}

/// The claims with a verdict, behind their number.
fn list(html: &mut String, report: &Report, verdict: Verdict) {
    let mut entries = String::new();
    let mut count = 0;
    for (paper, experiment) in report.experiments() {
        for claim in experiment.claims.iter().filter(|of| of.verdict == verdict) {
            count += 1;
            writeln!(entries, "<li>{}</li>", link(paper, &experiment.name, claim)).ok();
        }
    }
    if count == 0 {
        return;
    }
    let words = match (verdict, count) {
        (Fails, 1) => "The claim that fails".to_string(),
        (Fails, _) => format!("The {count} claims that fail"),
        (_, 1) => "The undecided claim".to_string(),
        (_, _) => format!("The {count} undecided claims"),
    };
    write!(
        html,
        "<details class=\"list\"><summary>{}{words}</summary>\n<ul>\n{entries}</ul></details>\n",
        icon(verdict)
    )
    .ok();
}

/// A claim's statement, which leads to its row in the ledger.
fn link(paper: &Paper, experiment: &str, claim: &Claim) -> String {
    format!(
        "<a href=\"#{}\">{}</a> <span class=\"of\">{}</span>",
        escaped(&paper.address(experiment, &claim.id)),
        escaped(&claim.statement),
        escaped(&format!("{} {experiment}", paper.id)),
    )
}
