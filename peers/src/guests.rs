//! Transport stacks as guests: in virtual time, in this process or in a child.
//!
//! `recoup-peers guest NAME` is such a guest for others, over standard input and output (docs/conformance.md).
//!
//! | module | stack |
//! | --- | --- |
//! | `recoup` | Recoup's own, with a profile |
//! | `smoltcp` | smoltcp: TCP |
//! | `quinn` | quinn-proto: QUIC |
//! | `sctp` | sctp-proto: SCTP |
//! | `gvisor` | gVisor's netstack: TCP, a program in Go |
//! | `udp` | UDP datagrams in IP packets, for stacks that leave IP to the system |
//!
//! Each is configured as its authors ship it, unless its module says why not. Stacks that read the clock themselves cannot be
//! guests: ipstack, tcp_ip, quiche, and lwIP through the crate lwip, whose timers are tokio's and which opens no connections.

mod gvisor;
mod quinn;
mod recoup;
mod sctp;
mod smoltcp;
#[cfg(test)]
mod tests;
mod udp;

use crate::versions::version_of;
use ::smoltcp::socket::tcp::CongestionControl;
use clap::ValueEnum;
use recoup_guest::{Failed, Guest, Setup};
use std::io;

/// A stack that can be a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum GuestName {
    /// Recoup with the profile `linux-6`
    #[value(name = "linux-6")]
    Linux6,
    /// Recoup with the profile `linux-6+tlpr`
    #[value(name = "linux-6+tlpr")]
    Linux6Tlpr,
    /// smoltcp without congestion control
    Smoltcp,
    /// smoltcp with Reno
    SmoltcpReno,
    /// smoltcp with CUBIC
    SmoltcpCubic,
    /// quinn (QUIC) with CUBIC
    Quinn,
    /// quinn (QUIC) with NewReno
    QuinnReno,
    /// quinn (QUIC) with BBR
    QuinnBbr,
    /// gVisor's netstack with Reno, a program in Go
    Gvisor,
    /// gVisor's netstack with CUBIC
    GvisorCubic,
    /// gVisor's netstack with Reno, and a clock that tells the packets of one burst the same time
    GvisorCoarseClock,
    /// sctp-proto (SCTP in UDP)
    Sctp,
}

impl GuestName {
    /// The name on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// A host with this stack.
    ///
    /// # Errors
    /// When the stack lacks something that `setup` asks for.
    pub fn make(self, setup: &Setup) -> Result<Box<dyn Guest>, Failed> {
        Ok(match self {
            Self::Linux6 | Self::Linux6Tlpr => Box::new(recoup::with_profile(setup, &self.name())?),
            Self::Smoltcp => Box::new(smoltcp::Smoltcp::new(setup, CongestionControl::None)?),
            Self::SmoltcpReno => Box::new(smoltcp::Smoltcp::new(setup, CongestionControl::Reno)?),
            Self::SmoltcpCubic => Box::new(smoltcp::Smoltcp::new(setup, CongestionControl::Cubic)?),
            Self::Quinn => Box::new(quinn::Quinn::new(setup, quinn::Control::Cubic)?),
            Self::QuinnReno => Box::new(quinn::Quinn::new(setup, quinn::Control::NewReno)?),
            Self::QuinnBbr => Box::new(quinn::Quinn::new(setup, quinn::Control::Bbr)?),
            Self::Gvisor => Box::new(gvisor::start(setup, "reno", false)?),
            Self::GvisorCoarseClock => Box::new(gvisor::start(setup, "reno", true)?),
            Self::GvisorCubic => Box::new(gvisor::start(setup, "cubic", false)?),
            Self::Sctp => Box::new(sctp::Sctp::new(setup)?),
        })
    }

    /// Whether the application can switch Nagle's algorithm off (option `no-delay`): every TCP can.
    pub const fn has_nagle(self) -> bool {
        !matches!(self, Self::Quinn | Self::QuinnReno | Self::QuinnBbr | Self::Sctp)
    }

    /// Answers a caller on standard input and output.
    pub fn serve(self) -> Result<(), crate::senders::Failed> {
        Ok(recoup_guest::serve(|setup| self.make(setup), io::stdin().lock(), io::stdout().lock())?)
    }
}

/// The version of a crate that this program is built with.
fn version(package: &str) -> String {
    version_of(package).unwrap_or("unknown").to_owned()
}
