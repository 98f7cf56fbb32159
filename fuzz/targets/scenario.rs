//! Parses any text as a scenario. Nothing panics, an error is one line and names an existing line, printed
//! settings parse to the same settings, and a small scenario runs to its end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recoup_lab::{
    report::{Report, View},
    run::run,
    scenario::{Scenario, ScenarioError},
    settings::{self, Settings},
};
use recoup_sim::TimerModel;
use recoup_table::Keep;
use recoup_tcp::AckPolicy;
use std::{path::Path, time::Duration};

/// Whether a time is too long for its text to keep nanoseconds.
fn beyond_a_century(settings: &Settings) -> bool {
    let held = [&settings.reorder.up, &settings.reorder.down];
    let held = held.into_iter().flatten().map(|r| r.extra);
    let delayed = match settings.ack {
        AckPolicy::Delayed(delay) => Some(delay),
        _ => None,
    };
    let rounded = match settings.timers {
        TimerModel::Granularity(granularity) => Some(granularity),
        _ => None,
    };
    let most = held.chain(delayed).chain(rounded).chain(settings.user_timeout).max();
    most > Some(Duration::from_secs(100 * 366 * 86_400))
}

fuzz_target!(|text: &str| {
    // Opens no files, whatever the settings name.
    if text.contains("link") || text.contains('\\') {
        return;
    }
    let base = Path::new("no such folder");
    let mut scenario = match Scenario::parse("x", "x.toml", text, base) {
        Ok(scenario) => scenario,
        Err(error) => {
            // Errors quote values unchanged, and triple-quoted values may span lines.
            let spans = text.contains("\"\"\"") || text.contains("'''");
            assert!(spans || !error.to_string().contains('\n'), "{error}");
            if let ScenarioError::Wrong { line, .. } = error {
                assert!((1..=text.split('\n').count()).contains(&line), "{line}");
            }
            return;
        }
    };
    // `drop=none` is the same as no drop setting.
    if scenario.settings.drop.0.is_empty() {
        scenario.settings.drop = "none".parse().expect("a drop list");
    }
    let mut settings = Settings::default();
    for setting in settings::all() {
        let value = scenario.settings.get(setting.key).expect("a known key");
        settings.set(setting.key, &value, base).unwrap_or_else(|e| panic!("{value}: {e}"));
    }
    if !beyond_a_century(&scenario.settings) {
        assert_eq!(settings, scenario.settings);
    }

    // Small enough to run fast.
    let written: u64 = scenario.settings.writes.iter().map(|w| w.bytes).sum();
    let small = scenario.settings.segments <= 20
        && written <= 20 * u64::from(scenario.settings.mss)
        && scenario.settings.user_timeout.is_none_or(|t| t <= Duration::from_secs(1000))
        && scenario.profiles.len() <= 4;
    scenario.flows = scenario.flows.min(2);
    if small && scenario.settings.path().is_ok() {
        let results = run(&scenario, 1, |_| ()).expect("its path stands");
        let report = Report::new(&scenario, &results);
        let tables = [View::Cost, View::Retransmissions, View::Recovery]
            .map(|view| [Keep::All, Keep::Telling].map(|keep| report.to_table(view, keep)));
        let _ = (tables, report.to_json(), report.to_csv());
    }
});
