use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn first(before: u32, at: u64) -> First {
    First::new(Instant::from_nanos(at), Flags::ACK, Kinds::default(), [before; 2])
}

#[test]
fn a_retransmission_of_a_part_dates_that_part_alone() {
    let mut sent = Transmissions::default();
    let span = sent.place(SeqNumber(u32::MAX - 10), 3000).unwrap();
    assert!(sent.send_first(&span, first(0, 1)));
    sent.resend(&(span.start..span.start + 1000), Instant::from_nanos(5));
    for (number, latest) in [(0, 5), (999, 5), (1000, 1), (2999, 1)] {
        let (_, at) = sent.earlier(span.start + number).unwrap();
        assert_eq!(at.as_nanos(), latest, "{number}");
    }
    assert!(sent.earlier(span.end).is_none());
    // The numbers wrap.
    let next = sent.place(SeqNumber(2989), 10).unwrap();
    assert_eq!(next.start, span.end);
}

#[test]
fn packets_beyond_any_window_are_left_out() {
    let mut sent = Transmissions::default();
    let span = sent.place(SeqNumber(0), 1).unwrap();
    sent.send_first(&span, first(0, 0));
    assert_eq!(sent.place(SeqNumber(1 << 31), 1), None);
}

proptest! {
    /// Compares with a table of the transmissions of every byte.
    #[test]
    fn every_byte_has_its_first_and_its_latest_transmission(
        packets in vec((0_u32..40, 1_u32..20), 1..40)
    ) {
        let mut sent = Transmissions::default();
        let mut table: Vec<Option<(u32, u64)>> = vec![None; 60];
        // Unwrapping begins at number 0.
        sent.place(SeqNumber(0), 0);
        for (i, (seq, len)) in (1_u32..).zip(packets) {
            let span = sent.place(SeqNumber(seq), len).unwrap();
            let at = Instant::from_nanos(i.into());
            if sent.earlier(span.start).is_some() {
                sent.resend(&span, at);
            }
            sent.send_first(&span, first(i, i.into()));
            let is_again = table[seq as usize].is_some();
            for byte in seq..seq + len {
                let entry = &mut table[byte as usize];
                match entry {
                    Some((_, latest)) if is_again => *latest = i.into(),
                    Some(_) => {}
                    None => *entry = Some((i, i.into())),
                }
            }
            for (number, entry) in (FIRST_NUMBER..).zip(&table) {
                let found = sent.earlier(number);
                let found = found.map(|(first, at)| (first.before, at.as_nanos()));
                prop_assert_eq!(found, *entry, "{}", number - FIRST_NUMBER);
            }
        }
    }
}
