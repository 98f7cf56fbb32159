//! The likelihood of a timeout by kind of packet, as the setting `slp.q` reads it.

use crate::study::slp::{KindShare, Report};
use std::fmt::Write as _;

/// A kind with fewer retransmissions has no likelihood.
pub const LEAST_RETRANSMISSIONS: u64 = 10;

/// A CSV file of lines `kind,q` from the capture of this name, and a note on the kinds left out. The counts
/// stand in comments.
pub fn likelihoods_file(report: &Report, capture: &str) -> (String, Option<String>) {
    let is_enough = |share: &&KindShare| share.retransmissions >= LEAST_RETRANSMISSIONS;
    // A line break in the name would end the comment.
    let capture = capture.escape_debug();
    let mut file = format!(
        "# q: the share of timeouts among the retransmissions of each kind of packet in {capture}\n\
         # Timeouts are those of the analysis, and of k-means where the trigger is unknown.\n\
         # A kind needs {LEAST_RETRANSMISSIONS} retransmissions. A kind left out has q 0.\n\
         kind,q\n"
    );
    let mut left_out = Vec::new();
    for share in &report.kinds {
        let KindShare { kind, timeouts, retransmissions, by_k_means, q } = share;
        // Writing to memory cannot fail.
        _ = writeln!(
            file,
            "# {kind}: timeouts {timeouts}, retransmissions {retransmissions}, classified by k-means {by_k_means}"
        );
        match q.filter(|_| is_enough(&share)) {
            Some(q) => _ = writeln!(file, "{kind},{q:.6}"),
            None => left_out.push(format!("{kind} ({retransmissions})")),
        }
    }
    let all_are_left_out = left_out.len() == report.kinds.len();
    if all_are_left_out {
        file += "other,0\n";
    }
    let note = (!left_out.is_empty()).then(|| {
        format!("q is 0 for kinds with fewer than {LEAST_RETRANSMISSIONS} retransmissions: {}", left_out.join(", "))
    });
    (file, note)
}
