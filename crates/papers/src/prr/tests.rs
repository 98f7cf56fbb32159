use super::*;
use crate::experiment::Effort;

fn setup() -> Setup {
    crate::experiment::setup_of(NAME, "fig2", Effort::Full)
}

#[test]
fn verdicts_are_as_expected() {
    let setup = setup();
    for id in Id::ALL {
        let figure = figure(id, &setup).unwrap();
        crate::claims::assert_known(NAME, id.name(), Effort::Full, &figure.claims);
        println!("{}", to_sheet(figure).table);
    }
}

#[test]
fn the_drawing_of_figure_2_shows_the_transmissions_of_the_cells() {
    use recoup_draw::sequence::MarkKind;
    let setup = setup();
    let figure = figure(Id::Fig2, &setup).unwrap();
    let Picture::Sequence(diagram) = &figure.picture else {
        panic!("{:?}", figure.picture);
    };
    let titles: Vec<&str> = diagram.panels.iter().map(|p| p.title.as_str()).collect();
    assert_eq!(titles, Scheme::ALL.map(Scheme::name));
    for panel in &diagram.panels {
        let cell = figure.cells.iter().find(|c| c.flow.scheme.name() == panel.title);
        let cell = cell.expect("a cell of the scheme");
        let (mut new, mut retransmissions) = (0, Vec::new());
        for mark in &panel.marks {
            match mark.kind {
                MarkKind::Sent(_) => new += 1,
                MarkKind::Retransmitted(..) => retransmissions.push(mark.at.as_millis_f64()),
                _ => {}
            }
        }
        assert_eq!(new, 30, "{}", panel.title);
        assert!(retransmissions.iter().copied().eq(cell.retransmissions().map(|sent| sent.at_ms)));
    }
    assert_eq!(figure.picture.to_xplot().len(), 3);
}

#[test]
fn every_segment_has_a_line_in_the_csv() {
    let setup = setup();
    let figure = figure(Id::Fig4, &setup).unwrap();
    let sheet = to_sheet(figure);
    let csv = &sheet.csv;
    let header = "figure,scheme,profile,ack,at_ms,segment,again,trigger,pipe,cwnd";
    assert_eq!(csv.lines().next(), Some(header));
    // Six flows of 30 segments and one retransmission.
    assert_eq!(csv.lines().count(), 1 + 6 * 31, "{csv}");
    let retransmissions: Vec<&str> = csv.lines().filter(|line| line.contains(",true,")).collect();
    assert_eq!(retransmissions.len(), 6);
    assert_eq!(sheet.json["segments"].as_array().map(Vec::len), Some(6 * 31));
    for line in retransmissions {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells[5], cells[7]), ("1", "fast"), "{line}");
    }
}
