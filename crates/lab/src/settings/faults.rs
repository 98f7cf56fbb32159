//! Faults of the path: loss by rules and as recorded, reordering, duplicates and damage.

use super::descriptor::{Setting, setting};
use super::value::{BOTH, EachWay, optional};
use super::{RecordedLosses, Reordering, Settings, SourceFile, TraceKind};
use recoup_path::{DropRules, DropRulesError, LossTrace, Probability, ProbabilityError};
use recoup_support::input;
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_support::suggest::did_you_mean;
use recoup_units::Direction;
use std::path::Path;

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        key: "drop",
        help: "packets that are lost: none, or [up:|down:]KIND[@T],… as described below, at most 1000 of them: tail:1",
        set: |settings, text, base| {
            let (rules, recorded) = parse_drop(text, base)?;
            settings.drop = rules;
            settings.recorded_losses = recorded;
            Ok(())
        },
        get: format_drop,
    },
    setting!(
        "reorder",
        "probability that a packet is held back, and for how long: none, P:EXTRA as in 1%:20ms; or up:…,down:…",
        reorder,
        parse_reorderings,
        |reorder| reorder.format(|r| format_reordering(r.as_ref()))
    ),
    setting!(
        "duplicate",
        "probability that the path duplicates a packet: 0, 0.01 or 1%; or up:…,down:…",
        duplicate,
        parse_probabilities,
        |duplicate| duplicate.format(Probability::to_string)
    ),
    setting!(
        "corrupt",
        "probability that the path damages a packet: 0, 0.01 or 1%; or up:…,down:…",
        corrupt,
        parse_probabilities,
        |corrupt| corrupt.format(Probability::to_string)
    ),
];

/// What `drop` takes beside the rules of [`DropRules::GRAMMAR`].
pub(super) const TRACE_GRAMMAR: &str = "  \
  trace:FILE           recorded losses: a text file of at most 64 MiB with a 0 or 1 for each packet,
                       1 for a lost one, with or without white space in between; # begins a remark.
                       Each flow counts all its packets of the direction. Flow 0 begins with the
                       first entry, others at a random one. After the last entry the trace begins
                       again. At most one file each way, without commas in its name
  arrivals:FILE        the same with 0 for a lost packet, as Link'Em and FlowEmu write";

/// The longest loss trace that is read, in bytes.
const LONGEST_LOSS_TRACE: u64 = 64 << 20;

impl TraceKind {
    const ALL: [Self; 2] = [Self::Losses, Self::Arrivals];

    /// The word before the file's name.
    const fn word(self) -> &'static str {
        match self {
            Self::Losses => "trace",
            Self::Arrivals => "arrivals",
        }
    }

    /// The entry of a lost packet.
    const fn lost(self) -> char {
        match self {
            Self::Losses => '1',
            Self::Arrivals => '0',
        }
    }

    /// The kind and the file's name of a rule without its direction; `None` if it is another rule.
    fn of_rule(rule: &str) -> Option<(Self, &str)> {
        let (word, file) = rule.split_once(':')?;
        Some((Self::ALL.into_iter().find(|kind| kind.word() == word)?, file))
    }
}

/// The rules of a list, and the recorded losses among them.
fn parse_drop(text: &str, base: &Path) -> Result<(DropRules, EachWay<Option<RecordedLosses>>), String> {
    let mut recorded: EachWay<Option<RecordedLosses>> = EachWay::default();
    let mut rules = Vec::new();
    for piece in text.split(',') {
        let (direction, rule) = match piece.trim().split_once(':') {
            Some(("up", rule)) => (Direction::Up, rule),
            Some(("down", rule)) => (Direction::Down, rule),
            _ => (Direction::Down, piece.trim()),
        };
        let Some((kind, name)) = TraceKind::of_rule(rule) else {
            rules.push(piece);
            continue;
        };
        let known = recorded.get_mut(direction);
        if known.is_some() {
            return Err(format!("`{text}`: more than one loss trace for {}", direction.name()));
        }
        *known = Some(read_losses(kind, name, base)?);
    }
    let has_traces = recorded != EachWay::default();
    let rules = match rules.is_empty() && has_traces {
        true => DropRules::default(),
        false => parse_rules(&rules.join(","))?,
    };
    Ok((rules, recorded))
}

fn parse_rules(text: &str) -> Result<DropRules, String> {
    text.parse().map_err(|e: DropRulesError| {
        let near = e
            .unknown()
            .map(|(word, known)| did_you_mean(word, known.iter().copied().chain(TraceKind::ALL.map(TraceKind::word))));
        format!("{e}{}", near.unwrap_or_default())
    })
}

fn read_losses(kind: TraceKind, name: &str, base: &Path) -> Result<RecordedLosses, String> {
    if name.is_empty() {
        return Err(format!("`{}:`: expected the name of a file with recorded losses", kind.word()));
    }
    let path = base.join(name);
    let contents = input::read_file(&path, LONGEST_LOSS_TRACE)
        .map_err(|e| format!("cannot read the loss trace {}: {e}", path.display()))?;
    let trace = LossTrace::parse(&contents, kind.lost()).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(RecordedLosses { file: SourceFile { name: name.into(), path }, kind, trace })
}

/// The rules and recorded losses, as `set` reads them.
fn format_drop(settings: &Settings) -> String {
    let mut pieces: Vec<String> = Vec::new();
    if !settings.drop.0.is_empty() {
        pieces.push(settings.drop.to_string());
    }
    for (prefix, direction) in [("up:", Direction::Up), ("", Direction::Down)] {
        if let Some(losses) = settings.recorded_losses.get(direction) {
            pieces.push(format!("{prefix}{}:{}", losses.kind.word(), losses.file.name));
        }
    }
    match pieces.is_empty() {
        true => "none".into(),
        false => pieces.join(","),
    }
}

fn parse_probability(text: &str) -> Result<Probability, String> {
    text.parse().map_err(|e: ProbabilityError| e.to_string())
}

fn parse_probabilities(text: &str) -> Result<EachWay<Probability>, String> {
    EachWay::parse(text, Probability::ZERO, &BOTH, parse_probability)
}

fn parse_reorderings(text: &str) -> Result<EachWay<Option<Reordering>>, String> {
    EachWay::parse(text, None, &BOTH, optional(parse_reordering))
}

fn parse_reordering(text: &str) -> Result<Reordering, String> {
    let (probability, extra) = text
        .split_once(':')
        .ok_or_else(|| format!("`{text}`: expected none or PROBABILITY:EXTRA, such as 0.01:20ms or 1%:20ms"))?;
    Ok(Reordering { probability: parse_probability(probability)?, extra: parse_duration(extra)? })
}

fn format_reordering(reordering: Option<&Reordering>) -> String {
    match reordering {
        None => "none".into(),
        Some(r) => format!("{}:{}", r.probability, format_duration(r.extra)),
    }
}
