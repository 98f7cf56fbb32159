//! Advice: the mechanisms that would have made connections end sooner, ranked.
//!
//! Connections that retransmitted or lost time are run again under other mechanisms ([`crate::whatif`]).
//! To bound the cost on large captures, at most [`MOST_CONNECTIONS`] are, of at most [`MOST_PACKETS`]
//! packets each, with [`DRAWS`] draws.

use crate::whatif::{Answer, Candidates, Changes, Request, Sample, benefit};
use crate::wording::{count, grouped, millis, percent};
use recoup_recovery::profile::{BASES, Mechanism};
use serde::Serialize;

/// Connections that are run again. Of more, a random sample is.
pub const MOST_CONNECTIONS: usize = 150;

/// The packets of the largest connection that is run again.
pub const MOST_PACKETS: u64 = 5_000;

/// Draws for each connection and mechanism.
const DRAWS: u32 = 5;

/// Mechanisms that an advice names.
const MOST_NAMED: usize = 3;

/// The mechanisms that would have helped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Which connections were run again, in a sentence.
    pub basis: String,
    /// That nothing would have helped, in a sentence; empty if something would.
    pub nothing: String,
    /// The mechanisms that would have helped, the most helpful first.
    pub ranked: Vec<AdviceLine>,
}

/// A mechanism that would have helped.
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
    /// Its description, benefit and cost.
    pub text: String,
}

/// The connections that an advice rests on.
pub(super) fn candidates() -> Candidates {
    Candidates::new(Sample { most: MOST_CONNECTIONS, only_troubled: true, most_packets: MOST_PACKETS })
}

/// The request for their reruns.
pub(super) fn request() -> Request {
    Request { alternatives: Vec::new(), draws: DRAWS, seed: 1 }
}

impl Advice {
    /// From the reruns of a sample. `None` if none of its connections could be run again.
    pub(super) fn new(answer: &Answer) -> Option<Self> {
        if answer.rerun == 0 || answer.results.is_empty() {
            return None;
        }
        let helping = answer.results.iter().filter(|result| result.all.helps());
        let lines = helping.filter_map(|result| {
            let changes = &result.all;
            Some(AdviceLine {
                gain_ms: -changes.mean_change_ms?,
                interval_ms: changes.interval_ms.map(|(low, high)| (-high, -low)),
                text: text(&result.mechanism, changes),
                mechanism: result.mechanism.clone(),
            })
        });
        let mut ranked: Vec<AdviceLine> = lines.collect();
        ranked.sort_by(|a, b| b.gain_ms.total_cmp(&a.gain_ms));
        ranked.truncate(MOST_NAMED);
        let tried: Vec<&str> = answer.results.iter().map(|r| &*r.mechanism).collect();
        let nothing = match ranked.is_empty() {
            true => format!("None of {} would certainly have made them end sooner on average.", tried.join(", ")),
            false => String::new(),
        };
        Some(Self { basis: basis(answer), nothing, ranked })
    }
}

/// Which connections were run again.
fn basis(answer: &Answer) -> String {
    let troubled = answer.rerun + answer.left_out + answer.interrupted + answer.apart.total();
    let all = count(troubled, "connection");
    let mut text = match answer.rerun == troubled {
        true => format!("The {all} that retransmitted or lost time, run again in the simulator"),
        false => format!(
            "{} of the {all} that retransmitted or lost time, run again in the simulator",
            grouped(answer.rerun)
        ),
    };
    let apart = answer.apart.total();
    if apart > 0 {
        let apart = grouped(apart);
        text += &format!(" ({apart} others are not, because their own rerun differs from the capture)");
    }
    text + ":"
}

/// A mechanism's description, benefit and cost.
fn text(mechanism: &str, changes: &Changes) -> String {
    let share = |n| percent(n as f64, changes.connections as f64);
    let mut costs = vec![format!("{} of connections end sooner", share(changes.better))];
    if changes.worse > 0 {
        costs.push(format!("{} later", share(changes.worse)));
    }
    if let Some(bytes) = changes.extra_bytes_percent()
        && bytes >= 0.05
    {
        costs.push(format!("{bytes:.1} % more bytes"));
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
            interval_ms: Some((-60.0, -40.0)),
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
