//! The senders: TCP stacks that answer requests.
//!
//! Every sender does the same. It accepts connections at [`PORT`]. On each it reads [`REQUEST`] bytes, a number of bytes in
//! network byte order, and sends that many bytes; then it reads the next request. The connection stays open until the
//! receiver closes it, so that no FIN helps to recover the last segment. When the sender accepts connections, it prints `listening ADDRESS:PORT` on standard output, and
//! then runs until it is killed.
//!
//! All but the kernel's TCP send through a TUN device that they open in their network namespace.

mod bare;
pub mod gvisor;
mod ipstack;
mod kernel;
mod recoup;
mod smoltcp;
mod tcp_ip;

use crate::{case::Case, versions::version_of};
use ::smoltcp::socket::tcp::CongestionControl;
use clap::{Args, ValueEnum};
use recoup_net::{TunDevice, TunOptions};
use std::{
    error::Error,
    net::{IpAddr, SocketAddr},
};

/// An error in words.
pub type Failed = Box<dyn Error + Send + Sync>;

/// The port at which senders accept connections.
pub const PORT: u16 = 5001;

/// The length of a request in bytes: a `u64`.
pub const REQUEST: usize = 8;

/// The bytes that a connection may have written and not acknowledged, and received and not read, where the stack lets us
/// choose.
pub const BUFFER: usize = 4 << 20;

/// A TCP stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sender {
    /// Recoup with the profile `linux-6`
    #[value(name = "linux-6")]
    Recoup,
    /// Recoup with the profile `linux-6+tlpr`
    #[value(name = "linux-6+tlpr")]
    RecoupTlpr,
    /// Recoup with the profile `linux-6+bbr1`
    #[value(name = "linux-6+bbr1")]
    RecoupBbr,
    /// The TCP of this machine's kernel, with CUBIC as Recoup has it
    Linux,
    /// The TCP of this machine's kernel, with BBR
    LinuxBbr,
    /// smoltcp without congestion control
    Smoltcp,
    /// smoltcp with Reno
    SmoltcpReno,
    /// smoltcp with CUBIC
    SmoltcpCubic,
    /// The crate tcp_ip
    TcpIp,
    /// The crate ipstack
    Ipstack,
    /// gVisor's netstack with CUBIC, a program in Go
    Gvisor,
    /// gVisor's netstack with Reno
    GvisorReno,
    /// No TCP stack: bare writes into the TUN device, as fast as the receiver's window permits
    Bare,
}

impl Sender {
    /// The name on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The name in the tables.
    pub fn title(self) -> String {
        let with_version = |name, package| format!("{name} {}", version_of(package).unwrap_or(""));
        let recoup = |profile| format!("Recoup, `{profile}`");
        let smoltcp = |control| format!("{}, {control}", with_version("smoltcp", "smoltcp"));
        match self {
            Self::Recoup => recoup("linux-6"),
            Self::RecoupTlpr => recoup("linux-6+tlpr"),
            Self::RecoupBbr => recoup("linux-6+bbr1"),
            Self::Linux => "Linux, cubic".into(),
            Self::LinuxBbr => "Linux, bbr".into(),
            Self::Smoltcp => smoltcp("no congestion control"),
            Self::SmoltcpReno => smoltcp("reno"),
            Self::SmoltcpCubic => smoltcp("cubic"),
            Self::TcpIp => with_version("tcp_ip", "tcp_ip"),
            Self::Ipstack => with_version("ipstack", "ipstack"),
            Self::Gvisor => "gVisor netstack, cubic".into(),
            Self::GvisorReno => "gVisor netstack, reno".into(),
            Self::Bare => "bare write() into a TUN".into(),
        }
    }

    /// Whether it is measured in this case.
    pub const fn takes_part(self, case: Case) -> bool {
        let lossy = case.is_lossy();
        let completion = matches!(case, Case::Completion(_));
        match self {
            // The mechanism concerns the tail of a flow only.
            Self::RecoupTlpr => completion,
            // Variants differ in congestion control, which matters under loss.
            Self::SmoltcpReno | Self::SmoltcpCubic | Self::GvisorReno => lossy || completion,
            Self::RecoupBbr | Self::LinuxBbr => lossy || matches!(case, Case::Bulk { .. }),
            // They have no segmentation offload.
            Self::TcpIp | Self::Ipstack => !case.offloads(),
            // It does not recover from loss.
            Self::Bare => matches!(case, Case::Bulk { .. }),
            Self::Recoup | Self::Linux | Self::Smoltcp | Self::Gvisor => true,
        }
    }

    /// Builds what the sender needs.
    ///
    /// # Errors
    /// In one line: what is missing on this machine.
    pub fn prepare(self) -> Result<(), Failed> {
        match self {
            Self::Gvisor | Self::GvisorReno => gvisor::build().map(drop),
            _ => Ok(()),
        }
    }

    /// Whether it is the TCP of this machine's kernel.
    pub const fn is_kernel(self) -> bool {
        matches!(self, Self::Linux | Self::LinuxBbr)
    }
}

/// The versions of everything that is measured, in one line.
pub fn versions() -> String {
    let version = |name, package| format!("{name} {}", version_of(package).unwrap_or("unknown"));
    let crates = [("Recoup", "recoup-net"), ("smoltcp", "smoltcp"), ("tcp_ip", "tcp_ip"), ("ipstack", "ipstack")];
    let crates = crates.map(|(name, package)| version(name, package));
    format!("{}, gVisor {}", crates.join(", "), gvisor::version())
}

/// The packets of a sender.
#[derive(Args, Clone, Copy, Debug)]
pub struct Options {
    /// The longest packet in bytes, IP header included; with --offloads the kernel cuts longer ones into such packets
    #[arg(long, default_value_t = 1500)]
    pub mtu: u16,
    /// Leave TCP segmentation and checksums to the kernel
    #[arg(long)]
    pub offloads: bool,
}

impl Options {
    /// Packets of an Ethernet link, without offloads.
    pub const PLAIN: Self = Self { mtu: 1500, offloads: false };
}

/// Runs a sender until it is killed.
pub fn run(sender: Sender, options: &Options) -> Result<(), Failed> {
    match sender {
        Sender::Recoup => recoup::run("linux-6", options),
        Sender::RecoupTlpr => recoup::run("linux-6+tlpr", options),
        Sender::RecoupBbr => recoup::run("linux-6+bbr1", options),
        Sender::Linux => kernel::run("cubic"),
        Sender::LinuxBbr => kernel::run("bbr"),
        Sender::Smoltcp => smoltcp::run(CongestionControl::None, options),
        Sender::SmoltcpReno => smoltcp::run(CongestionControl::Reno, options),
        Sender::SmoltcpCubic => smoltcp::run(CongestionControl::Cubic, options),
        Sender::TcpIp => tcp_ip::run(options),
        Sender::Ipstack => ipstack::run(options),
        Sender::Gvisor => gvisor::run("cubic", options),
        Sender::GvisorReno => gvisor::run("reno", options),
        Sender::Bare => bare::run(options),
    }
}

/// A TUN device in this network namespace, and the IPv4 address of the stack that uses it.
fn open_device(options: &Options) -> Result<(TunDevice, IpAddr), Failed> {
    let device = TunDevice::open_with(&TunOptions { mtu: options.mtu, address: None, offloads: options.offloads })?;
    let address = device.host_addresses().iter().copied().find(IpAddr::is_ipv4);
    Ok((device, address.ok_or("the TUN device has no IPv4 address")?))
}

/// Says that connections to this address are accepted from now on.
fn announce(address: IpAddr) {
    println!("listening {}", SocketAddr::new(address, PORT));
}
