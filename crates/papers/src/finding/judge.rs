//! The judgement: the finding beside what exists, on networks and with a seed that the search never saw.

use super::networks::Family;
use super::sender::{FLOOR_40_MS, HISTORY_100_MS, LINUX, Sender, Value};
use super::trial::{Bed, Comparison, MOST_BYTES, MOST_NEEDLESS, Outcome, saved};
use super::{NAME, trial};
use crate::prelude::*;

/// The name on the command line.
pub const ID: &str = "judge";

/// What the search found (`recoup paper finding search`).
pub const FINDING: [Value; 1] = [HISTORY_100_MS];

/// The changes that the search kept after the finding.
const REST: [Value; 1] = [FLOOR_40_MS];

/// The seed of the flows, and flows of a family, by effort.
const SEED: u64 = 2;
const FLOWS: [u64; 2] = [10_000, 500];

/// What exists: name, profile, settings.
///
/// Linux's minimum RTO also sets the probe's allowance (since 6.6). FreeBSD's RACK adds 40 ms for a delayed ACK, has a least RTO of
/// 30 ms, and counts probes from the last transmission (`tcp_stacks/rack.c`).
const EXISTING: [(&str, &str, &str); 5] = [
    ("linux-6+tlpr", "linux-6+tlpr", ""),
    ("linux-6+slp", "linux-6+slp", ""),
    ("rfc9002", "rfc9002", ""),
    ("rto_min 40 ms", "linux-6", "rto.min=40ms rto.min_of=rttvar"),
    ("FreeBSD's RACK", "linux-6+tlpr", "rto.min=30ms rto.min_of=rttvar tlp.ack_delay=40ms"),
];

/// A server on one family of networks, or on all.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub sender: String,
    pub networks: &'static str,
    pub comparison: Comparison,
    /// The slowdown that the finding saves beside it.
    pub saved: Estimate,
}

const ALL: &str = "all";

const NAME_OF_FINDING: &str = "the finding";

/// The servers, the finding first and `linux-6` second.
fn senders(setup: &Setup) -> Vec<Sender> {
    let also = match setup.mutation.map(|mutation| mutation.name.as_str()) {
        Some("hasty") => " tlp.ack_delay=0 tlp.srtt_factor=0.05",
        Some("impatient") => " user_timeout=500ms",
        _ => "",
    };
    let finding = Sender::changed(&FINDING);
    let finding = Sender { name: NAME_OF_FINDING.into(), settings: finding.settings + also, ..finding };
    let whole = Sender { name: "all that the search kept".into(), ..Sender::changed(&[&FINDING[..], &REST].concat()) };
    let existing = EXISTING.map(|(name, profile, settings)| Sender::existing(name, profile, settings));
    [finding, Sender::changed(&[])].into_iter().chain([whole]).chain(existing).collect()
}

/// Runs the judgement.
///
/// # Errors
/// Settings that do not fit together.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let [full, quick] = FLOWS;
    let flows = setup.effort.of(full, quick);
    let senders = senders(setup);
    // By family, then by server.
    let outcomes = Family::ALL.map(|family| -> Result<Vec<Vec<Outcome>>> {
        let bed = Bed::new(setup, family, flows, SEED)?;
        senders.iter().map(|sender| bed.run(setup, sender)).collect()
    });
    let outcomes = outcomes.into_iter().collect::<Result<Vec<_>>>()?;
    let mut cells = vec![];
    for (place, sender) in senders.iter().enumerate() {
        let mut judge = |networks, of: &dyn Fn(usize) -> Vec<Outcome>| {
            let (ours, linux, finding) = (of(place), of(1), of(0));
            cells.push(Judged {
                sender: sender.name.clone(),
                networks,
                comparison: Comparison::of(&linux, &ours),
                saved: saved(&ours, &finding),
            });
        };
        judge(ALL, &|place| outcomes.iter().flat_map(|family| family[place].clone()).collect());
        for (family, outcomes) in Family::ALL.iter().zip(&outcomes) {
            judge(family.name(), &|place| outcomes[place].clone());
        }
    }
    let title = format!("The finding beside what exists: {flows} flows of each family of networks, seed {SEED}");
    Ok(Figure::new(NAME, ID, title, claims(&cells), chart(&cells), cells).sheet(text, &columns()))
}

fn claims(cells: &[Judged]) -> Vec<Claim> {
    let on_all = |name: &str| cells.iter().find(|cell| cell.networks == ALL && cell.sender == name).expect("a server");
    let own = on_all(NAME_OF_FINDING);
    let others = EXISTING.map(|(name, ..)| on_all(name));
    let shown = others.map(|cell| format!("{}: {:.3} ± {:.3}", cell.sender, cell.saved.mean, cell.saved.half));
    let harmless = |cell: &&&Judged| cell.comparison.harm().is_none();
    let rivals: Vec<&&Judged> = others.iter().filter(harmless).collect();
    let by_family: Vec<&Judged> =
        cells.iter().filter(|cell| cell.sender == NAME_OF_FINDING && cell.networks != ALL).collect();
    let gains =
        by_family.iter().map(|cell| format!("{} {}", cell.networks, percent(cell.comparison.gain))).joined(", ");
    let Comparison { gain, needless, bytes, incomplete, .. } = own.comparison;
    vec![
        claim!("beats-linux", "{} of the excess of linux-6", percent(gain)).needs(gain.above(0.0)),
        claim!("beats-what-exists", "slowdown saved beside {}", shown.join(", "))
            .needs_all(rivals.iter().map(|cell| cell.saved.above(0.0))),
        claim!("pays-on-each-network", "{gains}")
            .needs_all(by_family.iter().map(|cell| cell.comparison.gain.above(0.0))),
        claim!("needless-within-bounds", "{needless:+.2} points").holds(needless <= MOST_NEEDLESS),
        claim!("bytes-within-bounds", "{bytes:+.2} %").holds(bytes <= MOST_BYTES),
        claim!("no-flow-is-lost", "{incomplete:+} flows").holds(incomplete <= 0),
    ]
}

fn percent(share: Estimate) -> String {
    format!("{:.1} ± {:.1} %", 100.0 * share.mean, 100.0 * share.half)
}

fn chart(cells: &[Judged]) -> BarChart {
    let networks = std::iter::once(ALL).chain(Family::ALL.map(Family::name));
    let senders: Vec<&str> =
        cells.iter().filter(|cell| cell.networks == ALL && cell.sender != LINUX).map(|cell| &*cell.sender).collect();
    let chart =
        BarChart::new("Share of the excess of linux-6 that each server takes away", "server", "gain (%)", ["gain"]);
    networks.fold(chart, |chart, networks| {
        let of = |sender: &&str| cells.iter().find(|cell| cell.networks == networks && cell.sender == *sender);
        let bars = senders.iter().filter_map(|sender| {
            let gain = 100.0 * of(sender)?.comparison.gain.mean;
            Some(((*sender).to_owned(), [Some(gain).filter(|gain| *gain >= 0.0)]))
        });
        chart.panel(networks, bars.collect::<Vec<_>>())
    })
}

fn columns() -> Columns<Judged> {
    let own = columns!(columns_of_figure::<Judged>(ID), r;
        sender, "", "the server" => r.sender.clone();
        networks, "", "the family of networks, or all";
        finding_saves, "", "slowdown that the finding saves beside it" => r.saved.mean;
        finding_saves_half, "", "half the width of its 95 % confidence interval" => r.saved.half;
    );
    trial::columns(own, |row| &row.comparison)
}

fn text(cells: &[Judged]) -> String {
    let table = columns!(Columns::<Judged>::new(), r;
        "server" => r.sender.clone();
        "networks" => r.networks;
        "excess" => format!("{:.3}", r.comparison.excess.mean);
        "gain (%)" => format!("{:.1} ± {:.1}", 100.0 * r.comparison.gain.mean, 100.0 * r.comparison.gain.half);
        "finding saves" => format!("{:.3} ± {:.3}", r.saved.mean, r.saved.half);
        "needless (points)" => format!("{:+.2}", r.comparison.needless);
        "bytes (%)" => format!("{:+.2}", r.comparison.bytes);
        "incomplete" => format!("{:+}", r.comparison.incomplete);
        "p99" => format!("{:.1}", r.comparison.p99);
        "harm" => r.comparison.harm().unwrap_or("");
    )
    .to_table(cells);
    format!(
        "Gain: the share of the excess of linux-6. Finding saves: slowdown that the finding saves beside this server.\n\n{table}"
    )
}
