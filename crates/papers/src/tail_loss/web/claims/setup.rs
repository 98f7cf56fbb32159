//! What §3.3 says of its setup.

use super::{Cells, Claim, ClaimVerdict, Mechanism, Share, claim, decided, in_percent, of_all_downloads};
use crate::tail_loss::web::{WebCell, difference, sites};

pub fn sites() -> Claim {
    let pages = sites::pages();
    let shown = pages.iter().map(|page| {
        let objects = page.objects.len() as u64;
        format!("{} {objects} of {} bytes", page.name, page.bytes() / objects)
    });
    let as_stated = pages
        .iter()
        .zip(sites::SITES)
        .all(|(page, (_, objects, mean))| page.objects.len() as u64 == objects && page.bytes() == objects * mean);
    claim(
        "web-sites",
        "3.3",
        "The three sites have 12, 44 and 164 objects of 24, 52 and 25 kB on average",
        "the pages' objects and their mean sizes",
        (shown.collect::<Vec<_>>().join(", "), as_stated),
    )
    .by_construction()
}

pub fn loss_rate(cells: &[WebCell]) -> Claim {
    let downloads = || cells.iter().flat_map(|cell| &cell.downloads);
    let lost = downloads().map(|one| one.lost).sum();
    let share = Share::of(lost, downloads().map(|one| one.packets).sum());
    claim(
        "web-loss-rate",
        "3.3",
        "The channel loses approximately 1.5 % of the packets, in bursts",
        "of all packets of the servers, 1.4 to 1.6 % are lost by the channel",
        (format!("{:.2} %", 100.0 * share.share), (0.014..=0.016).contains(&share.share)),
    )
    .paper("approximately 1.5 %")
}

/// How much TLPR saves of the baseline's OCT, of all downloads and of those selected.
pub fn selection_shows_more(cells: Cells<'_>) -> Claim {
    let (mut shown, mut parts) = (Vec::new(), Vec::new());
    for group in cells.by_page(160) {
        let [baseline, tlpr] = [Mechanism::Baseline, Mechanism::Tlpr].map(|one| group[one as usize]);
        let all = in_percent(of_all_downloads(tlpr, baseline));
        let selected = in_percent(difference(baseline, tlpr, cells.selection, f64::ln));
        shown.push(format!("{} {all} % of all, {selected} % of those selected", baseline.site));
        parts.push(ClaimVerdict::on_positive(selected.minus(all)));
    }
    decided(
        ClaimVerdict::all(parts),
        claim(
            "web-selection-shows-more",
            "3.3",
            "Taking only the flows with a retransmission among an object's last four segments reduces the noise",
            "160 ms: TLPR reduces the baseline's OCT more in the selected downloads and connections than in all, on each site",
            (shown.join("; "), false),
        ),
    )
}
