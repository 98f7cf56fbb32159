//! The answer as a JSON document.

use super::text::quantile;
use super::{Answer, Prediction};
use crate::plan::Timer;
use recoup_captures::whatif::Changes;
use recoup_captures::wording::in_ms;
use recoup_kernel::SocketTimers;
use recoup_table::{Layout, Schema};
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// The document's name and version.
const SCHEMA: Schema = Schema { name: "recoup.guard.suggest", version: 1 };

/// Writes the document.
pub fn write(answer: &Answer, out: impl Write) -> io::Result<()> {
    let networks = answer.advice.iter().map(|one| {
        let (rtts, effect) =
            (one.facts.handshake_rtts(), answer.effects.get(&one.network).copied().unwrap_or_default());
        let rtt = |share| quantile(&rtts, share).map(in_ms);
        json!({
            "network": one.network.to_string(),
            "timers": timers(&one.timers),
            "basis": {
                "connections": one.facts.connections,
                "handshakes": rtts.len(),
                "rtt_p50_ms": rtt(0.5),
                "rtt_p99_ms": rtt(0.99),
                "rtt_max_ms": rtt(1.0),
                "data_rtts": one.facts.data.iter().map(|rtt| rtt.samples).sum::<u64>(),
            },
            "effect": {
                "connections": effect.connections,
                "lost_ms": in_ms(effect.lost),
                "handshakes": effect.handshakes,
                "needless": effect.needless,
                "waiters": effect.waiters,
                "waited_ms": in_ms(effect.waited),
                "would_wait_ms": in_ms(effect.would_wait),
                "delayed_acks_ms": in_ms(effect.nagle),
            },
        })
    });
    let document = json!({
        "captures": answer.captures,
        "connections": answer.connections,
        "captured_here": answer.facts.connections,
        "networks": networks.collect::<Vec<_>>(),
        "later_half": { "handshakes": answer.foresight.handshakes, "needless": answer.foresight.needless },
        "predictions": answer.predictions.iter().map(prediction).collect::<Vec<_>>(),
    });
    SCHEMA.write(&document, Layout::Lines, out)
}

/// The timers in ms; `null`: the kernel's own.
fn timers(timers: &SocketTimers) -> Value {
    let all = Timer::ALL.into_iter().map(|timer| {
        let name = format!("{}_ms", timer.key().replace('-', "_"));
        (name, json!(timer.of(timers).map(in_ms)))
    });
    Value::Object(all.collect::<Map<_, _>>())
}

fn prediction(prediction: &Prediction) -> Value {
    let networks = prediction.networks.as_ref().map(|networks| {
        let networks = networks.iter().map(|(network, [all, lossy])| {
            json!({ "network": network.to_string(), "all": changes(all), "lossy": changes(lossy) })
        });
        networks.collect::<Vec<_>>()
    });
    json!({
        "capture": prediction.capture,
        "rerun": prediction.rerun[0],
        "not_rerun": prediction.rerun[1],
        "networks": networks,
    })
}

fn changes(changes: &Changes) -> Value {
    let interval = |range: Option<(f64, f64)>| range.map(|(low, high)| [low, high]);
    json!({
        "connections": changes.connections,
        "mean_change_ms": changes.mean_change_ms,
        "paired_interval_ms": interval(changes.paired_interval_ms),
        "interval_ms": interval(changes.interval_ms),
        "sum_change_ms": changes.sum_change_ms,
        "spurious": changes.spurious,
        "extra_spurious": changes.extra_spurious,
    })
}
