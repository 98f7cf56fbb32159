use super::*;
use crate::{
    attribute::identify::MOST_CANDIDATES,
    finding::{EpisodeCost, Triggers},
};
use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use std::time::Duration;

const LOST: Duration = Duration::from_millis(7);

/// A retransmission as its trigger, verdict and copy, with clues.
fn row(trigger: Option<Trigger>, verdict: Verdict, copy: u16, clues: Clues) -> ProvisionalRow {
    let end = "192.0.2.1:80".parse().unwrap();
    let triggers = trigger.map_or(Triggers::UNKNOWN, Triggers::from);
    let retransmission = Retransmission {
        frame: 1,
        at: Instant::ZERO,
        connection: 0,
        endpoints: Endpoints { src: end, dst: end },
        seq: SeqNumber(0),
        len: 1000,
        syn: false,
        fin: false,
        triggers,
        verdict,
        evidence: Evidence::Dsack,
        copy,
        detection: None,
        recovery: None,
        rtt: None,
        flight: 1,
        vantage: Vantage::Sender,
        provisional: false,
        capture_point: 0,
        cost: None,
    };
    ProvisionalRow { retransmission, alternative: None, triggers: [triggers; MOST_CANDIDATES], clues }
}

/// The cause of an episode with these retransmissions.
fn cause(mut rows: Vec<ProvisionalRow>) -> Cause {
    rows[0].retransmission.cost = Some(EpisodeCost {
        recovering: LOST,
        lost: LOST,
        detection: None,
        segments: rows.len() as u32,
        cause: Cause::Unknown,
    });
    let mut lost = LostTime::default();
    lost.add(Cause::Unknown, LOST);
    name_causes(rows.iter_mut(), &mut lost);
    let cause = rows[0].retransmission.cost.unwrap().cause;
    assert_eq!((lost.of(cause), lost.times(cause)), (LOST, 1));
    assert_eq!(lost.total(), LOST);
    cause
}

#[test]
fn the_first_rule_that_holds_names_the_cause() {
    use Trigger::{Fast, Pmtu, Rto, SlowStart, Tlp};
    use Verdict::{Needed, Spurious, Unknowable};
    let clues = Clues { of_flight: true, ..Clues::default() };
    let reported = Clues { reported_above: true, ..clues };
    let several = Clues { several: true, ..clues };
    let answered = |answer| Clues { answer, ..clues };
    let last = Clues { is_last: true, ..answered(Answer::NoDuplicate) };
    // (retransmissions: trigger, verdict, copy and clues; cause)
    type Sent = (Option<Trigger>, Verdict, u16, Clues);
    let cases: [(&[Sent], Cause); 22] = [
        (&[(Some(Fast), Needed, 1, reported)], Cause::LostSegment),
        (&[(Some(Fast), Needed, 1, several)], Cause::Burst),
        (&[(Some(Fast), Spurious, 1, reported), (Some(Fast), Needed, 1, reported)], Cause::LostSegment),
        (&[(Some(Fast), Needed, 1, reported), (Some(Fast), Needed, 1, reported)], Cause::Burst),
        // Data sent during the recovery belongs to another flight.
        (&[(Some(Fast), Needed, 1, reported), (Some(Fast), Needed, 1, Clues::default())], Cause::LostSegment),
        (&[(Some(Fast), Needed, 1, reported), (Some(Rto), Needed, 2, reported)], Cause::LostRetransmission),
        (&[(Some(Rto), Needed, 1, clues)], Cause::TailByTimeout),
        (&[(Some(Rto), Needed, 1, reported)], Cause::LossByTimeout),
        (&[(Some(Rto), Spurious, 1, clues), (Some(SlowStart), Needed, 1, clues)], Cause::TailByTimeout),
        (&[(Some(Tlp), Needed, 1, clues)], Cause::TailByProbe),
        (&[(Some(Tlp), Needed, 1, clues), (Some(Fast), Needed, 1, reported)], Cause::TailByProbe),
        (&[(Some(Tlp), Unknowable, 1, clues), (Some(Fast), Needed, 1, reported)], Cause::TailByProbe),
        (&[(Some(Pmtu), Needed, 1, clues)], Cause::PathMtu),
        (&[(Some(Pmtu), Spurious, 1, clues)], Cause::PathMtu),
        (&[(None, Needed, 1, clues)], Cause::Unknown),
        (&[(Some(Fast), Unknowable, 1, reported)], Cause::Unknown),
        (&[(Some(Fast), Spurious, 1, reported)], Cause::Reordering),
        (&[(Some(Tlp), Spurious, 1, answered(Answer::AfterMissing))], Cause::LostAcks),
        (&[(Some(Rto), Spurious, 1, answered(Answer::InSequence))], Cause::DelaySpike),
        (&[(Some(Tlp), Spurious, 1, last)], Cause::DelaySpike),
        (&[(Some(Tlp), Spurious, 1, clues)], Cause::LateOrLostAcks),
        (&[(Some(Rto), Spurious, 1, clues), (Some(Fast), Unknowable, 1, reported)], Cause::Unknown),
    ];
    for (sent, expected) in cases {
        let rows = sent.iter().map(|&(trigger, verdict, copy, clues)| row(trigger, verdict, copy, clues));
        assert_eq!(cause(rows.collect()), expected, "{sent:?}");
    }
}
