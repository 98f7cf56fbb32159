//! The populations in place of the paper's captures, and what their fits measure.
//!
//! The paper prints little of its traces: timeouts are about 10.1 % of all retransmissions, and very few connections have more
//! than 200 packets (both kinds of traces, §I and §II-B3); 2 % of the packets are lost, 2.6 % of the flows lose a SYN, and
//! those complete as Table I says (the backbone's, §II-C1 and §III-A). The populations are fitted to these numbers. All else
//! is our choice, and the fits list it.

use super::SENDER;
use super::population::{Part, Traces, all};
use crate::population::{LogNormal, Networks, Population, Receivers, Traffic, Users};
use crate::prelude::*;
use recoup_captures::study::slp::{Classifier, Report};
use recoup_path::Outages;

/// The populations that are fitted.
pub const FITS: [Fitted; 2] = [
    Fitted { name: Traces::Backbone.fit(), toml: include_str!("../../../fits/slp-backbone.toml"), measure: backbone },
    Fitted {
        name: Traces::DataCenter.fit(),
        toml: include_str!("../../../fits/slp-data-center.toml"),
        measure: data_center,
    },
];

/// Hosts of the 2010s, most of which offer SACK.
const RECEIVERS: Receivers = Receivers { sack: 0.95, timestamps: 0.5, delayed_acks: 0.8, buffer: 1 << 20 };

/// The longest patience of a client, in s.
const LONGEST_PATIENCE: f64 = 300.0;

/// So many flows of the traces with these parameters.
pub fn population(traces: Traces, of: &Parameters, flows: u64, seed: u64) -> Population {
    let (networks, traffic, capture_s) = match traces {
        Traces::Backbone => (wide_area(of), web(of), 60.0),
        Traces::DataCenter => (within_a_data_center(of), exchanges(of), 600.0),
    };
    let patience = LogNormal { median: of.get("patience"), sigma: 0.5, least: 1.0, most: LONGEST_PATIENCE };
    let users = Some(Users { patience, capture_s });
    Population { flows, seed, networks, traffic, receivers: RECEIVERS, users }
}

/// Paths of a backbone: no link pauses, and both directions lose packets alike.
fn wide_area(of: &Parameters) -> Networks {
    let [gap, length] = ["outage_gap", "outage"].map(|name| Duration::from_secs_f64(of.get(name)));
    Networks {
        rtt: LogNormal { median: 60.0, sigma: 0.7, least: 5.0, most: 500.0 },
        rate: LogNormal { median: 20.0, sigma: 1.0, least: 1.0, most: 1000.0 },
        queue: LogNormal { median: 100.0, sigma: 0.7, least: 20.0, most: 1000.0 },
        loss: LogNormal { median: of.get("loss"), sigma: 0.8, least: 0.0001, most: 0.1 },
        ack_loss: 1.0,
        bursty: 0.0,
        pausing: 0.0,
        outages: Some(Outages { sigma: 0.7, ..Outages::new(gap, length) }),
        ..Networks::WIDE_AREA
    }
}

/// Requests and responses of the web.
fn web(of: &Parameters) -> Traffic {
    let response = LogNormal { median: of.get("response"), sigma: of.get("spread"), least: 200.0, most: 5_000_000.0 };
    let think_time = LogNormal { median: 1000.0 * of.get("think"), sigma: 1.2, least: 10.0, most: 60_000.0 };
    Traffic { exchanges: of.get("exchanges"), request: Traffic::SHORT_REQUEST, response, think_time }
}

/// Paths within a data center: below a millisecond, fast, and without reordering.
fn within_a_data_center(of: &Parameters) -> Networks {
    Networks {
        rtt: LogNormal { median: 0.4, sigma: 0.6, least: 0.1, most: 5.0 },
        rate: LogNormal { median: 1000.0, sigma: 0.5, least: 100.0, most: 10_000.0 },
        queue: LogNormal { median: 1.0, sigma: 0.5, least: 0.1, most: 10.0 },
        loss: LogNormal { median: 0.015, sigma: 0.8, least: 0.001, most: 0.1 },
        ack_loss: 1.0,
        bursty: 0.5,
        burst: of.get("burst"),
        reordering: 0.0,
        pausing: 0.0,
        ..Networks::WIDE_AREA
    }
}

/// Short exchanges one soon after the other, in which clients send data too.
fn exchanges(of: &Parameters) -> Traffic {
    let bytes = |median| LogNormal { median, sigma: of.get("spread"), least: 200.0, most: 5_000_000.0 };
    let response = of.get("response");
    let think_time = LogNormal { median: 10.0, sigma: 1.2, least: 1.0, most: 1000.0 };
    Traffic { exchanges: 3.0, request: bytes(response / 2.0), response: bytes(response), think_time }
}

fn backbone(setup: &Setup, of: &Parameters, size: u32) -> Result<Measured> {
    let part = measured(setup, Traces::Backbone, of, size)?;
    let report = Report::new(&part.capture);
    let syns = &report.syn_losses;
    let completion = |percentile| {
        let mut found = syns.percentiles.iter();
        found.find(|one| one.percentile == percentile).map_or(NAN, |one| one.without_slp_s)
    };
    let mut measured = of_both(&part, &report, size);
    measured.extend([
        ("loss_rate", 100.0 * report.retransmissions as f64 / part.numbered as f64),
        ("flows_with_syn_loss", syns.with_syn_loss_percent.unwrap_or(NAN)),
        ("completion_p50", completion(50)),
        ("completion_p90", completion(90)),
        ("completion_p99", completion(99)),
    ]);
    Ok(measured)
}

fn data_center(setup: &Setup, of: &Parameters, size: u32) -> Result<Measured> {
    let part = measured(setup, Traces::DataCenter, of, size)?;
    let report = Report::new(&part.capture);
    Ok(of_both(&part, &report, size))
}

/// What the paper prints of all its traces.
fn of_both(part: &Part, report: &Report, size: u32) -> Measured {
    let mut classifications = report.classifications.iter();
    let k_means = classifications.find(|one| one.classifier == Classifier::KMeans);
    vec![
        ("timeouts", k_means.and_then(|one| one.timeouts_percent).unwrap_or(NAN)),
        ("long_flows", 100.0 * part.long as f64 / f64::from(size)),
    ]
}

fn measured(setup: &Setup, traces: Traces, of: &Parameters, size: u32) -> Result<Part> {
    all(&population(traces, of, size.into(), setup.seed()), &setup.profile(SENDER), None)
}
