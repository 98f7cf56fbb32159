//! Figures 1 to 3 of the 2007 loss detection study, for a capture (`recoup_trace::study`).
//!
//! Figures 1 and 3 are distribution functions, as in the study. Figure 2 shows the other side of its
//! distribution function, the share that took longer, on a logarithmic scale: what matters of detection
//! is how long the slowest took, and a distribution function squeezes them into its last pixels.

pub mod slp;

use recoup_draw::chart::{Interpolation, LineChart, LinePanel, Scale};
use recoup_trace::study::{Cdf, Report, SenderReport, Study};

/// The least reduction drawn in Figure 3, in %. Smaller ones are drawn here, because a logarithmic
/// scale has no 0.
const LEAST_REDUCTION: f64 = 0.01;

/// A figure: its file name without an extension, and the picture as SVG (`None`: nothing to draw).
pub type Figure = (&'static str, Option<String>);

/// The three figures. Each kind of sender of Table IV that has values has a line.
pub fn figures(study: &Study) -> [Figure; 3] {
    let report = study.report();
    [
        ("fig1-bytes", picture(&bytes(&report))),
        ("fig2-detection", picture(&detection(&report))),
        ("fig3-reduction", picture(&reduction(&report))),
    ]
}

fn picture(chart: &LineChart) -> Option<String> {
    let mut lines = chart.panels.iter().flat_map(|panel| &panel.lines);
    lines.any(|line| !line.is_empty()).then(|| chart.to_svg())
}

fn bytes(report: &Report) -> LineChart {
    let without = report.bytes.points.first();
    let without = without.filter(|(bytes, _)| *bytes == 0.0);
    let left_out = without.map_or(String::new(), |(_, share)| {
        format!(" ({:.1} % carried none)", 100.0 * share)
    });
    LineChart {
        title: "Bytes transmitted in each connection".into(),
        x_label: format!("payload, both ways (bytes){left_out}"),
        y_label: "share of the connections".into(),
        series: vec!["all connections".into()],
        panels: vec![LinePanel {
            title: String::new(),
            lines: vec![steps(&report.bytes)],
        }],
        ..distribution()
    }
}

fn detection(report: &Report) -> LineChart {
    let of = |sender: &SenderReport| {
        let detection = &sender.detection;
        [&detection.fast_retransmit, &detection.rto].map(tail)
    };
    let (series, [fast, rto]) = lines(report, of);
    LineChart {
        title: titled("Detection duration", &series),
        x_label: "from the original to its retransmission (RTTs)".into(),
        y_label: "share of the retransmissions that took longer".into(),
        y_scale: Scale::Logarithmic,
        series,
        panels: vec![
            LinePanel {
                title: "FR/R: fast, early".into(),
                lines: fast,
            },
            LinePanel {
                title: "RTO: rto, slow_start".into(),
                lines: rto,
            },
        ],
        ..distribution()
    }
}

fn reduction(report: &Report) -> LineChart {
    let of = |sender: &SenderReport| {
        let mut line = steps(&sender.reduction.percent);
        line.iter_mut()
            .for_each(|(x, _)| *x = x.max(LEAST_REDUCTION));
        // No reduction exceeds 100 %.
        line.extend(line.last().map(|(_, share)| (100.0, *share)));
        [line]
    };
    let (series, [all]) = lines(report, of);
    LineChart {
        title: titled("Best-case reduction in connection duration", &series),
        x_label: format!(
            "reduction (% of the duration; less than {LEAST_REDUCTION} is drawn there)"
        ),
        y_label: "share of the senders".into(),
        series,
        panels: vec![LinePanel {
            title: String::new(),
            lines: all,
        }],
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

type Line = Vec<(f64, f64)>;

/// The kinds of senders that have values: their names, and their lines for each panel.
fn lines<const PANELS: usize>(
    report: &Report,
    of: impl Fn(&SenderReport) -> [Line; PANELS],
) -> (Vec<String>, [Vec<Line>; PANELS]) {
    let mut names = Vec::new();
    let mut panels: [Vec<Line>; PANELS] = std::array::from_fn(|_| Vec::new());
    for sender in &report.senders {
        let own = of(sender);
        if own.iter().all(Vec::is_empty) {
            continue;
        }
        names.push(sender.sender.clone());
        for (panel, line) in panels.iter_mut().zip(own) {
            panel.push(line);
        }
    }
    (names, panels)
}

#[cfg(test)]
mod tests;
