//! Compares the stages of a run, and adds footnotes about real packets.

use super::{Entry, Report};
use crate::stage::{KernelFacts, Live, Stage};
use recoup_table::{Columns, millis};

/// A compared quantity: its heading, its value, and its decimals.
type Figure = (&'static str, fn(&Entry) -> Option<f64>, usize);

const FIGURES: [Figure; 5] = [
    ("FCT p50 (ms)", |e| Some(e.fct?.p50), 3),
    ("FCT mean (ms)", |e| Some(e.fct?.mean), 3),
    ("packets dropped", |e| Some(e.result.cost.packets_dropped as f64), 0),
    ("data segments sent", |e| Some(e.result.cost.segments_sent as f64), 0),
    ("retransmissions (segments)", |e| Some(e.result.cost.counters.retransmissions.total() as f64), 0),
];

/// A line of the comparison: a profile's figure, as text on each stage.
struct Compared {
    /// Empty below the profile's first line.
    profile: String,
    quantity: &'static str,
    values: Vec<String>,
}

/// Every profile's figures on every stage, and the deviation of real packets from the simulator. The
/// kernel has no profile, so its figures appear beside those of each profile.
pub fn comparison(report: &Report) -> String {
    let of = |stage| report.results.iter().filter(move |e| e.stage() == stage);
    let kernels: Vec<&Entry> = of(Stage::Kernel).collect();
    let mut profiles: Vec<&str> = Vec::new();
    for entry in of(Stage::Sim).chain(of(Stage::Net)) {
        if !profiles.contains(&&*entry.result.profile) {
            profiles.push(&entry.result.profile);
        }
    }
    let has_net = of(Stage::Net).next().is_some();
    let real = has_net.then_some("net").into_iter().chain(kernels.iter().map(|e| &*e.result.profile));
    let headings = real.flat_map(|name| [name.into(), format!("{name} vs. sim (%)")]);
    let mut columns = Columns::<Compared>::new()
        .shown("profile", |line| line.profile.clone())
        .shown("quantity", |line| line.quantity);
    for (i, heading) in std::iter::once("sim".into()).chain(headings).enumerate() {
        columns = columns.shown("", move |line| line.values[i].clone()).heading(heading).right();
    }
    let mut lines = Vec::new();
    for profile in profiles {
        let find = |stage| of(stage).find(|e| e.result.profile == profile);
        let sim = find(Stage::Sim);
        for (i, (quantity, value, digits)) in FIGURES.into_iter().enumerate() {
            let ours = sim.and_then(value);
            let show = |value: Option<f64>| match digits {
                0 => value.map_or("-".into(), |v| v.to_string()),
                _ => millis(value),
            };
            let mut values = vec![show(ours)];
            let net = has_net.then(|| find(Stage::Net));
            for entry in net.into_iter().chain(kernels.iter().copied().map(Some)) {
                let real = entry.and_then(value);
                values.extend([show(real), deviation(real, ours)]);
            }
            lines.push(Compared { profile: if i == 0 { profile.into() } else { String::new() }, quantity, values });
        }
    }
    columns.to_table(&lines) + "\n"
}

/// The deviation of `real` from `simulated`, in %.
fn deviation(real: Option<f64>, simulated: Option<f64>) -> String {
    match real.zip(simulated) {
        Some((real, simulated)) if simulated != 0.0 => {
            format!("{:+.1}", 100.0 * (real / simulated - 1.0))
        }
        Some((0.0, _)) => "+0.0".into(),
        _ => "-".into(),
    }
}

/// Footnotes about real packets: the kernel's settings, how the emulator changed its ACKs, and whether
/// the emulator was on time.
pub fn footnotes(entries: &[&Entry]) -> String {
    let mut notes: Vec<String> = Vec::new();
    for (entry, live) in entries.iter().filter_map(|e| Some((e, e.result.live.as_ref()?))) {
        let mut add = |note: String| {
            if !notes.contains(&note) {
                notes.push(note);
            }
        };
        if let Some(kernel) = &live.kernel {
            add(kernel_note(kernel));
            if !entry.senders_known() {
                add("The kernel does not report its sender's state; these figures come from its packets alone.".into());
            }
        }
        if let Some(held) = live.acks_held_ms {
            add(format!(
                "Linux cannot delay ACKs by {held} ms, so the emulator does: the kernel acknowledges every segment, and the emulator forwards every second ACK, forwards an odd ACK after {held} ms, and forwards ACKs with SACK blocks at once."
            ));
        }
        accuracy_warning(entry, live).into_iter().for_each(add);
    }
    notes.iter().map(|note| format!("\n{note}\n")).collect()
}

fn kernel_note(kernel: &KernelFacts) -> String {
    let on = |is_on| if is_on { "on" } else { "off" };
    let parts = [
        ("tlp", kernel.tlp),
        ("rack", kernel.rack),
        ("sack", kernel.sack),
        ("dsack", kernel.dsack),
        ("timestamps", kernel.timestamps),
        ("frto", kernel.frto),
    ];
    let parts = parts.map(|(name, is_on)| format!("{name} {}", on(is_on)));
    format!(
        "kernel-{}: Linux {}, HZ={}, {}, {}.",
        kernel.version,
        kernel.release,
        kernel.hz,
        kernel.congestion_control,
        parts.join(", ")
    )
}

/// The largest acceptable delivery error at the 99.9th percentile, in ms.
const ALLOWED_MS: f64 = 0.2;

/// A warning if the machine was too busy for accurate figures.
fn accuracy_warning(entry: &Entry, live: &Live) -> Option<String> {
    let (profile, inaccurate, missed) = (&entry.result.profile, live.blurred_flows, live.missed_packets);
    let late = live.delivery_error_ms.map_or(0.0, |late| late.p999);
    if inaccurate > 0 {
        Some(format!(
            "INACCURATE {profile}: in {inaccurate} flows a packet was late by more than 1 % of the flow completion time, or was lost outside the path ({missed} packets lost)."
        ))
    } else if late > ALLOWED_MS {
        Some(format!(
            "{profile}: the delivery error exceeded {ALLOWED_MS} ms at p99.9; the machine was too busy for this path."
        ))
    } else {
        None
    }
}
