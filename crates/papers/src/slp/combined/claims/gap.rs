//! The effect of the gap and of the packets between original and copy.

use super::{Cells, NO_SECTION};
use crate::claims::{Claim, claim};
use crate::slp::combined::grid::{Copied, GAP, Load, Network, Recovery};
use recoup_support::stats::Estimate;

pub fn gap(c: &Cells<'_>) -> Claim {
    let saved = |network, gap| {
        let tails = Copied::Tails;
        let cell = c.at(Load::Short, network, Recovery::Nothing, tails, gap);
        cell.saved_ms
    };
    let times = ["0", GAP, "0.5", "1"].map(|gap| {
        let Estimate { mean, .. } = saved(Network::Random, gap);
        format!("{mean:.1} ms with gap {gap}")
    });
    let [none, whole] = ["0", "1"].map(|gap| saved(Network::Random, gap).mean);
    let mut claim = claim(
        "gap-costs",
        NO_SECTION,
        "Under random losses a gap only delays the repair by the copy",
        "8 segments, random losses, tails copied: a gap of one SRTT saves less of the mean FCT than no gap",
        (times.join(", "), whole < none),
    );
    let in_bursts = [Network::Bursts3, Network::Bursts8].map(|network| {
        let [none, whole] = ["0", "1"].map(|gap| saved(network, gap));
        format!("{}: {none} ms without gap, {whole} ms with one SRTT", network.name())
    });
    claim.note =
        Some(format!("in bursts that count packets, only the packets within the gap help: {}", in_bursts.join("; "),));
    claim
}

pub fn between(c: &Cells<'_>) -> Claim {
    let share = |network, copied| {
        let cell = c.get(Load::Short, network, Recovery::Nothing, copied);
        cell.both_lost().map_or(f64::NAN, |(share, _)| 100.0 * share)
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
    claim(
        "packets-between",
        NO_SECTION,
        "Packets between original and copy protect the copy against bursts: behind the rest of the window it is lost with its original less often",
        "8 segments, gap SRTT/8: copies of the second segment, which follow six other packets, are lost with their originals less often than copies of handshake, request and tail",
        (
            shares.join(", "),
            in_bursts.iter().all(|network| share(*network, Copied::Second) < share(*network, Copied::Tails)),
        ),
    )
}
