//! Numbers and words of a trace, in the forms that stacks write them.

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A whole number, as a number or a string. Fractions are cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number(pub u64);

/// A time in the unit of its trace, as a number or a string.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Millis(pub f64);

/// A word; empty for a value that is no word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // A cast of a float saturates.
        from.deserialize_any(OfNumber).map(|number| match number {
            Read::Whole(number) => Self(number),
            Read::Fraction(number) => Self(number as u64),
        })
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OfNumber).map(|number| match number {
            Read::Whole(number) => Self(number as f64),
            Read::Fraction(number) => Self(number),
        })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OfText).map(Self)
    }
}

enum Read {
    Whole(u64),
    Fraction(f64),
}

struct OfNumber;

impl Visitor<'_> for OfNumber {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Read, E> {
        Ok(Read::Whole(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Read, E> {
        Ok(Read::Fraction(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Read, E> {
        Ok(Read::Fraction(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Read, E> {
        let whole = text.parse().map(Read::Whole);
        let read = whole.or_else(|_| text.parse().map(Read::Fraction));
        read.map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
}

struct OfText;

impl<'de> Visitor<'de> for OfText {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }
}
