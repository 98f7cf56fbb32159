//! Finds the settings and mechanisms of a scenario that have no effect.
//!
//! | setting or mechanism        | has no effect                                               |
//! |-----------------------------|-------------------------------------------------------------|
//! | `request`, `writes`         | with `exchanges`                                            |
//! | `segments`                  | with `writes` or `exchanges`                                |
//! | `rate`                      | in the directions of a `link`                               |
//! | `queue`                     | in directions with neither `rate` nor `link`                |
//! | `+reno`, `+cubic`           | with another `cc`                                           |
//! | `slp.…`                     | if no profile has `+slp`                                    |
//! | `tlp.…`                     | if no profile has a tail loss probe                         |
//! | `rto.min`                   | in profiles whose RTO is never that short                   |
//! | `rto.min_of`                | without `rto.min`, or if no profile has Linux's estimator   |
//! | a mechanism                 | if a later one of the same setting replaces it entirely     |
//! | a mechanism that needs SACK | in a profile without SACK                                   |
//! | `+minrto`, `+minrttvar`     | in a profile without Linux's RTT estimator                  |

use crate::scenario::Scenario;
use crate::settings::{self, Settings};
use recoup_path::Queue;
use recoup_recovery::Profile;
use recoup_recovery::parameters::MinimumOf;
use recoup_recovery::profile::Mechanism;
use recoup_recovery::rtt::{RtoRules, Smoothing};
use recoup_support::quantity::format_duration;
use std::time::Duration;

/// Names and values of the settings that have an effect, in the order of listings.
pub fn effective_settings(settings: &Settings) -> Vec<(&'static str, String)> {
    let effective = effective(settings);
    let linked = settings.link.up.is_some() || settings.link.down.is_some();
    let rated = effective.rate.up.is_some() || effective.rate.down.is_some();
    let names = settings::all().map(|setting| setting.key);
    let names = names.filter(|name| match *name {
        "segments" => settings.writes_full_segments(),
        "request" | "writes" => settings.exchanges.is_empty(),
        "exchanges" => !settings.exchanges.is_empty(),
        "rate" => rated || !linked,
        _ => true,
    });
    names.filter_map(|name| Some((name, effective.get(name)?))).collect()
}

/// The settings with `rate` and `queue` removed from the directions where they have no effect.
fn effective(settings: &Settings) -> Settings {
    let mut effective = settings.clone();
    let Settings { rate, queue, link, .. } = &mut effective;
    for (rate, queue, link) in [(&mut rate.up, &mut queue.up, &link.up), (&mut rate.down, &mut queue.down, &link.down)]
    {
        if link.is_some() {
            *rate = None;
        } else if rate.is_none() {
            *queue = Queue::Unlimited;
        }
    }
    effective
}

/// One note for each setting and mechanism that has no effect at all, with the reason.
pub fn notes_on_no_effect(scenario: &Scenario) -> Vec<String> {
    let mut notes = of_settings(&scenario.settings);
    let mechanisms = || scenario.profiles.iter().map(Profile::mechanisms);
    if !mechanisms().any(|mechanisms| mechanisms.slp.is_some()) {
        notes.extend(of_group(&scenario.settings, "slp.", "no profile has +slp"));
    }
    if !mechanisms().any(|mechanisms| mechanisms.probe.is_some()) {
        notes.extend(of_group(&scenario.settings, "tlp.", "no profile has a tail loss probe"));
    }
    notes.extend(of_minimum_of(scenario));
    for (i, profile) in scenario.profiles.iter().enumerate() {
        if !scenario.profiles[..i].contains(profile) {
            notes.extend(of_profile(profile, &scenario.settings));
            notes.extend(of_minimum(profile, &scenario.settings));
        }
    }
    notes
}

fn of_settings(settings: &Settings) -> Vec<String> {
    let usual = Settings::default();
    let effective = effective(settings);
    let exchanges = !settings.exchanges.is_empty();
    let segments = !settings.writes_full_segments() && settings.segments != usual.segments;
    let by = match exchanges {
        true => "exchanges sets what is sent",
        false => "writes sets what is sent",
    };
    let lost = |key: &str| {
        let [set, left, usual] = [settings, &effective, &usual].map(|s| s.get(key));
        set != left && left == usual
    };
    let value = |key: &str| settings.get(key).unwrap_or_default();
    let all = [
        ("request", exchanges && settings.request > 0, by),
        ("segments", segments, by),
        ("writes", exchanges && !settings.writes.is_empty(), by),
        ("rate", lost("rate"), "a link replaces it"),
        ("queue", lost("queue"), "there is neither rate nor link"),
    ];
    all.into_iter()
        .filter(|(_, without_effect, _)| *without_effect)
        .map(|(key, _, why)| format!("{key}={} has no effect: {why}", value(key)))
        .collect()
}

/// Notes on the settings whose keys begin with `prefix`.
fn of_group(settings: &Settings, prefix: &str, why: &str) -> Vec<String> {
    let keys = settings::all().map(|setting| setting.key).filter(|key| key.starts_with(prefix));
    keys.filter_map(|key| {
        let value = settings.changed(key)?;
        Some(format!("{key}={value} has no effect: {why}"))
    })
    .collect()
}

fn of_minimum_of(scenario: &Scenario) -> Option<String> {
    let parameters = scenario.settings.parameters;
    if parameters.minimum_of == MinimumOf::Rto {
        return None;
    }
    let why = match parameters.min_rto {
        None => "rto.min is not set",
        Some(_) if scenario.profiles.iter().any(has_linux_rto) => return None,
        Some(_) => "no profile has Linux's RTT estimator",
    };
    Some(format!("rto.min_of=rttvar has no effect: {why}"))
}

fn has_linux_rto(profile: &Profile) -> bool {
    profile.mechanisms().rto.smoothing == Smoothing::Linux
}

/// The minimum RTO, where the RTO is never that short, neither with the profile's minimum nor with this one.
fn of_minimum(profile: &Profile, settings: &Settings) -> Option<String> {
    let min = settings.parameters.min_rto?;
    let mut mechanisms = *profile.mechanisms();
    let before = mechanisms.rto.min;
    settings.parameters.apply(&mut mechanisms);
    let rto = mechanisms.rto;
    let least = least_above_srtt(&rto);
    let is_replaced = rto.min == min && before.max(min) <= least;
    let other = match rto.smoothing {
        Smoothing::Linux => "; rto.min_of=rttvar replaces this minimum",
        _ => "",
    };
    is_replaced.then(|| {
        let [min, least] = [min, least].map(format_duration);
        format!("profile {profile}: rto.min={min} has no effect: its RTO is m·SRTT and at least {least}{other}")
    })
}

/// The least that an RTO adds to m·SRTT.
fn least_above_srtt(rto: &RtoRules) -> Duration {
    match rto.smoothing {
        Smoothing::Linux => {
            let usual = RtoRules::RTTVAR_FACTOR.as_f64();
            rto.min_variance.mul_f64(rto.rttvar_factor.as_f64() / usual)
        }
        _ => rto.min_variance,
    }
}

fn of_profile(profile: &Profile, settings: &Settings) -> Vec<String> {
    let why = |(i, mechanism): (usize, &Mechanism)| {
        let name = mechanism.name();
        let why = if let Some(later) = profile.replaced(i) {
            format!("+{} replaces it", later.name())
        } else if mechanism.needs_sack() && !profile.mechanisms().sack {
            "it needs SACK, which the profile does not use".into()
        } else if mechanism.needs_linux_rto() && !has_linux_rto(profile) {
            "the profile does not have Linux's RTT estimator".into()
        } else {
            let cc = settings.cc.filter(|cc| *cc != profile.mechanisms().congestion)?;
            let about_cc = mechanism.setting() == Mechanism::Reno.setting();
            about_cc.then(|| format!("cc={} is set", cc.name()))?
        };
        Some(format!("profile {profile}: +{name} has no effect: {why}"))
    };
    profile.added().iter().enumerate().filter_map(why).collect()
}

#[cfg(test)]
mod tests;
