use super::*;

fn texts(quantity: Quantity, low: u64, high: u64) -> (String, Vec<String>) {
    let axis = PixelAxis::new(quantity, low, high, (0.0, 800.0), 8);
    (axis.label(), axis.ticks().map(|(_, text)| text).collect())
}

#[test]
fn ticks_are_round_numbers_in_a_suitable_unit() {
    let ms = 1_000_000;
    for (quantity, low, high, label, ticks) in [
        (Quantity::Time, 0, 350 * ms, "time (ms)", "0 50 100 150 200 250 300 350"),
        (Quantity::Time, 90 * ms, 93 * ms, "time (ms)", "90.0 90.5 91.0 91.5 92.0 92.5 93.0"),
        (Quantity::Time, 7, 12, "time (ms)", "0.000007 0.000008 0.000009 0.000010 0.000011 0.000012"),
        (Quantity::Time, 0, 60_000 * ms, "time (s)", "0 10 20 30 40 50 60"),
        (
            Quantity::Time,
            10_000 * ms,
            10_003 * ms,
            "time (s)",
            "10.0000 10.0005 10.0010 10.0015 10.0020 10.0025 10.0030",
        ),
        (Quantity::Sequence, 0, 30_000, "sequence (kB)", "0 5 10 15 20 25 30"),
        (Quantity::Sequence, 0, 9000, "sequence (bytes)", "0 2000 4000 6000 8000"),
        (Quantity::Sequence, 19_000, 22_000, "sequence (kB)", "19.0 19.5 20.0 20.5 21.0 21.5 22.0"),
        (Quantity::Sequence, 5, 5, "sequence (bytes)", "5 6"),
    ] {
        let found = texts(quantity, low, high);
        assert_eq!((found.0.as_str(), found.1.join(" ").as_str()), (label, ticks));
    }
}

#[test]
fn places_span_the_axis_from_end_to_end() {
    let right = PixelAxis::new(Quantity::Time, 100, 200, (70.0, 870.0), 8);
    let up = PixelAxis::new(Quantity::Sequence, 0, 30, (300.0, 0.0), 8);
    for (axis, value, place) in [
        (right, 100, 70.0),
        (right, 150, 470.0),
        (right, 200, 870.0),
        (right, 99, 70.0),
        (right, 999, 870.0),
        (up, 0, 300.0),
        (up, 10, 200.0),
        (up, 30, 0.0),
        // Places lie between pixels, too.
        (up, 1, 290.0),
        (PixelAxis::new(Quantity::Time, 0, 16, (0.0, 4.0), 8), 1, 0.25),
    ] {
        assert_eq!(axis.place(value), place, "{value} on {axis:?}");
    }
    let vast = PixelAxis::new(Quantity::Time, 0, u64::MAX, (0.0, 800.0), 8);
    let places = (vast.place(u64::MAX), vast.place(u64::MAX / 2));
    assert_eq!(places, (800.0, 400.0));
    assert!(vast.ticks().count() <= 8);
}
