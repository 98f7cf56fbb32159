//! The kernel's own reasons beside ours, of a transfer through a lossy path.

use crate::live::transfer;
use crate::setup::PROGRAM;
use recoup_kernel::{KernelError, Retransmissions};
use recoup_testing::{command, skip};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Whether the kernel reports retransmissions to this process; otherwise the test is skipped.
fn kernel_reports() -> bool {
    match Retransmissions::open() {
        Ok(_) => true,
        // Whoever requires all tools can install no other kernel.
        Err(KernelError::NoBtf(why)) => {
            println!("skipped: {why}");
            false
        }
        Err(why) => {
            skip(why);
            false
        }
    }
}

#[test]
fn the_kernel_agrees_on_why_it_retransmitted() {
    if !kernel_reports() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let findings = folder.path().join("findings.jsonl");
    let said = match transfer(&findings, &["--kernel-reasons"], None) {
        Ok(said) => said,
        Err(why) => return skip(why),
    };
    let findings = std::fs::read_to_string(&findings).expect("findings");
    let mut found = BTreeSet::new();
    let mut reasons: BTreeMap<String, Value> = BTreeMap::new();
    for line in findings.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let id = line["id"].as_str().unwrap_or_default().to_owned();
        match line["event"].as_str() {
            Some("retransmission") => drop(found.insert(id)),
            Some("kernel_reason") => drop(reasons.insert(id, line)),
            Some("withdrawn") => {
                found.remove(&id);
                reasons.remove(&id);
            }
            _ => {}
        }
    }
    assert!(found.len() > 20, "the path loses packets: {}", found.len());
    // Both ends are sockets of this kernel. It does not run the program at a few retransmissions, which interrupt a thread of
    // another program; why is not known.
    let without: Vec<_> = found.iter().filter(|id| !reasons.contains_key(*id)).collect();
    assert!(without.len() <= 1 + found.len() / 100, "no reason for {without:?} of {}\n{said}", found.len());
    let differing: Vec<_> = reasons.values().filter(|line| line["agrees"] != true).collect();
    assert!(differing.len() * 20 <= reasons.len(), "of {}: {differing:#?}", reasons.len());
    let agreeing = format!("{} of {} agree", reasons.len() - differing.len(), reasons.len());
    assert!(said.contains(&agreeing), "expected {agreeing} in:\n{said}");
    assert!(!said.contains("reported by the kernel and not found;"), "{said}");
}

#[test]
fn without_the_right_an_error_says_which_one_and_how_to_grant_it() {
    if !kernel_reports() {
        return;
    }
    // The right to capture alone.
    let mut program = command("setpriv");
    program.args(["--bounding-set=-all,+net_raw", "--inh-caps=-all,+net_raw", PROGRAM, "lo", "--kernel-reasons"]);
    let output = program.output().expect("setpriv runs");
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}");
    let expected = format!(
        "CAP_BPF and CAP_PERFMON, and no lockdown of the kernel: run it as root, or grant them once by `sudo setcap cap_net_raw,cap_bpf,cap_perfmon+ep {PROGRAM}`"
    );
    assert!(line.contains(&expected), "{line}");
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn the_two_rights_that_are_asked_for_suffice() {
    if !kernel_reports() {
        return;
    }
    let mut program = command("setpriv");
    let rights = "-all,+net_raw,+bpf,+perfmon";
    program.args([&format!("--bounding-set={rights}"), &format!("--inh-caps={rights}"), PROGRAM, "lo"]);
    let output = program.args(["--kernel-reasons", "--for", "0.2s"]).output().expect("setpriv runs");
    let lines = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{lines}");
    assert!(lines.contains("the kernel's reasons: "), "{lines}");
}
