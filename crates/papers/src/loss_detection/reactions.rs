//! The senders' reactions to losses, reordering and duplicate ACKs (§I, §II).
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

use super::columns::{self, measured, sheet_of_measured};
use super::impact::Replaced;
use super::micro::{Fate, Measured, Transfer, ms};
use crate::prelude::*;
use Direction::{Down, Up};
use Fate::{Late, Lost, Passes};

/// The name on the command line.
pub const ID: &str = "reactions";

/// Quantities of the four systems, in the order of [`System::ALL`].
type Values = [f64; 4];

/// Sizes of the transfers in which every segment is lost once.
const SIZES: [u64; 4] = [4, 8, 16, 40];

/// Values of D.
const THRESHOLDS: [u32; 4] = [1, 2, 3, 4];

/// All measurements.
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
    /// Duration added by a needless fast retransmit and by a needless timeout, in ms.
    needless_ms: [Values; 2],
    /// Duration added by a twice as large minimum RTO after a lost tail, less the wait that it adds; and that wait, in ms.
    later_ms: [Values; 2],
    /// Duration added by a timeout in place of a fast retransmit, in ms.
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
    Replaced::all(&[Replaced::D(dupthresh)]).apply(sender);
}

/// A transfer whose segments arrive 1 ms apart.
fn spaced(sender: Mechanisms, segments: u64) -> Transfer {
    Transfer { spacing: Duration::from_millis(1), ..Transfer::new(sender, segments) }
}

/// Segment `lost` of a transfer is lost once.
fn lossy(sender: Mechanisms, segments: u64, lost: u64) -> Log {
    spaced(sender, segments).run_with(&[lost], Lost)
}

/// The duplicate ACKs that arrive after segment 5 of 20 was lost; every second ACK may be lost.
fn duplicates(sender: Mechanisms, loses_acks: bool) -> usize {
    spaced(sender, 20)
        .run(|packet| match (packet.direction, packet.segment) {
            (Down, 5) if packet.copy == 1 => Lost,
            (Up, _) if loses_acks && packet.copy % 2 == 0 => Lost,
            _ => Passes,
        })
        .duplicates(5)
        .len()
}

/// As [`lossy`], and no ACK arrives from then on until the segment is retransmitted.
fn without_duplicates(sender: Mechanisms, segments: u64, lost: u64) -> Log {
    let (mut is_lost, mut is_repeated) = (false, false);
    spaced(sender, segments).run(|packet| match (packet.direction, packet.segment, packet.copy) {
        (Down, segment, 1) if segment == lost => {
            is_lost = true;
            Lost
        }
        (Down, segment, _) if segment == lost => {
            is_repeated = true;
            Passes
        }
        (Up, ..) if is_lost && !is_repeated => Lost,
        _ => Passes,
    })
}

/// Segment 5 of 40 is late, so that segments overtake it.
fn overtaken(sender: Mechanisms, by: f64) -> Log {
    spaced(sender, 40).run_with(&[5], Late(Duration::from_secs_f64(by / 1e3)))
}

/// All segments of the third flight and later are late until 4 s, or pass.
fn paused(sender: Mechanisms) -> Log {
    let mut from = None;
    spaced(sender, 200).run(|packet| {
        if packet.segment >= 60 {
            from.get_or_insert(packet.at);
        }
        let until = from.map(|from| from + Duration::from_secs(4));
        match until.filter(|until| packet.direction == Down && packet.at < *until) {
            Some(until) => Late(until.since(packet.at)),
            None => Passes,
        }
    })
}

fn retransmissions(run: &Log) -> f64 {
    run.transmissions().filter(|(.., again)| again.is_some()).count() as f64
}

/// The window before the first reduction, and after it.
fn windows(run: &Log) -> [f64; 2] {
    let mut before = NAN;
    for (_, event) in run.events(Host::Server) {
        match event {
            Event::StateChanged { to: State::Recovery, ssthresh, .. } => return [before, f64::from(ssthresh.0)],
            Event::StateChanged { to: State::Loss, cwnd, .. } => return [before, f64::from(cwnd.0)],
            Event::Sent { cwnd, .. } => before = f64::from(cwnd.0),
            _ => {}
        }
    }
    [before, NAN]
}

/// From the first transmission of the first segment that was retransmitted to its retransmission, in ms, and why.
fn detection(run: &Log) -> Option<(f64, Trigger)> {
    let (at, segment, trigger) = run.first_retransmission()?;
    Some((ms(at.since(run.first_sent(segment)?)), trigger))
}

fn detection_ms(run: &Log) -> f64 {
    detection(run).map_or(NAN, |(time, _)| time)
}

/// From the loss to the retransmission of the third of three lost segments, in RTTs.
fn third_loss(mut sender: Mechanisms, sack: bool) -> f64 {
    sender.sack = sack;
    let run = spaced(sender, 20).run_with(&[5, 8, 11], Lost);
    let again = run.transmissions().find(|(_, segment, again)| *segment == 11 && again.is_some());
    again.zip(run.first_sent(11)).map_or(NAN, |((again, ..), first)| ms(again.since(first)) / 100.0)
}

/// New segments sent from the last ACK of new data before a timeout to the timeout.
fn sent_while_waiting(sender: Mechanisms) -> f64 {
    let run = without_duplicates(sender, 200, 61);
    run.first_retransmission()
        .and_then(|(at, ..)| {
            let last = run.acks_arrived().map(|(arrived, _)| arrived).filter(|arrived| *arrived < at).max()?;
            let is_between = |sent| sent > last && sent < at;
            Some(run.transmissions().filter(|(sent, _, again)| again.is_none() && is_between(*sent)).count())
        })
        .map_or(NAN, |segments| segments as f64)
}

impl Reactions {
    fn measure(setup: &Setup) -> Self {
        let each = |measure: &dyn Fn(Mechanisms) -> f64| -> Values {
            System::ALL.each_ref().map(|system| measure(sender(setup, system)))
        };
        let d = |sender: &Mechanisms| f64::from(sender.detection.dupthresh.0);
        let slower = |slow: &Log, quick: &Log| slow.duration_ms() - quick.duration_ms();
        let [fast, timeout]: [fn(Mechanisms) -> Log; 2] =
            [|sender| lossy(sender, 200, 61), |sender| without_duplicates(sender, 200, 61)];
        let with_min = |mut sender: Mechanisms, min| {
            sender.rto.min = min;
            sender
        };
        let later = |of: &dyn Fn(&Log, &Log) -> f64| {
            each(&|sender| of(&lossy(with_min(sender, sender.rto.min * 2), 40, 40), &lossy(sender, 40, 40)))
        };
        let waits = |slow: &Log, quick: &Log| detection_ms(slow) - detection_ms(quick);
        let deaf = |d| if setup.is_mutated("deaf") { 1000 } else { d };
        let [windows_sender, freebsd] = [0, 3].map(|system: usize| sender(setup, &System::ALL[system]));
        Self {
            duplicates: each(&|sender| duplicates(sender, setup.is_mutated("lossy-acks")) as f64),
            overtaken: [0.5, 1.5]
                .map(|beyond| each(&|sender| retransmissions(&overtaken(sender, d(&sender) - 1.0 + beyond)))),
            delay_ms: each(&|sender| {
                let run = lossy(sender, 20, 5);
                let dth = run.duplicates(5).get(d(&sender) as usize - 1).copied();
                dth.zip(run.first_retransmission()).map_or(NAN, |(dth, (at, ..))| ms(at.since(dth)) - ms(dth.since(at)))
            }),
            third_loss_rtts: [true, false].map(|sack| third_loss(windows_sender, sack)),
            windows: [(fast, 0), (fast, 1), (timeout, 1)].map(|(run, i)| each(&|sender| windows(&run(sender))[i])),
            needless_ms: [
                each(&|sender| slower(&overtaken_late(sender, true), &overtaken_late(sender, false))),
                each(&|sender| slower(&paused(sender), &paused(with_min(sender, Duration::from_secs(30))))),
            ],
            later_ms: [later(&|slow, quick| slower(slow, quick) - waits(slow, quick)), later(&waits)],
            timeout_ms: each(&|sender| slower(&timeout(sender), &fast(sender))),
            detection_rtts: [fast, timeout].map(|run| each(&|sender| detection_ms(&run(sender)) / 100.0)),
            sent_while_waiting: each(&sent_while_waiting),
            by_fast: SIZES.map(|size| THRESHOLDS.map(|d| fast_share(freebsd, size, deaf(d)))),
            fast_ms: THRESHOLDS.map(|d| mean_wait(freebsd, 40, d, Trigger::Fast)),
            timeout_wait_ms: mean_wait(freebsd, 8, 3, Trigger::Rto),
        }
    }
}

/// A transfer of 200 segments in which the 60th is overtaken by ten, or not.
fn overtaken_late(sender: Mechanisms, is_late: bool) -> Log {
    let late: &[u64] = if is_late { &[61] } else { &[] };
    Transfer { buffer: 20, ..spaced(sender, 200) }.run_with(late, Late(Duration::from_millis(12)))
}

/// How each loss of a transfer is detected: the time in ms and the trigger, one transfer per lost segment.
fn losses(mut sender: Mechanisms, size: u64, dupthresh: u32) -> Vec<(f64, Trigger)> {
    // A small transfer begins with a small window.
    sender.initial_window = Segments(4);
    with_dupthresh(&mut sender, dupthresh);
    (1..=size).filter_map(|lost| detection(&lossy(sender, size, lost))).collect()
}

/// The share of the losses of a transfer that FR/R detects, in %.
fn fast_share(sender: Mechanisms, size: u64, dupthresh: u32) -> f64 {
    let all = losses(sender, size, dupthresh);
    100.0 * all.iter().filter(|(_, trigger)| *trigger == Trigger::Fast).count() as f64 / all.len() as f64
}

fn mean_wait(sender: Mechanisms, size: u64, dupthresh: u32, by: Trigger) -> f64 {
    let waits: Vec<f64> =
        losses(sender, size, dupthresh).iter().filter(|(_, trigger)| *trigger == by).map(|(time, _)| *time).collect();
    waits.iter().sum::<f64>() / waits.len() as f64
}

fn cells(found: &Reactions) -> Vec<Measured> {
    let of_systems = [
        ("duplicate ACKs for 15 segments above a hole", found.duplicates),
        ("retransmissions: D − 1 segments overtake one", found.overtaken[0]),
        ("retransmissions: D segments overtake one", found.overtaken[1]),
        ("window before a loss (segments)", found.windows[0]),
        ("window after FR/R (segments)", found.windows[1]),
        ("window after a timeout (segments)", found.windows[2]),
        ("duration added by a needless FR/R (ms)", found.needless_ms[0]),
        ("duration added by a needless timeout (ms)", found.needless_ms[1]),
        ("duration added by a timeout in place of FR/R (ms)", found.timeout_ms),
        ("detection by FR/R (RTTs)", found.detection_rtts[0]),
        ("detection by timeout (RTTs)", found.detection_rtts[1]),
        ("new segments sent during the wait for a timeout", found.sent_while_waiting),
    ];
    let by_fast = SIZES.into_iter().zip(&found.by_fast).flat_map(|(size, by_fast)| {
        let share =
            move |(d, share)| measured("losses detected by FR/R (%)", format!("{size} segments, D = {d}"), share);
        THRESHOLDS.into_iter().zip(*by_fast).map(share)
    });
    of_systems.into_iter().flat_map(|(quantity, engine)| columns::of_systems(quantity, engine)).chain(by_fast).collect()
}

/// Measures the reactions of the four senders.
///
/// # Errors
/// Never.
pub fn sheet(setup: &Setup) -> Result<Sheet> {
    let found = Reactions::measure(setup);
    let title = "Losses detected by FR/R, by the size of the transfer and by D";
    let groups = SIZES.iter().zip(&found.by_fast);
    let chart = BarChart::new(
        title,
        "size of the transfer; each of its segments is lost once",
        "% of the losses",
        THRESHOLDS.map(|d| format!("D = {d}")),
    )
    .panel("", groups.map(|(size, by_fast)| (format!("{size} segments"), by_fast.map(Some))));
    let shown = ["quantity", "case", "engine"];
    Ok(sheet_of_measured(ID, title, claims::of(&found), chart, cells(&found), &shown))
}
