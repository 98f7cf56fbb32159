//! What `recoup whatif` predicts, held against reruns of the same flows.
//!
//! Flows are captured at their sender under one mechanism. The same flows then run over the same network under
//! another mechanism: that is the truth.

mod networks;
mod truth;

use networks::{NETWORKS, PAIRS};
use std::path::PathBuf;
use truth::Reruns;

/// The environment variable that names a folder in which the captures and their truth are kept.
const KEEP: &str = "RECOUP_KEEP_CAPTURES";

/// Flows of a cell of the whole grid.
const FLOWS: u64 = 1000;

#[test]
#[ignore = "writes captures of all cells, about a gigabyte, for other programs"]
fn write_captures() {
    let Some(folder) = std::env::var_os(KEEP).map(PathBuf::from) else {
        panic!("set {KEEP} to a folder");
    };
    for network in NETWORKS {
        let mut reruns = Reruns::new(network, FLOWS, &folder);
        for pair in &PAIRS {
            println!("{}", reruns.truth(pair).write(&folder));
        }
    }
}
