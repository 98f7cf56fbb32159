//! What the senders do about losses, reordering and duplicate ACKs (§I, §II).
//!
//! ```text
//! flight of 20 segments, 1 ms apart:   1 2 3 4 (5) 6 7 8 … 20
//!                                              lost, or late by so many ms
//! ```
//! Each measurement is one flow, or a pair of flows that differ in one thing ([`micro`](super::micro)).
//!
//! | asked | pair |
//! | --- | --- |
//! | what does a needless retransmission cost? | a segment is late, or not; all are late until the timer expired, or the timer waits for them |
//! | what does late detection cost? | the minimum RTO as it is, and twice as large |
//! | what does a timeout cost beside FR/R? | the duplicate ACKs arrive, or are lost |
//! | what does SACK show? | the same three losses with and without it |
//! | what does D change? | every loss in transfers of 2 to 40 segments, with D from 1 to 4 |

mod claims;

use super::NAME;
use super::micro::{self, Bench, Fate, Measured, Run, ms};
use crate::experiment::{ExperimentError, Setup};
use crate::{Figure, Picture, Sheet};
use recoup_captures::study::published::System;
use recoup_draw::chart::{BarChart, BarGroup, BarPanel};
use recoup_recovery::parameters::Parameters;
use recoup_recovery::{Event, Mechanisms, State, Trigger};
use recoup_units::{Direction, Segments};
use std::time::Duration;

/// The name on the command line.
pub const ID: &str = "reactions";

/// Quantities of the four systems, in the order of [`System::ALL`].
type Values = [f64; 4];

/// Sizes of the transfers in which every segment is lost once.
const SIZES: [u64; 4] = [4, 8, 16, 40];

/// Values of D.
const THRESHOLDS: [u32; 4] = [1, 2, 3, 4];

/// What was measured.
struct Reactions {
    /// Duplicate ACKs after segment 5 of 20 is lost; 15 segments are above it.
    duplicates: Values,
    /// Retransmissions when D − 1 segments overtake one, and when D do.
    overtaken: [Values; 2],
    /// From the D-th duplicate ACK to the retransmission, in ms.
    delay_ms: Values,
    /// From the loss to the retransmission of the third of three lost segments, with and without SACK, in RTTs.
    third_loss_rtts: [f64; 2],
    /// The window in segments before and after a fast retransmit, and after a timeout.
    windows: [Values; 3],
    /// What a needless fast retransmit and a needless timeout add to the duration, in ms.
    needless_ms: [Values; 2],
    /// What a twice as large minimum RTO adds to the duration after a lost tail, less what it adds to the wait; and what it
    /// adds to the wait, in ms.
    later_ms: [Values; 2],
    /// What a timeout adds to the duration beside a fast retransmit, in ms.
    timeout_ms: Values,
    /// From sending to retransmission by FR/R and by timeout, in RTTs.
    detection_rtts: [Values; 2],
    /// New segments sent from the last ACK of new data to a timeout.
    sent_while_waiting: Values,
    /// The share of the losses detected by FR/R, in %, by size and by D.
    by_fast: [[f64; 4]; 4],
    /// The mean detection time by FR/R in ms, by D, in transfers of 40 segments.
    fast_ms: [f64; 4],
    /// The mean detection time by timeout in ms, in transfers of 8 segments with D = 3.
    timeout_wait_ms: f64,
}

fn sender(setup: &Setup, system: &System) -> Mechanisms {
    let mut sender = *setup.profile(system.profile).mechanisms();
    sender.initial_window = Segments(20);
    if setup.is_mutated("deaf") {
        with_dupthresh(&mut sender, 1000);
    }
    sender
}

fn with_dupthresh(sender: &mut Mechanisms, dupthresh: u32) {
    let parameters = Parameters { dupthresh: Some(Segments(dupthresh)), ..Parameters::default() };
    parameters.apply(sender);
}

/// A transfer whose segments arrive 1 ms apart.
fn spaced(sender: Mechanisms, segments: u64) -> Bench {
    Bench { spacing: Duration::from_millis(1), ..Bench::new(sender, segments) }
}

/// Segment `lost` of a transfer is lost once.
fn lossy(sender: Mechanisms, segments: u64, lost: u64) -> Run {
    spaced(sender, segments).run(|packet| match (packet.segment, packet.copy) {
        (segment, 1) if segment == lost => Fate::Lost,
        _ => Fate::Passes,
    })
}

/// The duplicate ACKs that arrive after segment 5 of 20 was lost; every second ACK may be lost.
fn duplicates(sender: Mechanisms, loses_acks: bool) -> usize {
    let run = spaced(sender, 20).run(|packet| match (packet.direction, packet.segment) {
        (Direction::Down, 5) if packet.copy == 1 => Fate::Lost,
        (Direction::Up, _) if loses_acks && packet.copy % 2 == 0 => Fate::Lost,
        _ => Fate::Passes,
    });
    run.duplicates(5).len()
}

/// As [`lossy`], and no ACK arrives from then on until the segment is retransmitted.
fn without_duplicates(sender: Mechanisms, segments: u64, lost: u64) -> Run {
    let (mut is_lost, mut is_repeated) = (false, false);
    spaced(sender, segments).run(|packet| match (packet.direction, packet.segment, packet.copy) {
        (Direction::Down, segment, 1) if segment == lost => {
            is_lost = true;
            Fate::Lost
        }
        (Direction::Down, segment, _) if segment == lost => {
            is_repeated = true;
            Fate::Passes
        }
        (Direction::Up, ..) if is_lost && !is_repeated => Fate::Lost,
        _ => Fate::Passes,
    })
}

/// Segment 5 of 40 is late, so that segments overtake it.
fn overtaken(sender: Mechanisms, by: f64) -> Run {
    let late = Duration::from_secs_f64(by / 1e3);
    spaced(sender, 40).run(|packet| match (packet.segment, packet.copy) {
        (5, 1) => Fate::Late(late),
        _ => Fate::Passes,
    })
}

/// All segments of the third flight and later are late until 4 s, or pass.
fn paused(sender: Mechanisms) -> Run {
    let mut from = None;
    spaced(sender, 200).run(|packet| {
        if packet.segment >= 60 {
            from.get_or_insert(packet.at);
        }
        let until = from.map(|from| from + Duration::from_secs(4));
        match until.filter(|until| packet.direction == Direction::Down && packet.at < *until) {
            Some(until) => Fate::Late(until.since(packet.at)),
            None => Fate::Passes,
        }
    })
}

fn retransmissions(run: &Run) -> f64 {
    run.sent().filter(|(.., again)| again.is_some()).count() as f64
}

/// The window before the first reduction, and after it.
fn windows(run: &Run) -> [f64; 2] {
    let mut before = f64::NAN;
    for (_, event) in &run.events {
        match event {
            Event::StateChanged { to: State::Recovery, ssthresh, .. } => return [before, f64::from(ssthresh.0)],
            Event::StateChanged { to: State::Loss, cwnd, .. } => return [before, f64::from(cwnd.0)],
            Event::Sent { cwnd, .. } => before = f64::from(cwnd.0),
            _ => {}
        }
    }
    [before, f64::NAN]
}

/// From the first transmission of the first segment that was retransmitted to its retransmission, in ms, and why.
fn detection(run: &Run) -> Option<(f64, Trigger)> {
    let (at, segment, trigger) = run.first_retransmission()?;
    Some((ms(at.since(run.first_sent(segment)?)), trigger))
}

fn detection_ms(run: &Run) -> f64 {
    detection(run).map_or(f64::NAN, |(time, _)| time)
}

/// From the loss to the retransmission of the third of three lost segments, in RTTs.
fn third_loss(mut sender: Mechanisms, sack: bool) -> f64 {
    sender.sack = sack;
    let run = spaced(sender, 20).run(|packet| match (packet.segment, packet.copy) {
        (5 | 8 | 11, 1) => Fate::Lost,
        _ => Fate::Passes,
    });
    let again = run.sent().find(|(_, segment, again)| *segment == 11 && again.is_some());
    let both = again.map(|(at, ..)| at).zip(run.first_sent(11));
    both.map_or(f64::NAN, |(again, first)| ms(again.since(first)) / 100.0)
}

/// New segments sent from the last ACK of new data before a timeout to the timeout.
fn sent_while_waiting(sender: Mechanisms) -> f64 {
    let run = without_duplicates(sender, 200, 61);
    let Some((at, ..)) = run.first_retransmission() else {
        return f64::NAN;
    };
    let advancing = run.acks.iter().filter(|(arrived, _)| *arrived < at);
    let Some(last) = advancing.map(|(arrived, _)| *arrived).max() else {
        return f64::NAN;
    };
    let new = run.sent().filter(|(sent, _, again)| again.is_none() && *sent > last && *sent < at);
    new.count() as f64
}

impl Reactions {
    fn measure(setup: &Setup) -> Self {
        let each = |measure: &dyn Fn(Mechanisms) -> f64| -> Values {
            System::ALL.each_ref().map(|system| measure(sender(setup, system)))
        };
        let d = |sender: &Mechanisms| f64::from(sender.detection.dupthresh.0);
        let slower = |slow: Run, quick: Run| slow.duration_ms() - quick.duration_ms();
        let windows_of = |by_timeout: bool, i: usize| {
            each(&|sender| {
                let run = match by_timeout {
                    true => without_duplicates(sender, 200, 61),
                    false => lossy(sender, 200, 61),
                };
                windows(&run)[i]
            })
        };
        let later = |of: fn(&Run, &Run) -> f64| {
            each(&|sender| {
                let mut slow = sender;
                slow.rto.min = sender.rto.min * 2;
                of(&lossy(slow, 40, 40), &lossy(sender, 40, 40))
            })
        };
        let freebsd = sender(setup, &System::ALL[3]);
        let windows = sender(setup, &System::ALL[0]);
        let by_fast = SIZES.map(|size| THRESHOLDS.map(|d| fast_share(freebsd, size, d, setup)));
        Self {
            duplicates: each(&|sender| {
                let loses_acks = setup.is_mutated("lossy-acks");
                duplicates(sender, loses_acks) as f64
            }),
            overtaken: [0.5, 1.5]
                .map(|beyond| each(&|sender| retransmissions(&overtaken(sender, d(&sender) - 1.0 + beyond)))),
            delay_ms: each(&|sender| {
                let run = lossy(sender, 20, 5);
                let dth = run.duplicates(5);
                let dth = dth.get(d(&sender) as usize - 1);
                let both = dth.copied().zip(run.first_retransmission());
                both.map_or(f64::NAN, |(dth, (at, ..))| ms(at.since(dth)) - ms(dth.since(at)))
            }),
            third_loss_rtts: [true, false].map(|sack| third_loss(windows, sack)),
            windows: [windows_of(false, 0), windows_of(false, 1), windows_of(true, 1)],
            needless_ms: [
                each(&|sender| slower(overtaken_late(sender, true), overtaken_late(sender, false))),
                each(&|sender| {
                    let mut patient = sender;
                    patient.rto.min = Duration::from_secs(30);
                    slower(paused(sender), paused(patient))
                }),
            ],
            later_ms: [
                later(|slow, quick| {
                    let longer = slow.duration_ms() - quick.duration_ms();
                    longer - (detection_ms(slow) - detection_ms(quick))
                }),
                later(|slow, quick| detection_ms(slow) - detection_ms(quick)),
            ],
            timeout_ms: each(&|sender| slower(without_duplicates(sender, 200, 61), lossy(sender, 200, 61))),
            detection_rtts: [
                each(&|sender| detection_ms(&lossy(sender, 200, 61)) / 100.0),
                each(&|sender| detection_ms(&without_duplicates(sender, 200, 61)) / 100.0),
            ],
            sent_while_waiting: each(&sent_while_waiting),
            by_fast,
            fast_ms: THRESHOLDS.map(|d| mean_wait(freebsd, 40, d, Trigger::Fast)),
            timeout_wait_ms: mean_wait(freebsd, 8, 3, Trigger::Rto),
        }
    }
}

/// A transfer of 200 segments in which the 60th is overtaken by ten, or not.
fn overtaken_late(sender: Mechanisms, is_late: bool) -> Run {
    let bench = Bench { buffer: 20, ..spaced(sender, 200) };
    bench.run(|packet| match (packet.segment, packet.copy) {
        (61, 1) if is_late => Fate::Late(Duration::from_millis(12)),
        _ => Fate::Passes,
    })
}

/// How each loss of a transfer is detected: the trigger and the time in ms, one transfer per lost segment.
fn losses(mut sender: Mechanisms, size: u64, dupthresh: u32) -> Vec<(Trigger, f64)> {
    // A small transfer begins with a small window.
    sender.initial_window = Segments(4);
    with_dupthresh(&mut sender, dupthresh);
    let each = (1..=size).filter_map(|lost| {
        let (time, trigger) = detection(&lossy(sender, size, lost))?;
        Some((trigger, time))
    });
    each.collect()
}

/// The share of the losses of a transfer that FR/R detects, in %.
fn fast_share(sender: Mechanisms, size: u64, dupthresh: u32, setup: &Setup) -> f64 {
    let dupthresh = if setup.is_mutated("deaf") { 1000 } else { dupthresh };
    let all = losses(sender, size, dupthresh);
    let fast = all.iter().filter(|(trigger, _)| *trigger == Trigger::Fast);
    100.0 * fast.count() as f64 / all.len() as f64
}

fn mean_wait(sender: Mechanisms, size: u64, dupthresh: u32, by: Trigger) -> f64 {
    let all = losses(sender, size, dupthresh);
    let waits: Vec<f64> = all.iter().filter(|(trigger, _)| *trigger == by).map(|(_, time)| *time).collect();
    waits.iter().sum::<f64>() / waits.len() as f64
}

fn measured(found: &Reactions) -> Vec<Measured> {
    let mut rows = Vec::new();
    let mut add = |quantity: &str, engine: &Values| {
        for (system, engine) in System::ALL.iter().zip(engine) {
            rows.push(Measured {
                quantity: quantity.into(),
                case: system.name.into(),
                study: None,
                engine: Some(*engine),
            });
        }
    };
    add("duplicate ACKs for 15 segments above a hole", &found.duplicates);
    add("retransmissions: D − 1 segments overtake one", &found.overtaken[0]);
    add("retransmissions: D segments overtake one", &found.overtaken[1]);
    add("window before a loss (segments)", &found.windows[0]);
    add("window after FR/R (segments)", &found.windows[1]);
    add("window after a timeout (segments)", &found.windows[2]);
    add("duration added by a needless FR/R (ms)", &found.needless_ms[0]);
    add("duration added by a needless timeout (ms)", &found.needless_ms[1]);
    add("duration added by a timeout in place of FR/R (ms)", &found.timeout_ms);
    add("detection by FR/R (RTTs)", &found.detection_rtts[0]);
    add("detection by timeout (RTTs)", &found.detection_rtts[1]);
    add("new segments sent during the wait for a timeout", &found.sent_while_waiting);
    for (size, by_fast) in SIZES.iter().zip(&found.by_fast) {
        for (d, share) in THRESHOLDS.iter().zip(by_fast) {
            rows.push(Measured {
                quantity: "losses detected by FR/R (%)".into(),
                case: format!("{size} segments, D = {d}"),
                study: None,
                engine: Some(*share),
            });
        }
    }
    rows
}

/// Measures the reactions of the four senders.
///
/// # Errors
/// Never.
pub fn sheet(setup: &Setup) -> Result<Sheet, ExperimentError> {
    let found = Reactions::measure(setup);
    let title = "Losses detected by FR/R, by the size of the transfer and by D";
    let cells = measured(&found);
    let columns = micro::columns(ID);
    let group = |(size, by_fast): (&u64, &[f64; 4])| BarGroup {
        label: format!("{size} segments"),
        values: by_fast.iter().map(|share| Some(*share)).collect(),
    };
    let figure = Figure {
        paper: NAME,
        figure: ID,
        title: title.into(),
        claims: claims::of(&found),
        picture: Picture::Bars(BarChart {
            title: title.into(),
            x_label: "size of the transfer; each of its segments is lost once".into(),
            y_label: "% of the losses".into(),
            series: THRESHOLDS.map(|d| format!("D = {d}")).to_vec(),
            panels: vec![BarPanel {
                title: String::new(),
                groups: SIZES.iter().zip(&found.by_fast).map(group).collect(),
            }],
        }),
        cells: cells.clone(),
    };
    let text = columns.to_text(&cells, &["quantity", "case", "engine"]);
    Ok(figure.into_sheet(&text, &columns))
}
