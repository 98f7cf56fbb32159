//! What a user should know before believing the figures of a capture.

use super::findings::{Analyzed, View};
use super::summary::Vantages;
use recoup_trace::finding::Vantage;

impl<V: View> Analyzed<V> {
    /// What a user should know, a line each: what could not be read, where the capture is blind, and
    /// what it lacks.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.counts.notes();
        if self.interrupted {
            let frames = self.counts.frames;
            notes.push(format!(
                "interrupted: only the first {frames} frames are analyzed"
            ));
        }
        match self.counts.frames {
            0 => notes.push("no packets in it".into()),
            _ if self.counts.packets == 0 => notes.push("no TCP in it".into()),
            _ => {}
        }
        if let Some(dropped) = self.counts.dropped.filter(|dropped| *dropped > 0) {
            notes.push(format!("the capturing host dropped {dropped} packets"));
        }
        notes.extend(blind(self.found.vantages()));
        notes
    }
}

/// What is not seen from where most data was captured; `None` at its sender.
fn blind(vantages: &Vantages) -> Option<String> {
    let all: u64 = vantages.bytes.iter().sum();
    let of = |vantage: Vantage| vantages.bytes[vantage as usize];
    let most = Vantage::ALL
        .into_iter()
        .max_by_key(|vantage| of(*vantage))?;
    if all == 0 || most == Vantage::Sender {
        return None;
    }
    let share = 100.0 * of(most) as f64 / all as f64;
    Some(match most {
        Vantage::Receiver => format!(
            "{share:.0} % of the data was captured at its receiver: there, what is sent again because it was lost looks like a first transmission"
        ),
        Vantage::Between => format!(
            "{share:.0} % of the data was captured on its way: what is sent again because it was lost before looks like a first transmission there"
        ),
        _ => format!(
            "where {share:.0} % of the data was captured does not show: if not at its sender, some of what was sent again looks like a first transmission"
        ),
    })
}
