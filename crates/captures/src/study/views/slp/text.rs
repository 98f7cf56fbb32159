//! The study as tables for reading.

use super::run::SlpStudy;
use crate::analysis::Analyzed;
use crate::study::slp::{
    Agreement, Classification, Classifier, FlagPanel, KindShare, LAST_POSITION, PositionPanel, Report, Shares,
    SynLosses,
};
use crate::text_table::{decimal, table, texts};
use std::ops::RangeInclusive;

use super::LEAST_RETRANSMISSIONS;

/// All tables of a capture.
pub fn study_text(analyzed: &Analyzed<SlpStudy>) -> String {
    let report = &analyzed.findings.report;
    let mut text = format!("The 2021 study of selective loss prevention, for this capture\n{}\n", counts(report));
    if report.retransmissions == 0 {
        return text + &syn_losses(&report.syn_losses);
    }
    let mut add = |heading: &str, table: Option<String>| {
        if let Some(table) = table {
            text += &format!("\n{heading}\n\n{table}\n");
        }
    };
    add(
        "Retransmissions classified as timeouts, by five classifiers\n\
         threshold: a retransmission is a timeout if it comes later than this after the previous transmission\n\
         differs: % of the retransmissions that both classify",
        classifications(report),
    );
    add("The paper's figures beside those of this capture", statements(report));
    add(&position_heading(report, "packets with payload, SYN or FIN"), positions(&report.positions));
    add(&position_heading(report, "all packets, pure ACKs included"), positions(&report.positions_with_acks));
    for panel in &report.flags {
        add(&flag_heading(panel), flags(panel));
    }
    add(
        &format!(
            "Likelihood q of a timeout by kind of the lost packet\n\
             classified by trigger, or by k-means if the trigger is unknown; q needs {LEAST_RETRANSMISSIONS} retransmissions"
        ),
        kinds(&report.kinds),
    );
    text += &syn_losses(&report.syn_losses);
    let notes = classifications_notes(report);
    if !notes.is_empty() {
        text += "\n";
    }
    for note in notes {
        text += &format!("- {note}\n");
    }
    text
}

fn counts(report: &Report) -> String {
    let mut line = format!(
        "{} retransmissions: packets that begin below the highest sequence number sent",
        report.retransmissions
    );
    for (count, what) in [
        (report.without_trigger, "without a known trigger"),
        (report.unlisted, "duplicates that the network or the capture made"),
    ] {
        if count > 0 {
            line += &format!("\n- {count}: {what}");
        }
    }
    if report.unseen > 0 {
        line += &format!(
            "\nLeft out: {} retransmissions whose previous transmission the capture does not hold",
            report.unseen
        );
    }
    line
}

fn classifications(report: &Report) -> Option<String> {
    let row = |one: &Classification| {
        let against = |agreement: &Agreement, itself: Classifier| {
            decimal(agreement.different_percent.filter(|_| one.classifier != itself))
        };
        let threshold = one.threshold_s.map_or("-".into(), |t| format!("{t:.4}"));
        texts![
            one.classifier.title(),
            threshold,
            one.classified,
            one.timeouts,
            decimal(one.timeouts_percent),
            against(&one.against_triggers, Classifier::Triggers),
            against(&one.against_wireshark, Classifier::Wireshark),
        ]
    };
    let header = [
        "classifier",
        "threshold\n(s)",
        "classified",
        "timeouts",
        "timeouts\n(%)",
        "differs from\nour triggers\n(%)",
        "differs from\nWireshark's rule\n(%)",
    ];
    table(&header, 1, report.classifications.iter().map(row))
}

/// Tables that are missing, and classifiers with several equally good thresholds.
fn classifications_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if report.with_position == 0 {
        notes.push(
            "No table by position: it takes directions with their SYN, and their FIN or a reset, in the capture"
                .to_owned(),
        );
    }
    for one in &report.classifications {
        let name = one.classifier.title();
        let is_k_means = !matches!(one.classifier, Classifier::Triggers | Classifier::Wireshark);
        if is_k_means && one.threshold_s.is_none() {
            notes.push(format!("{name}: no threshold, because there are fewer than two different intervals"));
        }
        if one.is_ambiguous {
            notes.push(format!("{name}: several thresholds are equally good; the one with fewest timeouts is shown"));
        }
    }
    notes
}

fn statements(report: &Report) -> Option<String> {
    let rows = report.statements.iter().map(|one| {
        let [k_means, triggers] = [one.by_k_means, one.by_triggers].map(decimal);
        texts![one.quantity, one.unit, one.retransmissions, k_means, triggers, one.paper]
    });
    let header = ["quantity", "unit", "retransmissions", "by k-means", "by our triggers", "the paper"];
    table(&header, 2, rows)
}

/// The rows of the position table: single positions first, then groups.
const POSITIONS: [RangeInclusive<u32>; 10] =
    [1..=1, 2..=2, 3..=3, 4..=4, 5..=5, 6..=10, 11..=20, 21..=40, 41..=70, 71..=LAST_POSITION];

fn position_heading(report: &Report, counted: &str) -> String {
    format!(
        "Timeouts by position of the lost packet (% by k-means / % by our triggers, n = retransmissions).\n\
         Positions count {counted}, from the first (front) or from the last (back), up to {LAST_POSITION};\n\
         {} retransmissions have a position, because the capture holds the first and the last packet of their direction",
        report.with_position
    )
}

fn positions(panels: &[PositionPanel]) -> Option<String> {
    let mut header = vec!["position".to_owned()];
    for panel in panels {
        header.extend(texts![format!("{} {} (%)", panel.sender, panel.half.name()), "n"]);
    }
    let rows = POSITIONS.into_iter().filter_map(|range| {
        let sums = panels.iter().map(|panel| {
            let included = panel.positions.iter().filter(|place| range.contains(&place.position));
            included.fold(Sum::default(), |sum, place| sum.plus(&place.shares))
        });
        let sums: Vec<Sum> = sums.collect();
        let mut row = vec![range_name(&range)];
        row.extend(sums.iter().flat_map(|sum| texts![sum.percents(), sum.retransmissions]));
        sums.iter().any(|sum| sum.retransmissions > 0).then_some(row)
    });
    table(&header.iter().map(String::as_str).collect::<Vec<_>>(), 1, rows)
}

fn range_name(range: &RangeInclusive<u32>) -> String {
    match (range.start(), range.end()) {
        (one, last) if one == last => one.to_string(),
        (first, last) => format!("{first} to {last}"),
    }
}

/// Several positions together.
#[derive(Clone, Copy, Default)]
struct Sum {
    retransmissions: u64,
    k_means: [u64; 2],
    triggers: [u64; 2],
}

impl Sum {
    fn plus(self, shares: &Shares) -> Self {
        let add = |[part, whole]: [u64; 2], more: u64, of: u64| [part + more, whole + of];
        Self {
            retransmissions: self.retransmissions + shares.retransmissions,
            k_means: add(self.k_means, shares.timeouts, shares.classified),
            triggers: add(self.triggers, shares.timeouts_by_trigger, shares.with_trigger),
        }
    }

    fn percents(self) -> String {
        let percent = |[part, whole]: [u64; 2]| match whole {
            0 => "-".into(),
            whole => format!("{:.0}", 100.0 * part as f64 / whole as f64),
        };
        match self.retransmissions {
            0 => "-".into(),
            _ => format!("{} / {}", percent(self.k_means), percent(self.triggers)),
        }
    }
}

fn flag_heading(panel: &FlagPanel) -> String {
    let left_out = panel.categories.iter().filter(|row| !row.is_shown);
    let retransmissions: u64 = left_out.clone().map(|row| row.shares.retransmissions).sum();
    let sent = match panel.sender {
        "both" => "both directions",
        "client" => "sent by clients",
        _ => "sent by servers",
    };
    format!(
        "Timeouts by flags of the lost packet, {sent}. Left out: {} combinations with less than 1 % of the\n\
         capture's packets each ({retransmissions} retransmissions)",
        left_out.count()
    )
}

fn flags(panel: &FlagPanel) -> Option<String> {
    let rows = panel.categories.iter().filter(|row| row.is_shown).map(|row| {
        let (shares, of_packets) = (&row.shares, decimal(row.packets_percent));
        let shown = [row.retransmissions_percent, shares.timeouts_percent, shares.timeouts_by_trigger_percent];
        [texts![row.flags, row.packets, of_packets, shares.retransmissions], shown.map(decimal).into()].concat()
    });
    let header = [
        "flags",
        "packets",
        "% of\npackets",
        "retransmissions",
        "% of\nretransmissions",
        "timeouts by\nk-means (%)",
        "timeouts by our\ntriggers (%)",
    ];
    table(&header, 1, rows)
}

fn kinds(kinds: &[KindShare]) -> Option<String> {
    let rows = kinds.iter().map(|kind| {
        let q = kind.q.filter(|_| kind.retransmissions >= LEAST_RETRANSMISSIONS);
        let q = q.map_or("-".into(), |q| format!("{q:.3}"));
        texts![kind.kind, kind.timeouts, kind.retransmissions, kind.by_k_means, q]
    });
    table(&["kind", "timeouts", "retransmissions", "classified by k-means", "q"], 1, rows)
}

/// Table I with the paper's numbers, or a sentence that there is nothing to show.
fn syn_losses(losses: &SynLosses) -> String {
    let Some(percent) = losses.with_syn_loss_percent else {
        return "\nTable I: the capture holds no SYN\n".into();
    };
    let mut text = format!(
        "\nTable I: {} of {} flows whose SYN was captured sent it more than once ({percent:.2} %; the paper: 2.6 %)\n",
        losses.with_syn_loss, losses.flows,
    );
    let Some(mean) = losses.mean_wait_s else {
        if losses.with_syn_loss > 0 {
            text += "No table: none of these flows ended with FIN or a reset in the capture\n";
        }
        return text;
    };
    let rows = losses.percentiles.iter().map(|row| {
        let [without, with, less] =
            [row.without_slp_s, row.with_slp_s, row.less_mean_wait_s].map(|seconds| format!("{seconds:.3}"));
        texts![
            row.percentile,
            without,
            with,
            decimal(row.reduction_percent),
            less,
            decimal(row.less_mean_wait_reduction_percent),
            row.paper_without_slp_s,
            row.paper_with_slp_s,
            row.paper_reduction_percent,
        ]
    });
    let header = [
        "percentile",
        "without\nSLP (s)",
        "with\nSLP (s)",
        "reduction\n(%)",
        "less mean\nwait (s)",
        "reduction\n(%)",
        "the paper:\nwithout (s)",
        "the paper:\nwith (s)",
        "the paper:\nreduction (%)",
    ];
    let table = table(&header, 0, rows).unwrap_or_default();
    text += &format!(
        "Completion times of the {} flows that completed. With SLP, each flow is shorter by its wait, the time\n\
         from its first SYN to its last (mean: {mean:.3} s). In the paper, the rows with and without SLP differ by\n\
         0.68 to 0.73 s at every percentile, as if one mean wait had been subtracted from all flows. The column\n\
         \"less mean wait\" does that. No rerun stands beside this table: recoup whatif reruns the sender of most\n\
         data, and here the client loses its SYN. `recoup paper slp table1` reruns simulated flows.\n\n{table}\n",
        losses.completed
    );
    text
}
