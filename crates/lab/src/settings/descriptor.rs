//! The list of settings. Each setting has its key, help, parser and formatter in one place, in the file
//! of its topic.

use super::{Settings, faults, hosts, kernel, path, rto, slp, traffic};
use std::path::Path;

/// One setting: its key, what it means, and how its text is read and written.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The key, in scenario files and after `--set`.
    pub key: &'static str,
    /// What the setting means and which values it takes.
    pub help: &'static str,
    /// Reads the value. File names are relative to the path.
    pub(super) set: fn(&mut Settings, &str, &Path) -> Result<(), String>,
    /// Writes the value as `set` reads it.
    pub(super) get: fn(&Settings) -> String,
}

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
