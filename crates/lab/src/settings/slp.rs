//! Selective loss prevention: loss rate, likelihoods of timeouts, bandwidth and gap.

use super::descriptor::{Setting, setting};
use super::value::parse_word;
use super::{Settings, SourceFile};
use recoup_recovery::slp::{Kind, Likelihoods, LossRate};
use recoup_support::input;
use recoup_support::quantity::parse_rate;
use recoup_support::suggest::did_you_mean;
use recoup_units::Ppm;
use std::io::ErrorKind;
use std::path::Path;

pub(super) const SETTINGS: &[Setting] = &[
    setting!(
        "slp.p",
        "+slp: probability that a packet is lost, from 0 to 1: 0.02 or 2%; learned (from the connection)",
        slp.loss,
        parse_loss_rate,
        ToString::to_string
    ),
    Setting {
        key: "slp.q",
        help: "+slp: probability that the loss of a packet of a kind causes a timeout: paper (syn 1 and psh 0.1; also syn_ack 1, which is our extension), KIND:Q,… as in tail:1,psh:0.1, or a CSV file of lines kind,q (at most 1 MiB); the kinds are syn, syn_ack, fin, psh, tail, first and other; a kind left out has 0",
        set: set_likelihoods,
        get: |s| match &s.slp_q {
            Some(file) => file.name.clone(),
            None => format_likelihoods(&s.slp.likelihoods),
        },
    },
    setting!(
        "slp.bw",
        "+slp: bandwidth that is assumed until the connection has measured its delivery rate: 10Mbit",
        slp.bandwidth,
        parse_rate,
        ToString::to_string
    ),
    setting!(
        "slp.gap",
        "+slp: gap between original and copy, as a share of SRTT from 0 to 1 (5 ms before the first RTT sample): 0.125",
        slp.gap,
        parse_share,
        ToString::to_string
    ),
];

/// The longest file of likelihoods that is read, in bytes.
const LONGEST_LIKELIHOODS: u64 = 1 << 20;

fn set_likelihoods(settings: &mut Settings, text: &str, base: &Path) -> Result<(), String> {
    (settings.slp_q, settings.slp.likelihoods) = read_likelihoods(text, base)?;
    Ok(())
}

/// A share, `0.02` or `2%`, to the millionth.
fn parse_share(text: &str) -> Result<Ppm, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let share = number.parse().ok().map(|n: f64| n / whole);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .map(|share| Ppm::new((share * 1e6).round() as u32))
        .ok_or_else(|| format!("`{text}`: expected a number from 0 to 1, such as 0.02, or 0% to 100%"))
}

fn parse_loss_rate(text: &str) -> Result<LossRate, String> {
    if text == "learned" {
        return Ok(LossRate::Learned);
    }
    let share = parse_share(text).map(LossRate::Fixed);
    share.map_err(|why| format!("{why}, or learned{}", did_you_mean(text, ["learned"])))
}

/// Reads `paper`, `KIND:Q,…`, or a file of lines `kind,q`, with the header `kind,q` or without.
fn read_likelihoods(text: &str, base: &Path) -> Result<(Option<SourceFile>, Likelihoods), String> {
    if text == "paper" {
        return Ok((None, Likelihoods::PAPER));
    }
    let path = base.join(text);
    // An empty name would be the folder itself.
    let found = match text {
        "" => Err(ErrorKind::NotFound.into()),
        _ => path.metadata(),
    };
    if let Err(e) = found {
        let likelihoods = match text.contains(':') {
            true => parse_pairs(text)?,
            false => return Err(no_likelihoods(text, &path, &e)),
        };
        return Ok((None, likelihoods));
    }
    let contents = input::read_file(&path, LONGEST_LIKELIHOODS)
        .map_err(|e| format!("cannot read the likelihoods {}: {e}", path.display()))?;
    let likelihoods =
        parse_likelihoods(&contents).map_err(|(line, why)| format!("{}:{line}: {why}", path.display()))?;
    let name = text.into();
    Ok((Some(SourceFile { name, path }), likelihoods))
}

/// The error for a text without a likelihood that names no readable file (`e`).
fn no_likelihoods(text: &str, path: &Path, e: &std::io::Error) -> String {
    const PAIRS: &str = "expected KIND:Q, as in tail:1";
    let word = text.split(['=', ',', ';']).next().unwrap_or_default();
    let kinds = Kind::ALL.map(Kind::name);
    if word.is_empty() || kinds.contains(&word) {
        return format!("`{text}`: {PAIRS}");
    }
    let near = match text.contains(['.', '/', '\\']) {
        true => String::new(),
        false => did_you_mean(word, ["paper"].into_iter().chain(kinds)),
    };
    let file = path.display();
    match near.is_empty() {
        true => format!("cannot read the likelihoods {file}: {e} ({PAIRS}, paper, or a CSV file of lines kind,q)"),
        false => format!("`{text}`: {PAIRS}, paper, or a CSV file of lines kind,q{near}"),
    }
}

pub(super) fn format_likelihoods(likelihoods: &Likelihoods) -> String {
    if *likelihoods == Likelihoods::PAPER {
        return "paper".into();
    }
    let kinds = Kind::ALL.into_iter();
    let kinds = kinds.filter(|kind| likelihoods.of(*kind) > Ppm::ZERO);
    let kinds: Vec<String> = kinds.map(|kind| format!("{}:{}", kind.name(), likelihoods.of(kind))).collect();
    match kinds.is_empty() {
        true => format!("{}:0", Kind::Other.name()),
        false => kinds.join(","),
    }
}

/// Likelihoods being read.
#[derive(Default)]
struct LikelihoodReader {
    likelihoods: Likelihoods,
    kinds: Vec<Kind>,
}

impl LikelihoodReader {
    fn add(&mut self, kind: &str, q: &str) -> Result<(), String> {
        let kind = parse_word(kind, &Kind::ALL.map(|kind| (kind.name(), kind)))?;
        let q = parse_share(q)?;
        if self.kinds.contains(&kind) {
            return Err(format!("more than one q for {}", kind.name()));
        }
        self.kinds.push(kind);
        self.likelihoods = self.likelihoods.with(kind, q);
        Ok(())
    }
}

/// Reads `KIND:Q,…`.
fn parse_pairs(text: &str) -> Result<Likelihoods, String> {
    let mut given = LikelihoodReader::default();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let pair = part.split_once(':').filter(|(_, q)| !q.contains(':'));
        let (kind, q) = pair.ok_or_else(|| format!("`{text}`: expected KIND:Q,…, as in tail:1,psh:0.1"))?;
        given.add(kind.trim(), q.trim())?;
    }
    Ok(given.likelihoods)
}

/// The first wrong line with what is wrong, or the likelihoods.
fn parse_likelihoods(text: &str) -> Result<Likelihoods, (usize, String)> {
    const EXPECTED: &str = "expected a line kind,q, such as tail,0.5";
    let mut given = LikelihoodReader::default();
    for (i, line) in text.lines().enumerate() {
        let at = |why| (i + 1, why);
        let Some((kind, q)) = kind_and_q(line).map_err(|()| at(format!("`{line}`: {EXPECTED}")))? else {
            continue;
        };
        let is_header = given.kinds.is_empty() && kind == "kind" && q == "q";
        if !is_header {
            given.add(&kind, &q).map_err(at)?;
        }
    }
    match given.kinds.is_empty() {
        true => Err((1, EXPECTED.into())),
        false => Ok(given.likelihoods),
    }
}

/// The two fields of a line of CSV; `None` of one that is blank or a comment.
fn kind_and_q(line: &str) -> Result<Option<(String, String)>, ()> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(line.as_bytes());
    let Some(record) = reader.records().next() else {
        return Ok(None);
    };
    let record = record.map_err(|_| ())?;
    match record.iter().collect::<Vec<_>>()[..] {
        [""] => Ok(None),
        [kind, q] => Ok(Some((kind.into(), q.into()))),
        _ => Err(()),
    }
}
