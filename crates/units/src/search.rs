//! Searches in sorted sequences whose values are spread evenly.

/// The index of the first of `len` elements for which `before` is false, where `before` is true for all
/// elements below some index and false from there on. The search begins at `guess` and takes two steps for
/// each doubling of the distance, so a good guess saves most of a binary search and a bad one costs twice as
/// much.
///
/// ```
/// let squares: Vec<u32> = (0..100).map(|i| i * i).collect();
/// let below_2000 = |i: usize| squares[i] < 2000;
/// assert_eq!(recoup_units::partition_point_near(100, 40, below_2000), 45);
/// ```
#[inline]
pub fn partition_point_near(len: usize, guess: usize, before: impl Fn(usize) -> bool) -> usize {
    // The answer is in `low..=high`.
    let (mut low, mut high) = (0, len);
    let mut step = 1;
    if guess < len && before(guess) {
        low = guess + 1;
        while low + step <= len && before(low + step - 1) {
            low += step;
            step *= 2;
        }
        high = len.min(low + step - 1);
    } else {
        high = high.min(guess);
        while high >= step && !before(high - step) {
            high -= step;
            step *= 2;
        }
        low = low.max((high + 1).saturating_sub(step));
    }
    while low < high {
        let middle = low.midpoint(high);
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guess_leads_to_the_answer() {
        for len in 0..40 {
            for answer in 0..=len {
                for guess in 0..=len + 3 {
                    let found = partition_point_near(len, guess, |i| {
                        assert!(i < len);
                        i < answer
                    });
                    assert_eq!(found, answer, "{len} {guess}");
                }
            }
        }
    }
}
