use super::*;

fn part(bytes: u64) -> WritePart {
    WritePart { bytes, pushed: true, ends_record: false, more: false }
}

#[test]
fn more_waits_for_full_segments() {
    let mut held = HeldData::default();
    let more = |bytes| WritePart { pushed: false, more: true, ..part(bytes) };
    held.keep(Instant::ZERO, more(400));
    assert_eq!(held.give(0, 1000, false), None);
    held.keep(Instant::ZERO, more(1900));
    assert_eq!(held.give(0, 1000, false).map(|p| p.bytes), Some(2000));
    assert_eq!(held.give(0, 1000, false), None);
    held.on_ack();
    assert_eq!(held.give(0, 1000, false).map(|p| p.bytes), Some(300));
    assert!(held.is_empty());
}

#[test]
fn a_cork_outlasts_acks() {
    let mut held = HeldData::default();
    held.keep(Instant::ZERO, part(10));
    held.on_ack();
    assert_eq!(held.give(0, 1000, true), None);
    assert_eq!(held.give(0, 1000, false), Some(part(10)));
}

#[test]
fn records_go_one_after_another() {
    let mut held = HeldData::default();
    let record = |bytes| WritePart { ends_record: true, ..part(bytes) };
    held.keep(Instant::ZERO, record(400));
    held.keep(Instant::ZERO, record(300));
    held.keep(Instant::ZERO, part(200));
    assert_eq!(held.give(0, 1000, false), Some(record(400)));
    assert!(held.has_behind());
    assert_eq!(held.give(400, 1000, false), None); // not all sent yet
    assert_eq!(held.give(0, 1000, false), Some(record(300)));
    assert_eq!(held.give(0, 1000, false), Some(part(200)));
    assert!(held.is_empty());
}
