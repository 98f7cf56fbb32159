//! The kernel's TCP, where it is at an end of the path: congestion control and parts of loss recovery.

use super::descriptor::{Setting, setting};

/// Settings of the kernel's TCP. Everything that is `None` stays as the kernel has it.
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

/// A part of the kernel's TCP that is left as it is, or switched on or off.
macro_rules! switch {
    ($part:ident, $what:literal) => {
        setting!(
            concat!("kernel.", stringify!($part)),
            concat!($what, " as sender or receiver (--on kernel): default, on, off"),
            kernel.$part,
            SWITCH
        )
    };
}

pub(super) const SETTINGS: &[Setting] = &[
    setting!(
        "kernel.cc",
        "congestion control of the kernel's sockets (--on kernel): default (cc, or cubic), or the name of a module this kernel has: bbr",
        kernel.cc,
        parse_module,
        |cc| cc.clone().unwrap_or_else(|| "default".into())
    ),
    switch!(tlp, "tail loss probes of the kernel"),
    switch!(rack, "RACK of the kernel"),
    switch!(sack, "SACK of the kernel"),
    switch!(dsack, "reports of duplicates by the kernel"),
    switch!(timestamps, "timestamps of the kernel"),
    switch!(frto, "F-RTO of the kernel"),
];

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
