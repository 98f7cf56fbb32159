//! Lost time as rows adds up to what each connection lost.

use super::*;
use recoup_trace::finding::EpisodeCost;

/// A retransmission in this frame that begins an episode with this cost, or belongs to one.
fn sent(frame: u64, cost: Option<(Cause, u64, u32)>) -> Retransmission {
    let cost = cost.map(|(cause, lost, segments)| EpisodeCost {
        recovering: ms(lost + 10),
        lost: ms(lost),
        detection: Some(ms(5)),
        segments,
        cause,
    });
    Retransmission { frame, cost, ..retransmission() }
}

/// The connection of these retransmissions, with the time that their episodes and `more` lost.
fn that_lost(rows: &[Retransmission], more: &[(Cause, u32, u64)]) -> Connection {
    let mut connection = connection(3, ms(0), rows);
    for row in rows {
        let side = usize::from(row.endpoints.src != connection.endpoints.src);
        if let Some(cost) = row.cost {
            connection.directions[side].lost.add(cost.cause, cost.lost);
        }
    }
    for (cause, times, lost) in more {
        connection.directions[0].lost.add_several(*cause, *times, ms(*lost));
    }
    connection
}

/// Cause, times, lost ms, frame, and the frames.
type Plain = (Cause, u32, u128, Option<u64>, (u64, u64));

fn plain(rows: &[Episode]) -> Vec<Plain> {
    let of = |row: &Episode| {
        let frames = (*row.frames.start(), *row.frames.end());
        (row.cause, row.times, row.lost.as_millis(), row.frame(), frames)
    };
    rows.iter().map(of).collect()
}

#[test]
fn an_episode_has_the_frames_of_its_retransmissions() {
    let burst = Some((Cause::Burst, 60, 3));
    let mut back = sent(14, Some((Cause::TailByTimeout, 200, 1)));
    back.endpoints = back.endpoints.reverse();
    let rows = [sent(11, burst), sent(12, None), back, sent(15, None), sent(30, Some((Cause::Reordering, 0, 1)))];
    let episodes = Episode::of(that_lost(&rows, &[(Cause::ZeroWindow, 2, 400)]), &rows);
    assert_eq!(
        plain(&episodes),
        [
            (Cause::Burst, 1, 60, Some(11), (11, 15)),
            (Cause::TailByTimeout, 1, 200, Some(14), (14, 14)),
            // It lost nothing.
            (Cause::Reordering, 0, 0, Some(30), (30, 30)),
            (Cause::ZeroWindow, 2, 400, None, (1, 1)),
        ]
    );
    let recovery = episodes[0].recovery().unwrap();
    assert_eq!((recovery.retransmissions, recovery.recovering), (3, ms(70)));
    assert_eq!(episodes[1].endpoints.src, rows[0].endpoints.dst);
    let csv = super::super::episodes().to_csv(&episodes);
    let second = csv.lines().nth(2).unwrap();
    assert_eq!(
        second,
        "3,0,dst,198.51.100.7,40000,192.0.2.1,80,tail_by_timeout,tlp|rto,spurious,1,\
         1700000000.123456789,200,210,5,1,14,14,14"
    );
}

#[test]
fn late_acks_that_were_kept_are_rows_and_the_others_one_row() {
    let rows = Episode::of(connection_that_waits(), &[]);
    assert_eq!(
        plain(&rows),
        [
            (Cause::DelaySpike, 1, 30, Some(40), (40, 40)),
            (Cause::NagleDelayedAck, 1, 40, None, (1, 1)),
            (Cause::DelaySpike, 4, 70, None, (1, 1)),
            (Cause::ZeroWindow, 2, 360, None, (1, 1)),
        ]
    );
    assert_eq!(rows[0].begun(), Some(Instant::from_nanos(BEGIN) + ms(970)));
    assert_eq!(rows[2].begun(), None);
}

#[test]
fn late_acks_that_lost_less_than_they_say_are_one_row() {
    let mut connection = connection_that_waits();
    // The other direction lost most of the time before.
    connection.directions[0].lost = Default::default();
    connection.directions[0].lost.add(Cause::DelaySpike, ms(20));
    connection.directions[1].lost = Default::default();
    assert_eq!(plain(&Episode::of(connection, &[])), [(Cause::DelaySpike, 1, 20, None, (1, 1))]);
}

#[test]
fn of_a_merged_file_each_direction_counts_at_the_point_nearest_to_its_sender() {
    let mut back = sent(14, Some((Cause::TailByTimeout, 200, 1)));
    back.endpoints = back.endpoints.reverse();
    let rows = [sent(11, Some((Cause::LostSegment, 60, 1))), back];
    let at = |number| {
        let mut connection = that_lost(&rows, &[]);
        (connection.capture_point.number, connection.capture_point.count) = (number, 2);
        plain(&Episode::of(connection, &rows))
    };
    assert_eq!(at(0), [(Cause::LostSegment, 1, 60, Some(11), (11, 11))]);
    assert_eq!(at(1), [(Cause::TailByTimeout, 1, 200, Some(14), (14, 14))]);
}

#[test]
fn a_revised_verdict_changes_the_cause_in_all_forms() {
    let before = Retransmission { provisional: true, ..sent(7, Some((Cause::LostSegment, 50, 1))) };
    let connection = that_lost(&[before], &[(Cause::ZeroWindow, 1, 9)]);
    let mut cost = before.cost.unwrap();
    cost.cause = Cause::Reordering;
    let after = Retransmission { verdict: Verdict::Needed, cost: Some(cost), ..before };
    let revision = Revision {
        retransmission: after,
        before: (before.verdict, before.evidence),
        cause_before: Some(Cause::LostSegment),
        host: before.endpoints.dst.ip(),
        fact: ReportsDuplicates::No,
    };
    let mut view = AllEpisodes::default();
    let mut everything = Everything::default();
    view.connection(connection.clone(), &[before]);
    everything.connection(connection, &[before]);
    view.revision(&revision);
    everything.revision(&revision);
    view.order();
    everything.order();
    assert_eq!(
        plain(&view.rows),
        [(Cause::Reordering, 1, 50, Some(7), (7, 7)), (Cause::ZeroWindow, 1, 9, None, (1, 1))]
    );
    let packed = packed_episodes(&everything.connections, &everything.retransmissions.rows, 1);
    let packed: Vec<Episode> = packed.flat_map(Result::unwrap).collect();
    assert_eq!(packed, view.rows);
}
