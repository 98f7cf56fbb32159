//! What `recoup whatif` predicts.

use serde_json::Value;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

/// The prediction of a cell.
#[derive(Debug)]
pub struct Predicted {
    /// The mean change of the flow completion time in ms, over `connections`.
    pub change_ms: f64,
    /// Its 95 % interval.
    pub interval_ms: (f64, f64),
    /// The part of all changes that rests on drawn fates, 0 to 1.
    pub share_drawn: f64,
    /// The connections that were rerun, by number.
    pub connections: HashMap<u64, Connection>,
    /// Connections that their profile does not reproduce, by reason.
    pub apart: Vec<(String, u64)>,
    /// Connections that cannot be rerun, by reason.
    pub refused: Vec<(String, u64)>,
}

/// The prediction of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// The client's port.
    pub port: u16,
    pub change_ms: f64,
    /// The flow completion time of its base run, in ms.
    pub base_fct_ms: f64,
    /// Whether fates were drawn.
    pub is_drawn: bool,
}

/// Runs the program on a capture. Returns its prediction for each mechanism.
pub fn predict(capture: &Path, mechanisms: &[&str]) -> Vec<Predicted> {
    predict_with_senders(capture, mechanisms).0
}

/// The same, and the profile that the connections of the server vote for.
pub fn predict_with_senders(capture: &Path, mechanisms: &[&str]) -> (Vec<Predicted>, Option<String>) {
    let mut recoup = Command::new(env!("CARGO_BIN_EXE_recoup"));
    recoup.args(["whatif", "--connections", "--format", "json"]);
    for mechanism in mechanisms {
        recoup.args(["--try", mechanism]);
    }
    let output = recoup.arg(capture).output().expect("recoup runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", capture.display());
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let capture = &document["captures"][0];
    let of = |mechanism: &&str| predicted(capture, mechanism);
    let found = capture["senders"][0]["profiles"][0]["profile"].as_str();
    (mechanisms.iter().map(of).collect(), found.map(str::to_owned))
}

fn predicted(capture: &Value, mechanism: &str) -> Predicted {
    let result = of_mechanism(&capture["results"], mechanism).next().expect("a result");
    let ends = &result["mean_change_ci95_ms"];
    let connections = of_mechanism(&capture["connections"], mechanism);
    let connections = connections.filter_map(|row| {
        let client: SocketAddr = row["src"].as_str().expect("an address").parse().expect("an address");
        let connection = Connection {
            port: client.port(),
            // A connection that does not complete has no change, and is in no mean.
            change_ms: row["change_ms"].as_f64()?,
            base_fct_ms: real(&row["base_fct_ms"]),
            is_drawn: real(&row["draws"]) > 0.0,
        };
        Some((row["connection"].as_u64().expect("a number"), connection))
    });
    Predicted {
        change_ms: real(&result["mean_change_ms"]),
        interval_ms: (real(&ends[0]), real(&ends[1])),
        share_drawn: real(&result["share_drawn"]),
        connections: connections.collect(),
        apart: reasons(&capture["apart"]),
        refused: reasons(&capture["refused"]),
    }
}

fn of_mechanism<'a>(rows: &'a Value, mechanism: &'a str) -> impl Iterator<Item = &'a Value> {
    let rows = rows.as_array().expect("a list").iter();
    rows.filter(move |row| row["mechanism"] == mechanism)
}

fn reasons(reasons: &Value) -> Vec<(String, u64)> {
    let reasons = reasons.as_array().expect("a list").iter();
    let reason = |reason: &Value| {
        let name = reason["reason"].as_str().expect("a name").to_owned();
        (name, reason["connections"].as_u64().expect("a number"))
    };
    reasons.map(reason).collect()
}

fn real(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}
