use super::*;

const GAP: Duration = Duration::from_millis(5);

fn span(a: u64, b: u64) -> Span {
    Span::new(Offset(a), Offset(b))
}

fn sent(span: Span) -> Copies {
    let mut copies = Copies::default();
    copies.plan(span, Instant::from_millis(1));
    copies.on_expiry();
    assert_eq!(copies.due(), Some(span));
    copies.on_sent(span, GAP, span.end);
    copies
}

#[test]
fn acknowledgments_shrink_the_copied_span() {
    // (ACK, the unacknowledged part of 100..200)
    for (una, left) in [
        (50, Some(span(100, 200))),
        (100, Some(span(100, 200))),
        (101, Some(span(101, 200))),
        (199, Some(span(199, 200))),
        (200, None),
        (900, None),
    ] {
        let mut copies = sent(span(100, 200));
        copies.on_una(Offset(una));
        assert_eq!(copies.segment(), left, "{una}");
        assert_eq!(copies.is_free(), left.is_none());
    }
}

#[test]
fn a_waiting_copy_is_dropped_once_it_is_not_needed() {
    let causes: [fn(&mut Copies); 4] = [
        |c| c.on_una(Offset(101)),
        Copies::drop_waiting,
        Copies::on_original_lost,
        |c| {
            c.on_expiry();
            c.drop_due();
        },
    ];
    for cause in causes {
        let mut copies = Copies::default();
        copies.plan(span(100, 200), Instant::from_millis(1));
        assert_eq!(copies.room(), Segments::ONE);
        cause(&mut copies);
        assert!(copies.is_free());
        assert_eq!(copies.room(), Segments::ZERO);
        assert!(!copies.explains(span(100, 200)), "no copy was sent");
    }
}

#[test]
fn a_lost_copy_frees_the_window_but_permits_no_other_copy() {
    let mut copies = sent(span(100, 200));
    copies.drop_waiting();
    assert_eq!(copies.room(), Segments::ONE, "the copy is in flight");
    copies.on_original_lost();
    assert_eq!(copies.room(), Segments::ZERO);
    assert!(!copies.is_free());
}

#[test]
fn each_copy_explains_one_duplicate() {
    let mut copies = sent(span(100, 200));
    copies.on_una(Offset(200));
    copies.on_sent(span(200, 300), GAP, Offset(300));
    assert!(!copies.explains(span(200, 301)), "more than was copied");
    assert!(copies.explains(span(100, 200)));
    assert!(!copies.explains(span(100, 200)), "again");
    assert!(copies.explains(span(250, 300)), "a part");

    // The copy was sent while `snd_nxt` was 500.
    for (una, explained) in [(199, false), (200, true), (500, true), (501, false)] {
        let mut copies = Copies::default();
        copies.on_sent(span(100, 200), GAP, Offset(500));
        assert_eq!(copies.explains_duplicate_ack(Offset(una)), explained);
        assert!(!copies.explains_duplicate_ack(Offset(una)), "again");
    }
}
