//! What these flows say about copies, alone and beside other mechanisms.

use super::grid::{Copied, GAP, LOSS, Load, Network, Recovery, mean_losses};
use super::{Cell, Estimate, interval};
use crate::claims::{Claim, claim};
use crate::scenario::Scenario;
use crate::settings::SettingsError;

/// Where the numbers of others end.
const OURS: &str = "ours";

/// How far a share may lie from its probability, in standard errors. By chance one in 16,000 lies
/// farther, and less than a hundred are compared.
const ERRORS: f64 = 4.0;

/// The cells by what they are.
struct Cells<'a>(&'a [Cell]);

impl<'a> Cells<'a> {
    fn get(&self, load: Load, network: Network, recovery: Recovery, copied: Copied) -> &'a Cell {
        self.at(load, network, recovery, copied, GAP)
    }

    fn at(
        &self,
        load: Load,
        network: Network,
        recovery: Recovery,
        copied: Copied,
        gap: &str,
    ) -> &'a Cell {
        let found = self.0.iter().find(|Cell { setup, .. }| {
            (setup.load, setup.network) == (load, network)
                && (setup.recovery, setup.copied, setup.gap) == (recovery, copied, gap)
        });
        found.expect("a cell of the grid")
    }
}

/// The claims decided here.
pub fn all(cells: &[Cell], base: &Scenario) -> Result<Vec<Claim>, SettingsError> {
    let c = Cells(cells);
    Ok(vec![
        same_mean(&c, base)?,
        both_lost(&c),
        more_than_tlpr(&c),
        on_top_of_tlpr(&c),
        on_top_of_linux_6(&c),
        handshake(&c),
        cheaper(&c),
        tails_withheld(&c),
        tails_dear(&c),
        bursts(&c),
        gap(&c),
        between(&c),
    ])
}

/// A number for each load.
fn by_load(number: impl Fn(Load) -> String) -> String {
    let told = Load::ALL.map(|load| format!("{}: {}", load.name(), number(load)));
    told.join("; ")
}

/// A number for each network.
fn by_network(number: impl Fn(Network) -> String) -> String {
    let told = Network::ALL.map(|network| format!("{} {}", network.name(), number(network)));
    told.join(", ")
}

/// Whether `hits` of `all` is a likely outcome of probability `p`.
fn likely(hits: u64, all: u64, p: f64) -> bool {
    let all = all as f64;
    let error = (all * p * (1.0 - p)).sqrt();
    // And one more: few are not spread as many are.
    (hits as f64 - all * p).abs() <= ERRORS * error + 1.0
}

fn same_mean(c: &Cells<'_>, base: &Scenario) -> Result<Claim, SettingsError> {
    let cell = |network| c.get(Load::Fetch, network, Recovery::Nothing, Copied::Nothing);
    let mut computed = true;
    for network in Network::ALL {
        let (settings, _) = cell(network).setup.settings(base)?;
        let rules: Vec<f64> = mean_losses(&settings).collect();
        computed &= rules.len() == 2 && rules.iter().all(|mean| (mean - LOSS).abs() < 1e-9);
    }
    let measured = Network::ALL
        .map(cell)
        .iter()
        .all(|cell| likely(cell.firsts_lost, cell.firsts, LOSS));
    let percent = |part: u64, all: u64| format!("{:.2} %", 100.0 * part as f64 / all as f64);
    let mut claim = claim(
        "same-mean",
        OURS,
        "Every network loses 2 % of the packets each way",
        "the channels' means = 2 %; of flows' first packets each way, lost within 4 standard errors of it",
        (
            by_network(|network| percent(cell(network).firsts_lost, cell(network).firsts)),
            computed && measured,
        ),
    );
    claim.note = Some(format!(
        "of all packets of the flows of 34 kB, {}: who meets a long burst sends into it again and again, or gives up and sends no more",
        by_network(|network| percent(cell(network).lost, cell(network).packets)),
    ));
    Ok(claim)
}

fn both_lost(c: &Cells<'_>) -> Claim {
    let shares: Vec<bool> =
        c.0.iter()
            .filter_map(|cell| {
                let (_, due) = cell.both_lost()?;
                Some(likely(cell.pairs.both_lost, cell.pairs.originals_lost, due))
            })
            .collect();
    let agree = shares.iter().filter(|agrees| **agrees).count();
    let told = |network| {
        let cell = c.get(Load::Fetch, network, Recovery::Nothing, Copied::Paper);
        let (share, due) = cell.both_lost().unwrap_or_default();
        let of = cell.pairs.originals_lost;
        format!("{:.1} % of {of} ({:.1})", 100.0 * share, 100.0 * due)
    };
    let most = |network| {
        let cell = c.get(Load::Fetch, network, Recovery::Nothing, Copied::Paper);
        2 * cell.pairs.both_lost > cell.pairs.originals_lost
    };
    let mut claim = claim(
        "both-lost",
        OURS,
        "Random losses hit a copy whose original is lost as rarely as any packet; a burst longer than the gap takes both",
        "the share of lost originals whose copy was lost too lies within 4 standard errors of what the channel makes of the packets between them, in every row; in bursts most are",
        (
            format!(
                "{}; {agree} of {} rows agree",
                by_network(told),
                shares.len()
            ),
            agree == shares.len()
                && !most(Network::Random)
                && most(Network::Bursts3)
                && most(Network::Bursts8),
        ),
    );
    claim.note = Some("the paper's q, 34 kB; in brackets as computed. Here is where duplication loses: it pays for every copy, and has the good of few of those it was made for. Of a channel that steps with each packet no gap helps; where bursts last a time, a gap helps if it is longer, and SLP's, an eighth of SRTT or 5 ms, would have to be".into());
    claim
}

fn more_than_tlpr(c: &Cells<'_>) -> Claim {
    let saved = |load, recovery, copied| c.get(load, Network::Random, recovery, copied).saved_ms;
    let slp = |load| saved(load, Recovery::Nothing, Copied::Paper);
    let tlpr = |load| saved(load, Recovery::Tlpr, Copied::Nothing);
    claim(
        "slp-saves-more",
        OURS,
        "Under random losses SLP shortens these flows by more than TLPR does: their dearest timeouts come before there is a tail",
        "mean FCT saved by the paper's q and by TLPR, and their intervals apart",
        (
            by_load(|load| format!("{} ms for {}", interval(slp(load)), interval(tlpr(load)))),
            Load::ALL.iter().all(|load| {
                let (slp, tlpr) = (slp(*load), tlpr(*load));
                slp.mean - slp.half > tlpr.mean + tlpr.half
            }),
        ),
    )
}

/// What copies save beside a mechanism, by load and network.
fn beside(c: &Cells<'_>, recovery: Recovery) -> (String, bool) {
    let saved = |load, network| {
        let cell = c.get(load, network, recovery, Copied::Paper);
        cell.saved_by_copies_ms
    };
    let told = by_load(|load| by_network(|network| interval(saved(load, network))) + " ms");
    let random = |load: &Load| saved(*load, Network::Random).is_positive();
    (told, Load::ALL.iter().all(random))
}

fn on_top_of_tlpr(c: &Cells<'_>) -> Claim {
    let mut claim = claim(
        "slp-on-tlpr",
        OURS,
        "SLP adds to what TLPR saves",
        "mean FCT of TLPR less that of TLPR with the paper's q; above 0 with 95 % confidence under random losses",
        beside(c, Recovery::Tlpr),
    );
    let alone = |load| {
        let copied = |copied| {
            let cell = c.get(load, Network::Random, Recovery::Nothing, copied);
            interval(cell.saved_by_copies_ms)
        };
        let tails = c.get(load, Network::Random, Recovery::Tlpr, Copied::Tails);
        format!(
            "{} alone, {} with tails beside TLPR",
            copied(Copied::Paper),
            interval(tails.saved_by_copies_ms)
        )
    };
    claim.note = Some(format!(
        "as much as alone: the two mend different losses. Under random losses {} (ms)",
        by_load(alone)
    ));
    claim
}

fn on_top_of_linux_6(c: &Cells<'_>) -> Claim {
    claim(
        "slp-on-linux-6",
        OURS,
        "SLP adds as much to Linux 6, whose RACK-TLP knows nothing for a handshake either",
        "mean FCT of linux-6 less that of linux-6+slp, the paper's q; above 0 with 95 % confidence under random losses",
        beside(c, Recovery::Linux6),
    )
}

fn handshake(c: &Cells<'_>) -> Claim {
    let saved = |load, copied| {
        let cell = c.get(load, Network::Random, Recovery::Nothing, copied);
        (cell.saved_ms, cell.saved_per_kb().unwrap_or(f64::NAN))
    };
    let told = |load| {
        let [part, whole] = [Copied::Handshake, Copied::Paper].map(|copied| saved(load, copied));
        format!(
            "{} of {} ms, {:.0} and {:.0} ms a kB added",
            interval(part.0),
            interval(whole.0),
            part.1,
            whole.1
        )
    };
    claim(
        "mostly-the-handshake",
        OURS,
        "Most of what the paper's q saves, copies of SYN and SYN-ACK alone save, for fewer bytes",
        "under random losses: more than half of the mean FCT saved, and more for each kB added",
        (
            by_load(told),
            Load::ALL.iter().all(|load| {
                let (part, whole) = (saved(*load, Copied::Handshake), saved(*load, Copied::Paper));
                part.0.mean > whole.0.mean / 2.0 && part.1 > whole.1
            }),
        ),
    )
}

/// Milliseconds saved for each byte added, without bound where none is.
fn per_byte(cell: &Cell) -> f64 {
    match cell.added_bytes.mean {
        added if added > 0.0 => cell.saved_ms.mean / added,
        _ if cell.saved_ms.mean > 0.0 => f64::INFINITY,
        _ => 0.0,
    }
}

fn cheaper(c: &Cells<'_>) -> Claim {
    let pair = |load, network| {
        (
            c.get(load, network, Recovery::Tlpr, Copied::Nothing),
            c.get(load, network, Recovery::Nothing, Copied::Paper),
        )
    };
    let told = |load| {
        by_network(|network| {
            let (tlpr, slp) = pair(load, network);
            let bytes = [tlpr, slp].map(|cell| interval(cell.added_bytes));
            format!("{} bytes for {}", bytes[0], bytes[1])
        })
    };
    let mut better = super::grid::everywhere().map(|(load, network)| pair(load, network));
    let holds = better.all(|(tlpr, slp)| per_byte(tlpr) > per_byte(slp));
    let mut claim = claim(
        "tlpr-cheaper",
        OURS,
        "For each byte added TLPR is the better buy, on every network: it sends what went unanswered, SLP what may",
        "mean FCT saved over bytes added, TLPR against the paper's q (TLPR's bytes first)",
        (by_load(told), holds),
    );
    claim.note = Some("of 2 % of packets lost, each of SLP's copies is needed once in fifty times. Some of what it adds are answers: the duplicate SYN draws a SYN-ACK of its own beside the SYN-ACK's copy, and each duplicate an ACK".into());
    claim
}

fn tails_withheld(c: &Cells<'_>) -> Claim {
    let get = |copied| c.get(Load::Fetch, Network::Random, Recovery::Nothing, copied);
    let (tails, paper) = (get(Copied::Tails), get(Copied::Paper));
    let flows = tails.flows as f64;
    let withheld = tails.withheld as f64 / flows;
    let more = (tails.copies as f64 - paper.copies as f64) / flows;
    claim(
        "window-withholds-tails",
        OURS,
        "Flows longer than the first window have hardly any tail copied, whatever q says: the window rule withholds it",
        "34 kB, random losses, q 1 for tails: a copy withheld in at least nine flows of ten, and less than one more a ten flows than with the paper's q",
        (
            format!("{withheld:.3} a flow withheld, {more:.3} more sent"),
            withheld >= 0.9 && more < 0.1,
        ),
    )
}

fn tails_dear(c: &Cells<'_>) -> Claim {
    let get = |recovery, copied| c.get(Load::Short, Network::Random, recovery, copied);
    let step = |recovery, from, to| {
        let (from, to) = (get(recovery, from), get(recovery, to));
        let saved = from.fct_ms.mean - to.fct_ms.mean;
        (saved, to.bytes - from.bytes)
    };
    let per_kb = |(saved, bytes): (f64, f64)| saved / bytes * 1e3;
    let handshake = step(Recovery::Nothing, Copied::Nothing, Copied::Handshake);
    let tail = step(Recovery::Nothing, Copied::Paper, Copied::Tails);
    let beside_tlpr = step(Recovery::Tlpr, Copied::Paper, Copied::Tails);
    let told = |step: (f64, f64)| {
        let (saved, bytes) = step;
        format!(
            "{saved:.1} ms for {bytes:.0} bytes ({:.1} ms a kB)",
            per_kb(step)
        )
    };
    let mut claim = claim(
        "tail-copies-dear",
        OURS,
        "Copies of tails are the worst buy: a full segment each time, for a timeout of an RTO where a handshake's takes a second",
        "8 segments, random losses: mean FCT saved for each kB added when tails are copied beside the paper's q, against the handshake's copies: less than a fifth",
        (
            format!(
                "{}; beside TLPR {}; handshake {}",
                told(tail),
                told(beside_tlpr),
                told(handshake)
            ),
            per_kb(tail) < per_kb(handshake) / 5.0 && per_kb(beside_tlpr) < per_kb(handshake) / 5.0,
        ),
    );
    let p99 = |copied| format!("{:.0} ms", get(Recovery::Tlpr, copied).p99_ms);
    claim.note = Some(format!(
        "what they buy is the 99th percentile: {} to {} beside TLPR",
        p99(Copied::Paper),
        p99(Copied::Tails)
    ));
    claim
}

fn bursts(c: &Cells<'_>) -> Claim {
    let share = |load, network| {
        let nothing = c.get(load, network, Recovery::Nothing, Copied::Nothing);
        let slp = c.get(load, network, Recovery::Nothing, Copied::Paper);
        slp.saved_ms.mean / nothing.fct_ms.mean
    };
    let holds = Load::ALL.iter().all(|load| {
        let [random, long] = [Network::Random, Network::Bursts8].map(|n| share(*load, n));
        long < random * 2.0 / 3.0
    });
    let told = |load| by_network(|network| format!("{:.1} %", 100.0 * share(load, network)));
    let mut claim = claim(
        "bursts-take-the-gain",
        OURS,
        "Long bursts take most of what copies save",
        "mean FCT saved by the paper's q over that with neither mechanism nor copies: in bursts of 8 less than two thirds of what it is under random losses",
        (by_load(told), holds),
    );
    claim.note = Some(format!(
        "bursts that wait for packets outlast timeouts, which double: flows that take over 10 s or never complete, without copies and with: {}",
        by_load(|load| by_network(|network| {
            let late = [Copied::Nothing, Copied::Paper].map(|copied| {
                c.get(load, network, Recovery::Nothing, copied)
                    .late
                    .to_string()
            });
            late.join(" and ")
        }))
    ));
    claim
}

fn gap(c: &Cells<'_>) -> Claim {
    let saved = |network, gap| {
        let tails = Copied::Tails;
        let cell = c.at(Load::Short, network, Recovery::Nothing, tails, gap);
        cell.saved_ms
    };
    let told = ["0", GAP, "0.5", "1"].map(|gap| {
        let Estimate { mean, .. } = saved(Network::Random, gap);
        format!("{mean:.1} ms with {gap}")
    });
    let [none, whole] = ["0", "1"].map(|gap| saved(Network::Random, gap).mean);
    let mut claim = claim(
        "gap-costs",
        OURS,
        "Where losses are random a gap only delays what the copy mends",
        "8 segments, random losses, tails copied: less of the mean FCT saved with a gap of an SRTT than with none",
        (told.join(", "), whole < none),
    );
    let in_bursts = [Network::Bursts3, Network::Bursts8].map(|network| {
        let [none, whole] = ["0", "1"].map(|gap| interval(saved(network, gap)));
        format!(
            "{}: {none} ms with none, {whole} with an SRTT",
            network.name()
        )
    });
    claim.note = Some(format!(
        "in bursts counted in packets it is worth the packets that happen to lie between, and no more: {}",
        in_bursts.join("; "),
    ));
    claim
}

fn between(c: &Cells<'_>) -> Claim {
    let share = |network, copied| {
        let cell = c.get(Load::Short, network, Recovery::Nothing, copied);
        cell.both_lost()
            .map_or(f64::NAN, |(share, _)| 100.0 * share)
    };
    let in_bursts = [Network::Bursts3, Network::Bursts8];
    let told = in_bursts.map(|network| {
        format!(
            "{} {:.1} % for {:.1}",
            network.name(),
            share(network, Copied::Second),
            share(network, Copied::Tails)
        )
    });
    claim(
        "packets-between",
        OURS,
        "What guards a copy against bursts of packets is packets between: behind the rest of its window it is lost with its original less often",
        "8 segments, the gap an eighth of SRTT: copies of the second segment, six packets before them, lost with their originals, against those of handshake, request and tail",
        (
            told.join(", "),
            in_bursts
                .iter()
                .all(|network| share(*network, Copied::Second) < share(*network, Copied::Tails)),
        ),
    )
}
