//! How the endpoints behave: a profile, and what sysctls and socket options change of it.

use recoup_recovery::Profile;
use recoup_recovery::profile::{CURRENT_LINUX, ProfileError};
use recoup_tcp::{Config, SendLimits, sysctl::Sysctls};
use std::time::Duration;

/// The environment variable that names the profile.
pub const PROFILE_VARIABLE: &str = "RECOUP_PROFILE";

/// The environment variable that gives the MTU.
pub const MTU_VARIABLE: &str = "RECOUP_MTU";

/// Default path MTU in bytes: Ethernet's.
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
    /// When a setting or its value is unknown: its place, and the expected values.
    pub fn of(flags: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut settings = Self::of_profile(CURRENT_LINUX)?;
        for (name, key) in [(PROFILE_VARIABLE, "profile"), (MTU_VARIABLE, "mtu")] {
            if let Some(value) = variable(name) {
                let set = settings.set(key, &value);
                set.map_err(|error| format!("{name}: {error}"))?;
            }
        }
        for flag in flags.split(',').map(str::trim).filter(|flag| !flag.is_empty()) {
            let (key, value) = flag.split_once('=').unwrap_or((flag, ""));
            let set = settings.set(key, value);
            set.map_err(|error| format!("--so_flags: {error}"))?;
        }
        Ok(settings)
    }

    /// Those of the profile called `name`.
    ///
    /// # Errors
    /// When no profile has this name.
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
                self.mtu = mtu.ok_or_else(|| format!("MTU '{value}', expected bytes, {LEAST_MTU} to {}", u16::MAX))?;
            }
            _ => {
                return Err(format!("unknown flag '{key}', expected one of: profile, mtu"));
            }
        }
        Ok(())
    }

    /// The MSS announced over IPv4, or IPv6 where `v6`.
    pub fn mss(&self, v6: bool) -> u16 {
        let headers = if v6 { 60 } else { 40 };
        self.mtu - headers
    }

    /// The configuration of an endpoint over IPv4, or IPv6 where `v6`.
    pub fn config(&self, sysctls: &Sysctls, v6: bool) -> Config {
        sysctls.config(&self.profile, self.mss(v6))
    }
}

/// Settings of a connection beside its endpoint's configuration.
#[derive(Clone, Debug)]
pub struct Personality {
    /// Bytes of written data held at most.
    pub send_buffer: u64,
    /// Nagle's rule is in force (not `TCP_NODELAY`).
    pub nagle: bool,
    /// Less than a full segment waits for more (`TCP_CORK`).
    pub corked: bool,
    /// Bytes written and not sent from which on writers wait (`TCP_NOTSENT_LOWAT`), if set.
    pub notsent_lowat: Option<u64>,
    /// How long data may stay unacknowledged where `TCP_USER_TIMEOUT` does not say.
    pub user_timeout: Duration,
}

impl Personality {
    /// How much of what is written a connection takes.
    pub fn send_limits(&self) -> SendLimits {
        SendLimits { buffer: self.send_buffer, unsent: self.notsent_lowat.unwrap_or(u64::MAX) }
    }
}

impl Settings {
    /// Settings of connections beside their configuration, under `sysctls`.
    pub fn personality(&self, sysctls: &Sysctls, config: &Config) -> Personality {
        let [_, buffer, _] = sysctls.wmem.unwrap_or([4096, 16_384, 4_194_304]);
        let unlimited = |lowat: &u64| *lowat < u64::from(u32::MAX);
        Personality {
            send_buffer: buffer,
            nagle: true,
            corked: false,
            notsent_lowat: sysctls.notsent_lowat.filter(unlimited),
            user_timeout: config.mechanisms.user_timeout,
        }
    }
}

#[cfg(test)]
mod tests;
