//! Text forms that several settings share.

use recoup_support::suggest::did_you_mean;
use recoup_units::Direction;

/// A value for each direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EachWay<T> {
    /// From client to server.
    pub up: T,
    /// From server to client.
    pub down: T,
}

impl<T> EachWay<T> {
    pub(crate) fn get(&self, direction: Direction) -> &T {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    pub(super) fn get_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

impl<T: Clone> EachWay<T> {
    /// Reads `[up:|down:]VALUE,…`. A direction without a value gets `default`; a value without a
    /// prefix is for the directions of `plain`.
    pub(super) fn parse(
        text: &str,
        default: T,
        plain: &[Direction],
        mut value: impl FnMut(&str) -> Result<T, String>,
    ) -> Result<Self, String> {
        let mut each = Self { up: default.clone(), down: default };
        let mut given = Vec::new();
        for part in text.split(',').map(str::trim) {
            let (directions, part) = match part.split_once(':') {
                Some(("up", part)) => (&[Direction::Up][..], part),
                Some(("down", part)) => (&[Direction::Down][..], part),
                _ => (plain, part),
            };
            let value = value(part)?;
            for direction in directions {
                if given.contains(direction) {
                    let name = direction.name();
                    return Err(format!("`{text}`: more than one value for {name}"));
                }
                given.push(*direction);
                *each.get_mut(*direction) = value.clone();
            }
        }
        Ok(each)
    }
}

impl<T: PartialEq> EachWay<T> {
    pub(super) fn format(&self, value: impl Fn(&T) -> String) -> String {
        if self.up == self.down {
            value(&self.up)
        } else {
            format!("up:{},down:{}", value(&self.up), value(&self.down))
        }
    }
}

pub(super) const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];
pub(super) const DOWN: [Direction; 1] = [Direction::Down];

/// Puts a value that could be read into its field; leaves the field alone otherwise.
pub(crate) fn put<T>(field: &mut T, value: Result<T, String>) -> Result<(), String> {
    *field = value?;
    Ok(())
}

/// `none`, or what `value` reads.
pub(super) fn optional<T>(
    mut value: impl FnMut(&str) -> Result<T, String>,
) -> impl FnMut(&str) -> Result<Option<T>, String> {
    move |text| {
        if text == "none" { Ok(None) } else { value(text).map(Some) }
    }
}

/// The word for "as the profile has it".
pub(super) const PROFILE: &str = "profile";

/// `profile`, or the value as `format` writes it.
pub(super) fn or_profile<T, F: ToString>(value: Option<T>, format: impl FnOnce(T) -> F) -> String {
    value.map_or_else(|| PROFILE.into(), |value| format(value).to_string())
}

pub(super) fn parse_number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    text.parse()
        .ok()
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| format!("`{text}`: expected a whole number from {least} to {most}"))
}

pub(super) fn parse_word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let near = did_you_mean(text, known.iter().copied());
        format!("`{text}`: expected {}{near}", known.join(" or "))
    })
}

pub(super) fn format_word<T: Copy + PartialEq>(value: T, words: &[(&str, T)]) -> String {
    let word = words.iter().find(|(_, of)| *of == value);
    word.map_or(String::new(), |(word, _)| (*word).into())
}
