//! A report about invented papers, with pictures of every kind and with as many claims as the real one.

use recoup_draw::{
    chart::{
        BarChart, BarGroup, BarPanel, Interpolation, LineChart, LinePanel, PointChart, PointPanel, RangePoint, Scale,
    },
    sequence::{Diagram, Mark, MarkKind, Panel},
};
use recoup_papers::html::{
    Claim, Class, Data, Experiment, Figure, Ledger, Outcome, Paper, Report, Sentence, Untested, Verdict,
};
use recoup_units::{Instant, Offset, Span};

const PROFILES: [&str; 4] = ["linux-3.17", "linux-3.17+rtor", "linux-3.17+tlp", "linux-3.17+tlpr"];

/// A report with `papers` papers, each with `experiments` experiments of `claims` claims.
pub fn report(papers: usize, experiments: usize, claims: usize) -> Report {
    Report {
        title: "Recoup: what holds of four papers".into(),
        made: "recoup 0.9.0, full run with seed 1, 24 November 2026, 13 min on two cores".into(),
        papers: (0..papers).map(|i| paper(i, experiments, claims)).collect(),
        notes: vec!["Verdicts are about this engine and its inputs, not about the Internet.".into()],
        generator: "recoup 0.9.0".into(),
    }
}

fn paper(number: usize, experiments: usize, claims: usize) -> Paper {
    let (id, name, citation) = [
        (
            "tail-loss",
            "Tail loss recovery (2015)",
            "A. Author, B. Author. A study of timers and probes at the end of short flows. Invented Conference, 2015.",
        ),
        (
            "prr",
            "Proportional rate reduction (2011)",
            "C. Author, D. Author. How much to send while a window shrinks. Invented Conference, 2011.",
        ),
        (
            "slp",
            "Selective loss prevention (2021)",
            "E. Author. Extra copies of what would hurt most. Invented Journal, 2021.",
        ),
        (
            "loss-detection",
            "Loss detection (2007)",
            "F. Author, G. Author. How senders of their time noticed losses. Invented Workshop, 2007.",
        ),
    ][number % 4];
    let mut of = Paper {
        id: id.into(),
        name: name.into(),
        citation: citation.into(),
        experiments: (0..experiments).map(|i| experiment(number, id, i, claims)).collect(),
        sentences: Vec::new(),
    };
    of.sentences = sentences(&of);
    of
}

fn experiment(paper: usize, id: &str, number: usize, claims: usize) -> Experiment {
    let name = format!("fig{}", number + 1);
    let svg = match number % 4 {
        0 => bars(),
        1 => lines(),
        2 => sequence(),
        _ => points(),
    };
    let drawing = |name: &str| Figure { name: name.into(), about: String::new(), svg: svg.clone() };
    let is_missing = paper == 3 && number == 1;
    let mut figures = vec![drawing(&name)];
    if number == 3 {
        figures.push(drawing("fig4-detail"));
    }
    Experiment {
        section: format!("{}.{}", paper + 2, number + 1),
        about: "Flow completion times of 10-segment flows that lose their last segments, by round-trip time and \
                profile, with quick and with delayed ACKs."
            .into(),
        outcome: if is_missing {
            Outcome::Missing("interrupted after 12 s".into())
        } else {
            Outcome::Finished { seconds: 3.2 + number as f64 }
        },
        budget: Some(30.0),
        figures: if is_missing { vec![] } else { figures },
        data: if is_missing { Data::None } else { rows() },
        fits: if number == 2 { vec!["a population: fitted to the baseline, and held out".into()] } else { vec![] },
        claims: if is_missing { vec![] } else { (0..claims).map(|i| claim(i, id, &name)).collect() },
        files: ["svg", "pdf", "png", "csv", "json"].map(|end| format!("{name}.{end}")).to_vec(),
        name,
    }
}

fn rows() -> Data {
    let row = |i: usize| {
        vec![
            PROFILES[i % 4].to_string(),
            (10 * (1 + i / 4)).to_string(),
            format!("{:.3}", 1.0 / (1.0 + (i % 4) as f64)),
        ]
    };
    Data::Rows {
        headings: ["profile", "RTT (ms)", "normalised FCT"].map(String::from).to_vec(),
        rows: (0..28).map(row).collect(),
    }
}

/// Statements, the paper's figures, our results, and remarks of different lengths.
fn claim(number: usize, of: &str, experiment: &str) -> Claim {
    let (statement, paper, ours, interval, note) = [
        (
            "The restarted timer shortens the flow completion time by a sixth when the receiver acknowledges every segment.",
            Some("15 to 20 %"),
            "15.4 % at 80 ms, 12.0 % at 160 ms",
            Some("±0.3 %"),
            None,
        ),
        (
            "A probe with restart is never slower than a probe alone.",
            None,
            "the largest ratio of the two is 1.000",
            None,
            Some("Both are equal wherever the probe timer is no shorter than the retransmission timeout."),
        ),
        (
            "With delayed ACKs the probe alone recovers within two round-trip times.",
            Some("2 RTTs"),
            "3.1 RTTs in the median, 4.6 RTTs at the 95th percentile",
            Some("2.9 to 3.3 RTTs"),
            Some(
                "The receiver of the model delays its ACK by up to 40 ms, and the probe timer adds the worst case of \
                 200 ms when one segment is in flight. At 10 ms of round-trip time these 200 ms are twenty round-trip \
                 times. The paper's receivers acknowledged at once after an idle period.",
            ),
        ),
        (
            "The share of flows with a timeout falls by half.",
            Some("−50 %"),
            "−31 %",
            Some("−64 % to +2 %"),
            Some(
                "Too few flows of the quick run have a timeout: \
                 nothing-here-can-be-broken_by_a_browser/which_looks_for_spaces/0123456789/0123456789/0123456789.",
            ),
        ),
        ("Normalised flow completion times are 1 for the baseline.", Some("1"), "1.000 everywhere", None, None),
    ][number % 5];
    let verdict = [
        Verdict::Holds,
        Verdict::Holds,
        Verdict::Fails,
        Verdict::Undecided,
        Verdict::ByConstruction,
        Verdict::Holds,
        Verdict::Holds,
        Verdict::Fails,
    ][number % 8];
    let id = format!("restart-shorter-{number}");
    Claim {
        command: format!("recoup paper {of} {experiment} --seed 1"),
        section: if number % 6 == 5 { "ours".into() } else { format!("4.{}", number % 6) },
        class: if number % 6 == 5 { Class::Implemented } else { Class::Reproduced },
        statement: statement.into(),
        check: "the mean of normalised flow completion times over all flows of the cell, per profile".into(),
        paper: paper.map(String::from),
        ours: ours.into(),
        interval: interval.map(String::from),
        verdict,
        note: note.map(String::from),
        ledger: match (number, experiment) {
            (2, "fig1") => Ledger::Differs(Verdict::Holds),
            (3, "fig2") => Ledger::New,
            _ => Ledger::Same,
        },
        id,
    }
}

fn sentences(paper: &Paper) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for of in &paper.experiments {
        for (i, claim) in of.claims.iter().enumerate() {
            sentences.push(Sentence {
                section: claim.section.clone(),
                says: claim.statement.clone(),
                claims: vec![format!("{}/{}", of.name, claim.id)],
                untested: None,
            });
            if i % 4 == 3 {
                sentences.push(Sentence {
                    section: "5.1".into(),
                    says: "Web servers retransmit 2.8 % of their segments.".into(),
                    claims: vec![],
                    untested: Some(Untested {
                        kind: "population".into(),
                        because: "a measurement of servers, which is an input here".into(),
                    }),
                });
            }
        }
    }
    sentences
}

/// Bars of four profiles at seven round-trip times.
fn bars() -> String {
    let group = |i: usize| BarGroup {
        label: (20 * (i + 1)).to_string(),
        values: (0..4).map(|k| Some(1.0 / (1.0 + (k * i) as f64 / 6.0))).collect(),
    };
    let panel = |title: &str| BarPanel { title: title.into(), groups: (0..7).map(group).collect() };
    BarChart {
        title: "Flows of 10 segments that lose the last".into(),
        x_label: "RTT (ms)".into(),
        y_label: "Normalised FCT".into(),
        series: PROFILES.map(String::from).to_vec(),
        panels: vec![panel("Quick ACKs"), panel("Delayed ACKs")],
    }
    .to_svg()
}

/// Four distribution functions.
fn lines() -> String {
    let line = |k: usize| {
        let point = |i: usize| {
            let share = i as f64 / 200.0;
            (40.0 * (k + 1) as f64 * (1.0 + 3.0 * share.powi(3)), share)
        };
        (0..=200).map(point).collect()
    };
    LineChart {
        title: "Flow completion times".into(),
        x_label: "FCT (ms)".into(),
        y_label: "share of the flows".into(),
        scale: Scale::Logarithmic,
        largest: Some(1.0),
        interpolation: Interpolation::Steps,
        series: PROFILES.map(String::from).to_vec(),
        panels: vec![LinePanel { title: "Web pages".into(), lines: (0..4).map(line).collect() }],
        ..LineChart::default()
    }
    .to_svg()
}

fn points() -> String {
    let point = |i: u32| RangePoint {
        x: 0.2 * f64::from(i + 1),
        y: 0.1 * f64::from(i),
        top: 0.2 * f64::from(i + 1),
        is_hollow: i.is_multiple_of(5),
    };
    PointChart {
        title: "Reduction by best case".into(),
        x_label: "best case (RTTs)".into(),
        y_label: "reduction (RTTs)".into(),
        legend: ["mean, up to the 95th percentile", "below 20 senders", "best case"].map(String::from),
        panels: vec![PointPanel { title: "linux-2.4".into(), points: (0..30).map(point).collect() }],
    }
    .to_svg()
}

/// A window of segments, of which one is lost and retransmitted.
fn sequence() -> String {
    let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let segment = |i: u64| Span::new(Offset(1 + 1000 * i), Offset(1 + 1000 * (i + 1)));
    let mut marks = Vec::new();
    for i in 0..40 {
        marks.push(Mark::new(at(4 * i), MarkKind::Sent(segment(i))));
    }
    for i in 0..12 {
        marks.push(Mark::new(at(100 + 4 * i), MarkKind::Acked(Offset(1 + 1000 * i))));
    }
    for i in 13..39 {
        marks.push(Mark::new(at(100 + 4 * i), MarkKind::Sacked(segment(i))));
    }
    marks.push(Mark::new(at(170), MarkKind::Retransmitted(segment(11), Some("fast"))));
    marks.push(Mark::new(at(270), MarkKind::Acked(Offset(40_001))));
    marks.sort_by_key(|mark| mark.at);
    Diagram {
        title: "A window that loses one segment".into(),
        panels: vec![Panel { title: "PRR".into(), marks }],
        ..Diagram::default()
    }
    .to_svg()
}
