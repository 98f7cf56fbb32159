//! `recoup guard timers`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `text` | what a plan sets, in words and in the kernel's units |

mod text;

use crate::plan::{Plan, Timer, read};
use crate::schedule::Retries;
use clap::ArgGroup;
use recoup::Failure;
use recoup::console;
use recoup::output::print;
use recoup::signals::Signals;
use recoup_kernel::{Network, SocketTimers, TimerCounts, Timers};
use recoup_support::quantity::{format_duration, parse_any_duration, parse_duration};
use recoup_table::Schema;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const HELP: &str = "\
Examples:
  recoup guard timers --plan plan.toml                     # what it would set, and when SYNs would be repeated
  recoup guard timers --plan plan.toml --cgroup /sys/fs/cgroup/system.slice --act
  recoup guard timers --network 192.0.2.0/24 --syn 120ms --syn-ack 120ms --cgroup /sys/fs/cgroup --act --for 1h

Without --act, nothing is set. With it, timers of new connections are set for as long as this command runs. Sockets that were
opened before get none, and listeners repeat SYN-ACKs sooner only if they were started after it. docs/guard.md says more.

Exit status: 0 done; 2 wrong use, or the kernel refuses.";

/// The document's name and version.
const SCHEMA: Schema = Schema { name: "recoup.guard.timers", version: 1 };

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(100);

#[derive(clap::Args)]
#[command(after_help = HELP, group = ArgGroup::new("what").required(true).args(["plan", "network"]))]
pub struct Args {
    /// A plan, as `recoup guard suggest --plan` writes it
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Without a plan: the network of the other hosts, such as 192.0.2.0/24
    #[arg(long, value_name = "NETWORK")]
    network: Option<Network>,
    /// The first timeout of SYNs to that network: up to 1s
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "network")]
    syn: Option<Duration>,
    /// The first timeout of SYN-ACKs: up to 1s
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "network")]
    syn_ack: Option<Duration>,
    /// The least term that is added to the smoothed round-trip time in an RTO: up to 200ms
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "network")]
    least_rto: Option<Duration>,
    /// The longest delay of this host's ACKs: up to 200ms
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "network")]
    most_ack_delay: Option<Duration>,
    /// The cgroup (version 2) whose sockets get the timers, and those of all cgroups below it
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,
    /// Set the timers, and stay until SIGINT or SIGTERM
    #[arg(long, requires = "cgroup")]
    act: bool,
    /// Stay no longer than this
    #[arg(long = "for", value_name = "TIME", value_parser = parse_any_duration, requires = "act")]
    stay: Option<Duration>,
    /// Print JSON: what is set, and the counts at the end
    #[arg(long)]
    json: bool,
}

impl Args {
    fn plan(&self) -> Result<Plan, Failure> {
        let Some(network) = self.network else {
            return Ok(read(self.plan.as_deref().unwrap_or_else(|| Path::new("")))?);
        };
        let given = [self.syn, self.syn_ack, self.least_rto, self.most_ack_delay];
        let mut timers = SocketTimers::default();
        for (timer, time) in Timer::ALL.into_iter().zip(given) {
            if let Some(time) = time {
                timer.check(time).map_err(|why| Failure::Wrong(format!("--{why}")))?;
                timer.set(&mut timers, time);
            }
        }
        match given.iter().all(Option::is_none) {
            true => {
                let options = Timer::ALL.map(|timer| format!("--{}", timer.key())).join(", ");
                Err(Failure::Wrong(format!("--network {network}: no timer: expected one of {options}")))
            }
            false => Ok(Plan::from([(network, timers)])),
        }
    }
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let plan = args.plan()?;
    if !args.act {
        return print(&match args.json {
            true => document(&plan, None)?,
            false => text::dry_run(&plan, Retries::of_host(), args.cgroup.as_deref()),
        });
    }
    let signals = Signals::new(false)?;
    let cgroup = args.cgroup.as_deref().unwrap_or_else(|| Path::new(""));
    let mut timers = Timers::attach(cgroup)?;
    for (network, own) in &plan {
        timers.set(network, own)?;
    }
    let networks = text::networks(plan.len());
    console::status(format_args!("timers of new connections with {networks} are set in {}", cgroup.display()));
    let begun = Instant::now();
    while !signals.is_end() && args.stay.is_none_or(|stay| begun.elapsed() < stay) {
        let left = args.stay.map_or(LOOK, |stay| stay.saturating_sub(begun.elapsed()));
        std::thread::sleep(left.min(LOOK));
    }
    let counts = timers.counts();
    drop(timers);
    print(&match args.json {
        true => document(&plan, Some((counts, begun.elapsed())))?,
        false => text::counts(&counts, begun.elapsed()),
    })
}

/// What was set, and the counts, as a JSON document.
fn document(plan: &Plan, counts: Option<(TimerCounts, Duration)>) -> io::Result<String> {
    let networks = plan.iter().map(|(network, timers)| {
        let mut object = json!({ "network": network.to_string() });
        for timer in Timer::ALL {
            object[timer.key().replace('-', "_")] = timer.of(timers).map(format_duration).into();
        }
        object
    });
    let counts = counts.map(|(counts, stayed)| {
        json!({
            "seconds": stayed.as_secs_f64(),
            "opened": counts.active,
            "accepted": counts.passive,
            "listeners": counts.listeners,
            "syn": counts.syn,
            "syn_ack": counts.syn_ack,
            "refused": counts.refused,
        })
    });
    let document = json!({ "set": counts.is_some(), "networks": networks.collect::<Vec<_>>(), "counts": counts });
    SCHEMA.to_text(&document)
}
