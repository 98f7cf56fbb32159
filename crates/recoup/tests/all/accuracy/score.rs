//! Compares findings with the truth: counts and confusion matrices.

use crate::accuracy::truth::{Carries, Reason, Sent, TrueRetransmission};
use recoup_recovery::Trigger;
use recoup_tcp::flow::Host;
use recoup_trace::finding::{Retransmission, Verdict};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// What the analysis or another tool says about a frame.
#[derive(Clone, Debug)]
pub struct Claim {
    pub frame: u64,
    /// The trigger; several are joined by `|`.
    pub trigger: String,
    /// `None` if the tool gives no verdict.
    pub verdict: Option<Verdict>,
    /// The evidence for the verdict, for the list of mistakes.
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

/// Compares the claims about one kind of packet with the truth.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// True retransmissions.
    pub actual: u64,
    pub found: u64,
    /// First transmissions called retransmissions.
    pub invented: u64,
    /// Counts by true and claimed trigger.
    pub triggers: BTreeMap<(String, String), u64>,
    pub triggers_right: u64,
    /// Found retransmissions whose true trigger is known.
    pub triggers_known: u64,
    /// Counts by true and claimed verdict.
    pub verdicts: BTreeMap<(Verdict, Option<Verdict>), u64>,
    pub verdicts_given: u64,
    pub verdicts_wrong: u64,
}

/// The rows for one capture point.
#[derive(Clone, Debug, Default)]
pub struct Score {
    rows: [Row; Carries::ALL.len()],
    /// One line per mistake.
    pub mistakes: Vec<String>,
}

/// `part` divided by `of`; 0 if both are 0.
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

    /// Adds the claims about the capture at host `at`: about the packets that `at` sent if `own`, else about
    /// those it received. `sent` has all packets, and `name` goes in front of each mistake.
    pub fn add(&mut self, name: &str, sent: &[Sent], claims: &[Claim], at: Host, own: bool) {
        let frame = |sent: &Sent| match own {
            true => Some(sent.frame),
            false => sent.arrived,
        };
        let mine = |sent: &&Sent| (sent.by == at) == own;
        let frames: HashMap<u64, Carries> =
            sent.iter().filter(mine).filter_map(|sent| Some((frame(sent)?, sent.carries))).collect();
        let claims: HashMap<u64, &Claim> = claims.iter().map(|c| (c.frame, c)).collect();
        let retransmissions = crate::accuracy::truth::retransmissions(sent);
        let by_frame: HashMap<u64, &TrueRetransmission> = retransmissions
            .iter()
            .filter(|one| mine(&&one.sent))
            .filter_map(|one| Some((frame(&one.sent)?, one)))
            .collect();
        for (frame, truth) in &by_frame {
            self.compare(name, *frame, truth, claims.get(frame).copied());
        }
        for (frame, claim) in claims {
            if let Some(carries) = frames.get(&frame).filter(|_| !by_frame.contains_key(&frame)) {
                self.rows[*carries as usize].invented += 1;
                self.mistake(name, frame, *carries, format!("invented, {claim:?}"));
            }
        }
    }

    fn mistake(&mut self, name: &str, frame: u64, carries: Carries, what: String) {
        let line = format!("{name}, frame {frame} ({}): {what}", carries.name());
        self.mistakes.push(line);
    }

    fn compare(&mut self, name: &str, frame: u64, truth: &TrueRetransmission, claim: Option<&Claim>) {
        let carries = truth.sent.carries;
        let row = &mut self.rows[carries as usize];
        row.actual += 1;
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
        *row.verdicts.entry((truth.verdict, claim.verdict)).or_default() += 1;
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

/// The true trigger, and whether `claimed` contains it. `None` if the truth has no trigger.
fn trigger(reason: Reason, claimed: &str) -> Option<(String, bool)> {
    match reason {
        Reason::Unknown | Reason::Copy => None,
        Reason::Trigger(trigger) => {
            let right = claimed.split('|').any(|name| name == trigger.name());
            Some((trigger.name().into(), right))
        }
    }
}

impl Row {
    fn merge(&mut self, other: Self) {
        self.actual += other.actual;
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
    /// Counts, matrices, and the first mistakes, one per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for carries in Carries::ALL {
            let row = self.row(carries);
            if row.actual + row.invented > 0 {
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
        write!(f, "{} of {} found, ", self.found, self.actual)?;
        write!(f, "{} invented; ", self.invented)?;
        if self.triggers_known > 0 {
            let right = percent(self.triggers_right, self.triggers_known);
            write!(f, "triggers {right:.2} % right; ")?;
        }
        let given = percent(self.verdicts_given, self.found);
        let wrong = self.verdicts_wrong;
        writeln!(f, "verdicts on {given:.2} %, {wrong} of them wrong")?;
        let triggers = self.triggers.iter().map(|((is, called), n)| ((is.clone(), called.clone()), *n));
        matrix(f, "trigger", triggers)?;
        let name = |verdict: Option<Verdict>| verdict.unwrap_or(Verdict::Unknowable).name().to_owned();
        let verdicts = self.verdicts.iter().map(|((is, called), n)| ((name(Some(*is)), name(*called)), *n));
        matrix(f, "verdict", verdicts)
    }
}

/// A confusion matrix: one row per true value, one column per claimed value.
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
    columns.iter().try_for_each(|name| write!(f, "{name:>14}"))?;
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

#[test]
fn a_claimed_trigger_is_right_alone_or_joined_with_another() {
    let is = |name: &str| trigger(Reason::Trigger(Trigger::Tlp), name).map(|(_, right)| right);
    assert_eq!(["tlp", "tlp|rto", "rto", "unknown"].map(is), [true, true, false, false].map(Some));
    assert_eq!(trigger(Reason::Unknown, "tlp"), None);
}
