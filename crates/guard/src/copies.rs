//! Copies beside the kernel: of SYNs and SYN-ACKs, of last segments, and probes of tails.
//!
//! ```text
//! live: rings ─► packet ─► guard: connections, each with a shadow (the engine) ─► decision ─► live: sends
//!                             └─► paths, limits                                       └─► report: lines, log, summary
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `packet` | a TCP packet of a frame, and its last segment as a packet of its own |
//! | `shadow` | the engine beside the kernel, for one sender |
//! | `connection` | what is known of one connection |
//! | `guard` | decides what is sent: the engine's wish, within what does no harm |
//! | `event` | what the guard says and counts |
//! | `decision` | one decision, and what became of it |
//! | `path` | what all connections to one address show: whether its loss or its round-trip time rises |
//! | `limits` | budgets |
//! | `live` | interfaces: packets in, copies out |
//! | `metrics` | the counts as metrics for Prometheus |
//! | `report` | what is said |
//! | `summary` | what was sent, repaired and saved, against the control |

mod connection;
mod decision;
mod event;
mod guard;
mod limits;
mod live;
mod metrics;
mod packet;
mod path;
mod report;
mod shadow;
mod summary;

use clap::ArgGroup;
use guard::{Guard, Settings};
use limits::Limit;
use recoup::{Failure, console};
use recoup_captures::filter::Filter;
use recoup_exposition::{listening_address, serve};
use recoup_kernel::Sockets;
use recoup_recovery::Profile;
use recoup_recovery::slp::Kind;
use recoup_support::profile::parse_profile;
use recoup_support::quantity::parse_duration;
use recoup_units::Ppm;
use report::Report;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
Nothing is sent without --act: a dry run says what would be sent, and what the kernel's own
retransmissions show it would have saved. Half of the connections are left alone, to compare with.

Examples:
  recoup guard copies eth0 --allow 'src port 443'
  recoup guard copies eth0 --allow 'src port 443' --act --summary summary.json
  recoup guard copies eth0 --allow 'dst net 192.0.2.0/24' --handshakes-only --act
  recoup guard copies eth0 --allow-cgroup /sys/fs/cgroup/system.slice/nginx.service --act

Exit status: 0 ended by a signal or --for; 2 wrong use, no right to read or send, or no interface left.";

#[derive(clap::Args)]
#[command(after_help = HELP, group = ArgGroup::new("allowed").multiple(true).args(["allow", "allow_cgroup"]))]
pub struct Args {
    /// Interfaces of the connections, such as eth0
    #[arg(required = true, value_name = "INTERFACE")]
    interfaces: Vec<String>,
    /// Help only these connections of this host: an expression of tcpdump that matches their packets, in either direction
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    allow: Option<Filter>,
    /// Help only connections of sockets of this control group (version 2) and of those below it, such as
    /// /sys/fs/cgroup/system.slice. With --allow, both must hold
    #[arg(long, value_name = "DIR")]
    allow_cgroup: Option<PathBuf>,
    /// Send. Needs --allow or --allow-cgroup
    #[arg(long, requires = "allowed")]
    act: bool,
    /// Copy SYNs and SYN-ACKs alone
    #[arg(long)]
    handshakes_only: bool,
    /// The share of connections that are left alone, to compare with
    #[arg(long, value_name = "SHARE", default_value = "50%", value_parser = share)]
    control: Ppm,
    /// The key that chooses them [default: random]
    #[arg(long, value_name = "NUMBER")]
    key: Option<u64>,
    /// The mechanisms of this host's kernel
    #[arg(long, value_name = "PROFILE", default_value = "linux-6", value_parser = profile)]
    kernel: Profile,
    /// Mechanisms that help
    #[arg(long, value_name = "MECHANISMS", default_value = "+tlpr+slp")]
    help_by: String,
    /// Send at most this many copies a second to one address
    #[arg(long, value_name = "COPIES", default_value_t = 100)]
    destination_limit: u32,
    /// Send at most this many copies a second in all
    #[arg(long, value_name = "COPIES", default_value_t = 1000)]
    host_limit: u32,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    most: Option<Duration>,
    /// Write each decision and its outcome into this file, one JSON object a line: `recoup analyze --guard-log` reads it
    #[arg(long, value_name = "FILE")]
    guard_log: Option<PathBuf>,
    /// Write what was sent, repaired and saved into this file, as JSON
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Serve metrics for Prometheus at this address: http://ADDRESS:PORT/metrics. Port 0: one that is free
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening_address)]
    prometheus: Option<SocketAddr>,
}

fn share(text: &str) -> Result<Ppm, String> {
    let number = text.strip_suffix('%').map_or_else(|| text.parse::<f64>(), |n| n.parse().map(|n: f64| n / 100.0));
    let share = number.ok().filter(|share| (0.0..=1.0).contains(share));
    share
        .map(|share| Ppm::new((share * 1e6) as u32))
        .ok_or_else(|| "expected a share from 0 to 1, such as 0.5 or 50%".into())
}

fn profile(text: &str) -> Result<Profile, String> {
    parse_profile(text).map_err(|why| format!("{why} (`recoup profiles` lists what there is)"))
}

/// Copies until it is told to end.
pub fn run(args: &Args) -> Result<(), Failure> {
    let settings = settings(args)?;
    let key = settings.key;
    // Before the interfaces, so that the socket of each connection that is seen is known.
    let sockets = args.allow_cgroup.as_deref().map(Sockets::attach).transpose()?;
    let mut report = Report::open(args.guard_log.as_deref())?.with_metrics(serve_metrics(args)?);
    let mut live = live::Live::open(&args.interfaces, args.allow.as_ref(), args.act && !args.handshakes_only)?;
    let handshakes_only = settings.handshakes_only || live.why_not_hidden().is_some();
    if let Some(why) = live.why_not_hidden() {
        console::warning(format_args!("only handshakes are copied: {why}"));
    }
    let mut guard = Guard::new(Settings { handshakes_only, ..settings }, live::now());
    if let Some(sockets) = sockets {
        guard = guard.with_members(Box::new(move |connection| sockets.has(connection)));
    }
    console::status(format_args!(
        "{} {} (key {key}; Ctrl-C ends)",
        if args.act { "guarding" } else { "a dry run on" },
        args.interfaces.join(", ")
    ));
    let is_told = live.run(&mut guard, &mut report, args.most)?;
    let summary = report.finish(&guard, key, live.hidden());
    summary.lines().iter().for_each(console::status);
    if let Some(path) = &args.summary {
        summary.write(path)?;
    }
    match is_told {
        true => Ok(()),
        false => Err(Failure::Wrong(format!("{}: no interface is left to guard", args.interfaces.join(", ")))),
    }
}

/// Serves metrics, if that is asked for.
fn serve_metrics(args: &Args) -> Result<Option<metrics::Shared>, Failure> {
    let Some(at) = args.prometheus else { return Ok(None) };
    let (shared, source, acts) = (metrics::Shared::default(), args.interfaces.join(", "), args.act);
    let counted = shared.clone();
    let at = serve(at, move |format| counted.totals().page(&source, acts, format))
        .map_err(|why| Failure::Wrong(format!("--prometheus {at}: cannot serve metrics there: {why}")))?;
    console::status(format_args!("metrics at http://{at}/metrics"));
    Ok(Some(shared))
}

fn settings(args: &Args) -> Result<Settings, Failure> {
    let helper = profile(&format!("{}{}", args.kernel, args.help_by))
        .map_err(|why| Failure::Wrong(format!("--help-by {}: {why}", args.help_by)))?;
    let mut helper = *helper.mechanisms();
    if let Some(slp) = &mut helper.slp {
        // The paper's, and the tail, whose loss only a timer repairs, as that of a SYN.
        slp.likelihoods = slp.likelihoods.with(Kind::Tail, Ppm::ONE).with(Kind::Fin, Ppm::ONE);
    }
    Ok(Settings {
        kernel: *args.kernel.mechanisms(),
        helper,
        learns_loss: true,
        acts: args.act,
        handshakes_only: args.handshakes_only,
        control: args.control,
        key: args.key.unwrap_or_else(random_key),
        destination: Limit::packets(args.destination_limit),
        host: Limit::packets(args.host_limit),
        most: 200_000,
    })
}

/// A key that nobody can guess, from the standard library's random state.
fn random_key() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}
