use super::*;

#[test]
fn verdicts_are_as_expected() {
    crate::claims::assert_known(
        NAME,
        "arbitrator",
        crate::experiment::Effort::Full,
        &figure(Ppm::percent(LOSS)).claims,
    );
    let header = "figure,packet,size,q_percent,rto_ms,threshold_bits_per_second,\
         solved_bits_per_second";
    assert_eq!(columns().names().join(","), header);
}

#[test]
fn thresholds_are_exact_to_the_bit_per_second() {
    for (size, q_percent, rto_ms, bits) in [
        (70, 100, 1000, Some(27_440)),
        (1500, 10, 1000, Some(5_880_000)),
        (1500, 10, 200, Some(29_400_000)),
        // 0.98 · 8/0.02 · 3 = 130.67 bit/s.
        (1, 100, 3000, Some(131)),
        (1500, 0, 1000, None),
        (1500, 10, 0, None),
    ] {
        let packet = CopiedPacket::new("", size, q_percent);
        let rto = Duration::from_millis(rto_ms);
        assert_eq!(packet.threshold(Ppm::percent(LOSS), rto), bits, "{packet:?} {rto_ms} ms");
    }
}

/// Common mistakes: another factor for 1 − p, bytes for bits, 1,024 for 1,000, q off by a power of ten.
#[test]
fn no_single_mistake_explains_both_printed_thresholds() {
    let mantissa = |x: f64| x / 10f64.powf(x.log10().floor());
    let readings = |size: f64, pq: f64| {
        let not_lost = [0.98, 1.0, 1.0 / 0.98];
        let units = [1.0, 8.0].into_iter().flat_map(|bits| [1.0, 1024.0, 1024.0 * 1024.0].map(|prefix| bits / prefix));
        let units: Vec<f64> = units.collect();
        not_lost
            .into_iter()
            .flat_map(|rest| units.iter().map(move |unit| mantissa(rest * size / pq * unit)))
            .collect::<Vec<_>>()
    };
    let printed = |readings: &[f64], text: &str| {
        let is = |(i, reading): (usize, &f64)| (format!("{reading:.2}") == text).then_some(i);
        readings.iter().enumerate().filter_map(is).collect::<Vec<_>>()
    };
    // 1 − p, bytes, 1,024.
    assert_eq!(printed(&readings(70.0, 0.02), "3.35"), [1]);
    assert_eq!(printed(&readings(1500.0, 0.002), "7.16"), [0usize; 0]);
    assert_eq!(printed(&readings(1500.0, 0.002), "7.18"), [1]);
}
