//! Configures endpoints by the profile and the script's settings.

use crate::{
    error::{Wrong, did_you_mean, wrong},
    parse::LEAST_MSS,
    script::{Command, Head},
};
use recoup_recovery::{Mechanisms, Profile, congestion::Algorithm};
use recoup_tcp::{
    AckPolicy, Config, Push,
    sysctl::{Effect, SysctlError, Sysctls},
};
use recoup_units::Segments;
use recoup_wire::SeqNumber;
use std::time::Duration;

#[derive(Clone, Debug)]
pub(super) struct Setup {
    profile: Profile,
    mss: Option<u16>,
    ack: Option<AckPolicy>,
    initial_window: Option<Segments>,
    sysctls: Sysctls,
}

/// The values of socket options.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SocketOptions {
    /// The announced MSS.
    pub mss: Option<u16>,
    pub congestion: Option<Algorithm>,
    /// The receive buffer, in bytes of payload.
    pub receive_buffer: Option<u64>,
    pub user_timeout: Option<Duration>,
    /// TCP_NODELAY.
    pub no_delay: bool,
}

const NO_SHELL: &str = "no shell is run";

/// The MSS over Ethernet with IPv4.
const USUAL_MSS: u16 = 1460;

/// Settings of the send buffer, which is unlimited here.
const OF_BUFFERS: [&str; 2] = ["tcp_notsent_lowat", "tcp_wmem"];

impl Setup {
    pub fn new(profile: &Profile, head: &Head) -> Self {
        Self {
            profile: profile.clone(),
            mss: head.mss,
            ack: head.ack,
            initial_window: None,
            sysctls: Sysctls::default(),
        }
    }

    /// The configuration of a new socket.
    pub fn config(&self, options: Option<&SocketOptions>, isn: SeqNumber) -> Config {
        let options = options.copied().unwrap_or_default();
        let mss = options.mss.or(self.mss).unwrap_or(USUAL_MSS);
        let mut config = self.sysctls.config(&self.profile, mss);
        config.isn = isn;
        config.nagle = !options.no_delay;
        config.acks = self.ack.unwrap_or(config.acks);
        config.receive_buffer = options.receive_buffer.unwrap_or(config.receive_buffer);
        let mechanisms = &mut config.mechanisms;
        mechanisms.congestion = options.congestion.unwrap_or(mechanisms.congestion);
        mechanisms.user_timeout = options.user_timeout.unwrap_or(mechanisms.user_timeout);
        mechanisms.initial_window = self.initial_window.unwrap_or(mechanisms.initial_window);
        config
    }

    /// The profile's mechanisms with the script's settings.
    pub fn mechanisms(&self) -> Mechanisms {
        self.sysctls.mechanisms(&self.profile)
    }

    /// Whether PSH marks the ends of bursts.
    pub fn pushes_bursts(&self) -> bool {
        self.config(None, SeqNumber(0)).push != Push::WriteEnd
    }

    /// Runs a command. Returns a note on what was not done.
    pub fn shell(&mut self, command: &Command) -> Result<Option<String>, Wrong> {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let Some((program, arguments)) = words.split_first() else {
            return Ok(None);
        };
        let name = program.rsplit('/').next().unwrap_or(program);
        match name {
            "sysctl" | "set_sysctls.py" => self.sysctl(command, arguments),
            "ip" if arguments.first() == Some(&"route") => self.route(command, arguments),
            "defaults.sh" => Ok(Some(self.defaults(program))),
            _ if name.starts_with("sysctl_restore") => Ok(None), // nothing outlives the script
            _ => Ok(Some(format!("`{program}` is not run: {NO_SHELL}"))),
        }
    }

    /// Applies the settings of `defaults.sh`, with which packetdrill's public scripts begin.
    fn defaults(&mut self, program: &str) -> String {
        self.sysctls.rmem = Some([4096, 540_000, 15 << 20]);
        self.sysctls.ecn = Some(0);
        self.sysctls.slow_start_after_idle = Some(0);
        format!(
            "`{program}` is not run: the receive buffers it is known to set are in force, ECN and slow start after idle are off, all else is the profile's"
        )
    }

    fn sysctl(&mut self, command: &Command, arguments: &[&str]) -> Result<Option<String>, Wrong> {
        let mut notes = Vec::new();
        for argument in arguments.iter().filter(|a| !a.starts_with('-')) {
            let Some((name, value)) = argument.split_once('=') else {
                return wrong(command.place, format!("`{argument}`: expected NAME=VALUE, such as net.ipv4.tcp_sack=1"));
            };
            let effect = self.sysctls.set(name, value);
            let of_buffers = OF_BUFFERS.iter().any(|n| name.ends_with(n));
            match effect.map_err(|error| refused(command, &error))? {
                Effect::InForce if !of_buffers => {}
                Effect::InForce => {
                    notes.push(format!("{argument} has no effect: writes take any length"));
                }
                Effect::None(why) => notes.push(format!("{argument} has no effect: {why}")),
            }
        }
        Ok((!notes.is_empty()).then(|| notes.join("; ")))
    }

    /// Applies `ip route change … initcwnd 10`; only initcwnd matters.
    fn route(&mut self, command: &Command, arguments: &[&str]) -> Result<Option<String>, Wrong> {
        let after = arguments.iter().skip_while(|a| **a != "initcwnd").nth(1);
        let Some(window) = after else {
            return Ok(Some(format!("`ip route` is not run: {NO_SHELL}; of routes initcwnd is known")));
        };
        let segments = window.parse().ok().filter(|n| (1..=1000).contains(n));
        let segments = segments
            .ok_or_else(|| Wrong::new(command.place, format!("initcwnd {window}: expected segments, 1 to 1000")))?;
        self.initial_window = Some(Segments(segments));
        Ok(None)
    }
}

fn refused(command: &Command, error: &SysctlError) -> Wrong {
    let hint = match error {
        SysctlError::Unknown(name) => {
            let short = name.rsplit(['/', '.']).next().unwrap_or(name);
            did_you_mean(short, Sysctls::known())
        }
        SysctlError::Value { .. } => String::new(),
    };
    Wrong::new(command.place, format!("{error}{hint}"))
}

/// The MSS, if Linux accepts `value` as TCP_MAXSEG.
pub(super) fn is_mss(value: i64) -> Option<u16> {
    u16::try_from(value).ok().filter(|mss| *mss >= LEAST_MSS)
}
