//! The effect of the gap and of the packets between original and copy.

use super::Cells;
use crate::prelude::*;
use crate::slp::combined::grid::{Copied, GAP, Load, Network, Recovery, Setup};

pub fn gap(c: &Cells<'_>) -> Claim {
    let saved = |network, gap| {
        let tails = Copied::Tails;
        c.at(Setup { load: Load::Short, network, recovery: Recovery::Nothing, copied: tails, gap }).saved_ms
    };
    let times = ["0", GAP, "0.5", "1"].map(|gap| {
        let Estimate { mean, .. } = saved(Network::Random, gap);
        format!("{mean:.1} ms with gap {gap}")
    });
    let [none, whole] = ["0", "1"].map(|gap| saved(Network::Random, gap).mean);
    let in_bursts = [Network::Bursts3, Network::Bursts8].map(|network| {
        let [none, whole] = ["0", "1"].map(|gap| saved(network, gap));
        format!("{}: {none} ms without gap, {whole} ms with one SRTT", network.name())
    });
    claim("gap-costs").shows(times.join(", ")).holds(whole < none).fill(&[&in_bursts.join("; ")])
}

pub fn between(c: &Cells<'_>) -> Claim {
    let share = |network, copied| {
        c.get(Load::Short, network, Recovery::Nothing, copied).both_lost().map_or(NAN, |(share, _)| 100.0 * share)
    };
    let in_bursts = [Network::Bursts3, Network::Bursts8];
    let shares = in_bursts.map(|network| {
        format!(
            "{}: {:.1} % (others {:.1} %)",
            network.name(),
            share(network, Copied::Second),
            share(network, Copied::Tails)
        )
    });
    claim("packets-between")
        .shows(shares.join(", "))
        .holds(in_bursts.iter().all(|network| share(*network, Copied::Second) < share(*network, Copied::Tails)))
}
