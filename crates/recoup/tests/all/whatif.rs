//! What `recoup whatif` predicts, held against reruns of the same flows.
//!
//! Flows are captured at their sender under one mechanism. The same flows then run over the same network under
//! another mechanism: that is the truth.

mod kernel;
mod networks;
mod simulated;
mod truth;

use kernel::Kernel;
use networks::{CAPTURED, KERNEL_CAPTURED, KERNEL_NETWORKS, KERNEL_PAIRS, NETWORKS, PAIRS};
use simulated::Simulator;
use std::path::PathBuf;
use truth::Reruns;

/// The environment variable that names a folder in which the captures and their truth are kept.
const KEEP: &str = "RECOUP_KEEP_CAPTURES";

/// Flows of a cell of the whole grid.
const FLOWS: u64 = 1000;

/// Flows of a cell of the kernel.
const KERNEL_FLOWS: u64 = 120;

fn folder() -> PathBuf {
    let Some(folder) = std::env::var_os(KEEP).map(PathBuf::from) else {
        panic!("set {KEEP} to a folder");
    };
    folder
}

#[test]
#[ignore = "writes captures of all cells, about two gigabytes, for other programs"]
fn write_captures() {
    let folder = folder();
    for network in NETWORKS {
        let mut reruns = Reruns::new(Simulator, network, FLOWS, &CAPTURED, &folder);
        for pair in &PAIRS {
            println!("{}", reruns.truth(pair).write(&folder));
        }
    }
}

#[test]
#[ignore = "takes minutes, writes captures of all cells for other programs"]
fn write_kernel_captures() {
    let folder = &folder();
    std::thread::scope(|scope| {
        for network in KERNEL_NETWORKS {
            scope.spawn(move || {
                let mut reruns =
                    Reruns::new(Kernel, network, KERNEL_FLOWS, &KERNEL_CAPTURED, folder);
                for pair in &KERNEL_PAIRS {
                    println!("{}", reruns.truth(pair).write(folder));
                }
            });
        }
    });
}
