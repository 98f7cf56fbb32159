//! The study's own tables: does its text follow from them?
//!
//! Shares of the study's captures cannot be tested here, so that these claims are ours: the text and the tables agree.
//! Tables II, III and IV are copied from the study; what the text says of them is computed. Nothing is simulated, so that no
//! run could refute these claims: they follow from the printed numbers, or do not.

use super::NAME;
use super::micro::{self, Measured};
use crate::claims::{Claim, claim, ours};
use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet};
use recoup_captures::study::published::System;
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};

/// The name on the command line.
pub const ID: &str = "published";

/// A row of Tables II and III.
struct Trace {
    name: &'static str,
    hours: f64,
    /// The printed load in Mbit/s.
    load: f64,
    /// Connections in millions, and half of the last digit printed.
    connections: [f64; 2],
    gigabytes: f64,
    /// Lossy connections that were explained, in % of all.
    explained: f64,
    /// The systems' shares of them in %: Windows, Linux, Solaris, FreeBSD.
    systems: [f64; 4],
}

const TRACES: [Trace; 4] = [
    Trace {
        name: "jap",
        hours: 4.0,
        load: 1.93,
        connections: [0.3, 0.05],
        gigabytes: 3.5,
        explained: 39.83,
        systems: [23.70, 28.40, 2.23, 45.67],
    },
    Trace {
        name: "unc",
        hours: 4.0,
        load: 74.0,
        connections: [14.5, 0.05],
        gigabytes: 133.3,
        explained: 14.91,
        systems: [84.36, 2.22, 10.69, 2.73],
    },
    Trace {
        name: "ibi",
        hours: 4.0,
        load: 90.64,
        connections: [0.9, 0.05],
        gigabytes: 163.2,
        explained: 8.13,
        systems: [0.0, 100.0, 0.0, 0.0],
    },
    Trace {
        name: "wls",
        hours: 178.0,
        load: 0.61,
        connections: [9.7, 0.05],
        gigabytes: 48.5,
        explained: 4.19,
        systems: [99.63, 0.0, 0.0, 0.37],
    },
];

/// The explained lossy connections of each system, in thousands.
fn by_system() -> [f64; 4] {
    std::array::from_fn(|system| {
        let of = TRACES
            .iter()
            .map(|trace| 1e3 * trace.connections[0] * trace.explained / 100.0 * trace.systems[system] / 100.0);
        of.sum()
    })
}

fn claims() -> Vec<Claim> {
    let explained = |sign: f64| -> f64 {
        let of =
            TRACES.iter().map(|trace| (trace.connections[0] + sign * trace.connections[1]) * trace.explained / 100.0);
        of.sum()
    };
    let [windows, linux, solaris, freebsd] = by_system();
    let loads = TRACES.iter().map(|trace| {
        let load = trace.gigabytes * 8e3 / (trace.hours * 3600.0);
        (trace, load)
    });
    let loads: Vec<(&Trace, f64)> = loads.collect();
    let rows = System::ALL.map(|system| system.retransmissions.map(|n| n as f64));
    let share = |row: &[f64; 4], of: &[usize]| -> f64 {
        100.0 * of.iter().map(|i| row[*i]).sum::<f64>() / row.iter().sum::<f64>()
    };
    let shares = |of: &[usize]| rows.each_ref().map(|row| share(row, of));
    let shown = |values: [f64; 4]| {
        let each = System::ALL.iter().zip(values);
        let each: Vec<String> = each.map(|(system, value)| format!("{} {value:.1} %", system.name)).collect();
        each.join(", ")
    };
    let [by_timeout, spurious_timeouts, spurious_fast, spurious] = [&[0, 2][..], &[2], &[3], &[2, 3]].map(shares);
    vec![
        claim(
            "loads",
            "table II",
            "The average loads are 1.93, 74, 90.64 and 0.61 Mbit/s",
            "bytes divided by duration, to 2 %",
            (
                loads.iter().map(|(trace, load)| format!("{} {load:.2}", trace.name)).collect::<Vec<_>>().join(", "),
                loads.iter().all(|(trace, load)| (load / trace.load - 1.0).abs() < 0.02),
            ),
        )
        .by_construction(),
        ours(claim(
            "total",
            "abstract, IV-A",
            "The study analyzed more than 2.8 million connections; its tables agree",
            "connections of Table II times the explained lossy ones of Table III, with all roundings upwards",
            (
                format!("{:.2} million, at most {:.2}", explained(0.0), explained(1.0)),
                explained(1.0) > 2.8,
            ),
        ))
        .paper("more than 2.8 million")
        .note("all lossy connections, explained or not, are 2.96 million; no count of the tables is between"),
        ours(claim(
            "windows-and-linux",
            "IV-A",
            "The study has many Windows and Linux connections, and few of Solaris and FreeBSD; its tables agree",
            "connections of each system by Tables II and III: the smaller of the first two is above the larger of the others",
            (
                format!("in thousands: Windows {windows:.0}, Linux {linux:.0}, Solaris {solaris:.0}, FreeBSD {freebsd:.0}"),
                windows.min(linux) > solaris.max(freebsd),
            ),
        ))
        .note("10.69 % of the campus's lossy connections are Solaris's, which are more than all of Linux's. By retransmissions (Table IV) the sentence is true."),
        ours(claim(
            "many-spurious",
            "V-A1",
            "The study calls a significant number of retransmissions spurious; its Table IV agrees",
            "Table IV: at least 5 % on each system",
            (shown(spurious), spurious.iter().all(|share| *share >= 5.0)),
        ))
        .by_construction(),
        ours(claim(
            "most-spurious-by-timeout",
            "V-A1",
            "The study says that most spurious retransmissions follow a timeout; its Table IV agrees",
            "Table IV: more by timeout than by FR/R on each system",
            (
                format!("by timeout {}; by FR/R {}", shown(spurious_timeouts), shown(spurious_fast)),
                spurious_timeouts.iter().zip(spurious_fast).all(|(timeout, fast)| *timeout > fast),
            ),
        ))
        .by_construction(),
        ours(claim(
            "windows-and-linux-spurious",
            "V-A1",
            "The study says that spurious timeouts are nearly 26 % of Windows's retransmissions and less than 4 % of Linux's; its Table IV agrees",
            "Table IV",
            (
                shown(spurious_timeouts),
                (25.5..26.5).contains(&spurious_timeouts[0]) && spurious_timeouts[1] < 4.0,
            ),
        ))
        .by_construction(),
        ours(claim(
            "spurious-fast-few",
            "V-A1",
            "The study says that spurious FR/R are 3-5 % of the retransmissions; its Table IV agrees",
            "Table IV, rounded, on each system",
            (
                shown(spurious_fast),
                spurious_fast.iter().all(|share| (3.0..=5.0).contains(&share.round())),
            ),
        ))
        .by_construction(),
        ours(claim(
            "most-by-timeout",
            "V-A2a",
            "The study says that timeouts trigger 60-88 % of the retransmissions; its Table IV agrees",
            "Table IV, rounded",
            (
                shown(by_timeout),
                by_timeout.iter().all(|share| (60.0..=88.0).contains(&share.round())),
            ),
        ))
        .by_construction(),
        ours(claim(
            "freebsd-events",
            "footnote 10",
            "The study counts only 271 FR/R events of FreeBSD and more than 2000 RTO events; its Table IV agrees",
            "Table IV",
            (
                format!("{} and {}", rows[3][1] + rows[3][3], rows[3][0] + rows[3][2]),
                rows[3][1] + rows[3][3] == 271.0 && rows[3][0] + rows[3][2] > 2000.0,
            ),
        ))
        .by_construction(),
    ]
}

/// Compares the study's tables with its text.
///
/// # Errors
/// Never.
pub fn sheet(_: &Setup) -> Result<Sheet, ExperimentError> {
    let title = "Explained lossy connections of each trace, by system (Tables II and III)";
    let cells: Vec<Measured> = System::ALL
        .iter()
        .zip(by_system())
        .map(|(system, thousands)| Measured {
            quantity: "explained lossy connections (thousands)".into(),
            case: system.name.into(),
            study: Some(thousands),
            engine: None,
        })
        .collect();
    let group = |trace: &Trace| BarGroup {
        label: trace.name.into(),
        values: trace
            .systems
            .map(|share| Some(1e3 * trace.connections[0] * trace.explained / 100.0 * share / 100.0))
            .to_vec(),
    };
    let columns = micro::columns(ID);
    let text = columns.to_text(&cells, &["quantity", "case", "study"]);
    let figure = Figure {
        paper: NAME,
        figure: ID,
        title: title.into(),
        claims: claims(),
        picture: Picture::Bars(BarChart {
            title: title.into(),
            x_label: "trace".into(),
            y_label: "connections (thousands)".into(),
            series: System::ALL.map(|system| system.name.into()).to_vec(),
            panels: vec![BarPanel { title: String::new(), groups: TRACES.iter().map(group).collect() }],
        }),
        cells,
    };
    Ok(figure.into_sheet(&text, &columns))
}
