//! Parameters of the retransmission timeout (RTO) and of the tail loss probe, and dupthresh, in place of the profile's: see
//! [`recoup_recovery::parameters`].
//!
//! A setting holds for every profile of the scenario, and for both hosts.

use super::Settings;
use super::descriptor::{Setting, setting};
use super::value::{PROFILE, or_profile};
use recoup_recovery::parameters::MinimumOf;
use recoup_recovery::tlp::AckDelay;
use recoup_support::quantity::format_duration;
use recoup_support::quantity::{parse_minimum, parse_multiple, parse_threshold, parse_weight};
use recoup_support::suggest::did_you_mean;
use std::time::Duration;

pub(super) const SETTINGS: &[Setting] = &[
    setting!(
        "rto.k",
        "k, the factor of RTTVAR in the RTO, from 0 to 1000: profile, 2, 1.5",
        parameters.rttvar_factor,
        profile_or = parse_multiple
    ),
    setting!(
        "rto.m",
        "m, the factor of SRTT in the RTO, from 0 to 1000: profile, 1, 1.25",
        parameters.srtt_factor,
        profile_or = parse_multiple
    ),
    setting!(
        "rto.a",
        "a, the weight of an RTT sample in RTTVAR, above 0, at most 1: profile, 1/4, 0.25",
        parameters.rttvar_weight,
        profile_or = parse_weight
    ),
    setting!(
        "rto.b",
        "b, the weight of an RTT sample in SRTT, above 0, at most 1: profile, 1/8, 0.125",
        parameters.srtt_weight,
        profile_or = parse_weight
    ),
    setting!(
        "rto.min",
        "minimum RTO, at most 60s: profile, 200ms",
        parameters.min_rto,
        |text| profile_or(text, parse_minimum),
        |min| or_profile(*min, format_duration)
    ),
    setting!(
        "rto.min_of",
        "what rto.min is a minimum of: rto, rttvar (the term 4·RTTVAR with Linux's estimator, as in its kernel; otherwise the RTO)",
        parameters.minimum_of,
        MINIMA
    ),
    setting!(
        "dupthresh",
        "duplicate ACKs, or segments SACKed above, that mean a loss; reordering still raises it where the profile has that: profile, 3",
        parameters.dupthresh,
        profile_or = parse_threshold
    ),
    setting!(
        "tlp.srtt_factor",
        "the factor of SRTT in the timeout of a tail loss probe, from 0 to 1000: profile, 2, 1.5",
        parameters.probe_srtt_factor,
        profile_or = parse_multiple
    ),
    setting!(
        "tlp.ack_delay",
        "what a tail loss probe adds for the delayed ACK of a single segment, at most 60s, or measured: profile, 200ms, measured",
        parameters.probe_ack_delay,
        |text| profile_or(text, parse_ack_delay),
        |delay| or_profile(*delay, format_ack_delay)
    ),
];

const MEASURED: &str = "measured";

fn parse_ack_delay(text: &str) -> Result<AckDelay, String> {
    if text == MEASURED {
        return Ok(AckDelay::Measured);
    }
    let fixed = parse_minimum(text).map_err(|why| format!("{why}, or {MEASURED}{}", did_you_mean(text, [MEASURED])))?;
    Ok(AckDelay::Fixed(u32::try_from(fixed.as_micros()).unwrap_or(u32::MAX)))
}

fn format_ack_delay(delay: AckDelay) -> String {
    match delay {
        AckDelay::Fixed(micros) => format_duration(Duration::from_micros(micros.into())),
        _ => MEASURED.into(),
    }
}

const MINIMA: [(&str, MinimumOf); 2] =
    [(MinimumOf::Rto.name(), MinimumOf::Rto), (MinimumOf::Rttvar.name(), MinimumOf::Rttvar)];

/// Keys and values of the settings that differ from the defaults.
pub(crate) fn changed(settings: &Settings) -> impl Iterator<Item = (&'static str, String)> {
    SETTINGS.iter().filter_map(|setting| Some((setting.key, settings.changed(setting.key)?)))
}

/// `profile`, or what `read` reads.
fn profile_or<T>(text: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if text == PROFILE {
        return Ok(None);
    }
    let near = did_you_mean(text, [PROFILE]);
    let value = read(text).map_err(|why| format!("{why}, or {PROFILE}{near}"))?;
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use crate::run::run;
    use crate::scenario::Scenario;
    use std::path::Path;

    /// The flow completion time (ms) of ten segments of which the last is lost, at an RTT of 80 ms.
    fn fct(profile: &str, settings: &[(&str, &str)]) -> f64 {
        let mut scenario = Scenario::load("tail-loss").unwrap();
        scenario.profiles = vec![profile.parse().unwrap()];
        for (key, value) in [&[("ack", "quick")], settings].concat() {
            scenario.settings.set(key, value, Path::new(".")).unwrap();
        }
        let results = run(&scenario, 1, |_| ()).unwrap();
        results[0].cost.fct.summary().unwrap().mean
    }

    #[test]
    fn the_retransmission_of_a_lost_tail_waits_for_the_new_rto() {
        // The ACK of the other nine comes at 200 ms and restarts the timer; a retransmission takes 40 ms. The
        // RTO is 80 ms + 200 ms·k/4, because RTTVAR is at its floor.
        for (settings, rto) in [
            (&[][..], 280.0),
            (&[("rto.k", "2")], 180.0),
            (&[("rto.k", "6")], 380.0),
            (&[("rto.m", "1.5")], 320.0),
            (&[("rto.min", "400ms")], 400.0),
            (&[("rto.min", "100ms")], 280.0),
            (&[("rto.min", "400ms"), ("rto.min_of", "rttvar")], 480.0),
        ] {
            assert_eq!(fct("linux-3.17", settings), 240.0 + rto, "{settings:?}");
        }
    }

    #[test]
    fn the_probe_of_a_lost_tail_waits_for_the_new_timeout() {
        // The probe is due 2·SRTT and 200 ms after the ACK of the other nine, or with the RTO, 80 ms + 200 ms later, if that is
        // earlier.
        for (settings, probe) in [
            (&[][..], 280.0),
            (&[("tlp.ack_delay", "100ms")], 260.0),
            (&[("tlp.ack_delay", "0")], 160.0),
            (&[("tlp.ack_delay", "measured")], 280.0),
            (&[("tlp.ack_delay", "40ms"), ("tlp.srtt_factor", "1.5")], 160.0),
            (&[("tlp.ack_delay", "40ms"), ("tlp.srtt_factor", "1.25")], 140.0),
        ] {
            assert_eq!(fct("linux-6", settings), 240.0 + probe, "{settings:?}");
        }
    }
}
