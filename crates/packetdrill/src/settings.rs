//! How the endpoints behave: a profile, and what sysctls and socket options change of it.

use recoup_recovery::Profile;
use recoup_recovery::profile::{CURRENT_LINUX, ProfileError};
use recoup_stack::TcpOptions;
use recoup_tcp::sysctl::Sysctls;

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

    /// The MTU in bytes.
    pub const fn mtu(&self) -> u16 {
        self.mtu
    }

    /// The options of a socket that is made under `sysctls`.
    pub fn options(&self, sysctls: &Sysctls) -> TcpOptions {
        let [_, send_buffer, _] = sysctls.wmem.unwrap_or([4096, 16_384, 4_194_304]);
        let limited = sysctls.notsent_lowat.filter(|lowat| *lowat < u64::from(u32::MAX));
        // The stack sets the MSS of each connection, as its path permits.
        let endpoint = sysctls.config(&self.profile, self.mtu);
        TcpOptions {
            endpoint,
            tune_buffers: false,
            send_buffer,
            unsent: limited.unwrap_or(u64::MAX),
            ..TcpOptions::new(endpoint.mechanisms)
        }
    }
}

#[cfg(test)]
mod tests;
