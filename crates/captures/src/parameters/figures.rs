//! Figures 4 and 5 of the study, for a capture: what each value saves, by the best case of the sender.
//!
//! A picture for each profile and parameter, a panel for each value that changes something. Figure 4 varies k,
//! Figure 5a minRTO, Figure 5b a and b. The paper has no figure of m and D.

use super::bins::{Bin, Bins, FEW};
use super::read::ParameterStudy;
use super::totals::ProfileTotals;
use super::values::instance_text;
use recoup_draw::chart::{PointChart, PointPanel, RangePoint};
use recoup_whatif::parameters::Parameter;

/// A figure: its file name without an extension, and the picture as SVG (`None`: nothing to draw).
pub type Figure = (String, Option<String>);

/// The figures of all profiles.
pub fn figures(study: &ParameterStudy) -> Vec<Figure> {
    let of_profile = |profile| {
        let drawn = Parameter::ALL.into_iter();
        drawn.filter_map(move |parameter| figure(study, profile, parameter))
    };
    study.profiles.iter().flat_map(of_profile).collect()
}

/// The beginning of a figure's name.
const fn name(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::RttvarFactor => "fig4-k",
        Parameter::MinRto => "fig5a-min-rto",
        Parameter::RttvarWeight => "fig5b-a",
        Parameter::SrttWeight => "fig5b-b",
        Parameter::SrttFactor => "m",
        Parameter::Dupthresh => "dupthresh",
    }
}

/// The figure of a parameter, if the grid has values of it.
fn figure(study: &ParameterStudy, profile: &ProfileTotals, parameter: Parameter) -> Option<Figure> {
    let singles = study.instances.singles().iter().enumerate();
    let mut values = singles.filter(|(_, instance)| parameter.is_in(instance)).peekable();
    values.peek()?;
    let totals = &profile.totals;
    let changes = values.filter(|(number, _)| totals.instances[*number].events.iter().any(|n| *n > 0));
    let panels: Vec<PointPanel> =
        changes.map(|(number, one)| panel(instance_text(one), &totals.bins[number])).collect();
    let is_blank = panels.iter().all(|panel| panel.points.is_empty());
    let outside = totals.bins.first().map_or(0, Bins::outside);
    let chart = chart(
        format!("Reduction of the connection duration: {}", profile.profile),
        x_label(outside, totals.senders),
        panels,
    );
    let picture = (!is_blank).then(|| chart.to_svg());
    Some((format!("{}-{}", name(parameter), profile.profile), picture))
}

/// A chart of such panels.
pub fn chart(title: String, x_label: String, panels: Vec<PointPanel>) -> PointChart {
    PointChart {
        title,
        x_label,
        y_label: "reduction (RTTs; negative: longer)".into(),
        legend: [
            "mean, with a bar to the 95th percentile".into(),
            format!("mean of fewer than {FEW} senders"),
            "y = x: the best case".into(),
        ],
        panels,
    }
}

/// The panel of an instance.
pub fn panel(title: String, bins: &Bins) -> PointPanel {
    PointPanel { title, points: bins.all().map(point).collect() }
}

fn x_label(outside: u64, senders: u64) -> String {
    let left_out = match outside {
        0 => String::new(),
        n => format!("; not drawn: {n} of {senders} senders, below 0.1 or above 10000 RTTs"),
    };
    format!("best case: what ideal loss detection saves (RTTs){left_out}")
}

fn point(bin: Bin) -> RangePoint {
    RangePoint {
        x: bin.mean_best_case,
        y: bin.mean,
        // A few senders that lose much put the mean above the percentile.
        top: bin.p95,
        is_hollow: bin.senders < FEW,
    }
}
