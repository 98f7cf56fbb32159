//! Captures after reports from practice, with the right answers. `field/` has small inputs, built or trimmed after public reports
//! or captures; those of `bidi`, `lasthop` and `outage` were taken between two kernels that told what they retransmitted and why.

use recoup_recovery::Trigger;
use recoup_trace::{
    analyze::{Kept, Settings, analyze},
    finding::{Cause, Connection, Direction, LostTime, Retransmission, SenderState, Vantage, Verdict},
    read::Reader,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/field").join(name)
}

/// The findings of a capture.
struct Found {
    connections: Vec<Connection>,
    retransmissions: Vec<Retransmission>,
}

impl Found {
    fn in_capture(name: &str) -> Self {
        let source = Reader::open(&file(&format!("{name}.pcap.zst"))).unwrap();
        let settings = Settings { threads: 0, ..Settings::default() };
        let analysis = analyze(source, &settings, Kept::default, |_| true).unwrap();
        let mut found = Self { connections: vec![], retransmissions: vec![] };
        for kept in analysis.findings {
            found.connections.extend(kept.connections);
            found.retransmissions.extend(kept.retransmissions);
        }
        found.connections.sort_by_key(|connection| connection.id);
        found.retransmissions.sort_by_key(|row| row.frame);
        found
    }

    fn directions(&self) -> impl Iterator<Item = &Direction> {
        self.connections.iter().flat_map(|connection| &connection.directions)
    }

    /// Each retransmission: its frame, trigger and verdict.
    fn rows(&self) -> Vec<(u64, Trigger, Verdict)> {
        let rows = self.retransmissions.iter();
        rows.map(|row| (row.frame, row.triggers.first().expect("a trigger"), row.verdict)).collect()
    }

    fn lost(&self) -> LostTime {
        let mut lost = LostTime::default();
        self.directions().for_each(|direction| lost.merge(&direction.lost));
        lost
    }

    /// Asserts that time was lost to this cause alone, `times` times, and `ms` ± 5 % in all.
    fn assert_lost(&self, cause: Cause, times: u32, ms: u64) {
        let lost = self.lost();
        assert_eq!((lost.times(cause), lost.of(cause)), (times, lost.total()), "{lost:?}");
        let ms = Duration::from_millis(ms);
        assert!(lost.total().abs_diff(ms) <= ms / 20, "{:?}", lost.total());
    }

    fn assert_nothing_lost(&self) {
        assert_eq!(self.lost().total(), Duration::ZERO);
    }

    /// The share of the directions' time that their senders spent in a state.
    fn share(&self, state: SenderState) -> f64 {
        let [in_state, all] = [
            self.directions().map(|direction| direction.time.of(state)).sum::<Duration>(),
            self.directions().map(|direction| direction.time.total()).sum(),
        ];
        in_state.as_secs_f64() / all.as_secs_f64()
    }
}

use Trigger::{Fast, Rto, SlowStart};
use Verdict::{Needed, Spurious, Unknowable};

/// Captured on the way, two hops before the receiver. All three timeouts' copies passed, but the ACK that came at last covers
/// one segment only and echoes the last copy. The same within a mirror's tunnel.
#[test]
fn copies_that_passed_the_capture_point_had_not_arrived() {
    for name in ["loss_behind_capture_point", "vxlan_mirror"] {
        let found = Found::in_capture(name);
        let expected = [(15, Rto), (16, Rto), (17, Rto), (19, SlowStart), (20, SlowStart)];
        assert_eq!(found.rows(), expected.map(|(frame, trigger)| (frame, trigger, Needed)), "{name}");
        assert!(found.retransmissions.iter().all(|row| row.vantage == Vantage::Between));
        found.assert_lost(Cause::LostRetransmission, 1, 1700);
        let losses: Vec<_> =
            found.directions().map(|direction| (direction.losses.before, direction.losses.behind)).collect();
        assert!(losses.contains(&(0, 5)), "{losses:?}");
    }
}

#[test]
fn what_overran_a_closed_window_is_lost_to_the_window() {
    let found = Found::in_capture("zero_window_overrun");
    assert_eq!(found.retransmissions.len(), 8);
    assert!(found.retransmissions.iter().all(|row| row.verdict == Needed));
    found.assert_lost(Cause::ZeroWindow, 1, 131);
}

/// Four segments in flight exceed the raw window, so it is scaled by something unknown.
#[test]
fn an_unknown_window_scale_limits_nothing() {
    let found = Found::in_capture("mid_connection_unknown_scale");
    assert_eq!(found.rows(), []);
    assert!(found.share(SenderState::Application) > 0.98);
    assert_eq!(found.share(SenderState::ReceiverWindow), 0.0);
    found.assert_nothing_lost();
}

/// After an hour of silence a firewall has forgotten the connection: a request and nine copies in vain.
#[test]
fn a_peer_that_no_longer_answers_is_named() {
    let found = Found::in_capture("firewall_idle_timeout");
    assert_eq!(found.rows(), (20..=28).map(|frame| (frame, Rto, Unknowable)).collect::<Vec<_>>());
    found.assert_lost(Cause::Unanswered, 1, 114_000);
}

#[test]
fn nobody_waits_for_the_answer_to_a_fin() {
    let found = Found::in_capture("fin_unanswered");
    assert!(found.retransmissions.iter().all(|row| row.fin));
    found.assert_nothing_lost();
}

/// Segments of full size never arrive, a tail of 300 bytes was reported at once, and no router said why.
#[test]
fn loss_that_depends_on_the_size_is_a_black_hole() {
    Found::in_capture("pmtu_black_hole_no_icmp").assert_lost(Cause::MtuBlackHole, 1, 30_000);
}

/// Saved with a filter on payload: ACKs are absent from the file. The sender was silent for 60 s at an RTO of 0.2 s, so it had
/// its ACK.
#[test]
fn acks_that_a_filter_left_out_are_not_late() {
    let found = Found::in_capture("payload_only_export");
    assert_eq!(found.rows(), []);
    assert!(found.share(SenderState::Application) > 0.98);
    found.assert_nothing_lost();
}

#[test]
fn both_directions_together_lose_no_more_than_there_was() {
    let found = Found::in_capture("both_directions_lose");
    let lost = found.lost().total();
    assert!((7.5..=8.0).contains(&lost.as_secs_f64()), "{lost:?}");
}

/// A segment is found by duplicate ACKs after 20.5 ms, the next one by the timeout after 260 ms.
#[test]
fn a_timeout_was_found_after_its_own_time() {
    let found = Found::in_capture("fast_then_timeout");
    let rows = [(18, Fast), (20, Rto), (22, SlowStart), (23, SlowStart)];
    assert_eq!(found.rows(), rows.map(|(frame, trigger)| (frame, trigger, Needed)));
    found.assert_lost(Cause::LossByTimeout, 1, 281);
    let detection = found.retransmissions[0].cost.and_then(|cost| cost.detection).unwrap();
    assert!((259..=261).contains(&detection.as_millis()), "{detection:?}");
}

/// Twenty requests written in two parts: the second waits for the delayed ACK of the first.
#[test]
fn the_second_of_two_writes_waits_for_a_delayed_ack() {
    Found::in_capture("nagle_delayed_ack").assert_lost(Cause::NagleDelayedAck, 20, 820);
}

/// `-i any` on a host of containers: large segments on one interface, their parts on the other.
#[test]
fn the_same_data_in_other_sizes_on_another_interface_was_not_sent_again() {
    assert_eq!(Found::in_capture("any_interface_gso_split").rows(), [(155, Fast, Needed)]);
}

/// The last retransmission comes 4 s after the only duplicate ACK.
#[test]
fn a_retransmission_long_after_a_duplicate_ack_is_a_timeout() {
    let found = Found::in_capture("rto_long_after_one_dupack");
    let triggers: Vec<_> = found.rows().into_iter().map(|(frame, trigger, _)| (frame, trigger)).collect();
    assert_eq!(triggers, [(8, Rto), (9, Rto), (14, Rto), (15, Rto)]);
    assert!(found.retransmissions.iter().all(|row| row.verdict != Spurious));
}

#[test]
fn what_a_receiver_discarded_after_reporting_it_was_needed() {
    let found = Found::in_capture("sack_reneging");
    assert_eq!(found.retransmissions.len(), 10);
    assert!(found.retransmissions.iter().all(|row| row.verdict == Needed));
    assert_eq!(found.directions().map(|direction| direction.reneged).sum::<u32>(), 1);
}

#[test]
fn a_syn_ack_may_be_captured_before_its_syn() {
    let found = Found::in_capture("synack_before_syn");
    assert_eq!(found.connections.len(), 1);
    assert_eq!(found.rows(), []);
    found.assert_nothing_lost();
}

/// Which triggers the kernel's name for a retransmission allows. It takes for slow start what it sends in CA_Loss.
fn allows(kind: &str, trigger: Option<Trigger>) -> bool {
    match kind {
        "FAST" => matches!(trigger, Some(Trigger::Fast | Trigger::Early)),
        "RTO" => trigger == Some(Trigger::Rto),
        "TLP" => trigger == Some(Trigger::Tlp),
        "LOSS_SS" => matches!(trigger, Some(Trigger::SlowStart | Trigger::Pmtu)),
        _ => panic!("{kind}"),
    }
}

/// Compares a capture taken at `point` (of `server`, `middle` and `client`) with what the kernel says. Returns how many verdicts
/// were left open, and how many triggers are others.
fn compare(name: &str, point: &str) -> (usize, usize) {
    let found = Found::in_capture(&format!("{name}.{point}"));
    let truth = std::fs::read_to_string(file(&format!("{name}.truth.csv"))).unwrap();
    let mut lines = truth.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let column = lines.next().unwrap().iter().position(|column| *column == format!("{point}_frame")).unwrap();
    let mut rows = found.retransmissions.iter().peekable();
    let mut truths: Vec<(u64, bool, &str)> =
        lines.filter_map(|fields| Some((fields[column].parse().ok()?, fields[4] == "1", fields[5]))).collect();
    truths.sort();
    let (mut open, mut other) = (0, 0);
    for (frame, needed, kind) in truths {
        let row = rows.next().unwrap_or_else(|| panic!("{name} {point}: frame {frame} is a retransmission"));
        assert_eq!(row.frame, frame, "{name} {point}");
        let expected = if needed { Needed } else { Spurious };
        open += usize::from(row.verdict == Unknowable);
        assert!(row.verdict == expected || row.verdict == Unknowable, "{name} {point}: frame {frame}: {row:?}");
        other += usize::from(!allows(kind, row.triggers.first()));
    }
    assert!(rows.next().is_none(), "{name} {point}: {:?} is no retransmission", rows.next());
    (open, other)
}

/// Data both ways at an MTU of 1500: 1448 bytes go again as 1436 + 12, since the sender's own SACK option takes 12.
#[test]
fn a_senders_own_sack_blocks_shorten_what_it_sends_again() {
    for point in ["server", "client"] {
        assert_eq!(compare("bidi", point), (0, 0), "{point}");
    }
}

/// A router 0.5 ms before the client: all retransmissions were needed, and nothing was reordered.
#[test]
fn verdicts_hold_half_a_millisecond_before_the_receiver() {
    for point in ["server", "middle", "client"] {
        assert_eq!(compare("lasthop", point), (0, 0), "{point}");
    }
    let found = Found::in_capture("lasthop.middle");
    assert_eq!(found.lost().times(Cause::Reordering), 0);
}

/// Nothing passes for 2 s. The four connections lose 3.7 to 3.9 s each, since timeouts double.
#[test]
fn an_outage_costs_what_it_took() {
    let (open, other) = compare("outage", "server");
    assert!(open <= 7 && other == 0, "{open} {other}");
    // Away from the sender, the kernel's return from CA_Loss to recovery does not show.
    let (open, other) = compare("outage", "client");
    assert!(open == 0 && other <= 29, "{open} {other}");
    let found = Found::in_capture("outage.server");
    let longest = |connection: &Connection| {
        let rows = found.retransmissions.iter().filter(|row| row.connection == connection.id);
        rows.filter_map(|row| row.cost).map(|cost| cost.lost).max().unwrap_or_default()
    };
    for connection in &found.connections {
        let lost = longest(connection).as_secs_f64();
        assert!((3.6..=4.0).contains(&lost), "{}: {lost}", connection.name());
    }
}
