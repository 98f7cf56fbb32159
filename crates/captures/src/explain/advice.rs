//! Advice: what would have made connections end sooner, ranked: levers first, then what only another TCP has.
//!
//! Connections that retransmitted, lost time or waited for the receiver are run again with other settings and mechanisms ([`crate::whatif`]).
//! To bound the cost on large captures, a [small sample](Sample::SMALL) is, with [`DRAWS`] draws.

use crate::levers::LeverValue;
use crate::whatif::{Answer, Candidates, Changes, MechanismResult, Request, Sample, benefit};
use crate::wording::{count, grouped, list, millis, percent};
use recoup_recovery::profile::{BASES, Mechanism};
use serde::Serialize;

/// Draws for each connection and mechanism.
const DRAWS: u32 = 5;

/// Levers, and mechanisms of other stacks, that an advice names.
const MOST_LEVERS: usize = 3;
const MOST_STACKS: usize = 2;

/// What would have helped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Which connections were run again, in a sentence.
    pub basis: String,
    /// That nothing would have helped, in a sentence; empty if something would.
    pub nothing: String,
    /// What would have helped: levers before what only another TCP has, and of each kind the most helpful first.
    pub ranked: Vec<AdviceLine>,
    /// How many more changes would have helped.
    pub left_out: usize,
}

/// Something that would have helped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceLine {
    /// Its name, as `recoup whatif --try` takes it.
    pub mechanism: String,
    /// How much sooner connections would have ended on average, in ms.
    #[serde(rename = "mean_gain_ms")]
    pub gain_ms: f64,
    /// The 95 % interval of the gain, in ms.
    #[serde(rename = "mean_gain_ci95_ms")]
    pub interval_ms: Option<(f64, f64)>,
    /// The command that switches it on, if an operator can. Without, only another TCP has it.
    pub command: Option<String>,
    /// Its description, benefit and cost.
    pub text: String,
}

/// The connections that an advice rests on.
pub(super) fn candidates() -> Candidates {
    Candidates::new(Sample::SMALL)
}

/// The request for their reruns.
pub(super) fn request() -> Request {
    Request { alternatives: Vec::new(), draws: DRAWS, seed: 1, names_profile: false }
}

impl Advice {
    /// From the reruns of a sample. `None` if none of its connections could be run again.
    pub(super) fn new(answer: &Answer) -> Option<Self> {
        if answer.rerun == 0 || answer.results.is_empty() {
            return None;
        }
        let (levers, stacks): (Vec<&MechanismResult>, Vec<&MechanismResult>) =
            answer.helping().into_iter().partition(|result| result.lever.is_some());
        let helping = levers.len() + stacks.len();
        let named = levers.into_iter().take(MOST_LEVERS).chain(stacks.into_iter().take(MOST_STACKS));
        let ranked: Vec<AdviceLine> = named.filter_map(|result| line(result, answer)).collect();
        let tried: Vec<&str> = answer.results.iter().map(|r| &*r.mechanism).collect();
        let nothing = match ranked.is_empty() {
            true => {
                format!("Nothing that was tried makes them end sooner on average, beyond chance: {}.", tried.join(", "))
            }
            false => String::new(),
        };
        Some(Self { basis: basis(answer), nothing, left_out: helping - ranked.len(), ranked })
    }
}

/// Which connections an advice rests on.
const TROUBLED: &str = "retransmitted, lost time or waited for the receiver";

/// Which connections were run again.
fn basis(answer: &Answer) -> String {
    let troubled = answer.troubled();
    let all = count(troubled, "connection");
    let mut text = match (answer.rerun == troubled, answer.left_out + answer.interrupted) {
        (true, _) => format!("The {all} that {TROUBLED}, run again in the simulator"),
        (false, 0) => format!("{} of the {all} that {TROUBLED}, run again in the simulator", grouped(answer.rerun)),
        (false, _) => {
            format!("A sample, {} of the {all} that {TROUBLED}, run again in the simulator", grouped(answer.rerun))
        }
    };
    let apart = answer.apart.total();
    if apart > 0 {
        let others = match apart {
            1 => "1 other is not, because its own rerun differs".into(),
            n => format!("{} others are not, because their own reruns differ", grouped(n)),
        };
        text += &format!(" ({others} from the capture)");
    }
    let bases: Vec<String> = match answer.bases.as_slice() {
        [(only, _)] => vec![only.clone()],
        several => {
            several.iter().map(|(profile, connections)| format!("{profile} ({})", grouped(*connections))).collect()
        }
    };
    if !bases.is_empty() {
        text += &format!(", reproduced as {}", list(&bases));
    }
    text + ":"
}

fn line(result: &MechanismResult, answer: &Answer) -> Option<AdviceLine> {
    let changes = &result.all;
    let gain_ms = -changes.mean_change_ms?;
    let mut text = text(&result.mechanism, changes);
    let run = answer.troubled();
    // Connections without losses stay as they are. What another TCP has may change them, too: copies in advance do.
    let changes_no_others = result.lever.as_ref().is_some_and(LeverValue::needs_losses);
    if answer.suited > run && changes_no_others {
        let over_all = gain_ms * run as f64 / answer.suited as f64;
        text += &format!(" Over all {}: {}.", count(answer.suited, "connection"), millis(over_all));
    }
    if let Some(lever) = &result.lever {
        text += &format!(" {}: {}.", lever.place(), lever.command());
    }
    Some(AdviceLine {
        gain_ms,
        interval_ms: changes.interval_ms.map(|(low, high)| (-high, -low)),
        command: result.lever.as_ref().map(LeverValue::command),
        text,
        mechanism: result.mechanism.clone(),
    })
}

/// The description of a mechanism, and its benefit and cost.
fn text(mechanism: &str, changes: &Changes) -> String {
    let share = |n| percent(n as f64, changes.connections as f64);
    let mut costs = vec![format!("{} of connections end sooner", share(changes.better))];
    if changes.worse > 0 {
        costs.push(format!("{} later", share(changes.worse)));
    }
    if let Some(bytes) = changes.extra_bytes_percent()
        && bytes >= 0.05
    {
        costs.push(format!("{} more bytes", percent(bytes, 100.0)));
    }
    let about = about(mechanism).map_or(String::new(), |about| format!("{about}: "));
    format!("{about}{}; {}.", benefit(changes), costs.join(", "))
}

/// The description of a profile or a single mechanism, without its sources.
fn about(name: &str) -> Option<String> {
    let about = match name.strip_prefix('+') {
        Some(name) => {
            let mut all = Mechanism::ALL.into_iter();
            all.find(|mechanism| mechanism.name() == name)?.about()
        }
        None => BASES.iter().find(|(base, ..)| *base == name)?.2,
    };
    let end = about.find([':', '(', ';']).unwrap_or(about.len());
    Some(about[..end].trim().into())
}

impl AdviceLine {
    /// The gain, as amounts are said.
    pub fn amount(&self) -> String {
        millis(self.gain_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mechanism_is_named_in_words() {
        for (name, words) in [
            ("+rtor", Some("RTO restart")),
            ("+rtorrfc", Some("RTO restart")),
            ("+tlp", Some("tail loss probe")),
            ("+slp", Some("selective loss prevention")),
            ("+er", Some("early retransmit after a delay")),
            ("linux-6", Some("Linux 6.12")),
            ("+tlpr+rtor", None),
        ] {
            assert_eq!(about(name).as_deref(), words);
        }
    }

    #[test]
    fn the_text_says_gain_interval_share_and_cost() {
        let changes = Changes {
            connections: 200,
            mean_fct_ms: Some(1000.0),
            mean_change_ms: Some(-50.0),
            paired_interval_ms: Some((-60.0, -40.0)),
            better: 80,
            worse: 2,
            bytes: 1000,
            extra_bytes: 12.0,
            ..Changes::default()
        };
        assert_eq!(
            text("+rtor", &changes),
            "RTO restart: connections would have ended 50 ms sooner on average \
             (95 % interval: 40 ms to 60 ms), which is 5.0 % of 1.00 s; 40 % of connections end sooner, \
             1.0 % later, 1.2 % more bytes."
        );
    }
}
