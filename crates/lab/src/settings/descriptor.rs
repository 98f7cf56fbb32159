//! The list of settings. Each setting has its key, help, parser and formatter in one place, in the file
//! of its topic.

use super::{Settings, faults, hosts, kernel, path, rto, slp, traffic};
use std::path::Path;

/// One setting: its key, its help, its parser and its formatter.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key, in scenario files and after `--set`.
    pub key: &'static str,
    /// Its meaning and values.
    pub help: &'static str,
    /// Reads the value. File names are relative to the path.
    pub(super) set: fn(&mut Settings, &str, &Path) -> Result<(), String>,
    /// Writes the value as `set` reads it.
    pub(super) get: fn(&Settings) -> String,
}

/// A [`Setting`] of one field. Its values are words with a meaning each, or what `parse` reads and `format` writes.
/// With `profile_or = parse` the field is an `Option` that is `None` for `profile`.
macro_rules! setting {
    ($key:expr, $help:expr, $($field:ident).+, profile_or = $parse:ident) => {
        setting!($key, $help, $($field).+, |text| profile_or(text, $parse), |value| or_profile(*value, |value| value))
    };
    ($key:expr, $help:expr, $($field:ident).+, $parse:expr, |$value:ident| $text:expr) => {
        Setting {
            key: $key,
            help: $help,
            set: |settings, text, _| {
                settings.$($field).+ = ($parse)(text)?;
                Ok(())
            },
            get: |settings| {
                let $value = &settings.$($field).+;
                $text
            },
        }
    };
    ($key:expr, $help:expr, $($field:ident).+, $parse:expr, $format:expr) => {
        setting!($key, $help, $($field).+, $parse, |value| $format(value))
    };
    ($key:expr, $help:expr, $($field:ident).+, $words:expr) => {
        setting!($key, $help, $($field).+, |text| $crate::settings::value::parse_word(text, &$words), |value| {
            $crate::settings::value::format_word(*value, &$words)
        })
    };
}
pub(super) use setting;

/// Every setting, in the order of listings.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    let topics: [&'static [Setting]; 7] = [
        path::SETTINGS,
        traffic::SETTINGS,
        faults::SETTINGS,
        hosts::SETTINGS,
        rto::SETTINGS,
        slp::SETTINGS,
        kernel::SETTINGS,
    ];
    topics.into_iter().flatten()
}

/// The setting with this key.
pub(super) fn find(key: &str) -> Option<&'static Setting> {
    all().find(|setting| setting.key == key)
}
