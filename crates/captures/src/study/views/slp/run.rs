//! Reads a capture twice: for its connections and triggers, and for their packets.

use super::collect::{Found, FoundConnection};
use crate::analysis::{AnalysisError, Analyzed, Collector as _, Vantages, view};
use crate::capture::Progress;
use crate::reread::{Sought, TakesPackets, read_connections};
use crate::study::slp::{Capture, Follower, Report};
use recoup_trace::analyze::{Settings, follow};
use recoup_trace::read::CapturedPacket;
use recoup_units::Direction;
use std::collections::HashMap;

/// Transmissions of open connections that are remembered, about 80 bytes each.
const MOST_HELD: usize = 1 << 21;

/// The paper's analysis of a capture.
#[derive(Debug)]
pub struct SlpStudy {
    /// The retransmissions and packets of the tables.
    pub capture: Capture,
    /// The tables.
    pub report: Report,
    /// Limits of the figures, besides the notes of every analysis.
    pub notes: Vec<String>,
    vantages: Vantages,
}

view!(SlpStudy: capture.connections, vantages);

/// Studies a capture.
///
/// # Errors
/// When the capture cannot be read, or not a second time.
pub fn study(
    capture: crate::capture::Capture<'_>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Analyzed<SlpStudy>, AnalysisError> {
    let (analyzed, again) = capture.analyze_first(settings, Found::default, progress)?;
    let sought = analyzed.findings.sought();
    let mut following = Following::new(&analyzed.findings);
    let ((), stopped) = again.read(&analyzed, &|bytes| progress.reads(bytes), |source, go_on| {
        read_connections(source, &sought, &mut following, go_on);
    })?;
    let (capture, mut notes) = following.finish();
    if stopped {
        notes.push("interrupted in the second reading: later packets are not counted".into());
    }
    notes.extend(one_way_note(&capture));
    notes.extend(again.kept_note("are counted"));
    drop(sought);
    Ok(analyzed.map(|found| SlpStudy { report: Report::new(&capture), capture, notes, vantages: found.vantages }))
}

/// Studies packets in memory, in the order of their frames.
pub fn study_packets(packets: &[CapturedPacket], settings: &Settings) -> Capture {
    let parts = follow(packets.iter().copied(), settings, Found::default);
    let mut found = Found::default();
    parts.into_iter().for_each(|part| found.merge(part));
    found.order();
    let mut following = Following::new(&found);
    let source = crate::capture::Capture::packets("", packets).into_packets();
    read_connections(source, &found.sought(), &mut following, |_| true);
    let (capture, _) = following.finish();
    capture
}

impl Found {
    /// All connections, in order.
    fn sought(&self) -> Vec<&Sought> {
        self.rows.iter().map(|row| &row.sought).collect()
    }
}

fn one_way_note(capture: &Capture) -> Option<String> {
    (capture.one_way > 0 && capture.one_way == capture.connections).then(|| {
        "all connections were captured in one direction only: clients and servers share their panels, and Wireshark's rule, which needs the ACKs, classifies nothing".into()
    })
}

/// Follows the packets of the second reading.
pub(super) struct Following<'a> {
    rows: &'a [FoundConnection],
    open: HashMap<usize, Follower>,
    /// Transmissions that the open connections hold.
    pub(super) held: usize,
    pub(super) most_held: usize,
    has_forgotten: bool,
    capture: Capture,
}

impl<'a> Following<'a> {
    pub(super) fn new(found: &'a Found) -> Self {
        Self {
            rows: &found.rows,
            open: HashMap::new(),
            held: 0,
            most_held: MOST_HELD,
            has_forgotten: false,
            capture: Capture {
                flows: found.flows,
                connections: found.connections,
                one_way: found.one_way,
                ..Capture::default()
            },
        }
    }

    /// The findings from all packets, and notes. Connections that were not read to their end have no positions.
    pub(super) fn finish(mut self) -> (Capture, Vec<String>) {
        let mut open: Vec<usize> = self.open.keys().copied().collect();
        open.sort_unstable();
        for connection in open {
            self.end(connection, false);
        }
        self.capture.samples.sort_by_key(|sample| (sample.frame, sample.connection));
        let note = "old transmissions were forgotten to limit memory: retransmissions of them count as unseen";
        let notes = self.has_forgotten.then(|| note.into());
        (self.capture, notes.into_iter().collect())
    }

    fn end(&mut self, connection: usize, is_over: bool) {
        if let Some(follower) = self.open.remove(&connection) {
            self.held -= follower.held();
            let row = &self.rows[connection];
            let followed = follower.finish(&row.known, row.is_over && is_over);
            self.capture.samples.extend(followed.samples);
            self.capture.unseen += followed.unseen;
            self.capture.syn_losses.extend(followed.syn_loss);
        }
    }

    /// All connections forget half, so that one call frees half of the memory.
    #[cold]
    fn forget_half(&mut self) {
        self.has_forgotten = true;
        self.open.values_mut().for_each(Follower::forget_half);
        self.held = self.open.values().map(Follower::held).sum();
    }
}

impl TakesPackets for Following<'_> {
    fn packet(&mut self, connection: usize, direction: Direction, packet: &CapturedPacket) {
        let row = &self.rows[connection];
        if row.known.counted[direction as usize] {
            let by_flags = &mut self.capture.packets[direction as usize];
            *by_flags.entry(packet.segment.flags.bits()).or_default() += 1;
        }
        if !row.has_repeats {
            return;
        }
        let follower = self.open.entry(connection).or_default();
        self.held -= follower.held();
        follower.packet(&row.known, direction, packet);
        self.held += follower.held();
        if self.held > self.most_held {
            self.forget_half();
        }
    }

    fn last(&mut self, connection: usize) {
        self.end(connection, true);
    }
}
