use super::*;

#[test]
fn verdicts_are_the_known_ones() {
    let base = Scenario::load(NAME).unwrap();
    for id in Id::ALL {
        let figure = figure(id, &base).unwrap();
        println!("{}", to_table(&figure));
        crate::claims::assert_known(&figure.claims);
    }
}

/// What the sender does in figure 2, drawn: PRR's four retransmissions on alternate ACKs.
#[test]
fn the_drawing_shows_what_the_cells_tell() {
    use recoup_draw::sequence::MarkKind;
    let base = Scenario::load(NAME).unwrap();
    let figure = figure(Id::Fig2, &base).unwrap();
    let Picture::Sequence(diagram) = &figure.picture else {
        panic!("{:?}", figure.picture);
    };
    let titles: Vec<&str> = diagram.panels.iter().map(|p| p.title.as_str()).collect();
    assert_eq!(titles, Scheme::ALL.map(Scheme::name));
    for panel in &diagram.panels {
        let cell = figure.cells.iter().find(|c| c.scheme.name() == panel.title);
        let cell = cell.expect("its cell comes first");
        let (mut new, mut again) = (0, Vec::new());
        for mark in &panel.marks {
            match mark.kind {
                MarkKind::Sent(_) => new += 1,
                MarkKind::Retransmitted(..) => again.push(mark.at.as_millis_f64()),
                _ => {}
            }
        }
        assert_eq!(new, 30, "{}", panel.title);
        assert!(
            again
                .iter()
                .copied()
                .eq(cell.again().map(|sent| sent.at_ms))
        );
    }
    assert_eq!(figure.picture.to_xplot().len(), 3);
}

#[test]
fn every_segment_has_a_line_in_the_csv() {
    let base = Scenario::load(NAME).unwrap();
    let figure = figure(Id::Fig4, &base).unwrap();
    let csv = to_csv(&figure);
    // Six flows of 30 segments with one sent again.
    assert_eq!(csv.lines().count(), 1 + 6 * 31, "{csv}");
    let again: Vec<&str> = csv.lines().filter(|line| line.contains(",true,")).collect();
    assert_eq!(again.len(), 6);
    for line in again {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells[5], cells[7]), ("1", "fast"), "{line}");
    }
}
