//! How the endpoints behave: a profile, and what sysctls and socket options change of it.

use crate::sysctl::Sysctls;
use recoup_recovery::congestion::Algorithm;
use recoup_recovery::detect::EarlyRetransmit;
use recoup_recovery::profile::{Mechanism, ProfileError};
use recoup_recovery::{Mechanisms, Profile};
use recoup_tcp::{AckPolicy, Config, Ecn, Push, WindowScaling};
use recoup_units::Segments;

/// The environment variable that names the profile.
pub const PROFILE_VARIABLE: &str = "RECOUP_PROFILE";

/// The profile without that variable.
const DEFAULT_PROFILE: &str = "linux-6";

/// The environment variable that gives the MTU.
pub const MTU_VARIABLE: &str = "RECOUP_MTU";

/// The MTU the path is taken to have unless told otherwise, in bytes: Ethernet's.
const DEFAULT_MTU: u16 = 1500;

/// The smallest that leaves room for a payload and all headers over IPv6.
const LEAST_MTU: u16 = 176;

/// The settings of new sockets.
#[derive(Clone, Debug)]
pub struct Settings {
    profile: Profile,
    mtu: u16,
}

impl Settings {
    /// Those that `flags` and the environment ask for: `profile=NAME` and `mtu=BYTES`, separated by
    /// commas, and what is not among them from [`PROFILE_VARIABLE`] and [`MTU_VARIABLE`].
    ///
    /// # Errors
    /// What is asked for, where, and what was expected, when there is no such thing.
    pub fn of(flags: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut settings = Self::of_profile(DEFAULT_PROFILE)?;
        for (name, key) in [(PROFILE_VARIABLE, "profile"), (MTU_VARIABLE, "mtu")] {
            if let Some(value) = variable(name) {
                let set = settings.set(key, &value);
                set.map_err(|error| format!("{name}: {error}"))?;
            }
        }
        for flag in flags
            .split(',')
            .map(str::trim)
            .filter(|flag| !flag.is_empty())
        {
            let (key, value) = flag.split_once('=').unwrap_or((flag, ""));
            let set = settings.set(key, value);
            set.map_err(|error| format!("--so_flags: {error}"))?;
        }
        Ok(settings)
    }

    /// Those of the profile called `name`.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn of_profile(name: &str) -> Result<Self, String> {
        let profile = name.parse();
        let profile = profile.map_err(|error: ProfileError| error.to_string())?;
        let mtu = DEFAULT_MTU;
        Ok(Self { profile, mtu })
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "profile" => self.profile = Self::of_profile(value)?.profile,
            "mtu" => {
                let mtu = value.parse().ok().filter(|mtu| *mtu >= LEAST_MTU);
                self.mtu = mtu.ok_or_else(|| {
                    format!("MTU '{value}', expected bytes, {LEAST_MTU} to {}", u16::MAX)
                })?;
            }
            _ => {
                return Err(format!(
                    "unknown flag '{key}', expected one of: profile, mtu"
                ));
            }
        }
        Ok(())
    }

    /// Whether the profile stands for a kernel that marks the ends of bursts (5.4 and later).
    fn pushes_bursts(&self) -> bool {
        self.profile.name().starts_with("linux-6")
    }

    /// The mechanisms under `sysctls`.
    pub fn mechanisms(&self, sysctls: &Sysctls) -> Mechanisms {
        let mut mechanisms = *self.profile.mechanisms();
        if let Some(name) = &sysctls.congestion_control {
            set_congestion_control(&mut mechanisms, name);
        }
        if let Some(value) = sysctls.early_retrans {
            set_early_retransmit(&mut mechanisms, value);
        }
        if let Some(dupthresh) = sysctls.reordering {
            let dupthresh = u32::try_from(dupthresh).unwrap_or(u32::MAX).max(1);
            mechanisms.detection.dupthresh = Segments(dupthresh);
            let most = mechanisms.detection.max_dupthresh;
            mechanisms.detection.max_dupthresh = most.max(Segments(dupthresh));
        }
        mechanisms.frto &= sysctls.frto != Some(0);
        mechanisms
    }

    /// The payload of a full segment over IPv4, or IPv6 where `v6`, beside `options` bytes of options.
    pub fn mss(&self, v6: bool, options: u16) -> u16 {
        let headers = if v6 { 60 } else { 40 };
        self.mtu - headers - options
    }

    /// The configuration of an endpoint over IPv4, or IPv6 where `v6`.
    pub fn config(&self, sysctls: &Sysctls, v6: bool) -> Config {
        let on = |setting: Option<u64>| setting.unwrap_or(1) != 0;
        let timestamps = on(sysctls.timestamps);
        let options = if timestamps {
            Config::TIMESTAMPS_LEN
        } else {
            0
        };
        let [_, buffer, largest] = sysctls.rmem.unwrap_or([4096, 131_072, 6_291_456]);
        let scaling = on(sysctls.window_scaling);
        let mechanisms = self.mechanisms(sysctls);
        let mut config = Config {
            acks: AckPolicy::Linux {
                quick: AckPolicy::LINUX_QUICK,
            },
            mss: self.mss(v6, options),
            // Half of the memory is for payload, half for what each packet costs.
            receive_buffer: buffer / 2,
            timestamps,
            sack: on(sysctls.sack) && mechanisms.sack,
            window_scaling: match scaling {
                true => WindowScaling::Shift(scale_for(largest)),
                false => WindowScaling::Off,
            },
            ecn: match sysctls.ecn {
                Some(1) => Ecn::Ask,
                Some(2) => Ecn::Answer,
                _ => Ecn::Off,
            },
            nagle: true,
            ..Config::new(mechanisms)
        };
        if self.pushes_bursts() {
            let least = sysctls.min_tso_segs.unwrap_or(2);
            config.push = Push::Burst {
                least: u32::try_from(least).unwrap_or(u32::MAX).max(1),
            };
        }
        config
    }
}

/// What `tcp_early_retrans` says: 1 early retransmit, 2 delayed, 3 that and tail loss probes, 4
/// probes alone. Early retransmit went with Linux 4.12; since then 3 and 4 are the same.
fn set_early_retransmit(mechanisms: &mut Mechanisms, value: u64) {
    if mechanisms.early_retransmit != EarlyRetransmit::Off {
        mechanisms.early_retransmit = match value {
            1 => EarlyRetransmit::ReorderAware,
            2 | 3 => EarlyRetransmit::LINUX,
            _ => EarlyRetransmit::Off,
        };
    }
    match value {
        3 | 4 if mechanisms.probe.is_none() => Mechanism::Tlp.apply(mechanisms),
        3 | 4 => {}
        _ => mechanisms.probe = None,
    }
}

/// The shift that lets a window of `largest` bytes be offered.
fn scale_for(largest: u64) -> u8 {
    let bits = 64 - largest.leading_zeros() as u8;
    bits.saturating_sub(16).min(14)
}

/// Takes the congestion control called `name`, unless this stack does not have it.
pub fn set_congestion_control(mechanisms: &mut Mechanisms, name: &str) -> bool {
    let known = Algorithm::ALL.into_iter().find(|a| a.name() == name);
    if let Some(algorithm) = known {
        mechanisms.congestion = algorithm;
    }
    known.is_some()
}

/// What belongs to a connection beside its endpoint's configuration.
#[derive(Clone, Debug)]
pub struct Personality {
    /// Bytes of written data held at most.
    pub send_buffer: u64,
    /// Whether a long write is sent while it is taken in, chunk by chunk.
    pub in_chunks: bool,
    /// Nagle's rule is in force (not `TCP_NODELAY`).
    pub nagle: bool,
    /// Less than a full segment waits for more (`TCP_CORK`).
    pub corked: bool,
    /// Bytes written and not sent from which on writers wait (`TCP_NOTSENT_LOWAT`), if set.
    pub notsent_lowat: Option<u64>,
    /// How long data may stay unacknowledged (`TCP_USER_TIMEOUT`), if set.
    pub user_timeout: Option<std::time::Duration>,
}

impl Personality {
    /// The bytes written and not sent from which on writers wait.
    pub fn lowat(&self) -> u64 {
        self.notsent_lowat.unwrap_or(u64::MAX)
    }
}

impl Settings {
    /// What belongs to connections beside their configuration, under `sysctls`.
    pub fn personality(&self, sysctls: &Sysctls) -> Personality {
        let [_, buffer, _] = sysctls.wmem.unwrap_or([4096, 16_384, 4_194_304]);
        let unlimited = |lowat: &u64| *lowat < u64::from(u32::MAX);
        Personality {
            send_buffer: buffer,
            in_chunks: self.pushes_bursts(),
            nagle: true,
            corked: false,
            notsent_lowat: sysctls.notsent_lowat.filter(unlimited),
            user_timeout: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Environment variables, names and values.
    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn settings(flags: &str, variables: Variables) -> Result<Settings, String> {
        Settings::of(flags, |name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.to_string())
        })
    }

    #[test]
    fn flags_rule_over_the_environment() {
        let cases: [(&str, Variables, &str, u16); 4] = [
            ("", &[], "linux-6", 1500),
            ("", &[(PROFILE_VARIABLE, "linux-3.17")], "linux-3.17", 1500),
            ("mtu=1520", &[(MTU_VARIABLE, "9000")], "linux-6", 1520),
            (
                "profile=linux-6+reno, mtu=1400",
                &[(PROFILE_VARIABLE, "linux-3.17")],
                "linux-6+reno",
                1400,
            ),
        ];
        for (flags, variables, profile, mtu) in cases {
            let settings = settings(flags, variables).unwrap();
            assert_eq!((settings.profile.name(), settings.mtu), (profile, mtu));
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        let error = |flags| settings(flags, &[]).unwrap_err();
        assert_eq!(
            error("mtu=100"),
            "--so_flags: MTU '100', expected bytes, 176 to 65535"
        );
        assert_eq!(
            error("colour=red"),
            "--so_flags: unknown flag 'colour', expected one of: profile, mtu"
        );
        let named = settings("", &[(PROFILE_VARIABLE, "linux-9")]).unwrap_err();
        assert!(
            named.starts_with("RECOUP_PROFILE: unknown profile 'linux-9'"),
            "{named}"
        );
    }

    #[test]
    fn sysctls_change_the_profile() {
        let under = |profile: &str, sysctls: &Sysctls| {
            Settings::of_profile(profile).unwrap().mechanisms(sysctls)
        };
        let early = |value| Sysctls {
            early_retrans: Some(value),
            ..Sysctls::default()
        };
        // tcp_early_retrans: (value, early retransmit of linux-3.17, probes)
        let cases = [
            (0, EarlyRetransmit::Off, false),
            (1, EarlyRetransmit::ReorderAware, false),
            (2, EarlyRetransmit::LINUX, false),
            (3, EarlyRetransmit::LINUX, true),
            (4, EarlyRetransmit::Off, true),
        ];
        for (value, expected, probes) in cases {
            let old = under("linux-3.17", &early(value));
            assert_eq!(old.early_retransmit, expected, "{value}");
            assert_eq!(old.probe.is_some(), probes, "{value}");
            let new = under("linux-6", &early(value));
            assert_eq!(new.early_retransmit, EarlyRetransmit::Off, "{value}");
            assert_eq!(new.probe.is_some(), probes, "{value}");
        }
        let reno = Sysctls {
            congestion_control: Some("reno".into()),
            ..Sysctls::default()
        };
        assert_eq!(under("linux-6", &reno).congestion, Algorithm::Reno);
        let unknown = Sysctls {
            congestion_control: Some("vegas".into()),
            ..Sysctls::default()
        };
        assert_eq!(under("linux-6", &unknown).congestion, Algorithm::Cubic);
    }

    #[test]
    fn the_largest_buffer_sets_the_window_scale() {
        for (largest, scale) in [
            (65_535, 0),
            (65_536, 1),
            (3_909_568, 6),
            (6_291_456, 7),
            (15 << 20, 8),
            (u64::MAX, 14),
        ] {
            assert_eq!(scale_for(largest), scale, "{largest}");
        }
    }
}
