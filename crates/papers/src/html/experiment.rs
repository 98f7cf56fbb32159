//! The parts of a paper: each experiment with its figures beside its claims.

use super::summary::{Counts, badge, bar, icon, tally};
use super::{Claim, Data, Experiment, Figure, Ledger, MAX_ROWS, Outcome, Paper};
use recoup_draw::html::{escaped, thousands};
use std::fmt::Write;

// Writing to a string cannot fail, so results are ignored.
pub(super) fn paper(html: &mut String, paper: &Paper) {
    let (id, name) = (escaped(&paper.id), escaped(&paper.name));
    let counts = Counts::of(paper.claims());
    write!(
        html,
        "<section class=\"paper\" id=\"{id}\" aria-labelledby=\"{id}-heading\">\n\
         <h2 id=\"{id}-heading\">{name}</h2>\n<p class=\"citation\">{}</p>\n",
        escaped(&paper.citation)
    )
    .ok();
    if counts.total() > 0 {
        writeln!(html, "{}{}", bar(counts), tally(counts, Some(paper))).ok();
    }
    index(html, paper);
    for of in &paper.experiments {
        experiment(html, paper, of);
    }
    html.push_str("</section>\n");
}

/// Links to the experiments, with the numbers of their verdicts.
fn index(html: &mut String, paper: &Paper) {
    if paper.experiments.len() < 2 {
        return;
    }
    html.push_str("<ul class=\"index\">\n");
    for of in &paper.experiments {
        let address = escaped(&format!("{}/{}", paper.id, of.name));
        write!(html, "<li><a href=\"#{address}\">{}</a>", escaped(&of.name)).ok();
        for (verdict, count) in Counts::of(of.claims.iter()).present() {
            write!(
                html,
                " <span class=\"count\" title=\"{count} {name}\">{}{count}\
                 <span class=\"off-screen\"> {name}</span></span>",
                icon(verdict),
                name = verdict.name()
            )
            .ok();
        }
        if of.missing().is_some() {
            html.push_str(" <span class=\"count\">missing</span>");
        }
        html.push_str("</li>\n");
    }
    html.push_str("</ul>\n");
}

fn experiment(html: &mut String, paper: &Paper, of: &Experiment) {
    let address = escaped(&format!("{}/{}", paper.id, of.name));
    write!(
        html,
        "<article class=\"experiment\" id=\"{address}\" aria-labelledby=\"{address}-heading\">\n\
         <h3 id=\"{address}-heading\">{}</h3>\n<p class=\"facts\">{}</p>\n<p class=\"about\">{}</p>\n",
        escaped(&of.name),
        escaped(&facts(of)),
        escaped(&of.about)
    )
    .ok();
    if let Some(why) = of.missing() {
        writeln!(html, "<p class=\"warning\">This experiment has no result: {}</p>", escaped(why)).ok();
    }
    let has_figures = !of.figures.is_empty();
    if has_figures || !of.claims.is_empty() {
        let class = match of.figures.len() {
            0 => "beside no-figure",
            1 => "beside",
            _ => "beside several",
        };
        writeln!(html, "<div class=\"{class}\">").ok();
        if has_figures {
            html.push_str("<div class=\"figures\">\n");
            for drawing in &of.figures {
                figure(html, &address, of, drawing);
            }
            html.push_str("</div>\n");
        }
        claims(html, paper, of);
        html.push_str("</div>\n");
    }
    fits(html, of);
    data(html, of);
    files(html, of);
    html.push_str("</article>\n");
}

/// Section and time in one line.
fn facts(of: &Experiment) -> String {
    let mut facts = vec![];
    if !of.section.is_empty() {
        facts.push(place(&of.section));
    }
    let budget = of.budget.map(seconds);
    match (&of.outcome, budget) {
        (Outcome::Finished { seconds: taken }, Some(budget)) => {
            facts.push(format!("{} of {budget} allowed", seconds(*taken)));
        }
        (Outcome::Finished { seconds: taken }, None) => facts.push(seconds(*taken)),
        (Outcome::Missing(_), _) => {}
    }
    facts.join(" · ")
}

fn seconds(time: f64) -> String {
    match time {
        short if short < 9.95 => format!("{short:.1} s"),
        long => format!("{long:.0} s"),
    }
}

fn figure(html: &mut String, address: &str, of: &Experiment, figure: &Figure) {
    let about = if figure.about.is_empty() { &of.about } else { &figure.about };
    let name = escaped(&figure.name);
    let caption = match of.figures.len() {
        1 => String::new(),
        _ => format!("<figcaption>{name}</figcaption>\n"),
    };
    write!(
        html,
        "<figure class=\"figure\" id=\"{address}/figure/{name}\">\n{caption}<div class=\"picture\">{}</div>\n\
         </figure>\n",
        labelled(&figure.svg, &format!("{}: {about}", figure.name))
    )
    .ok();
}

/// A picture with its name for readers who do not see it.
fn labelled(svg: &str, label: &str) -> String {
    let label = format!("<svg role=\"img\" aria-label=\"{}\" ", escaped(label));
    svg.trim().replacen("<svg ", &label, 1)
}

fn claims(html: &mut String, paper: &Paper, of: &Experiment) {
    html.push_str("<ul class=\"claims\">\n");
    for one in &of.claims {
        claim(html, paper, of, one);
    }
    html.push_str("</ul>\n");
}

/// The paper's figure, ours, and the reason if they differ.
fn claim(html: &mut String, paper: &Paper, of: &Experiment, claim: &Claim) {
    write!(
        html,
        "<li class=\"claim\"><div class=\"head\">{}{}<a class=\"of\" href=\"#{}\">{}</a></div>\n\
         <p class=\"statement\">{}</p>\n",
        badge(claim.verdict),
        was(claim.ledger),
        escaped(&paper.address(&of.name, &claim.id)),
        escaped(&name(claim)),
        escaped(&claim.statement)
    )
    .ok();
    html.push_str("<dl>");
    if let Some(figure) = &claim.paper {
        write!(html, "<div><dt>Paper</dt><dd>{}</dd></div>", escaped(figure)).ok();
    }
    writeln!(html, "<div><dt>Ours</dt><dd>{}</dd></div></dl>", escaped(&ours(claim))).ok();
    if let Some(note) = &claim.note {
        writeln!(html, "<p class=\"note\">{}</p>", escaped(note)).ok();
    }
    html.push_str("</li>\n");
}

/// The name and the section of a claim.
fn name(claim: &Claim) -> String {
    match &*claim.section {
        "" => claim.id.clone(),
        section => format!("{}, {}", claim.id, place(section)),
    }
}

/// A section with its sign, if it is a number.
pub(super) fn place(section: &str) -> String {
    if section.starts_with(|c: char| c.is_ascii_digit()) { format!("§{section}") } else { section.to_string() }
}

/// Our result with its interval.
pub(super) fn ours(claim: &Claim) -> String {
    match &claim.interval {
        Some(interval) => format!("{} ({interval})", claim.ours),
        None => claim.ours.clone(),
    }
}

/// How a verdict differs from the committed ledger.
pub(super) fn was(ledger: Ledger) -> String {
    match ledger {
        Ledger::NotCompared | Ledger::Same => String::new(),
        Ledger::New => "<span class=\"was\">not in the ledger</span>".into(),
        Ledger::Differs(verdict) => {
            format!("<span class=\"was\">ledger: {}</span>", verdict.name())
        }
    }
}

/// The populations: what was fitted to the baseline, and what was held out.
fn fits(html: &mut String, of: &Experiment) {
    for text in &of.fits {
        let label = escaped(&format!("Population of {}", of.name));
        writeln!(
            html,
            "<details class=\"data\"><summary>Fitted, held out</summary>\n\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\"><pre>{}</pre></div></details>",
            escaped(text)
        )
        .ok();
    }
}

fn data(html: &mut String, of: &Experiment) {
    let label = escaped(&format!("Data of {}", of.name));
    let open = format!(
        "<details class=\"data\"><summary>Data</summary>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">"
    );
    match &of.data {
        Data::None => {}
        Data::Text(text) => {
            writeln!(html, "{open}<pre>{}</pre></div></details>", escaped(text)).ok();
        }
        Data::Rows { headings, rows } => {
            html.push_str(&open);
            table(html, headings, rows);
            html.push_str("</div>\n");
            if rows.len() > MAX_ROWS {
                let left_out = thousands((rows.len() - MAX_ROWS) as u64);
                writeln!(html, "<p class=\"note\">{left_out} more rows are left out.</p>").ok();
            }
            html.push_str("</details>\n");
        }
    }
}

fn table(html: &mut String, headings: &[String], rows: &[Vec<String>]) {
    let is_number = |cell: &str| cell.parse::<f64>().is_ok();
    // A column of numbers may have empty cells.
    let numbers: Vec<bool> = (0..headings.len())
        .map(|i| {
            let mut cells = rows.iter().filter_map(|row| row.get(i));
            cells.all(|cell| cell.is_empty() || is_number(cell))
        })
        .collect();
    let class = |i: usize| match numbers.get(i) {
        Some(true) => " class=\"number\"",
        _ => "",
    };
    html.push_str("<table><thead><tr>");
    for (i, heading) in headings.iter().enumerate() {
        write!(html, "<th scope=\"col\"{}>{}</th>", class(i), escaped(heading)).ok();
    }
    html.push_str("</tr></thead><tbody>\n");
    for row in rows.iter().take(MAX_ROWS) {
        html.push_str("<tr>");
        for (i, cell) in row.iter().enumerate() {
            write!(html, "<td{}>{}</td>", class(i), escaped(&shortened(cell))).ok();
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table>");
}

/// A number with six significant digits, if the cell is one with more. Files have all of them.
fn shortened(cell: &str) -> String {
    const DIGITS: usize = 6;
    let is_long = cell.contains('.') && cell.bytes().filter(u8::is_ascii_digit).count() > DIGITS;
    match cell.parse::<f64>() {
        Ok(number) if is_long && number.is_finite() => {
            let rounded: f64 = format!("{number:.*e}", DIGITS - 1).parse().unwrap_or(number);
            rounded.to_string()
        }
        _ => cell.to_string(),
    }
}

fn files(html: &mut String, of: &Experiment) {
    if of.files.is_empty() {
        return;
    }
    html.push_str("<p class=\"files\">Files:");
    for file in &of.files {
        let file = escaped(file);
        write!(html, " <a href=\"{file}\">{file}</a>").ok();
    }
    html.push_str("</p>\n");
}
