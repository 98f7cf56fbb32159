//! The kernel's TCP, where it is at an end of the path: congestion control and parts of loss recovery.

use super::Setting;
use super::value::{format_word, parse_word, put};

/// What a user sets for the kernel's TCP. Everything that is `None` stays as the kernel has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSettings {
    /// The congestion control of its sockets by the kernel's own name, if it differs from `cc`.
    pub cc: Option<String>,
    /// Tail loss probes.
    pub tlp: Option<bool>,
    /// RACK.
    pub rack: Option<bool>,
    /// Selective acknowledgments.
    pub sack: Option<bool>,
    /// Reports of duplicates (DSACK).
    pub dsack: Option<bool>,
    /// Timestamps.
    pub timestamps: Option<bool>,
    /// F-RTO.
    pub frto: Option<bool>,
}

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        key: "kernel.cc",
        help: "congestion control of the kernel's sockets (--on kernel): default (cc, or cubic), or the name of a module this kernel has: bbr",
        set: |s, text, _| put(&mut s.kernel.cc, parse_module(text)),
        get: |s| s.kernel.cc.clone().unwrap_or_else(|| "default".into()),
    },
    Setting {
        key: "kernel.tlp",
        help: "tail loss probes of the kernel as sender or receiver (--on kernel): default, on, off",
        set: |s, text, _| put(&mut s.kernel.tlp, parse_word(text, &SWITCH)),
        get: |s| format_word(s.kernel.tlp, &SWITCH),
    },
    Setting {
        key: "kernel.rack",
        help: "RACK of the kernel as sender or receiver (--on kernel): default, on, off",
        set: |s, text, _| put(&mut s.kernel.rack, parse_word(text, &SWITCH)),
        get: |s| format_word(s.kernel.rack, &SWITCH),
    },
    Setting {
        key: "kernel.sack",
        help: "SACK of the kernel as sender or receiver (--on kernel): default, on, off",
        set: |s, text, _| put(&mut s.kernel.sack, parse_word(text, &SWITCH)),
        get: |s| format_word(s.kernel.sack, &SWITCH),
    },
    Setting {
        key: "kernel.dsack",
        help: "reports of duplicates by the kernel as sender or receiver (--on kernel): default, on, off",
        set: |s, text, _| put(&mut s.kernel.dsack, parse_word(text, &SWITCH)),
        get: |s| format_word(s.kernel.dsack, &SWITCH),
    },
    Setting {
        key: "kernel.timestamps",
        help: "timestamps of the kernel as sender or receiver (--on kernel): default, on, off",
        set: |s, text, _| put(&mut s.kernel.timestamps, parse_word(text, &SWITCH)),
        get: |s| format_word(s.kernel.timestamps, &SWITCH),
    },
    Setting {
        key: "kernel.frto",
        help: "F-RTO of the kernel as sender or receiver (--on kernel): default, on, off",
        set: |s, text, _| put(&mut s.kernel.frto, parse_word(text, &SWITCH)),
        get: |s| format_word(s.kernel.frto, &SWITCH),
    },
];

/// A part of the kernel's TCP is left as it is, or switched on or off.
const SWITCH: [(&str, Option<bool>); 3] = [("default", None), ("on", Some(true)), ("off", Some(false))];

/// Reads the name of a congestion control module: letters, digits, underscores and hyphens, at most
/// 15 of them (TCP_CA_NAME_MAX). The kernel says whether it has the module.
fn parse_module(text: &str) -> Result<Option<String>, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match text {
        "default" => Ok(None),
        name if (1..16).contains(&name.len()) && name.chars().all(is_name) => Ok(Some(name.into())),
        other => Err(format!("`{other}`: expected default or a name such as bbr")),
    }
}
