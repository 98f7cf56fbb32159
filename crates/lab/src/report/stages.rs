//! One scenario on several stages: the figures side by side, and what is to be said of each stage.

use super::{Entry, Report};
use crate::stage::{KernelFacts, Live, Stage};
use comfy_table::{Cell, CellAlignment};
use recoup_table::{millis, plain_table};

/// A figure to compare: its name, and how to read it.
type Figure = (&'static str, fn(&Entry) -> Option<f64>, usize);

/// What is compared; last, the digits behind the point.
const FIGURES: [Figure; 5] = [
    ("FCT p50 (ms)", |e| Some(e.fct?.p50), 3),
    ("FCT mean (ms)", |e| Some(e.fct?.mean), 3),
    (
        "packets dropped",
        |e| Some(e.result.cost.packets_dropped as f64),
        0,
    ),
    (
        "data segments sent",
        |e| Some(e.result.cost.segments_sent as f64),
        0,
    ),
    (
        "retransmissions",
        |e| Some(e.result.cost.counters.retransmissions.total() as f64),
        0,
    ),
];

/// Every profile's figures on every stage, and how far real packets are from the simulator. The kernel
/// has no profile: its figures stand beside each.
pub fn comparison(report: &Report) -> String {
    let of = |stage| report.results.iter().filter(move |e| e.stage() == stage);
    let kernels: Vec<&Entry> = of(Stage::Kernel).collect();
    let mut profiles: Vec<&str> = Vec::new();
    for entry in of(Stage::Sim).chain(of(Stage::Net)) {
        if !profiles.contains(&&*entry.result.profile) {
            profiles.push(&entry.result.profile);
        }
    }
    let mut table = plain_table();
    let mut header: Vec<String> = ["profile", "figure", "sim"].map(Into::into).to_vec();
    let has_net = of(Stage::Net).next().is_some();
    let net = has_net.then_some("net");
    let real = net
        .into_iter()
        .chain(kernels.iter().map(|e| &*e.result.profile));
    header.extend(real.flat_map(|name| [name.into(), format!("{name} to sim (%)")]));
    table.set_header(header);
    for profile in profiles {
        let find = |stage| of(stage).find(|e| e.result.profile == profile);
        let sim = find(Stage::Sim);
        for (i, (name, value, digits)) in FIGURES.into_iter().enumerate() {
            let profile = if i == 0 { profile } else { "" };
            let mut row = vec![Cell::new(profile), Cell::new(name)];
            let mut add =
                |text: String| row.push(Cell::new(text).set_alignment(CellAlignment::Right));
            let ours = sim.and_then(value);
            let show = |value: Option<f64>| match digits {
                0 => value.map_or("-".into(), |v| v.to_string()),
                _ => millis(value),
            };
            add(show(ours));
            let net = has_net.then(|| find(Stage::Net));
            for entry in net.into_iter().chain(kernels.iter().copied().map(Some)) {
                let real = entry.and_then(value);
                add(show(real));
                add(difference(real, ours));
            }
            table.add_row(row);
        }
    }
    format!("{table}\n")
}

/// How far the first is from the second.
fn difference(real: Option<f64>, simulated: Option<f64>) -> String {
    match real.zip(simulated) {
        Some((real, simulated)) if simulated != 0.0 => {
            format!("{:+.1}", 100.0 * (real / simulated - 1.0))
        }
        Some((0.0, _)) => "+0.0".into(),
        _ => "-".into(),
    }
}

/// What is to be said of real packets: whose TCP it was, what the emulator did to it, and whether it
/// was on time.
pub fn footnotes(entries: &[&Entry]) -> String {
    let mut notes: Vec<String> = Vec::new();
    for (entry, live) in entries
        .iter()
        .filter_map(|e| Some((e, e.result.live.as_ref()?)))
    {
        let mut add = |note: String| {
            if !notes.contains(&note) {
                notes.push(note);
            }
        };
        if let Some(kernel) = &live.kernel {
            add(about(kernel));
            if !entry.senders_known() {
                add(
                    "What the kernel's sender went through is not known: only what it sent.".into(),
                );
            }
        }
        if let Some(held) = live.acks_held_ms {
            add(format!(
                "Linux cannot delay ACKs by {held} ms: the kernel acknowledges every segment, and the emulator passes every second ACK, holds an odd one {held} ms, and passes ACKs with SACK blocks at once."
            ));
        }
        doubts(entry, live).into_iter().for_each(add);
    }
    notes.iter().map(|note| format!("\n{note}\n")).collect()
}

fn about(kernel: &KernelFacts) -> String {
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

/// What 99.9 % of all packets are to stay within, in ms.
const ALLOWED_MS: f64 = 0.2;

/// Why the figures may not be what they would be on a machine with nothing else to do.
fn doubts(entry: &Entry, live: &Live) -> Option<String> {
    let (profile, blurred, missed) = (
        &entry.result.profile,
        live.blurred_flows,
        live.missed_packets,
    );
    let late = live.delivery_error_ms.map_or(0.0, |late| late.p999);
    if blurred > 0 {
        Some(format!(
            "BLURRED {profile}: {blurred} flows had packets over a hundredth of their time late, or lost outside the path ({missed})."
        ))
    } else if late > ALLOWED_MS {
        Some(format!(
            "{profile}: the delivery error was over {ALLOWED_MS} ms at p99.9: the machine was too busy for this path."
        ))
    } else {
        None
    }
}
