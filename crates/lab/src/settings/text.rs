//! The text forms of settings.

use super::{Link, Reordering, SourceFile};
use crate::quantity::{format_duration, parse_duration};
use crate::suggest::did_you_mean;
use recoup_path::{DropRules, LinkTrace, Probability};
use recoup_recovery::congestion::Algorithm;
use recoup_recovery::slp::{Kind, Likelihoods, LossRate};
use recoup_sim::TimerModel;
use recoup_tcp::flow::Write;
use recoup_tcp::{AckPolicy, Push};
use recoup_units::{Direction, Ppm, Segments};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// A value for each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EachWay<T> {
    /// From client to server.
    pub up: T,
    /// From server to client.
    pub down: T,
}

impl<T> EachWay<T> {
    pub(super) fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl<T: Clone> EachWay<T> {
    /// Reads `[up:|down:]VALUE,…`. Directions not named keep `rest`; a value without a prefix goes
    /// where `plain` says.
    pub(super) fn parse(
        text: &str,
        rest: T,
        plain: &[Direction],
        mut value: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<Self, String> {
        let mut each = Self {
            up: rest.clone(),
            down: rest,
        };
        let mut given = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (directions, part) = match part.split_once(':') {
                Some(("up", part)) => (&[Direction::Up][..], part),
                Some(("down", part)) => (&[Direction::Down][..], part),
                _ => (plain, part),
            };
            let value = value(part)?;
            for direction in directions {
                if given.contains(direction) {
                    let name = direction.name();
                    return Err(format!("`{text}`: more than one value for {name}"));
                }
                given.push(*direction);
                match direction {
                    Direction::Up => each.up = value.clone(),
                    Direction::Down => each.down = value.clone(),
                }
            }
        }
        Ok(each)
    }
}

impl<T: PartialEq> EachWay<T> {
    pub(super) fn format(&self, value: impl Fn(&T) -> String) -> String {
        if self.up == self.down {
            value(&self.up)
        } else {
            format!("up:{},down:{}", value(&self.up), value(&self.down))
        }
    }
}

pub(super) const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];
pub(super) const DOWN: [Direction; 1] = [Direction::Down];

/// `none`, or what `value` reads.
pub(super) fn optional<T>(
    mut value: impl FnMut(&str) -> Result<T, String>,
) -> impl FnMut(&str) -> Result<Option<T>, String> {
    move |text| {
        if text == "none" {
            Ok(None)
        } else {
            value(text).map(Some)
        }
    }
}

pub(super) fn parse_number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| format!("`{text}`: expected a whole number from {least} to {most}"))
}

pub(super) fn parse_word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let near = did_you_mean(text, known.iter().copied());
            format!("`{text}`: expected {}{near}", known.join(" or "))
        })
}

pub(super) fn format_word<T: Copy + PartialEq>(value: T, words: &[(&str, T)]) -> String {
    let word = words.iter().find(|(_, of)| *of == value);
    word.map_or(String::new(), |(word, _)| (*word).into())
}

pub(super) const PUSHES: [(&str, Push); 2] = [
    ("write", Push::WriteEnd),
    ("burst", Push::Burst { least: 2 }),
];

/// What a part of the kernel may be: as it is, or switched.
pub(super) const SWITCHED: [(&str, Option<bool>); 3] =
    [("default", None), ("on", Some(true)), ("off", Some(false))];

pub(super) fn parse_drop(text: &str) -> Result<DropRules, String> {
    text.parse().map_err(|e: recoup_path::DropRulesError| {
        let near = e
            .unknown()
            .map(|(word, known)| did_you_mean(word, known.iter().copied()));
        format!("{e}{}", near.unwrap_or_default())
    })
}

pub(super) fn parse_probability(text: &str) -> Result<Probability, String> {
    text.parse()
        .map_err(|e: recoup_path::ProbabilityError| e.to_string())
}

pub(super) fn parse_probabilities(text: &str) -> Result<EachWay<Probability>, String> {
    EachWay::parse(text, Probability::ZERO, &BOTH, parse_probability)
}

pub(super) fn parse_reordering(text: &str) -> Result<Reordering, String> {
    let (probability, extra) = text.split_once(':').ok_or_else(|| {
        format!("`{text}`: expected none or PROBABILITY:EXTRA, such as 0.01:20ms")
    })?;
    Ok(Reordering {
        probability: parse_probability(probability)?,
        extra: parse_duration(extra)?,
    })
}

pub(super) fn parse_ack(text: &str) -> Result<AckPolicy, String> {
    let (kind, value) = match text.split_once(':') {
        Some((kind, value)) => (kind, Some(value)),
        None => (text, None),
    };
    match (kind, value) {
        ("quick", None) => Ok(AckPolicy::Quick),
        ("delayed", None) => Ok(AckPolicy::Delayed(Duration::from_millis(200))),
        ("delayed", Some(delay)) => parse_duration(delay).map(AckPolicy::Delayed),
        ("linux", None) => Ok(AckPolicy::Linux {
            quick: AckPolicy::LINUX_QUICK,
        }),
        ("linux", Some(quick)) => Ok(AckPolicy::Linux {
            quick: parse_number(quick, 0, 1_000_000)? as u32,
        }),
        _ => {
            let near = did_you_mean(kind, ["quick", "delayed", "linux"]);
            Err(format!(
                "`{text}`: expected quick, delayed[:200ms] or linux[:16]{near}"
            ))
        }
    }
}

pub(super) fn format_ack(ack: AckPolicy) -> String {
    match ack {
        AckPolicy::Quick => "quick".into(),
        AckPolicy::Delayed(delay) => format!("delayed:{}", format_duration(delay)),
        AckPolicy::Linux {
            quick: AckPolicy::LINUX_QUICK,
        } => "linux".into(),
        AckPolicy::Linux { quick } => format!("linux:{quick}"),
    }
}

pub(super) fn parse_timers(text: &str) -> Result<TimerModel, String> {
    let (kind, value) = text.split_once(':').unwrap_or((text, ""));
    match (kind, value) {
        ("exact", "") if !text.contains(':') => Ok(TimerModel::Exact),
        ("granularity", value) => {
            let granularity = parse_duration(value)?;
            if granularity.is_zero() {
                return Err(format!(
                    "`{text}`: expected a granularity above zero, such as 10ms"
                ));
            }
            Ok(TimerModel::Granularity(granularity))
        }
        ("linux-wheel", hz) => Ok(TimerModel::LinuxWheel {
            hz: parse_number(hz, 1, 1_000_000)? as u32,
        }),
        _ => {
            let near = did_you_mean(kind, ["exact", "granularity", "linux-wheel"]);
            Err(format!(
                "`{text}`: expected exact, granularity:10ms or linux-wheel:HZ{near}"
            ))
        }
    }
}

pub(super) fn format_timers(timers: TimerModel) -> String {
    match timers {
        TimerModel::Exact => "exact".into(),
        TimerModel::Granularity(g) => format!("granularity:{}", format_duration(g)),
        TimerModel::LinuxWheel { hz } => format!("linux-wheel:{hz}"),
    }
}

pub(super) fn parse_cc(text: &str) -> Result<Option<Algorithm>, String> {
    let mut words = vec![("profile", None)];
    words.extend(Algorithm::ALL.map(|a| (a.name(), Some(a))));
    parse_word(text, &words)
}

/// The name of a congestion control module: letters, digits and underscores, 15 at most
/// (TCP_CA_NAME_MAX). Whether there is such a one the kernel says.
pub(super) fn parse_kernel_cc(text: &str) -> Result<Option<String>, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match text {
        "default" => Ok(None),
        name if (1..16).contains(&name.len()) && name.chars().all(is_name) => Ok(Some(name.into())),
        other => Err(format!("`{other}`: expected default or a name such as bbr")),
    }
}

pub(super) fn parse_user_timeout(text: &str) -> Result<Option<Duration>, String> {
    if text == "profile" {
        return Ok(None);
    }
    let timeout = parse_duration(text)?;
    if timeout.is_zero() {
        return Err(format!(
            "`{text}`: expected more than zero, such as 300s, or profile"
        ));
    }
    Ok(Some(timeout))
}

pub(super) fn parse_initial_window(text: &str) -> Result<Option<Segments>, String> {
    if text == "profile" {
        return Ok(None);
    }
    let window = parse_number(text, 1, 1_000_000);
    window
        .map(|window| Some(Segments(window as u32)))
        .map_err(|why| format!("{why}, or profile"))
}

/// Units of sizes, decimal as those of rates.
const SIZES: [(&str, u64); 5] = [
    ("TB", LARGEST),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("B", 1),
];
const LARGEST: u64 = 1_000_000_000_000;

fn parse_size(text: &str) -> Result<u64, String> {
    let unit = SIZES
        .iter()
        .find_map(|(name, scale)| Some((text.strip_suffix(name)?.trim_end(), *scale)));
    let (number, scale) = unit.unwrap_or((text, 1));
    let bytes: Option<u64> = number.parse().ok();
    let bytes = bytes.and_then(|n| n.checked_mul(scale));
    bytes
        .filter(|bytes| (1..=LARGEST).contains(bytes))
        .ok_or_else(|| {
            format!("`{text}`: expected bytes from 1 to 1 TB, such as 20kB (1000 bytes each)")
        })
}

fn format_size(bytes: u64) -> String {
    let whole = |(_, scale): &&(&str, u64)| bytes.is_multiple_of(*scale);
    let (name, scale) = SIZES.iter().find(whole).unwrap_or(&("B", 1));
    format!("{}{name}", bytes / scale)
}

/// Reads a number of bytes: `20kB`, `1GB`, `500`; decimal multiples; 0, or from 1 to 1 TB.
pub fn parse_request(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        text => parse_size(text).map_err(|why| format!("{why}, or 0")),
    }
}

pub(super) fn format_request(bytes: u64) -> String {
    match bytes {
        0 => "0".into(),
        bytes => format_size(bytes),
    }
}

/// A share, `0.02` or `2%`, to the millionth.
pub(super) fn parse_share(text: &str) -> Result<Ppm, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let share = number.parse().ok().map(|n: f64| n / whole);
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .map(|share| Ppm::new((share * 1e6).round() as u32))
        .ok_or_else(|| {
            format!("`{text}`: expected a number from 0 to 1, such as 0.02, or 0% to 100%")
        })
}

pub(super) fn parse_loss_rate(text: &str) -> Result<LossRate, String> {
    if text == "learned" {
        return Ok(LossRate::Learned);
    }
    let share = parse_share(text).map(LossRate::Fixed);
    share.map_err(|why| format!("{why}, or learned{}", did_you_mean(text, ["learned"])))
}

/// `paper`, `KIND:Q,…`, or a file of lines `kind,q`, with a header of these words or without.
pub(super) fn read_likelihoods(
    text: &str,
    base: &Path,
) -> Result<(Option<SourceFile>, Likelihoods), String> {
    if text == "paper" {
        return Ok((None, Likelihoods::PAPER));
    }
    let path = base.join(text);
    // Nothing joined to a folder would be the folder.
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
    let contents = std::fs::read_to_string(&path)
        .map_err(|e| format!("cannot read the likelihoods {}: {e}", path.display()))?;
    let likelihoods = parse_likelihoods(&contents)
        .map_err(|(line, why)| format!("{}:{line}: {why}", path.display()))?;
    let name = text.into();
    Ok((Some(SourceFile { name, path }), likelihoods))
}

/// What is wrong with a text that is no file, as `e` says, and has no likelihood in it.
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
        true => format!(
            "cannot read the likelihoods {file}: {e} ({PAIRS}, paper, or a CSV file of lines kind,q)"
        ),
        false => format!("`{text}`: {PAIRS}, paper, or a CSV file of lines kind,q{near}"),
    }
}

pub(super) fn format_likelihoods(likelihoods: &Likelihoods) -> String {
    if *likelihoods == Likelihoods::PAPER {
        return "paper".into();
    }
    let kinds = Kind::ALL.into_iter();
    let kinds = kinds.filter(|kind| likelihoods.of(*kind) > Ppm::ZERO);
    let kinds: Vec<String> = kinds
        .map(|kind| format!("{}:{}", kind.name(), likelihoods.of(kind)))
        .collect();
    match kinds.is_empty() {
        true => format!("{}:0", Kind::Other.name()),
        false => kinds.join(","),
    }
}

/// Likelihoods being read.
#[derive(Default)]
struct Given {
    likelihoods: Likelihoods,
    kinds: Vec<Kind>,
}

impl Given {
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
    let mut given = Given::default();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let pair = part.split_once(':').filter(|(_, q)| !q.contains(':'));
        let (kind, q) =
            pair.ok_or_else(|| format!("`{text}`: expected KIND:Q,…, as in tail:1,psh:0.1"))?;
        given.add(kind.trim(), q.trim())?;
    }
    Ok(given.likelihoods)
}

/// The first wrong line with what is wrong, or the likelihoods.
fn parse_likelihoods(text: &str) -> Result<Likelihoods, (usize, String)> {
    const EXPECTED: &str = "expected a line kind,q, such as tail,0.5";
    let mut given = Given::default();
    for (i, line) in text.lines().enumerate() {
        let at = |why| (i + 1, why);
        let Some((kind, q)) = kind_and_q(line).map_err(|()| at(format!("`{line}`: {EXPECTED}")))?
        else {
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

pub(super) fn parse_writes(text: &str) -> Result<Vec<Write>, String> {
    let mut writes: Vec<Write> = Vec::new();
    if text == "none" {
        return Ok(writes);
    }
    for part in text.split(',').map(str::trim) {
        let (size, after) = part.split_once('@').ok_or_else(|| {
            format!("`{part}`: expected SIZE@TIME, such as 20kB@500ms, or none alone")
        })?;
        let write = Write {
            bytes: parse_size(size.trim())?,
            after: parse_duration(after)?,
        };
        if writes.last().is_some_and(|last| last.after > write.after) {
            return Err(format!(
                "`{part}`: expected the order of time, but the write before it is later"
            ));
        }
        writes.push(write);
    }
    Ok(writes)
}

pub(super) fn format_writes(writes: &[Write]) -> String {
    if writes.is_empty() {
        return "none".into();
    }
    let write = |w: &Write| format!("{}@{}", format_size(w.bytes), format_duration(w.after));
    writes.iter().map(write).collect::<Vec<_>>().join(",")
}

pub(super) fn read_link(text: &str, base: &Path) -> Result<Link, String> {
    let path = base.join(text);
    let contents = std::fs::read_to_string(&path)
        .map_err(|e| format!("cannot read the link trace {}: {e}", path.display()))?;
    let trace = LinkTrace::parse(&contents).map_err(|e| format!("{}: {e}", path.display()))?;
    let file = SourceFile {
        name: text.into(),
        path,
    };
    Ok(Link { file, trace })
}
