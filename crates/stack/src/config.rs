//! Settings of a stack, and of its TCP sockets.

use crate::host::is_unicast;
use recoup_recovery::Mechanisms;
use recoup_recovery::profile::{Profile, ProfileError};
use recoup_tcp::{self as tcp, AckPolicy, KeepAlive, MtuProbing, SendLimits, WindowScaling};
use recoup_wire::{Endpoints, IpVersion, SeqNumber};
use std::{io, net::IpAddr, time::Duration};

/// Settings of a stack.
#[derive(Clone, Debug)]
pub struct Config {
    /// The stack's own addresses.
    pub addresses: Vec<IpAddr>,
    /// Whether all other addresses are its own, too, but for those of peers: for a stack that does not know the
    /// addresses it is reached at. Sockets may have any address then, and packets to any are for it.
    pub every_address: bool,
    /// Options of TCP sockets that bring none of their own.
    pub tcp: TcpOptions,
    /// Whether each segment is answered, as the ACK policy says, before the next one is read. Otherwise
    /// segments that were read together are answered together, as Linux answers what GRO joined. That
    /// takes fewer ACKs and is faster.
    pub answer_each: bool,
    /// Connections at most.
    pub most_connections: usize,
    /// Connections in TIME-WAIT that their applications have let go of, at most. Beyond that the oldest is forgotten.
    pub most_time_waits: usize,
    /// Memory of all connections at most, in bytes: their state, what was written and is not acknowledged, what arrived and
    /// is not read, and out-of-order data. When it is scarce, writes wait, and what arrives is dropped for the peer to send
    /// again; connections that hold little of it go on. Connections in TIME-WAIT come on top (40 to 92 bytes each), and
    /// unfinished handshakes (128 bytes each at most).
    pub memory: usize,
    /// Memory of it that out-of-order data takes at most, bookkeeping included, in bytes; never more than half of all. Above
    /// it, the connections with the most of it lose theirs, and their peers retransmit it.
    pub most_out_of_order: usize,
    /// Memory that incomplete fragmented packets take at most, bookkeeping included, in bytes. The longest packets need
    /// four times their length.
    pub most_fragments: usize,
    /// Whether echo requests to every address that a listener takes are answered, and not only those to own addresses.
    pub answer_any_echo: bool,
}

impl Config {
    /// A stack with these addresses. Its sockets behave as those of current Linux.
    pub fn new(addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        Self {
            addresses: addresses.into_iter().collect(),
            every_address: false,
            tcp: TcpOptions::default(),
            answer_each: false,
            most_connections: 1 << 16,
            most_time_waits: 1 << 16,
            memory: 256 << 20,
            most_out_of_order: 128 << 20,
            most_fragments: 1 << 20,
            answer_any_echo: false,
        }
    }
}

/// The smallest MTU of links that carry IPv4, in bytes (RFC 791 §3.2).
const LEAST_MTU_V4: u16 = 68;

/// The smallest MTU of links that carry IPv6, in bytes (RFC 8200 §5).
const LEAST_MTU_V6: u16 = 1280;

impl Config {
    /// Checks whether a stack can have these addresses over a device with this MTU.
    pub(crate) fn check(&self, mtu: u16) -> io::Result<()> {
        let wrong = |line| Err(io::Error::new(io::ErrorKind::InvalidInput, line));
        for ip in &self.addresses {
            if !is_unicast(*ip) {
                return wrong(format!("address {ip} of a stack: expected a unicast address, not of a loopback"));
            }
            let least = if ip.is_ipv4() { LEAST_MTU_V4 } else { LEAST_MTU_V6 };
            if mtu < least {
                return wrong(format!(
                    "device with an MTU of {mtu} bytes: expected {least} or more for the address {ip}"
                ));
            }
        }
        Ok(())
    }
}

/// Options of a TCP socket: of a connection, or of a listener and the connections that come to it.
#[derive(Clone, Copy, Debug)]
pub struct TcpOptions {
    /// How endpoints behave. MSS, IP version and initial sequence number are each connection's own.
    pub endpoint: tcp::Config,
    /// Whether buffers begin small and grow as the connection needs them, up to [`send_buffer`](Self::send_buffer) and the
    /// endpoint's `receive_buffer`. Otherwise they have these sizes at once.
    pub tune_buffers: bool,
    /// Bytes written and not acknowledged, at most.
    pub send_buffer: u64,
    /// Bytes written and not sent, at most (Linux `TCP_NOTSENT_LOWAT`). A low limit keeps data in the processor's
    /// caches until it is transmitted. By default as much as a connection transmits at once, in three super-packets, to a
    /// device with offloads.
    pub unsent: u64,
    /// When an idle connection's peer is probed, if at all.
    pub keep_alive: Option<KeepAlive>,
    /// How long data may stay unacknowledged (RFC 9293 §3.9.1), if the profile does not say it.
    pub user_timeout: Option<Duration>,
    /// The announced MSS, at most, if it is to be smaller than the MTU permits (Linux `TCP_MAXSEG`).
    pub max_segment: Option<u16>,
    /// Connections of a listener that wait to be accepted, at most; and as many whose handshake is not done.
    pub backlog: usize,
    /// Whether a listener with so many unfinished handshakes answers further SYNs with SYN cookies (RFC 4987 §3.6), which
    /// need no memory: new clients connect even under a flood of SYNs. Without timestamps, these connections have neither
    /// SACK nor window scale.
    pub syn_cookies: bool,
    /// Whether the application decides about each SYN of a listener before it is answered.
    pub decide_first: bool,
}

impl TcpOptions {
    /// Buffers that grow up to 4 MiB, 192 KiB of it unsent, delayed ACKs as Linux has them, Nagle's rule, a search for
    /// the path MTU where large segments vanish.
    pub fn new(mechanisms: Mechanisms) -> Self {
        let quick = AckPolicy::LINUX_QUICK;
        Self {
            endpoint: tcp::Config {
                acks: AckPolicy::Linux { quick },
                receive_buffer: 4 << 20,
                nagle: true,
                mtu_probing: MtuProbing::OnBlackHole,
                ..tcp::Config::new(mechanisms)
            },
            tune_buffers: true,
            send_buffer: 4 << 20,
            unsent: 192 << 10,
            keep_alive: None,
            user_timeout: None,
            max_segment: None,
            backlog: 1024,
            syn_cookies: true,
            decide_first: false,
        }
    }

    /// The options of [`new`](Self::new) with a profile of loss recovery by its name: `linux-6`, `linux-6+tlpr+slp`,
    /// `linux-6+bbr1`.
    ///
    /// # Errors
    /// When there is no such profile: its message names similar ones.
    pub fn of_profile(name: &str) -> Result<Self, ProfileError> {
        let profile: Profile = name.parse()?;
        Ok(Self::new(*profile.mechanisms()))
    }

    /// How much of what is written a connection takes.
    pub const fn send_limits(&self) -> SendLimits {
        SendLimits { buffer: self.send_buffer, unsent: self.unsent }
    }

    /// The configuration of the endpoint of one connection that begins with this receive buffer, where packets have up to
    /// `mtu` bytes.
    pub(crate) fn endpoint_for(&self, path: &Endpoints, isn: SeqNumber, mtu: u16, receive_buffer: u64) -> tcp::Config {
        let ip_version = path.ip_version().unwrap_or(IpVersion::V4);
        let mut config = tcp::Config { ip_version, isn, ..self.endpoint };
        if self.tune_buffers {
            if config.window_scaling == WindowScaling::Fit {
                config.window_scaling = WindowScaling::fit(self.endpoint.receive_buffer);
            }
            config.receive_buffer = receive_buffer;
            config.tune_receive_buffer = true;
        }
        let most = largest_mss(mtu, ip_version);
        config.announce(self.max_segment.map_or(most, |mss| mss.min(most)));
        config
    }
}

impl Default for TcpOptions {
    /// Those of current Linux.
    fn default() -> Self {
        Self::new(Mechanisms::LINUX_6)
    }
}

/// The MSS, options not taken off, of packets of `mtu` bytes (RFC 9293 §3.7.1).
pub(crate) fn largest_mss(mtu: u16, version: IpVersion) -> u16 {
    let headers = version.header_len() as u16 + recoup_wire::TCP_HEADER_LEN as u16;
    mtu.saturating_sub(headers).max(1)
}
