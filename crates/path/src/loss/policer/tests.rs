use super::*;
use std::time::Duration;

fn bucket(bits: u64, burst: u64) -> Bucket {
    Bucket::new(Policer { rate: BitRate::from_bits_per_second(bits).unwrap(), burst })
}

#[test]
fn a_burst_passes_then_the_rate() {
    // 8 kbit/s: a byte each ms.
    let mut bucket = bucket(8000, 3000);
    let mut drops = |ms, len| bucket.drops(Instant::from_millis(ms), len);
    assert_eq!([1000, 1000, 1000, 1].map(|len| drops(0, len)), [false, false, false, true]);
    assert_eq!(
        [(499, 500), (500, 500), (500, 1), (501, 1)].map(|(ms, len)| drops(ms, len)),
        [true, false, true, false]
    );
    // A drop takes no tokens, and the bucket holds no more than the burst.
    assert_eq!([(10_000, 3001), (10_000, 3000), (10_000, 1)].map(|(ms, len)| drops(ms, len)), [true, false, true]);
    bucket.reset();
    assert!(!bucket.drops(Instant::ZERO, 3000));
}

#[test]
fn in_the_long_run_the_rate_passes_exactly() {
    for (bits, len, step) in [(1_000_000, 1500, 1_333_333), (3, 40, 7_777_777_777), (999_999_999, 9000, 1)] {
        let mut bucket = bucket(bits, 2 * u64::from(len));
        let (mut now, mut passed) = (Instant::ZERO, 0_u64);
        for _ in 0..100_000 {
            now += Duration::from_nanos(step);
            passed += u64::from(!bucket.drops(now, len)) * u64::from(len);
        }
        let arrived = u128::from(now.nanos_since(Instant::ZERO)) * u128::from(bits) / 8_000_000_000;
        let most = 2 * u64::from(len) + arrived as u64;
        assert!(passed <= most && most - passed < 2 * u64::from(len), "{passed} {most}");
    }
}
