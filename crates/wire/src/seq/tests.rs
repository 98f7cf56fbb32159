use proptest::prelude::*;

use super::*;

const WRAP: u64 = 1 << 32;

#[test]
fn order_is_modulo_2_to_the_32() {
    let cases = [
        // (a, b, a before b, a after b, distance of a from b)
        (5, 5, false, false, 0),
        (5, 6, true, false, -1),
        (u32::MAX, 0, true, false, -1),
        (2, u32::MAX, false, true, 3),
        (0, 0x7fff_ffff, true, false, -0x7fff_ffff),
        (0, 0x8000_0000, true, true, i32::MIN),
        (0x8000_0001, 0, true, false, -0x7fff_ffff),
    ];
    for (a, b, before, after, distance) in cases {
        let (a, b) = (SeqNumber(a), SeqNumber(b));
        assert_eq!(a.before(b), before, "{a} before {b}");
        assert_eq!(a.after(b), after, "{a} after {b}");
        assert_eq!(a.distance_from(b), distance, "{a} from {b}");
    }
    assert_eq!(SeqNumber(u32::MAX) + 3, SeqNumber(2));
    assert_eq!(SeqNumber(2) - 3, SeqNumber(u32::MAX));
    assert_eq!(SeqNumber(2).since(SeqNumber(u32::MAX)), 3);
}

#[test]
fn unwrap_takes_the_nearest_offset() {
    let cases = [
        // (isn, number, near, offset)
        (0, 0, 0, Some(0)),
        (1000, 1001, 0, Some(1)),
        (1000, 999, 0, None),
        (1000, 999, 1, None),
        // The ISN is just below the wrap.
        (u32::MAX, 0, 0, Some(1)),
        (u32::MAX, u32::MAX, 5, Some(0)),
        // Forwards across the wrap, with offsets on both sides of 2^32.
        (0, 3, WRAP - 2, Some(WRAP + 3)),
        (0, 3, 3 * WRAP - 2, Some(3 * WRAP + 3)),
        // Backwards across the wrap.
        (0, u32::MAX, WRAP + 2, Some(WRAP - 1)),
        (0, u32::MAX, WRAP, Some(WRAP - 1)),
        (7, 6, 2 * WRAP, Some(2 * WRAP - 1)),
        // The farthest number that is still ahead, and the tie, which counts as behind.
        (0, 0x7fff_ffff, 0, Some(0x7fff_ffff)),
        (0, 0x8000_0000, 0, None),
        (0, 0x8000_0000, WRAP, Some(WRAP - 0x8000_0000)),
        (0, 2, u64::MAX - 1, None),
    ];
    for (isn, number, near, offset) in cases {
        assert_eq!(
            SeqNumber(number).unwrap(SeqNumber(isn), Offset(near)),
            offset.map(Offset),
            "isn {isn}, number {number}, near {near}"
        );
    }
}

proptest! {
    #[test]
    fn unwrap_inverts_at(isn: u32, near in 0..=u64::MAX >> 1, distance: i32) {
        let isn = SeqNumber(isn);
        let offset = near.checked_add_signed(i64::from(distance)).map(Offset);
        // Below offset 0 there is no offset, only a number.
        let number = isn.at(Offset(near)) + distance.cast_unsigned();
        prop_assert_eq!(number.unwrap(isn, Offset(near)), offset);
        if let Some(offset) = offset {
            prop_assert_eq!(isn.at(offset), number);
        }
    }
}
