//! Findings against the truth: counts and confusion matrices.

use crate::accuracy::truth::{Again, Carries, Reason, Sent};
use recoup_recovery::Trigger;
use recoup_tcp::flow::Host;
use recoup_trace::finding::{Retransmission, Verdict};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// Who says what of a frame: the analyzer, or another tool.
#[derive(Clone, Debug)]
pub struct Claim {
    pub frame: u64,
    /// What it is called: triggers joined by `|`.
    pub trigger: String,
    /// `None`: nothing is said of it.
    pub verdict: Option<Verdict>,
    /// What the verdict rests on, for the list of mistakes.
    pub evidence: &'static str,
}

impl From<&Retransmission> for Claim {
    fn from(found: &Retransmission) -> Self {
        Self {
            frame: found.frame,
            trigger: found.triggers.to_string(),
            verdict: Some(found.verdict).filter(|verdict| *verdict != Verdict::Unknowable),
            evidence: found.evidence.name(),
        }
    }
}

/// How the claims about one sort of packet compare with the truth.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Retransmissions there are.
    pub there: u64,
    pub found: u64,
    /// Called retransmissions that are none.
    pub invented: u64,
    /// By the true name and the one claimed.
    pub triggers: BTreeMap<(String, String), u64>,
    pub triggers_right: u64,
    /// Those whose trigger the truth tells.
    pub triggers_known: u64,
    /// By the true verdict and the one claimed.
    pub verdicts: BTreeMap<(Verdict, Option<Verdict>), u64>,
    pub verdicts_given: u64,
    pub verdicts_wrong: u64,
}

/// All of them, of one vantage.
#[derive(Clone, Debug, Default)]
pub struct Score {
    rows: [Row; Carries::ALL.len()],
    /// A line for each mistake.
    pub mistakes: Vec<String>,
}

/// A share that has to be reached.
pub fn share(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

impl Score {
    pub fn row(&self, carries: Carries) -> &Row {
        &self.rows[carries as usize]
    }

    /// The sum over all rows.
    pub fn sum(&self, figure: impl Fn(&Row) -> u64) -> u64 {
        self.rows.iter().map(figure).sum()
    }

    pub fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.rows.iter_mut().zip(other.rows) {
            mine.merge(theirs);
        }
        self.mistakes.extend(other.mistakes);
    }

    /// Takes in the claims about what `sent` tells of, seen in the capture at `at`: the packets its
    /// host sent, if `own`, else those it received. `name` says where a mistake was made.
    pub fn add(&mut self, name: &str, sent: &[Sent], claims: &[Claim], at: Host, own: bool) {
        let frame = |sent: &Sent| match own {
            true => Some(sent.frame),
            false => sent.arrived,
        };
        let mine = |sent: &&Sent| (sent.by == at) == own;
        let frames: HashMap<u64, Carries> = sent
            .iter()
            .filter(mine)
            .filter_map(|sent| Some((frame(sent)?, sent.carries)))
            .collect();
        let claims: HashMap<u64, &Claim> = claims.iter().map(|c| (c.frame, c)).collect();
        let again = crate::accuracy::truth::retransmissions(sent);
        let again: HashMap<u64, &Again> = again
            .iter()
            .filter(|again| mine(&&again.sent))
            .filter_map(|again| Some((frame(&again.sent)?, again)))
            .collect();
        for (frame, truth) in &again {
            self.judge(name, *frame, truth, claims.get(frame).copied());
        }
        for (frame, claim) in claims {
            if let Some(carries) = frames.get(&frame).filter(|_| !again.contains_key(&frame)) {
                self.rows[*carries as usize].invented += 1;
                self.mistake(name, frame, *carries, format!("invented, {claim:?}"));
            }
        }
    }

    fn mistake(&mut self, name: &str, frame: u64, carries: Carries, what: String) {
        let line = format!("{name}, frame {frame} ({}): {what}", carries.name());
        self.mistakes.push(line);
    }

    fn judge(&mut self, name: &str, frame: u64, truth: &Again, claim: Option<&Claim>) {
        let carries = truth.sent.carries;
        let row = &mut self.rows[carries as usize];
        row.there += 1;
        let Some(claim) = claim else {
            return self.mistake(name, frame, carries, format!("missed, {truth:?}"));
        };
        row.found += 1;
        let mut mistakes = Vec::new();
        if let Some((expected, right)) = trigger(truth.reason, &claim.trigger) {
            row.triggers_known += 1;
            row.triggers_right += u64::from(right);
            let named = (expected.clone(), claim.trigger.clone());
            *row.triggers.entry(named).or_default() += 1;
            if !right {
                mistakes.push(format!("{expected} called {}", claim.trigger));
            }
        }
        *row.verdicts
            .entry((truth.verdict, claim.verdict))
            .or_default() += 1;
        if let Some(verdict) = claim.verdict {
            row.verdicts_given += 1;
            if verdict != truth.verdict {
                row.verdicts_wrong += 1;
                let (is, called) = (truth.verdict.name(), verdict.name());
                mistakes.push(format!("{is} called {called} by {}", claim.evidence));
            }
        }
        for what in mistakes {
            self.mistake(name, frame, carries, what);
        }
    }
}

/// The true name of why something was sent again, and whether `claimed` is it.
fn trigger(reason: Reason, claimed: &str) -> Option<(String, bool)> {
    match reason {
        Reason::Untold | Reason::Copy => None,
        Reason::Trigger(trigger) => {
            let right = claimed.split('|').any(|name| name == trigger.name());
            Some((trigger.name().into(), right))
        }
    }
}

impl Row {
    fn merge(&mut self, other: Self) {
        self.there += other.there;
        self.found += other.found;
        self.invented += other.invented;
        self.triggers_right += other.triggers_right;
        self.triggers_known += other.triggers_known;
        self.verdicts_given += other.verdicts_given;
        self.verdicts_wrong += other.verdicts_wrong;
        for (key, count) in other.triggers {
            *self.triggers.entry(key).or_default() += count;
        }
        for (key, count) in other.verdicts {
            *self.verdicts.entry(key).or_default() += count;
        }
    }
}

impl fmt::Display for Score {
    /// Counts and matrices, a mistake a line, the first of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for carries in Carries::ALL {
            let row = self.row(carries);
            if row.there + row.invented > 0 {
                write!(f, "{}: {row}", carries.name())?;
            }
        }
        const SHOWN: usize = 20;
        for mistake in self.mistakes.iter().take(SHOWN) {
            writeln!(f, "  {mistake}")?;
        }
        match self.mistakes.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "  … and {more} more"),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part, of| 100.0 * share(part, of);
        write!(f, "{} of {} found, ", self.found, self.there)?;
        write!(f, "{} invented; ", self.invented)?;
        if self.triggers_known > 0 {
            let right = percent(self.triggers_right, self.triggers_known);
            write!(f, "triggers {right:.2} % right; ")?;
        }
        let given = percent(self.verdicts_given, self.found);
        let wrong = self.verdicts_wrong;
        writeln!(f, "verdicts on {given:.2} %, {wrong} of them wrong")?;
        let triggers = self
            .triggers
            .iter()
            .map(|((is, called), n)| ((is.clone(), called.clone()), *n));
        matrix(f, "trigger", triggers)?;
        let name =
            |verdict: Option<Verdict>| verdict.unwrap_or(Verdict::Unknowable).name().to_owned();
        let verdicts = self
            .verdicts
            .iter()
            .map(|((is, called), n)| ((name(Some(*is)), name(*called)), *n));
        matrix(f, "verdict", verdicts)
    }
}

/// A confusion matrix: rows are true, columns claimed.
fn matrix(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    counts: impl Iterator<Item = ((String, String), u64)>,
) -> fmt::Result {
    let counts: BTreeMap<_, _> = counts.collect();
    if counts.is_empty() {
        return Ok(());
    }
    let mut columns: Vec<&str> = counts.keys().map(|(_, called)| called.as_str()).collect();
    columns.sort_unstable();
    columns.dedup();
    write!(f, "  {title:<12}")?;
    columns
        .iter()
        .try_for_each(|name| write!(f, "{name:>14}"))?;
    writeln!(f)?;
    let mut rows: Vec<&str> = counts.keys().map(|(is, _)| is.as_str()).collect();
    rows.dedup();
    for is in rows {
        write!(f, "  {is:<12}")?;
        for called in &columns {
            let key = (is.to_owned(), (*called).to_owned());
            match counts.get(&key) {
                Some(count) => write!(f, "{count:>14}")?,
                None => write!(f, "{:>14}", ".")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

/// The names that are a trigger's.
#[test]
fn a_trigger_is_right_alone_or_beside_another() {
    let is = |name: &str| trigger(Reason::Trigger(Trigger::Tlp), name).map(|(_, right)| right);
    assert_eq!(
        ["tlp", "tlp|rto", "rto", "unknown"].map(is),
        [true, true, false, false].map(Some)
    );
    assert_eq!(trigger(Reason::Untold, "tlp"), None);
}
