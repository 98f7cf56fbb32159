//! Types of cells. The type that a column reads off a row decides what kind of column it is.

use crate::columns::Cell;
use recoup_units::Instant;
use std::borrow::Cow;

/// A type that a cell holds. `Option`s of it are unknown where they are `None`.
pub trait Value: Sized {
    /// The cell that this reads; `None` where the value is unknown.
    #[doc(hidden)]
    fn cell<R>(of: impl Fn(&R) -> Option<Self> + Send + Sync + 'static) -> Cell<R>;
}

impl<V: Value> Value for Option<V> {
    fn cell<R>(of: impl Fn(&R) -> Option<Self> + Send + Sync + 'static) -> Cell<R> {
        V::cell(move |row| of(row).flatten())
    }
}

macro_rules! values {
    ($($type:ty => $kind:ident, $convert:expr;)*) => {$(
        impl Value for $type {
            fn cell<R>(of: impl Fn(&R) -> Option<Self> + Send + Sync + 'static) -> Cell<R> {
                Cell::$kind(Box::new(move |row| of(row).map($convert)))
            }
        }
    )*};
}

values! {
    &'static str => Text, Cow::Borrowed;
    String => Text, Cow::Owned;
    Cow<'static, str> => Text, |text| text;
    char => Text, |letter| letter.to_string().into();
    u16 => Integer, u64::from;
    u32 => Integer, u64::from;
    u64 => Integer, |value| value;
    // No platform of this program has larger words.
    usize => Integer, |value| value as u64;
    i64 => Signed, |value| value;
    f64 => Real, |value| value;
    bool => Flag, |value| value;
    Instant => Time, |value| value;
}
