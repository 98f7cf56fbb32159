//! Claims on the networks' losses of packets and of copies.

use super::{Cells, by_load, by_network, likely};
use crate::experiment;
use crate::prelude::*;
use crate::slp::combined::grid::{Copied, LOSS, Load, Network, Recovery, mean_losses};

pub fn same_mean(c: &Cells<'_>, run: &experiment::Setup) -> Result<Claim> {
    let cell = |network| c.get(Load::Fetch, network, Recovery::Nothing, Copied::Nothing);
    let mut computed = true;
    for network in Network::ALL {
        let settings = cell(network).setup.settings(run)?;
        let rules: Vec<f64> = mean_losses(&settings).collect();
        computed &= rules.len() == 2 && rules.iter().all(|mean| (mean - LOSS).abs() < 1e-9);
    }
    let measured = Network::ALL.map(cell).iter().all(|cell| likely(cell.firsts_lost, cell.firsts, LOSS));
    let percent = |part: u64, all: u64| format!("{:.2} %", 100.0 * part as f64 / all as f64);

    Ok(claim("same-mean")
        .shows(by_network(|network| percent(cell(network).firsts_lost, cell(network).firsts)))
        .holds(computed && measured)
        .fill(&[&by_network(|network| percent(cell(network).lost, cell(network).packets))]))
}

pub fn both_lost(c: &Cells<'_>) -> Claim {
    let shares: Vec<bool> =
        c.0.iter()
            .filter_map(|cell| {
                let (_, expected) = cell.both_lost()?;
                Some(likely(cell.pairs.both_lost, cell.pairs.originals_lost, expected))
            })
            .collect();
    let agree = shares.iter().filter(|agrees| **agrees).count();
    let shares_of = |network| {
        let cell = c.get(Load::Fetch, network, Recovery::Nothing, Copied::Paper);
        let (share, expected) = cell.both_lost().unwrap_or_default();
        let all = cell.pairs.originals_lost;
        format!("{:.1} % of {all} ({:.1} %)", 100.0 * share, 100.0 * expected)
    };
    let most = |network| {
        let cell = c.get(Load::Fetch, network, Recovery::Nothing, Copied::Paper);
        2 * cell.pairs.both_lost > cell.pairs.originals_lost
    };

    claim!("both-lost", "{agree} of {} rows agree", shares.len())
        .holds(agree == shares.len() && !most(Network::Random) && most(Network::Bursts3) && most(Network::Bursts8))
        .fill(&[&by_network(shares_of)])
}

pub fn bursts(c: &Cells<'_>) -> Claim {
    let share = |load, network| {
        let nothing = c.get(load, network, Recovery::Nothing, Copied::Nothing);
        c.get(load, network, Recovery::Nothing, Copied::Paper).saved_ms.mean / nothing.fct_ms.mean
    };
    let holds = Load::ALL.iter().all(|load| {
        let [random, long] = [Network::Random, Network::Bursts8].map(|n| share(*load, n));
        long < random / 2.0
    });
    let percent = |load, network| format!("{:.1} %", 100.0 * share(load, network));
    let text = |load| {
        let [random, long] = [Network::Random, Network::Bursts8].map(|n| percent(load, n));
        format!("{long} (random {random})")
    };
    let slp = |load, network| c.get(load, network, Recovery::Nothing, Copied::Paper);
    claim("bursts-take-the-gain").shows(by_load(text)).holds(holds).fill(&[
        &by_load(|load| percent(load, Network::Bursts3)),
        &by_load(|load| by_network(|network| slp(load, network).saved_ms.to_string())),
        &by_load(|load| {
            by_network(|network| {
                let nothing = c.get(load, network, Recovery::Nothing, Copied::Nothing);
                format!("{} and {}", nothing.late, slp(load, network).late)
            })
        }),
    ])
}
