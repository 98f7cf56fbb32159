//! What §3.3 says of its setup.

use super::{Cells, Mechanism, in_percent, of_all_downloads};
use crate::prelude::*;
use crate::tail_loss::web::{WebCell, difference, sites};

pub fn sites() -> Result<Claim> {
    let pages = sites::pages()?;
    let shown = pages.iter().map(|page| {
        let objects = page.objects.len() as u64;
        format!("{} {objects} of {} bytes", page.name, page.bytes() / objects)
    });
    let as_stated = pages
        .iter()
        .zip(sites::SITES)
        .all(|(page, (_, objects, mean, _))| page.objects.len() as u64 == objects && page.bytes() == objects * mean);
    Ok(claim("web-sites").shows(shown.joined(", ")).holds(as_stated))
}

pub fn loss_rate(cells: &[WebCell]) -> Claim {
    let downloads = || cells.iter().flat_map(|cell| &cell.downloads);
    let lost = downloads().map(|one| one.lost).sum();
    let share = Share::of(lost, downloads().map(|one| one.packets).sum());
    claim!("web-loss-rate", "{:.2} %", 100.0 * share.share).holds((0.014..=0.016).contains(&share.share))
}

/// How much TLPR saves of the baseline's OCT, of all downloads and of those selected.
pub fn selection_shows_more(cells: Cells<'_>) -> Claim {
    claim("web-selection-shows-more").each(
        "; ",
        cells.by_page(160).map(|group| {
            let [baseline, tlpr] = [Mechanism::Baseline, Mechanism::Tlpr].map(|one| group[one as usize]);
            let all = in_percent(of_all_downloads(tlpr, baseline));
            let selected = in_percent(difference(baseline, tlpr, cells.selection, f64::ln));
            (format!("{} {all} % of all, {selected} % of those selected", baseline.site), selected.above(all))
        }),
    )
}
