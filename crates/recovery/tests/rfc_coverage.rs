//! The requirements of RFCs (`rfc/requirements.toml`) and the code that fulfils them.
//!
//! A comment cites a requirement where it is fulfilled. Its quote is that of the list, word for word; its continuation
//! lines are indented. A deviation from the requirement follows its citation. A test names the section that it tests.
//!
//! ```text
//! //= RFC 6298 §2.4 SHOULD: "Whenever RTO is computed, if it is less than 1 second, then the
//! //=   RTO SHOULD be rounded up to 1 second."
//! //= deviation: why
//! //= test: RFC 6298 §2.4
//! ```
//! The list with its citations is `docs/rfc-coverage.md`. With `RECOUP_UPDATE_RFC=1` that page is written.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

const INTRODUCTION: &str = "\
# Coverage of RFCs

Each requirement of these RFCs, with the function that fulfils it or the reason why none does. This page is generated
from `crates/recovery/rfc/requirements.toml` and from the citations in the code. Do not edit it.

- The quotes are the words of the RFC. A *step* is a step of an algorithm, without a key word of RFC 2119.
- A function fulfils a requirement for the profiles that implement its RFC: `rfc6675` and `reno` for RFC 5681, 6298 and
  6675; `rfc9002` for RFC 9002; profiles with RACK and tail loss probes of RFC 8985, PRR of RFC 9937, F-RTO and CUBIC for
  the others. Profiles of Linux kernels follow the kernel where it differs.
- Files are those of `crates/recovery/src`, or of `crates/tcp/src` after `tcp`.
";

const RFCS: [(u32, &str); 8] = [
    (5681, "TCP Congestion Control"),
    (5682, "Forward RTO-Recovery (F-RTO)"),
    (6298, "Computing TCP's Retransmission Timer"),
    (6675, "A Conservative Loss Recovery Algorithm Based on Selective Acknowledgment (SACK) for TCP"),
    (8985, "The RACK-TLP Loss Detection Algorithm for TCP"),
    (9002, "QUIC Loss Detection and Congestion Control"),
    (9438, "CUBIC for Fast and Long-Distance Networks"),
    (9937, "Proportional Rate Reduction (PRR)"),
];

#[derive(Deserialize)]
struct Requirements {
    requirement: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Requirement {
    rfc: u32,
    section: String,
    level: String,
    quote: String,
    elsewhere: Option<String>,
    not_applicable: Option<String>,
    deviation: Option<String>,
}

impl Requirement {
    /// Why no code cites it, if the list says so.
    fn reason(&self) -> Option<String> {
        let reasons =
            [("In", &self.elsewhere), ("Not applicable", &self.not_applicable), ("Deviation", &self.deviation)];
        reasons.iter().find_map(|(kind, why)| Some(format!("{kind}: {}", why.as_ref()?)))
    }

    /// How a citation of it begins and ends.
    fn citation(&self) -> String {
        format!("RFC {} §{} {}: \"{}\"", self.rfc, self.section, self.level, self.quote)
    }
}

/// A comment of the form above.
#[derive(Debug)]
struct Citation {
    /// The text without the marks of its lines.
    text: String,
    deviation: Option<String>,
    /// The file and the item that the comment is in or above.
    place: String,
}

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn requirements() -> Vec<Requirement> {
    let list = fs::read_to_string(crate_folder().join("rfc/requirements.toml")).expect("the list of requirements");
    toml::from_str::<Requirements>(&list).expect("a list of requirements").requirement
}

/// The citations in all files of a folder, in the order of their names.
fn citations_in(folder: &str, prefix: &str) -> Vec<Citation> {
    let root = crate_folder().join(folder);
    let (mut folders, mut files) = (vec![root.clone()], BTreeSet::<PathBuf>::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of source files") {
            let path = entry.expect("a file").path();
            match path.is_dir() {
                true => folders.push(path),
                false => _ = files.insert(path),
            }
        }
    }
    let rust = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.flat_map(|path| {
        let text = fs::read_to_string(path).expect("a source file");
        let name = path.strip_prefix(&root).expect("a file in the folder").display().to_string();
        citations(&text, &format!("{prefix}`{name}`"))
    })
    .collect()
}

fn citations(text: &str, file: &str) -> Vec<Citation> {
    let lines: Vec<&str> = text.lines().collect();
    let mut citations: Vec<Citation> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some(text) = line.trim_start().strip_prefix("//= ") else {
            continue;
        };
        let last = citations.last_mut();
        match (text.strip_prefix("  "), text.strip_prefix("deviation: "), last) {
            (Some(more), _, Some(last)) => {
                let text = last.deviation.as_mut().unwrap_or(&mut last.text);
                *text += " ";
                *text += more;
            }
            (_, Some(why), Some(last)) => last.deviation = Some(why.to_string()),
            _ => citations.push(Citation {
                text: text.to_string(),
                deviation: None,
                place: format!("{file} {}", item_at(&lines, i)),
            }),
        }
    }
    citations
}

/// The item that begins after the comments at a line, or else the one around that line. A method has its type before it.
fn item_at(lines: &[&str], at: usize) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let skipped = |line: &&&str| line.trim_start().starts_with("//") || line.trim_start().starts_with("#[");
    let next = lines[at..].iter().find(|line| !skipped(line)).copied().unwrap_or_default();
    let around = lines[..at].iter().rev().filter(|line| line.ends_with('{') && indent(line) < indent(lines[at]));
    let name = std::iter::once(next).chain(around.copied()).find_map(item_name).unwrap_or_default();
    let block = lines[..at].iter().rev().find(|line| !line.is_empty() && !line.starts_with([' ', '}']));
    let owner = block.filter(|line| line.starts_with("impl") && indent(lines[at]) > 0).map(|line| {
        let ty = line.trim_end_matches(" {").rsplit(' ').next().unwrap_or_default();
        format!("{}::", ty.split('<').next().unwrap_or_default())
    });
    format!("`{}{name}`", owner.unwrap_or_default())
}

/// The name of the function, type or constant that a line begins.
fn item_name(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().filter(|word| !matches!(*word, "const" | "static")).collect();
    let is_constant = line.split_whitespace().any(|word| matches!(word, "const" | "static"));
    let keyword = words.iter().take(3).position(|word| matches!(*word, "fn" | "struct" | "enum" | "trait"));
    let name = match (keyword, is_constant) {
        (Some(keyword), _) => words.get(keyword + 1)?,
        (None, true) => words.iter().find(|word| word.ends_with(':'))?,
        (None, false) => return None,
    };
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some(name[..end].to_string())
}

/// The requirements with their citations.
struct Coverage {
    requirements: Vec<Requirement>,
    /// By what they begin with.
    cited: BTreeMap<String, Vec<Citation>>,
    /// The tests of each section (`RFC 6298 §2.4`).
    tested: BTreeMap<String, Vec<String>>,
}

fn coverage() -> Coverage {
    let mut coverage = Coverage { requirements: requirements(), cited: BTreeMap::new(), tested: BTreeMap::new() };
    let folders = [("src", ""), ("../tcp/src", "tcp "), ("tests", "tests ")];
    for citation in folders.into_iter().flat_map(|(folder, prefix)| citations_in(folder, prefix)) {
        match citation.text.strip_prefix("test: ") {
            Some(section) => coverage.tested.entry(section.to_string()).or_default().push(citation.place),
            None => coverage.cited.entry(citation.text.clone()).or_default().push(citation),
        }
    }
    coverage
}

#[test]
fn every_citation_is_a_requirement() {
    let Coverage { requirements, cited, tested } = coverage();
    let known: BTreeSet<String> = requirements.iter().map(Requirement::citation).collect();
    assert_eq!(known.len(), requirements.len(), "a requirement is in the list twice");
    let unknown: Vec<_> = cited.iter().filter(|(text, _)| !known.contains(*text)).collect();
    assert!(unknown.is_empty(), "not in rfc/requirements.toml: {unknown:#?}");
    let sections: BTreeSet<String> =
        requirements.iter().map(|one| format!("RFC {} §{}", one.rfc, one.section)).collect();
    let unknown: Vec<_> = tested.iter().filter(|(section, _)| !sections.contains(*section)).collect();
    assert!(unknown.is_empty(), "tests of sections without a requirement: {unknown:#?}");
}

#[test]
fn every_requirement_is_cited_or_has_one_reason() {
    let Coverage { requirements, cited, .. } = coverage();
    for one in &requirements {
        let reasons = [&one.elsewhere, &one.not_applicable, &one.deviation].into_iter().flatten().count();
        let citation = one.citation();
        assert_eq!(reasons + usize::from(cited.contains_key(&citation)), 1, "cited, or one reason: {citation}");
        assert!(RFCS.iter().any(|(number, _)| *number == one.rfc), "no title: RFC {}", one.rfc);
        let levels = ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "step"];
        assert!(levels.contains(&one.level.as_str()), "{citation}");
        assert_eq!(one.quote, one.quote.split_whitespace().collect::<Vec<_>>().join(" "), "spaces");
    }
}

#[test]
fn the_committed_page_is_up_to_date() {
    let path = crate_folder().join("../../docs/rfc-coverage.md");
    let page = page(&coverage());
    if std::env::var_os("RECOUP_UPDATE_RFC").is_some() {
        fs::write(&path, &page).expect("a page that can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == page,
        "docs/rfc-coverage.md is out of date: RECOUP_UPDATE_RFC=1 cargo test -p recoup-recovery --test rfc_coverage"
    );
}

#[test]
fn a_citation_belongs_to_the_item_below_it_or_around_it() {
    let code = "\
impl Timer {
    #[inline]
    MARK RFC 1 §2 MUST: \"one
    MARK   two\"
    pub fn start(&mut self) {
        let soon = 1;
        MARK RFC 1 §3 MUST: \"three\"
        MARK deviation: because
        MARK   of this
        self.stop();
    }
    MARK test: RFC 1 §2
    const LIMIT: u32 = 1;
}
"
    .replace("MARK", "//=");
    let found = citations(&code, "a");
    let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["RFC 1 §2 MUST: \"one two\"", "RFC 1 §3 MUST: \"three\"", "test: RFC 1 §2"]);
    let places: Vec<&str> = found.iter().map(|one| one.place.as_str()).collect();
    assert_eq!(places, ["a `Timer::start`", "a `Timer::start`", "a `Timer::LIMIT`"]);
    assert_eq!(found[1].deviation.as_deref(), Some("because of this"));
}

fn page(coverage: &Coverage) -> String {
    let mut page = INTRODUCTION.to_string();
    page += "\n| RFC | requirements | fulfilled | with a deviation | not fulfilled, or not applicable |\n";
    page += "| --- | --- | --- | --- | --- |\n";
    for (rfc, title) in RFCS {
        let all: Vec<_> = of_rfc(coverage, rfc).collect();
        let count = |is: &dyn Fn(&Requirement) -> bool| all.iter().filter(|one| is(one)).count().to_string();
        let deviates = |one: &Requirement| cited(coverage, one).iter().any(|citation| citation.deviation.is_some());
        let cells = [
            format!("[{rfc}](#rfc-{rfc}): {title}"),
            all.len().to_string(),
            count(&|one| one.reason().is_none() && !deviates(one)),
            count(&|one| one.reason().is_none() && deviates(one)),
            count(&|one| one.reason().is_some()),
        ];
        row(&mut page, &cells);
    }
    for (rfc, title) in RFCS {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "\n## RFC {rfc}\n\n{title}\n");
        page += "| § | level | requirement | where, or why not | tests |\n| --- | --- | --- | --- | --- |\n";
        for one in of_rfc(coverage, rfc) {
            let tests = coverage.tested.get(&format!("RFC {rfc} §{}", one.section));
            let cells = [
                one.section.clone(),
                one.level.clone(),
                plain(&one.quote),
                one.reason().unwrap_or_else(|| places(cited(coverage, one))),
                tests.map_or_else(String::new, |tests| tests.join("; ")),
            ];
            row(&mut page, &cells);
        }
    }
    page
}

fn of_rfc(coverage: &Coverage, rfc: u32) -> impl Iterator<Item = &Requirement> {
    coverage.requirements.iter().filter(move |one| one.rfc == rfc)
}

fn cited<'a>(coverage: &'a Coverage, one: &Requirement) -> &'a [Citation] {
    coverage.cited.get(&one.citation()).map_or(&[], Vec::as_slice)
}

fn places(citations: &[Citation]) -> String {
    let place = |one: &Citation| match &one.deviation {
        Some(why) => format!("{}; deviation: {why}", one.place),
        None => one.place.clone(),
    };
    citations.iter().map(place).collect::<Vec<_>>().join("; ")
}

fn row(page: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

/// Text that Markdown shows as it is.
fn plain(text: &str) -> String {
    text.chars().flat_map(|c| matches!(c, '*' | '_' | '<' | '>' | '[').then_some('\\').into_iter().chain([c])).collect()
}
