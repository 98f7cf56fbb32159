use super::*;
use crate::testing::{begun, connection, ms, open_row, repaired, with_rows};
use recoup_trace::finding::Closing;

fn at(seconds: u64) -> Instant {
    begun() + Duration::from_secs(seconds)
}

#[test]
fn open_connections_count_what_they_did_lately() {
    let mut recent = Recent::default();
    let old = repaired(open_row(&connection(0, 1), 5, ms(500)));
    let survey = |recent: &mut Recent, seconds, rows: &[Retransmission]| {
        let connection = with_rows(connection(0, seconds), rows);
        recent.survey(at(seconds), vec![(connection, rows.to_vec())])
    };
    let first = survey(&mut recent, 1, &[old]);
    assert_eq!((first.facts.connections, first.facts.bytes), (1, 100_300));
    assert_eq!(first.facts.retransmissions.total(), 1);
    assert_eq!((first.listed[0].retransmissions, first.listed[0].lost), (1, ms(55)));
    survey(&mut recent, 20, &[old]);
    survey(&mut recent, 35, &[old]);
    // By now the sums of the first survey are the earlier ones.
    let later = survey(&mut recent, 70, &[old]);
    assert_eq!(later.facts.bytes, 3_500_000, "from 35 s to 70 s");
    assert_eq!(later.facts.retransmissions.total(), 0);
    assert_eq!((later.listed[0].retransmissions, later.listed[0].lost), (0, Duration::ZERO));
    assert_eq!(later.listed[0].bytes_per_second, 100_000.0);
    assert_eq!(later.listed[0].limit, Some(SenderState::Network));
    assert_eq!(later.limits.iter().sum::<u64>(), 1);
    let new = repaired(open_row(&connection(0, 1), 500, Duration::from_secs(80)));
    let with_new = survey(&mut recent, 81, &[old, new]);
    assert_eq!(with_new.facts.retransmissions.total(), 1);
    assert_eq!(with_new.listed[0].lost, ms(55));
}

#[test]
fn what_has_ended_counts_for_a_minute() {
    let mut recent = Recent::default();
    let ended = Connection { closing: Closing::Closed, ..connection(0, 2) };
    recent.survey(at(1), vec![(connection(0, 1), Vec::new())]);
    recent.end(ended, &[]);
    assert_eq!(recent.kept(), 0);
    let soon = recent.survey(at(30), Vec::new());
    assert_eq!((soon.facts.connections, soon.active), (1, 0));
    let later = recent.survey(at(2 + WINDOW.as_secs() + BIN.as_secs() + 1), Vec::new());
    assert_eq!(later.facts.connections, 0);
}

#[test]
fn those_that_lost_most_are_listed_first() {
    let mut recent = Recent::default();
    let row = repaired(open_row(&connection(1, 1), 5, ms(500)));
    let open = vec![
        (connection(0, 5), Vec::new()),
        (with_rows(connection(1, 1), &[row]), vec![row]),
        (connection(2, 9), Vec::new()),
    ];
    let survey = recent.survey(at(9), open);
    let ids: Vec<_> = survey.listed.iter().map(|one| one.id).collect();
    assert_eq!(ids[0], 1);
    assert_eq!(survey.active, 3);
}
