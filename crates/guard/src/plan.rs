//! Plans: timers of new connections, by the network of the other host. A plan is TOML, which people edit:
//!
//! ```toml
//! ["192.0.2.0/24"]
//! syn = "120ms"
//! syn-ack = "120ms"
//! least-rto = "50ms"
//! most-ack-delay = "20ms"
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `read` | reads a plan, and says which line is wrong |

mod read;

pub use read::read;

use recoup_kernel::{Network, SocketTimers, jiffy};
use recoup_support::quantity::format_duration;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

/// Timers by network. Of several networks that an address is in, the smallest counts, also where it has no timer.
pub type Plan = BTreeMap<Network, SocketTimers>;

/// The smallest of the plan's networks that an address is in, with its timers.
pub fn smallest(plan: &Plan, address: IpAddr) -> Option<(Network, &SocketTimers)> {
    let widest_last = (0..=Network::from(address).bits()).rev();
    let mut around = widest_last.map(|bits| Network::around(address, bits));
    around.find_map(|network| Some((network, plan.get(&network)?)))
}

/// A timer that a plan sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    Syn,
    SynAck,
    LeastRto,
    MostAckDelay,
}

impl Timer {
    pub const ALL: [Self; 4] = [Self::Syn, Self::SynAck, Self::LeastRto, Self::MostAckDelay];

    /// Its key in a plan, and its option.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn-ack",
            Self::LeastRto => "least-rto",
            Self::MostAckDelay => "most-ack-delay",
        }
    }

    /// What it is.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Syn => "first timeout of a SYN",
            Self::SynAck => "first timeout of a SYN-ACK",
            Self::LeastRto => "least RTO",
            Self::MostAckDelay => "longest delay of an ACK",
        }
    }

    /// The kernel's own: RFC 6298 §2.1; include/net/tcp.h, `TCP_RTO_MIN` and `TCP_DELACK_MAX`.
    pub const fn usual(self) -> Duration {
        match self {
            Self::Syn | Self::SynAck => Duration::from_secs(1),
            Self::LeastRto | Self::MostAckDelay => Duration::from_millis(200),
        }
    }

    /// Its value; `None`: the kernel's own.
    pub const fn of(self, timers: &SocketTimers) -> Option<Duration> {
        match self {
            Self::Syn => timers.syn,
            Self::SynAck => timers.syn_ack,
            Self::LeastRto => timers.least_rto,
            Self::MostAckDelay => timers.most_ack_delay,
        }
    }

    /// Sets it.
    pub const fn set(self, timers: &mut SocketTimers, time: Duration) {
        let timer = match self {
            Self::Syn => &mut timers.syn,
            Self::SynAck => &mut timers.syn_ack,
            Self::LeastRto => &mut timers.least_rto,
            Self::MostAckDelay => &mut timers.most_ack_delay,
        };
        *timer = Some(time);
    }

    /// Checks that the kernel has such a timer, and that it is no longer than its own.
    ///
    /// # Errors
    /// What is expected.
    pub fn check(self, time: Duration) -> Result<(), String> {
        let (least, usual) = (jiffy() * 2, self.usual());
        let what = format!("{}: {}", self.key(), format_duration(time));
        if time > usual {
            let usual = format_duration(usual);
            return Err(format!("{what} is longer than the kernel's own {usual}: expected a shorter {}", self.about()));
        }
        if time < least {
            let least = format_duration(least);
            return Err(format!("{what} is too short: expected at least {least}, two ticks of this kernel's clock"));
        }
        Ok(())
    }
}

/// A plan as text. `head` and what `about` says of each network are comments.
pub fn to_toml(plan: &Plan, head: &str, about: impl Fn(&Network) -> String) -> String {
    let comment =
        |text: &str| text.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect::<String>();
    let mut text = comment(head);
    for (network, timers) in plan {
        _ = write!(text, "\n{}[\"{network}\"]\n", comment(&about(network)));
        for timer in Timer::ALL {
            if let Some(time) = timer.of(timers) {
                _ = writeln!(text, "{} = \"{}\"", timer.key(), format_duration(time));
            }
        }
    }
    text
}
