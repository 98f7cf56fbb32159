//! A study as text for a terminal.

use super::read::ParameterStudy;
use super::totals::{InstanceTotals, Totals};
use super::values::{instance_text, value_text};
use crate::analysis::Analyzed;
use crate::study::Model;
use crate::wording::{capture_name, count, grouped, list, millis, percent, unreached};
use recoup_table::table_of_texts;
use recoup_whatif::parameters::{ChangeKind, Parameter};

/// Profiles with a line of their own.
const MOST_PROFILES: usize = 8;

/// Changes of the detection of a loss.
const NEEDED: [ChangeKind; 4] =
    [ChangeKind::TimeoutMoves, ChangeKind::TimeoutBecomesFast, ChangeKind::FastBecomesTimeout, ChangeKind::FastMoves];
const AVOIDED: [ChangeKind; 2] = [ChangeKind::SpuriousTimeoutAvoided, ChangeKind::SpuriousFastAvoided];
const MADE: [ChangeKind; 2] = [ChangeKind::SpuriousTimeoutMade, ChangeKind::SpuriousFastMade];

/// A study: the finding in a sentence, a table of values, and what was left out.
pub fn study_text(analyzed: &Analyzed<ParameterStudy>) -> String {
    let study = &analyzed.findings;
    let capture = capture_name(&analyzed.capture);
    let mut parts = vec![format!("{capture}: {}", scope(study)), finding(study)];
    if study.all.senders > 0 {
        parts.extend(value_table(study));
        parts.extend(best_combination(study));
        parts.extend(profile_table(study));
        parts.push(rests_on(study));
    }
    parts.extend(not_studied(study));
    parts.join("\n\n") + "\n"
}

/// Connections, senders and profiles of the study.
fn scope(study: &ParameterStudy) -> String {
    let mut text = format!(
        "{}, {} studied of {}",
        count(study.connections, "connection"),
        count(study.all.senders, "sender"),
        grouped(study.senders),
    );
    let profiles: Vec<String> = study
        .profiles
        .iter()
        .take(MOST_PROFILES)
        .map(|one| format!("{} ({})", one.profile, grouped(one.totals.senders)))
        .collect();
    if !profiles.is_empty() {
        text += &format!("\nProfiles of the senders studied: {}", list(&profiles));
    }
    text
}

/// The finding in one sentence, and what ideal loss detection would have saved.
fn finding(study: &ParameterStudy) -> String {
    let all = &study.all;
    if all.senders == 0 {
        return "No sender could be studied.".into();
    }
    format!("{}\n{}", best_value_text(study), ideal(study))
}

/// The time that the best value saves, or why none saves any.
fn best_value_text(study: &ParameterStudy) -> String {
    let all = &study.all;
    let singles = study.instances.singles().len();
    let values = match singles {
        1 => "The value tried".into(),
        n => format!("None of the {n} values tried"),
    };
    if all.instances.iter().all(InstanceTotals::is_none) {
        let verb = if singles == 1 { "does not change" } else { "changes" };
        let why = match all.timeouts {
            0 => ": the retransmission timer detected none",
            _ => "",
        };
        return format!("{values} {verb} how a loss is detected{why}.");
    }
    let Some((best, (saved, duration))) = study.best_value(all).and_then(|best| {
        let saved = all.mean_ms(all.instances[best].saved(study.model))?;
        Some((best, (saved, all.mean_duration_ms()?)))
    }) else {
        let verb = if singles == 1 { "does not shorten" } else { "shortens" };
        return format!("{values} {verb} connections on average.");
    };
    let name = instance_text(&study.instances.all()[best]);
    let rtts = in_rtts(all.mean_rtts(all.instances[best].saved_rtts[study.model as usize]));
    let of_all = percent(saved, duration);
    let most = match singles {
        1 => format!("{name} saves time"),
        n => format!("Of the {n} values tried, {name} saves most"),
    };
    format!(
        "{most}: connections would have ended {} sooner on average{rtts}.\n\
         That is {of_all} of their mean duration, {}.",
        millis(saved),
        millis(duration),
    )
}

/// In parentheses after a time, if it is known.
fn in_rtts(rtts: Option<f64>) -> String {
    rtts.map_or(String::new(), |rtts| format!(" ({} RTTs)", signed(rtts, 2)))
}

/// The time that ideal loss detection would have saved, and why an instance can save more.
fn ideal(study: &ParameterStudy) -> String {
    let all = &study.all;
    let ms = all.mean_best_case_ms().unwrap_or_default();
    let rtts = in_rtts(all.mean_rtts(all.best_case_rtts));
    let text = format!("Ideal loss detection would have saved {}{rtts}.", millis(ms));
    let saved = |i: usize| all.mean_ms(all.instances[i].saved(study.model));
    let best = [study.best_value(all), study.best_combination(all)];
    match best.into_iter().flatten().filter_map(saved).any(|saved| saved > ms) {
        true => {
            text + " A value can save more than that,\n\
                    because ideal loss detection waits for the longest RTT of a connection."
        }
        false => text,
    }
}

/// A number with a minus sign as in print.
fn signed(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", value.abs());
    let is_zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    match value < 0.0 && !is_zero {
        true => format!("−{text}"),
        false => text,
    }
}

fn known(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".into(), |value| signed(value, digits))
}

/// A line for each value that changes something, and how many do not; `None` if none does.
fn value_table(study: &ParameterStudy) -> Option<String> {
    let header = [
        "parameter",
        "value",
        "mean time\nsaved (ms)",
        "mean time\nsaved (RTTs)",
        "senders\nsooner (%)",
        "senders\nlater (%)",
        "losses\ndetected at\nanother time",
        "spurious\nretrans-\nmissions\navoided",
        "spurious\nretrans-\nmissions\ncaused",
    ];
    let all = &study.all;
    let singles = study.instances.singles().iter().zip(&all.instances);
    let mut last = None;
    let rows: Vec<Vec<String>> = singles
        .filter_map(|(instance, sums)| {
            let parameter = Parameter::ALL.into_iter().find(|one| one.is_in(instance))?;
            if sums.is_none() {
                return None;
            }
            let name = match last.replace(parameter) {
                Some(before) if before == parameter => "",
                _ => parameter.name(),
            };
            let mut row = vec![name.to_owned(), value_text(parameter, instance)?];
            row.extend(result_cells(all, sums, study.model));
            Some(row)
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let others = study.instances.singles().len() - rows.len();
    let others = match others {
        0 => String::new(),
        1 => "\nThe other value tried changes nothing.".into(),
        n => format!("\nThe other {n} values tried change nothing."),
    };
    Some(table_of_texts(&header, 2, rows) + &others)
}

fn result_cells(all: &Totals, sums: &InstanceTotals, model: Model) -> Vec<String> {
    let number = model as usize;
    let share = |senders: u64| format!("{:.0}", 100.0 * senders as f64 / all.senders.max(1) as f64);
    vec![
        known(all.mean_ms(sums.saved(model)), 1),
        known(all.mean_rtts(sums.saved_rtts[number]), 2),
        share(sums.faster[number]),
        share(sums.slower[number]),
        grouped(sums.events_of(&NEEDED)),
        grouped(sums.events_of(&AVOIDED)),
        grouped(sums.events_of(&MADE)),
    ]
}

/// The best combination, where there is more than one list of values.
fn best_combination(study: &ParameterStudy) -> Option<String> {
    let combinations = study.combinations().len();
    if combinations == 0 {
        return None;
    }
    let all = &study.all;
    if all.instances.iter().all(InstanceTotals::is_none) {
        return None;
    }
    let Some(best) = study.best_combination(all) else {
        let combinations = grouped(combinations as u64);
        return Some(format!("None of the {combinations} combinations shortens connections on average."));
    };
    let sums = &all.instances[best];
    let ms = all.mean_ms(sums.saved(study.model)).unwrap_or_default();
    let rtts = in_rtts(all.mean_rtts(sums.saved_rtts[study.model as usize]));
    Some(format!(
        "Best of {}: {}.\nIt saves {} on average{rtts}.",
        count(combinations as u64, "combination"),
        instance_text(&study.instances.all()[best]),
        millis(ms),
    ))
}

/// The best value and combination of each profile, where there are several.
fn profile_table(study: &ParameterStudy) -> Option<String> {
    if study.profiles.len() < 2 {
        return None;
    }
    let header = [
        "profile",
        "best value",
        "best combination",
        "senders",
        "value saves,\nmean (ms)",
        "combination\nsaves, mean\n(ms)",
        "ideal saves,\nmean (ms)",
    ];
    let rows = study.profiles.iter().map(|one| {
        let totals = &one.totals;
        let best = [study.best_value(totals), study.best_combination(totals)];
        let name = |best: Option<usize>| best.map_or("-".into(), |best| instance_text(&study.instances.all()[best]));
        let saved = |best: Option<usize>| {
            let saved = best.map(|best| totals.instances[best].saved(study.model));
            known(saved.and_then(|saved| totals.mean_ms(saved)), 1)
        };
        vec![
            one.profile.clone(),
            name(best[0]),
            name(best[1]),
            grouped(totals.senders),
            saved(best[0]),
            saved(best[1]),
            known(totals.mean_best_case_ms(), 1),
        ]
    });
    Some(table_of_texts(&header, 3, rows))
}

/// The numbers of detections, and the assumptions.
fn rests_on(study: &ParameterStudy) -> String {
    let all = &study.all;
    let mut text =
        format!("Studied: {} and {}.", count(all.timeouts, "timeout"), count(all.fast_retransmits, "fast retransmit"),);
    if all.unmeasured > 0 {
        text += &format!(" The capture does not show {} well enough.", count(all.unmeasured, "other detection"));
    }
    text += match study.model {
        Model::Forms => "\nThe cost of a smaller flight is computed by the study's equations.",
        Model::Counted => "\nThe cost of a smaller flight is counted segment by segment.",
    };
    text + "\nThe estimates assume RTTs, losses and windows as captured."
}

/// The senders that the study leaves out, by reason.
fn not_studied(study: &ParameterStudy) -> Vec<String> {
    let mut parts = Vec::new();
    let refused = study.refused.total();
    if refused > 0 {
        let mut text = format!("{} not studied:", count(refused, "sender"));
        for reason in study.refused.by_count() {
            text += &format!("\n- {}: {}", grouped(reason.count), reason.about);
        }
        parts.push(text);
    }
    parts.extend(unreached(study.interrupted, study.left_out, "sender"));
    parts
}

impl ParameterStudy {
    /// The numbers of the instances that replace several parameters.
    pub(super) fn combinations(&self) -> std::ops::Range<usize> {
        self.instances.singles().len()..self.instances.all().len()
    }

    /// The instance that replaces one parameter and saves most, if one saves anything.
    pub fn best_value(&self, totals: &Totals) -> Option<usize> {
        totals.best_of(0..self.instances.singles().len(), self.model)
    }

    /// The instance that replaces several parameters and saves most, if one saves anything.
    pub fn best_combination(&self, totals: &Totals) -> Option<usize> {
        totals.best_of(self.combinations(), self.model)
    }
}
