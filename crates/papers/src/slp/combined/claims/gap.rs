//! What lies between original and copy.

use super::{Cells, OURS};
use crate::claims::{Claim, claim};
use crate::slp::combined::grid::{Copied, GAP, Load, Network, Recovery};
use recoup_lab::stats::Estimate;

pub fn gap(c: &Cells<'_>) -> Claim {
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
        let [none, whole] = ["0", "1"].map(|gap| saved(network, gap));
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

pub fn between(c: &Cells<'_>) -> Claim {
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
