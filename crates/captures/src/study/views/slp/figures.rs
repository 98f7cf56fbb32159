//! Timeouts by position (Figures 1 and 2 of the paper) and by flags (Figures 3 and 4), as SVG.

use crate::study::Figure;
use crate::study::slp::{FlagPanel, Half, LAST_POSITION, PositionPanel, Report, Shares};
use recoup_draw::chart::{BarChart, BarGroup, BarPanel, LineChart, LinePanel};

/// Both figures.
pub fn figures(report: &Report) -> [Figure; 2] {
    let positions = position_chart(report);
    let has_points = |panel: &LinePanel| panel.lines.iter().any(|line| !line.is_empty());
    let positions = positions.panels.iter().any(has_points).then(|| positions.to_svg());
    let flags = flag_chart(report);
    let has_bars = |panel: &BarPanel| !panel.groups.is_empty();
    let flags = flags.panels.iter().any(has_bars).then(|| flags.to_svg());
    [("slp-positions", positions), ("slp-flags", flags)]
}

/// Who classifies: k-means, and our triggers where some are known.
struct Series {
    has_triggers: bool,
}

impl Series {
    fn of(report: &Report) -> Self {
        Self { has_triggers: report.without_trigger < report.retransmissions }
    }

    fn names(&self) -> Vec<String> {
        let mut names = vec!["k-means (the paper)".to_owned()];
        if self.has_triggers {
            names.push("our triggers".into());
        }
        names
    }

    fn shares(&self, shares: &Shares) -> Vec<Option<f64>> {
        let part = |percent: Option<f64>| percent.map(|percent| percent / 100.0);
        let mut values = vec![part(shares.timeouts_percent)];
        if self.has_triggers {
            values.push(part(shares.timeouts_by_trigger_percent));
        }
        values
    }
}

/// The chart of the position analysis.
pub fn position_chart(report: &Report) -> LineChart {
    let series = &Series::of(report);
    let titled = |name: &str, series: &Series| match series.has_triggers {
        true => name.to_owned(),
        false => format!("{name} ({})", series.names()[0]),
    };
    LineChart {
        title: titled("Timeouts by position of the lost packet", series),
        x_label: format!("position of the packet among those of its sender, up to {LAST_POSITION}"),
        y_label: "timeouts / retransmissions".into(),
        largest: Some(1.0),
        series: series.names(),
        panels: report.positions.iter().map(|panel| position_panel(panel, series)).collect(),
        ..LineChart::default()
    }
}

fn position_panel(panel: &PositionPanel, series: &Series) -> LinePanel {
    let count = panel.positions.iter().map(|p| p.shares.retransmissions);
    let count: u64 = count.sum();
    let sent = sent_by(panel.sender);
    let half = match panel.half {
        Half::Front => "counted from the first packet",
        Half::Back => "counted back from the last packet",
    };
    let mut lines = vec![Vec::new(); series.names().len()];
    for position in &panel.positions {
        for (line, value) in lines.iter_mut().zip(series.shares(&position.shares)) {
            line.extend(value.map(|value| (f64::from(position.position), value)));
        }
    }
    LinePanel { title: format!("{sent}, {half} ({count} retransmissions)"), lines }
}

fn sent_by(sender: &str) -> &'static str {
    match sender {
        "client" => "From client to server",
        "server" => "From server to client",
        _ => "Both directions",
    }
}

/// The chart of the flag analysis.
pub fn flag_chart(report: &Report) -> BarChart {
    let series = &Series::of(report);
    BarChart {
        title: "Timeouts by flags of the lost packet".into(),
        x_label: "flags of the lost packet (share of all packets; n: retransmissions)".into(),
        y_label: "timeouts / retransmissions".into(),
        series: series.names(),
        panels: report.flags.iter().map(|panel| flag_panel(panel, series)).collect(),
    }
}

fn flag_panel(panel: &FlagPanel, series: &Series) -> BarPanel {
    let shown = panel.categories.iter().filter(|row| row.is_shown);
    let groups = shown.map(|row| BarGroup {
        label: format!(
            "{} ({:.1} %, n={})",
            row.flags,
            row.packets_percent.unwrap_or_default(),
            row.shares.retransmissions
        ),
        values: series.shares(&row.shares),
    });
    BarPanel { title: sent_by(panel.sender).into(), groups: groups.collect() }
}
