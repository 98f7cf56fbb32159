//! A comparison as text for a terminal.

use super::alike::captured_in_words;
use super::verdict::{Change, Verdict};
use super::{CaptureFacts, Check, Comparison, LikeRequests, Outcome};
use crate::explain::wrap;
use crate::text_table::table;
use crate::wording::{bytes, capture_name, count, duration, grouped, millis, percent};
use recoup_units::visible;

/// The classes of requests that a text lists.
const MOST_CLASSES: usize = 8;

/// The quantities that did not change for sure, as far as a text lists them.
const MOST_ROWS: usize = 12;

/// A comparison: the captures, what changed, what may have changed, what did not, and the prediction.
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut parts = vec![captures(comparison)];
    parts.extend(cautions(comparison));
    parts.push(sentence(&finding(comparison)));
    parts.extend(comparison.check.as_ref().map(|check| sentence(&check_in_words(check))));
    for verdict in Verdict::ALL {
        parts.extend(verdict_table(comparison, verdict));
    }
    parts.extend(classes(&comparison.requests));
    parts.push(sentence(LIMITS));
    parts.join("\n\n") + "\n"
}

/// The quantities with this verdict.
fn verdict_table(comparison: &Comparison, verdict: Verdict) -> Option<String> {
    let most = if verdict == Verdict::Changed { usize::MAX } else { MOST_ROWS };
    let table = table(&HEADS, 1, comparison.of_verdict(verdict).take(most).map(row))?;
    let head = sentence(&format!("{}: {}", heading(verdict), about(verdict)));
    let more = comparison.of_verdict(verdict).count().saturating_sub(most);
    Some(format!("{head}\n{table}{}", left_out(more, "quantities")))
}

/// How many more there are.
fn left_out(more: usize, what: &str) -> String {
    match more {
        0 => String::new(),
        more => format!("\n({more} more {what}: --format json has everything)"),
    }
}

fn sentence(text: &str) -> String {
    wrap(text, 0).join("\n")
}

/// What a comparison cannot show.
pub(super) const LIMITS: &str = "Intervals cover what varies within the captures: over their time, between clients and between \
    connections. They do not cover what differs between the two times besides the change, such as the load of the evening or \
    other routes. Captures that alternate (before, after, before, after) show that.";

/// The heading of the quantities with this verdict.
pub(super) const fn heading(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Changed => "Changed",
        Verdict::Undecided => "May have changed",
        Verdict::Unchanged => "Did not change",
    }
}

/// What a verdict means.
pub(super) const fn about(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Changed => {
            "more than chance explains among so many quantities, and more than the halves of either capture differ by."
        }
        Verdict::Undecided => "undecided; first those whose interval, taken alone, lies on one side of 0.",
        Verdict::Unchanged => "the whole interval lies within 10 % of the value before, or is negligible.",
    }
}

fn captures(comparison: &Comparison) -> String {
    let names = ["BEFORE", "AFTER "];
    let lines =
        names.iter().zip(&comparison.captures).map(|(name, facts)| format!("{name}  {}", facts_in_words(facts)));
    lines.collect::<Vec<_>>().join("\n")
}

/// A capture in one line.
pub(super) fn facts_in_words(facts: &CaptureFacts) -> String {
    let mut parts = vec![
        duration(facts.duration),
        count(facts.connections, "connection"),
        count(facts.requests, "request"),
        bytes(facts.bytes),
    ];
    parts.extend(facts.captured_at.map(|at| captured_in_words(at).to_owned()));
    format!("{}: {}", capture_name(&facts.capture), parts.join(", "))
}

fn cautions(comparison: &Comparison) -> Option<String> {
    let lines = comparison.warnings.iter().flat_map(|warning| wrap(&format!("Caution: {warning}"), 9));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// How much changed, in a sentence or two.
pub(super) fn finding(comparison: &Comparison) -> String {
    let named: Vec<String> = comparison.of_verdict(Verdict::Changed).take(3).map(in_words).collect();
    let number = |verdict| comparison.of_verdict(verdict).count() as u64;
    let (changed, undecided, unchanged) =
        (number(Verdict::Changed), number(Verdict::Undecided), number(Verdict::Unchanged));
    if changed + undecided + unchanged == 0 {
        return "The captures have nothing in common that could be compared.".into();
    }
    let first = match changed {
        0 => "Nothing changed for sure.".to_owned(),
        n => {
            let more = quantities(n.saturating_sub(named.len() as u64), " changed besides.");
            named.join(" ") + more.as_deref().unwrap_or_default()
        }
    };
    let others = [(undecided, " may have changed."), (unchanged, " did not change.")];
    first + &others.into_iter().filter_map(|(n, what)| quantities(n, what)).collect::<String>()
}

/// So many quantities, of which a verb says something; `None` without any.
fn quantities(n: u64, says: &str) -> Option<String> {
    (n > 0).then(|| match n {
        1 => format!(" 1 quantity{says}"),
        n => format!(" {} quantities{says}", grouped(n)),
    })
}

/// A change as a sentence: `Retransmission rate rose from 1.20 to 2.31 % (+93 %).`
fn in_words(change: &Change) -> String {
    let verb = if change.change() < 0.0 { "fell" } else { "rose" };
    let [before, after, _] = numbers(change);
    let relative = change.relative().map(|share| format!(" ({})", signed_percent(share))).unwrap_or_default();
    let (title, unit) = (change.quantity.title(), change.quantity.unit().name());
    format!("{title} {verb} from {before} to {after} {unit}{relative}.")
}

/// A share with its sign.
pub(super) fn signed_percent(share: f64) -> String {
    /// A smaller share has no digit.
    const SMALLEST: f64 = 5e-5;
    match share {
        share if share.abs() < SMALLEST => "±0 %".into(),
        share if share < 0.0 => format!("−{}", percent(-share, 1.0)),
        share => format!("+{}", percent(share, 1.0)),
    }
}

/// The columns of changes.
pub(super) const HEADS: [&str; 6] = ["quantity", "before", "after", "change", "95 % interval", "halves differ by"];

/// The cells of a change.
pub(super) fn row(change: &Change) -> Vec<String> {
    let [before, after, difference] = numbers(change);
    let decimals = decimals(change);
    let relative = change.relative().map(|share| format!(" ({})", signed_percent(share))).unwrap_or_default();
    let interval = change
        .interval
        .map_or("too few".into(), |(low, high)| format!("{} to {}", signed(low, decimals), signed(high, decimals)));
    let spread = change.own_spread().map_or("-".into(), |spread| format!("{spread:.decimals$}"));
    let title = format!("{} ({})", change.quantity.title(), change.quantity.unit().name());
    vec![title, before, after, format!("{difference}{relative}"), interval, spread]
}

/// The value before, the value after and the change.
fn numbers(change: &Change) -> [String; 3] {
    let decimals = decimals(change);
    [format!("{:.decimals$}", change.before), format!("{:.decimals$}", change.after), signed(change.change(), decimals)]
}

/// Decimals that show three digits of the larger value.
fn decimals(change: &Change) -> usize {
    match change.before.abs().max(change.after.abs()) {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    }
}

fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = text.bytes().all(|digit| matches!(digit, b'0' | b'.'));
    match value {
        _ if is_zero => text,
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

/// The columns of a table of [`LikeRequests`]. The first [`CLASS`] name the class.
pub(super) const CLASS_HEADS: [&str; 8] =
    ["like requests", "request", "response", "before", "after", "before (ms)", "after (ms)", "95 % interval"];

/// How many columns name a class.
pub(super) const CLASS: usize = 3;

fn classes(requests: &[LikeRequests]) -> Option<String> {
    let rows = requests.iter().take(MOST_CLASSES).map(class_row);
    let more = requests.len().saturating_sub(MOST_CLASSES);
    Some(table(&CLASS_HEADS, CLASS, rows.map(Vec::from))? + &left_out(more, "classes"))
}

/// The cells of a class.
pub(super) fn class_row(class: &LikeRequests) -> [String; 8] {
    let [before, after] = class.mean_ms.map(|mean| format!("{mean:.1}"));
    [
        port(class.port),
        sizes(class.request_bytes),
        sizes(class.response_bytes),
        grouped(class.counts[0]),
        grouped(class.counts[1]),
        before,
        after,
        class.interval_ms.map_or("too few".into(), |(low, high)| format!("{} to {}", signed(low, 1), signed(high, 1))),
    ]
}

fn port(port: u16) -> String {
    match port {
        0 => "ports from 32768".into(),
        port => format!("port {port}"),
    }
}

fn sizes((least, greatest): (u64, u64)) -> String {
    match greatest {
        0 => "none".into(),
        1 => "1 byte".into(),
        _ => format!("{} to {}", bytes(least), bytes(greatest.saturating_add(1))),
    }
}

/// The prediction beside the measurement.
pub(super) fn check_in_words(check: &Check) -> String {
    let predicted = &check.predicted;
    let range = |(low, high): (f64, f64)| format!("{} to {}", milliseconds(low), milliseconds(high));
    let interval = match (predicted.paired_ms, predicted.another_run_ms) {
        (Some(paired), Some(another)) => {
            format!(" (95 % interval: {}; another run may show {})", range(paired), range(another))
        }
        (Some(only), None) | (None, Some(only)) => format!(" (95 % interval: {})", range(only)),
        (None, None) => String::new(),
    };
    let mechanism = visible(&predicted.mechanism);
    let mut text = format!(
        "whatif predicted for {mechanism} a mean change of the completion time of {}{interval}",
        milliseconds(predicted.change_ms)
    );
    let measured = check.change_ms().map(|change| {
        let interval = check.interval_ms.map(|interval| format!(" (95 % interval: {})", range(interval)));
        format!("; like connections show {}{}", milliseconds(change), interval.unwrap_or_default())
    });
    text += &measured.unwrap_or_else(|| "; no connections of the captures are alike".into());
    let [before, after] = check.connections;
    text += &format!(", from {} before and {} after. ", count(before, "connection"), grouped(after));
    text += match check.outcome {
        Outcome::Agrees => "The prediction came true.",
        Outcome::Disagrees => "The prediction did not come true.",
        Outcome::Undecided => "Undecided: the measurement is too uncertain to tell the prediction from no change.",
    };
    text + " Whether it was switched on in between is not checked."
}

fn milliseconds(ms: f64) -> String {
    match ms {
        ms if ms < 0.0 => format!("−{}", millis(-ms)),
        0.0 => "0 ms".into(),
        ms => format!("+{}", millis(ms)),
    }
}
