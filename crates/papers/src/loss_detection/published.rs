//! The study's own tables: does its text follow from them?
//!
//! Shares of the study's captures cannot be tested here, so that these claims are ours: the text and the tables agree.
//! Tables II, III and IV are copied from the study; what the text says of them is computed. Nothing is simulated, so that no
//! run could refute these claims: they follow from the printed numbers, or do not.

use super::columns::sheet_of_measured;
use super::micro::Measured;
use crate::prelude::*;

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

impl Trace {
    /// The explained lossy connections of each system, in thousands.
    fn by_system(&self) -> [f64; 4] {
        self.systems.map(|share| 1e3 * self.connections[0] * self.explained / 100.0 * share / 100.0)
    }
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

/// The shares of a system's explained lossy connections that were seen in each trace, in the order of Table II.
pub fn seen_in(system: usize) -> [f64; 4] {
    let each = TRACES.each_ref().map(|trace| trace.by_system()[system]);
    each.map(|connections| connections / each.iter().sum::<f64>())
}

/// The explained lossy connections of each system, in thousands.
fn by_system() -> [f64; 4] {
    std::array::from_fn(|system| TRACES.iter().map(|trace| trace.by_system()[system]).sum())
}

fn claims() -> Vec<Claim> {
    let explained = |sign: f64| -> f64 {
        let of =
            TRACES.iter().map(|trace| (trace.connections[0] + sign * trace.connections[1]) * trace.explained / 100.0);
        of.sum()
    };
    let [windows, linux, solaris, freebsd] = by_system();
    let loads: Vec<(&Trace, f64)> = TRACES
        .iter()
        .map(|trace| {
            let load = trace.gigabytes * 8e3 / (trace.hours * 3600.0);
            (trace, load)
        })
        .collect();
    let rows = System::ALL.map(|system| system.retransmissions.map(|n| n as f64));
    let share = |row: &[f64; 4], of: &[usize]| -> f64 {
        100.0 * of.iter().map(|i| row[*i]).sum::<f64>() / row.iter().sum::<f64>()
    };
    let shares = |of: &[usize]| rows.each_ref().map(|row| share(row, of));
    let shown = |values: [f64; 4]| super::claims::by_system(&values, |value| format!("{value:.1} %"));
    let [by_timeout, spurious_timeouts, spurious_fast, spurious] = [&[0, 2][..], &[2], &[3], &[2, 3]].map(shares);
    vec![
        claim("loads")
            .shows(loads.iter().map(|(trace, load)| format!("{} {load:.2}", trace.name)).joined(", "))
            .holds(loads.iter().all(|(trace, load)| (load / trace.load - 1.0).abs() < 0.02)),
        claim!("total", "{:.2} million, at most {:.2}", explained(0.0), explained(1.0)).holds(explained(1.0) > 2.8),
        claim!(
            "windows-and-linux",
            "in thousands: Windows {windows:.0}, Linux {linux:.0}, Solaris {solaris:.0}, FreeBSD {freebsd:.0}"
        )
        .holds(windows.min(linux) > solaris.max(freebsd)),
        claim("many-spurious").shows(shown(spurious)).holds(spurious.iter().all(|share| *share >= 5.0)),
        claim!("most-spurious-by-timeout", "by timeout {}; by FR/R {}", shown(spurious_timeouts), shown(spurious_fast))
            .holds(spurious_timeouts.iter().zip(spurious_fast).all(|(timeout, fast)| *timeout > fast)),
        claim("windows-and-linux-spurious")
            .shows(shown(spurious_timeouts))
            .holds((25.5..26.5).contains(&spurious_timeouts[0]) && spurious_timeouts[1] < 4.0),
        claim("spurious-fast-few")
            .shows(shown(spurious_fast))
            .holds(spurious_fast.iter().all(|share| (3.0..=5.0).contains(&share.round()))),
        claim("most-by-timeout")
            .shows(shown(by_timeout))
            .holds(by_timeout.iter().all(|share| (60.0..=88.0).contains(&share.round()))),
        claim!("freebsd-events", "{} and {}", rows[3][1] + rows[3][3], rows[3][0] + rows[3][2])
            .holds(rows[3][1] + rows[3][3] == 271.0 && rows[3][0] + rows[3][2] > 2000.0),
    ]
}

/// Compares the study's tables with its text.
///
/// # Errors
/// Never.
pub fn sheet(_: &Setup) -> Result<Sheet> {
    let title = "Explained lossy connections of each trace, by system (Tables II and III)";
    let cells = System::ALL.iter().zip(by_system()).map(|(system, thousands)| Measured {
        quantity: "explained lossy connections (thousands)".into(),
        case: system.name.into(),
        study: Some(thousands),
        engine: None,
    });
    let groups = TRACES.iter().map(|trace| (trace.name, trace.by_system().map(Some)));
    let chart = BarChart::new(title, "trace", "connections (thousands)", System::ALL.map(|system| system.name));
    let shown = ["quantity", "case", "study"];
    Ok(sheet_of_measured(ID, title, claims(), chart.panel("", groups), cells.collect(), &shown))
}
