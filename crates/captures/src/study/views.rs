//! Figures 1 to 3 of the 2007 loss detection study, for captures.
//!
//! | figure | lines of one capture         | lines of several captures, as in the study |
//! |--------|------------------------------|--------------------------------------------|
//! | 1      | one, of all connections      | one per capture                            |
//! | 2, 3   | one per kind of sender       | one per kind of sender, of all captures    |
//!
//! Figures 1 and 3 are distribution functions, as in the study. Figure 2 shows the other side of its
//! distribution function, the share that took longer, on a logarithmic scale: what matters of detection
//! is how long the slowest took, and a distribution function squeezes them into its last pixels.

pub(super) mod slp;

use crate::study::Merge;
use crate::study::{Cdf, SenderReport, Study};
use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
use recoup_trace::systems::systems_like;
use std::path::Path;

/// The least reduction drawn in Figure 3, in %. Smaller ones are drawn here, because a logarithmic
/// scale has no 0.
const LEAST_REDUCTION: f64 = 0.01;

/// A figure: its file name without an extension, and the picture as SVG (`None`: nothing to draw).
pub type Figure = (&'static str, Option<String>);

/// The three figures of these captures, each with its name.
pub fn figures(captures: &[(&str, &Study)]) -> [Figure; 3] {
    let names = short_names(captures.iter().map(|(name, _)| *name));
    let mut all = Study::default();
    let mut bytes = Vec::new();
    for (name, (_, study)) in names.into_iter().zip(captures) {
        bytes.push((name, study.report().bytes));
        all.merge(study);
    }
    if let [(name, _)] = &mut bytes[..] {
        *name = "all connections".into();
    }
    let senders = all.report().senders;
    [
        ("fig1-bytes", picture(&bytes_chart(&bytes))),
        ("fig2-detection", picture(&detection_chart(&senders))),
        ("fig3-reduction", picture(&reduction_chart(&senders))),
    ]
}

fn picture(chart: &LineChart) -> Option<String> {
    let mut lines = chart.panels.iter().flat_map(|panel| &panel.lines);
    lines.any(|line| !line.is_empty()).then(|| chart.to_svg())
}

/// The names of files without their folders, or with them where two files have the same name.
fn short_names<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let short = |path: &'a str| {
        let name = Path::new(path).file_name().and_then(|name| name.to_str());
        name.unwrap_or(path)
    };
    let is_unique = |name: &str| paths.clone().filter(|path| short(path) == name).count() < 2;
    let names = paths.clone().map(|path| match path {
        "-" => "standard input".into(),
        path if is_unique(short(path)) => short(path).into(),
        path => path.to_string(),
    });
    names.collect()
}

/// Figure 1: the payload of connections, with a line for each of these named distributions.
pub fn bytes_chart(traces: &[(String, Cdf)]) -> LineChart {
    let named = |(name, bytes): &(String, Cdf)| {
        let without = bytes.points.first();
        let without = without.filter(|(bytes, _)| *bytes == 0.0);
        without.map_or(name.clone(), |(_, share)| format!("{name} ({:.1} % carried no payload)", 100.0 * share))
    };
    let series: Vec<String> = traces.iter().map(named).collect();
    LineChart {
        title: titled("Bytes transmitted in each connection", &series),
        x_label: "payload, both ways (bytes)".into(),
        y_label: "share of the connections".into(),
        series,
        panels: vec![LinePanel { title: String::new(), lines: traces.iter().map(|(_, bytes)| steps(bytes)).collect() }],
        ..distribution()
    }
}

/// Figure 2: how long detections took, with a line for each kind of sender that detected a loss.
pub fn detection_chart(senders: &[SenderReport]) -> LineChart {
    let of = |sender: &SenderReport| {
        let detection = &sender.detection;
        [&detection.fast_retransmit, &detection.rto].map(tail)
    };
    let (series, [fast, rto]) = lines(senders, of);
    LineChart {
        title: titled("Detection duration", &series),
        x_label: "from the original to its retransmission (RTTs)".into(),
        y_label: "share of the retransmissions that took longer".into(),
        y_scale: Scale::Logarithmic,
        series,
        panels: vec![
            LinePanel { title: "FR/R: fast, early".into(), lines: fast },
            LinePanel { title: "RTO: rto, slow_start".into(), lines: rto },
        ],
        ..distribution()
    }
}

/// Figure 3: how much ideal loss detection would shorten connections, with a line for each kind of sender
/// that retransmitted.
pub fn reduction_chart(senders: &[SenderReport]) -> LineChart {
    let of = |sender: &SenderReport| {
        let mut line = steps(&sender.reduction.percent);
        line.iter_mut().for_each(|(x, _)| *x = x.max(LEAST_REDUCTION));
        // No reduction exceeds 100 %.
        line.extend(line.last().map(|(_, share)| (100.0, *share)));
        [line]
    };
    let (series, [all]) = lines(senders, of);
    LineChart {
        title: titled("Best-case reduction in connection duration", &series),
        x_label: format!(
            "reduction per sender (% of its connection's duration; less than {LEAST_REDUCTION} is drawn there)"
        ),
        y_label: "share of the senders".into(),
        series,
        panels: vec![LinePanel { title: String::new(), lines: all }],
        ..distribution()
    }
}

/// A title that names the only series, because a chart with one series has no legend.
fn titled(title: &str, series: &[String]) -> String {
    match series {
        [only] => format!("{title}: {only}"),
        _ => title.into(),
    }
}

/// The settings that all three charts share.
fn distribution() -> LineChart {
    LineChart {
        scale: Scale::Logarithmic,
        largest: Some(1.0),
        interpolation: Interpolation::Steps,
        ..LineChart::default()
    }
}

/// The points of a distribution function, from 0 on.
fn steps(cdf: &Cdf) -> Vec<(f64, f64)> {
    let foot = cdf.points.first().map(|(value, _)| (*value, 0.0));
    foot.into_iter().chain(cdf.points.iter().copied()).collect()
}

/// The share above each value (the complementary distribution function), from all on. Nothing is above the
/// largest value, which a logarithmic scale cannot show: the line ends there.
fn tail(cdf: &Cdf) -> Vec<(f64, f64)> {
    let mut above = 1.0;
    let mut line = Vec::with_capacity(cdf.points.len() + 1);
    for (value, share) in &cdf.points {
        line.push((*value, above));
        above = 1.0 - share;
        // Rounding may leave a share that is less than any retransmission's.
        if above > 1e-9 {
            line.push((*value, above));
        }
    }
    line
}

/// The systems whose senders have this profile, or what else is known of a kind of sender.
fn display_name(kind: &str) -> String {
    let name = match kind {
        "several" => "several profiles",
        "none" => "no profile",
        kind => systems_like(kind).unwrap_or(kind),
    };
    name.into()
}

type Line = Vec<(f64, f64)>;

/// The kinds of senders that have values: their names, and their lines for each panel.
fn lines<const PANELS: usize>(
    senders: &[SenderReport],
    of: impl Fn(&SenderReport) -> [Line; PANELS],
) -> (Vec<String>, [Vec<Line>; PANELS]) {
    let mut names = Vec::new();
    let mut panels: [Vec<Line>; PANELS] = std::array::from_fn(|_| Vec::new());
    for sender in senders {
        let own = of(sender);
        if own.iter().all(Vec::is_empty) {
            continue;
        }
        names.push(display_name(&sender.sender));
        for (panel, line) in panels.iter_mut().zip(own) {
            panel.push(line);
        }
    }
    (names, panels)
}

#[cfg(test)]
mod tests;
