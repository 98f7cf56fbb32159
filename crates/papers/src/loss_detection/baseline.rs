//! What the study prints of its unmodified senders (Tables II to IV), measured over the populations: the fit's baseline.

use super::captures::FIT;
use super::claims::{FREEBSD, LINUX, SOLARIS, WINDOWS};
use super::populations::Populations;
use crate::prelude::*;
use recoup_captures::study::Shares;

/// The fit of the four populations.
pub const FITTED: Fitted = Fitted { name: FIT, toml: include_str!("../../fits/loss-detection-traces.toml"), measure };

/// The shares of Table IV that are targets, by system. The fourth share of a system is what is left to 100 %.
const SHARES: [(usize, [&str; 3]); 4] = [
    (WINDOWS, ["windows_rto_spurious", "windows_fast_needed", "windows_fast_spurious"]),
    (LINUX, ["linux_rto_spurious", "linux_fast_needed", "linux_fast_spurious"]),
    (SOLARIS, ["solaris_rto_spurious", "solaris_fast_needed", "solaris_fast_spurious"]),
    (FREEBSD, ["freebsd_rto_spurious", "freebsd_fast_needed", "freebsd_fast_spurious"]),
];

/// Runs the four systems as they are.
fn measure(setup: &Setup, fitted: &Parameters, size: u32) -> Result<Measured> {
    let populations = Populations::simulate(setup, fitted, u64::from(size), 0)?;
    let mut measured = vec![];
    for (system, names) in SHARES {
        let shares = populations.all.system(&System::ALL[system]).map(|sender| sender.retransmissions_percent);
        let Shares { rto_spurious, fast_retransmit_needed, fast_retransmit_spurious, .. } = shares.unwrap_or_default();
        let values = [rto_spurious, fast_retransmit_needed, fast_retransmit_spurious];
        measured.extend(names.into_iter().zip(values.map(|value| value.unwrap_or(NAN))));
    }
    let of = |part: u64, whole: u64| part as f64 / whole as f64;
    let linux = populations.counts(LINUX);
    measured.push(("linux_per_connection", of(linux.retransmissions, linux.connections)));
    let names = ["kilobytes_jap", "kilobytes_unc", "kilobytes_ibi", "kilobytes_wls"];
    let kilobytes = populations.lossy.each_ref().map(|counts| of(counts.bytes, counts.connections) / 1e3);
    measured.extend(names.into_iter().zip(kilobytes));
    Ok(measured)
}
