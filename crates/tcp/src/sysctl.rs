//! Translates Linux's settings under `net.ipv4.tcp_…` into an endpoint's configuration.
//!
//! A [`Sysctls`] collects the settings. [`Sysctls::config`] applies them to a profile, with Linux's defaults
//! for the rest. Source: Linux's `Documentation/networking/ip-sysctl.rst`.
//!
//! The meaning of `tcp_early_retrans` depends on the profile's kernel. With early retransmit (3.5 to 4.11): 0
//! none, 1 at once, 2 delayed, 3 delayed and tail loss probes, 4 tail loss probes. In later kernels: 0 to 2
//! no probes, 3 and 4 probes.
//!
//! An endpoint accepts data of any length. The owner of the send buffer must apply `tcp_notsent_lowat` and
//! `tcp_wmem`.

use crate::{AckPolicy, Config, Ecn, Push, WindowScaling};
use recoup_recovery::congestion::Algorithm;
use recoup_recovery::detect::{EarlyRetransmit, EarlyThreshold, LossRule, Rules};
use recoup_recovery::profile::Mechanism;
use recoup_recovery::{Mechanisms, Profile};
use recoup_units::Segments;
use std::time::Duration;

/// Defines [`Sysctls`] so that its fields can be set by name.
macro_rules! sysctls {
    ($($(#[$doc:meta])* $name:ident: $type:ty,)*) => {
        /// The settings that have an effect here; `None`: not set.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Sysctls {
            $($(#[$doc])* pub $name: Option<$type>,)*
        }

        impl Sysctls {
            /// The names of the settings that have an effect here, without `net.ipv4.`.
            pub const NAMES: &[&str] = &[$(concat!("tcp_", stringify!($name)),)*];

            /// Sets the setting called `name`, if it exists. An invalid value returns the expected form.
            fn take(&mut self, name: &str, value: &str) -> Option<Result<(), &'static str>> {
                match name {
                    $(concat!("tcp_", stringify!($name)) => {
                        let read = <$type as Value>::read(value);
                        self.$name = read.or(self.$name);
                        Some(read.map(|_| ()).ok_or(<$type as Value>::EXPECTED))
                    })*
                    _ => None,
                }
            }
        }
    };
}

sysctls! {
    /// `tcp_congestion_control`.
    congestion_control: Algorithm,
    /// `tcp_dsack`.
    dsack: u64,
    /// `tcp_early_retrans`.
    early_retrans: u64,
    /// `tcp_ecn`: 0 off, 1 requested, 2 (Linux's default) accepted if the peer requests it. 3 to 5 do the
    /// same for accurate ECN; RFC 3168's ECN is used instead.
    ecn: u64,
    /// `tcp_fack`; Linux 4.15 and later ignore it.
    fack: u64,
    /// `tcp_frto`.
    frto: u64,
    /// `tcp_max_reordering`.
    max_reordering: u64,
    /// `tcp_min_tso_segs`: the smallest limit on the segments of a burst.
    min_tso_segs: u64,
    /// `tcp_notsent_lowat`, in bytes.
    notsent_lowat: u64,
    /// `tcp_recovery`: bit 0 is RACK. Kernels without RACK do not have the setting.
    recovery: u64,
    /// `tcp_reordering`: the initial dupthresh.
    reordering: u64,
    /// `tcp_retries2`.
    retries2: u64,
    /// `tcp_rmem`: smallest, default and largest receive buffer, in bytes.
    rmem: [u64; 3],
    /// `tcp_sack`.
    sack: u64,
    /// `tcp_slow_start_after_idle`.
    slow_start_after_idle: u64,
    /// `tcp_timestamps`.
    timestamps: u64,
    /// `tcp_window_scaling`.
    window_scaling: u64,
    /// `tcp_wmem`: smallest, default and largest send buffer, in bytes.
    wmem: [u64; 3],
}

/// Parses a setting's value.
trait Value: Sized {
    const EXPECTED: &str;
    fn read(text: &str) -> Option<Self>;
}

impl Value for u64 {
    const EXPECTED: &str = "a whole number";

    fn read(text: &str) -> Option<Self> {
        match text.strip_prefix("0x") {
            Some(hex) => Self::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    }
}

impl Value for [u64; 3] {
    const EXPECTED: &str = "three whole numbers";

    fn read(text: &str) -> Option<Self> {
        let numbers: Option<Vec<u64>> = text.split_whitespace().map(u64::read).collect();
        numbers?.try_into().ok()
    }
}

impl Value for Algorithm {
    const EXPECTED: &str = "`reno`, `cubic` or `bbr`";

    fn read(text: &str) -> Option<Self> {
        Self::named(text)
    }
}

/// The effect of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The setting is in effect.
    InForce,
    /// The setting has no effect here, for this reason.
    None(&'static str),
}

/// Why a setting was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SysctlError {
    /// No setting has this name; see [`Sysctls::known`].
    #[error("unknown setting `{0}`")]
    Unknown(String),
    /// The value is invalid.
    #[error("{name}={value}: expected {expected}")]
    Value {
        /// The name, as written.
        name: String,
        /// The value, as written.
        value: String,
        /// The expected form.
        expected: &'static str,
    },
}

const NOT_HERE: &str = "there is nothing of the kind here";

const WITHOUT_EFFECT: [(&str, &str); 18] = [
    ("tcp_abort_on_overflow", NOT_HERE),
    ("tcp_adv_win_scale", "half of the receive buffer is payload"),
    ("tcp_autocorking", NOT_HERE),
    ("tcp_ecn_option", "ECN is that of RFC 3168"),
    ("tcp_fastopen", "there is no fast open"),
    ("tcp_fastopen_cookies", "there is no fast open"),
    ("tcp_fastopen_key", "there is no fast open"),
    ("tcp_fin_timeout", "nothing ends a half-closed connection"),
    ("tcp_limit_output_bytes", NOT_HERE),
    ("tcp_moderate_rcvbuf", "the receive buffer keeps its size"),
    ("tcp_mtu_probing", NOT_HERE),
    ("tcp_no_metrics_save", "nothing is remembered between connections"),
    ("tcp_pacing_ca_ratio", "BBR alone paces, at a rate of its own"),
    ("tcp_pacing_ss_ratio", "BBR alone paces, at a rate of its own"),
    ("tcp_syn_retries", "the user timeout alone ends the handshake"),
    ("tcp_synack_retries", "the user timeout alone ends the handshake"),
    ("tcp_syncookies", NOT_HERE),
    ("tcp_tso_win_divisor", NOT_HERE),
];

impl Sysctls {
    /// Applies a setting. `name` has the form `tcp_sack`, `net.ipv4.tcp_sack`, `net/ipv4/tcp_sack` or
    /// `/proc/sys/net/ipv4/tcp_sack`.
    ///
    /// # Errors
    /// If the setting does not exist, or its value is invalid.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Effect, SysctlError> {
        let short = short_name(name);
        let value = value.trim();
        match self.take(short, value) {
            Some(Ok(())) => return Ok(Effect::InForce),
            Some(Err(expected)) => {
                return Err(SysctlError::Value { name: name.into(), value: value.into(), expected });
            }
            None => {}
        }
        if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(n, _)| *n == short) {
            return Ok(Effect::None(why));
        }
        match short.starts_with("tcp") {
            true => Err(SysctlError::Unknown(name.into())),
            false => Ok(Effect::None("it is not about TCP")),
        }
    }

    /// The names of all known settings without `net.ipv4.`, including those without effect.
    pub fn known() -> impl Iterator<Item = &'static str> + Clone {
        let without = WITHOUT_EFFECT.iter().map(|(name, _)| *name);
        Self::NAMES.iter().copied().chain(without)
    }

    /// The profile's mechanisms under these settings.
    pub fn mechanisms(&self, profile: &Profile) -> Mechanisms {
        let mut mechanisms = *profile.mechanisms();
        if let Some(algorithm) = self.congestion_control {
            mechanisms.congestion = algorithm;
        }
        if let Some(how) = self.early_retrans {
            set_early_retransmit(&mut mechanisms, how);
        }
        self.set_detection(&mut mechanisms.detection);
        mechanisms.sack &= on(self.sack);
        mechanisms.frto &= on(self.frto);
        mechanisms.restart_after_idle &= on(self.slow_start_after_idle);
        if let Some(retries) = self.retries2 {
            mechanisms.user_timeout = time_of_retries(retries);
        }
        mechanisms
    }

    fn set_detection(&self, rules: &mut Rules) {
        match (rules.rule, self.fack, self.recovery) {
            (LossRule::Fack, Some(0), _) => rules.rule = LossRule::Sacked,
            (LossRule::Sacked, Some(1..), _) => rules.rule = LossRule::Fack,
            (LossRule::Rack(_), _, Some(bits)) if bits & 1 == 0 => rules.rule = LossRule::Sacked,
            _ => {}
        }
        let segments = |n: u64| Segments(at_least_one(n));
        rules.max_dupthresh = self.max_reordering.map_or(rules.max_dupthresh, segments);
        rules.dupthresh = self.reordering.map_or(rules.dupthresh, segments);
        rules.max_dupthresh = rules.max_dupthresh.max(rules.dupthresh);
    }

    /// An endpoint's configuration: the profile under these settings, with Linux's defaults for the rest.
    /// `mss`: the announced MSS, which includes the options on every segment.
    pub fn config(&self, profile: &Profile, mss: u16) -> Config {
        let [_, buffer, largest] = self.rmem.unwrap_or([4096, 131_072, 6_291_456]);
        let mechanisms = self.mechanisms(profile);
        let mut config = Config {
            acks: AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK },
            // Half of the memory is for payload, half for per-packet overhead.
            receive_buffer: buffer / 2,
            timestamps: on(self.timestamps),
            sack: mechanisms.sack,
            dsack: on(self.dsack),
            nagle: true,
            window_scaling: match on(self.window_scaling) {
                true => WindowScaling::Shift(scale_for(largest)),
                false => WindowScaling::Off,
            },
            ecn: match self.ecn {
                Some(0) => Ecn::Off,
                Some(1 | 3 | 4) => Ecn::Ask,
                _ => Ecn::Answer,
            },
            push: self.push(profile),
            ..Config::new(mechanisms)
        };
        config.announce(mss);
        config
    }

    /// Linux marks the ends of bursts since 5.4; so do `linux-6` and profiles based on it.
    fn push(&self, profile: &Profile) -> Push {
        match profile.name().split('+').next() {
            Some("linux-6") => Push::Burst { least: self.min_tso_segs.map_or(2, at_least_one) },
            _ => Push::WriteEnd,
        }
    }
}

/// Whether a switch is on, which is the default.
fn on(switch: Option<u64>) -> bool {
    switch != Some(0)
}

fn at_least_one(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX).max(1)
}

/// `tcp_sack` of `/proc/sys/net/ipv4/tcp_sack`.
fn short_name(name: &str) -> &str {
    name.rsplit(['/', '.']).next().unwrap_or(name)
}

/// The values mean what they mean in Linux 3.10 to 4.11, where one SACK suffices.
fn set_early_retransmit(mechanisms: &mut Mechanisms, how: u64) {
    if mechanisms.early_retransmit != EarlyRetransmit::Off {
        mechanisms.early_retransmit = match how {
            1 => EarlyRetransmit::ReorderAware(EarlyThreshold::One),
            2 | 3 => EarlyRetransmit::LINUX,
            _ => EarlyRetransmit::Off,
        };
    }
    match how {
        0..=2 => mechanisms.probe = None,
        _ if mechanisms.probe.is_none() => Mechanism::Tlp.apply(mechanisms),
        _ => {}
    }
}

/// The time that `retries` retransmissions take, at doubling intervals from 200 ms up to 120 s (Linux
/// `retransmits_timed_out`).
fn time_of_retries(retries: u64) -> Duration {
    let doublings = retries.min(9);
    let doubled = Duration::from_millis(200) * ((2 << doublings) - 1);
    let rest = u32::try_from(retries - doublings).unwrap_or(u32::MAX).min(1000);
    doubled + Duration::from_secs(120) * rest
}

/// The smallest shift with which a window of `largest` bytes can be offered.
fn scale_for(largest: u64) -> u8 {
    let bits = 64 - largest.leading_zeros() as u8;
    bits.saturating_sub(16).min(14)
}

#[cfg(test)]
mod tests;
