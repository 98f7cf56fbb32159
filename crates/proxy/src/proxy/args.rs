//! The command line of `recoup proxy`.

use super::header::Version;
use super::settings::{Address, parse_profile};
use recoup::analysis_args::parse_threads;
use recoup_exposition::listening_address;
use recoup_recovery::Profile;
use recoup_support::quantity::{parse_duration, parse_rate, parse_size};
use recoup_units::BitRate;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
TCP towards the clients is Recoup's, with the loss recovery of a profile; the server is reached by
the host's sockets and stays as it is. As root on Linux 6.6 or later, the proxy takes the port of
the host's own address before the kernel sees its packets, and gives it back when it ends, however
it ends. What it changes on the host is printed. Packets of the host itself to that port go to the
kernel as before, so the server may have the same address and port.

With several --profile, each connection has one of them, by a keyed hash of its addresses and ports;
--summary then says how their completion times differ. The completion time of a response is the time
in which data of it was sent and not acknowledged.

Signals: SIGTERM or SIGINT takes no new connections, and ends when the open ones have ended, after
--drain at the latest; a second one ends at once. SIGHUP reads --config again and opens --log again.

Examples:
  recoup proxy --listen 192.0.2.1:80 --upstream 127.0.0.1:80
  recoup proxy --listen 192.0.2.1:443 --upstream 10.0.0.7:443 --proxy-protocol v2 --log access.jsonl
  recoup proxy --listen 192.0.2.1:80 --upstream localhost:80 \\
      --profile linux-6 --profile linux-6+tlpr --summary
  recoup proxy --config proxy.toml --prometheus 127.0.0.1:9465
  recoup proxy --suggest capture.pcapng

Exit status: 0 ended by a signal; 1 connections were cut when it ended; 2 wrong use, no right, or the
port cannot be had.";

/// Put Recoup's loss recovery before an ordinary server, and compare profiles on its clients
#[derive(clap::Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    pub what: What,
    #[command(flatten)]
    pub front: FrontArgs,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Interfaces of the clients [default: those that have the addresses]
    #[arg(long = "interface", value_name = "NAME")]
    pub interfaces: Vec<String>,
    /// Processors that carry packets, each with a stack and a queue of its own [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub queues: Option<usize>,
    /// How long open connections may go on after SIGTERM
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub drain: Duration,
    /// Append a JSON object for each connection that ended to this file; - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub log: PathBuf,
    /// When the proxy ends, say how many connections each profile had, and how their completion times differ
    #[arg(long)]
    pub summary: bool,
    /// Serve metrics for Prometheus at this address: http://ADDRESS:PORT/metrics. Port 0: one that is free
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening_address)]
    pub prometheus: Option<SocketAddr>,
}

/// What is proxied.
#[derive(clap::Args, Debug)]
#[group(required = true, multiple = true)]
pub(crate) struct What {
    /// Take connections here: 192.0.2.1:80, [2001:db8::1]:80; 0.0.0.0 and [::] stand for all addresses of the host. An
    /// address that the host does not have is the proxy's own; other hosts must be told to send its packets to this one
    #[arg(long, value_name = "ADDR:PORT", requires = "upstream", value_parser = listening_address)]
    pub listen: Option<SocketAddr>,
    /// Read what to proxy from this file (docs/proxy.md)
    #[arg(long, value_name = "FILE", conflicts_with_all = FrontArgs::NAMES, conflicts_with = "listen")]
    pub config: Option<PathBuf>,
    /// Take connections to any address and port whose packets a policy route sends here, and connect to where they wanted to
    /// go, from the clients' addresses (IP_TRANSPARENT). The first lines say which routes it needs
    #[arg(long, conflicts_with_all = ["listen", "upstream", "config"])]
    pub transparent: bool,
    /// Print the command to run for the server that these captures show to gain most, and how long it takes to show the gain.
    /// The captures are taken at the server, and read as one; no proxy is started
    #[arg(long, value_name = "CAPTURE", num_args = 1.., conflicts_with_all = ["config", "transparent"])]
    pub suggest: Vec<PathBuf>,
}

/// One listening address and its server.
#[derive(clap::Args, Debug)]
pub(crate) struct FrontArgs {
    /// The server: a name or an address, and its port
    #[arg(long, value_name = "HOST:PORT")]
    pub upstream: Option<Address>,
    /// Loss recovery towards the clients, such as linux-6+tlpr (`recoup profiles` lists them); several: a trial
    #[arg(long = "profile", value_name = "PROFILE", default_value = "linux-6", value_parser = parse_profile)]
    pub profiles: Vec<Profile>,
    /// Tell the server each client's address by this version of the PROXY protocol
    #[arg(long, value_name = "VERSION")]
    pub proxy_protocol: Option<Version>,
    /// Give up connecting to the server after this time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub connect_timeout: Duration,
}

impl FrontArgs {
    const NAMES: [&'static str; 4] = ["upstream", "profiles", "proxy_protocol", "connect_timeout"];
}

/// What clients may use.
#[derive(clap::Args, Debug)]
pub(crate) struct LimitArgs {
    /// Open connections at most; further clients wait
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,
    /// Open connections of one client at most (IPv6: of one network of 64 bits); further ones are reset
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub connections_per_client: Option<u32>,
    /// New connections of one client in a second at most; further ones are reset
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub opens_per_client: Option<u32>,
    /// Rate of each connection to its client at most, such as 50Mbit
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub rate: Option<BitRate>,
    /// Memory of all connections to clients at most
    #[arg(long, value_name = "SIZE", default_value = "256MB", value_parser = parse_memory)]
    pub memory: usize,
    /// End a connection on which nothing was sent or received for this long
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    pub idle: Duration,
}

fn parse_memory(text: &str) -> Result<usize, String> {
    let size = parse_size(text)?;
    let size = (1_000_000..=64_000_000_000).contains(&size).then_some(size);
    size.and_then(|size| usize::try_from(size).ok()).ok_or_else(|| "expected a size from 1MB to 64GB".into())
}
