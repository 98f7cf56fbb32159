//! Saves a histogram as the values that it has recorded: `#[serde(with = "recorded")]`.
//!
//! hdrhistogram's own format needs three more libraries.

use hdrhistogram::Histogram;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Saves the significant digits and the recorded values, with how often each was recorded.
///
/// # Errors
/// If `serializer` reports one.
pub fn serialize<S: Serializer>(histogram: &Option<Histogram<u64>>, serializer: S) -> Result<S::Ok, S::Error> {
    let of = |histogram: &Histogram<u64>| {
        let values = histogram.iter_recorded();
        let values = values.map(|at| (at.value_iterated_to(), at.count_at_value()));
        (histogram.sigfig(), values.collect::<Vec<_>>())
    };
    histogram.as_ref().map(of).serialize(serializer)
}

/// Loads what [`serialize`] has saved: a histogram that resizes itself.
///
/// # Errors
/// If `deserializer` reports one, or no histogram holds these values.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Histogram<u64>>, D::Error> {
    let saved = Option::<(u8, Vec<(u64, u64)>)>::deserialize(deserializer)?;
    let Some((digits, values)) = saved else {
        return Ok(None);
    };
    let mut histogram = Histogram::new(digits).map_err(Error::custom)?;
    for (value, count) in values {
        let recorded = histogram.record_n(value, count);
        recorded.map_err(Error::custom)?;
    }
    Ok(Some(histogram))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Saved(#[serde(with = "super")] Option<Histogram<u64>>);

    #[test]
    fn a_loaded_histogram_goes_on_as_the_saved_one() {
        let mut whole = Histogram::new(3).unwrap();
        for value in (0..100_000_u64).map(|n| n * n) {
            whole.record(value).unwrap();
        }
        let bytes = postcard::to_stdvec(&Saved(Some(whole.clone()))).unwrap();
        let Saved(Some(mut loaded)) = postcard::from_bytes(&bytes).unwrap() else {
            panic!("a histogram");
        };
        for value in [0, 7, u64::MAX / 4] {
            whole.record(value).unwrap();
            loaded.record(value).unwrap();
        }
        assert_eq!(loaded, whole);
        assert_eq!((loaded.min(), loaded.max()), (whole.min(), whole.max()));
        for quantile in [0.0, 0.1, 0.5, 0.99, 1.0] {
            let of = |histogram: &Histogram<u64>| histogram.value_at_quantile(quantile);
            assert_eq!(of(&loaded), of(&whole));
        }
        let none = postcard::to_stdvec(&Saved(None)).unwrap();
        assert!(postcard::from_bytes::<Saved>(&none).unwrap().0.is_none());
    }

    #[test]
    fn damaged_histograms_are_errors() {
        // There is a histogram; its digits, the number of its values, the first of them.
        for bytes in [&[1, 9, 0][..], &[1, 3, 1], &[1, 3, 0xff, 0xff, 3, 1, 1]] {
            assert!(postcard::from_bytes::<Saved>(bytes).is_err(), "{bytes:?}");
        }
    }
}
