//! `recoup fetch`: gets URLs by HTTP/1.1.
//!
//! | module | what it does |
//! | --- | --- |
//! | `url` | URLs, where they lead, and the file names that they suggest |
//! | `client` | connections that are used again, requests, and their errors |
//! | `transfer` | one response: its bytes, its times, its digest |
//! | `sink` | where the bytes go |
//! | `report` | what is said of each URL |

mod client;
mod report;
mod sink;
mod transfer;
mod url;

use crate::size_limit;
use clap::value_parser;
use client::{Client, FetchError};
use recoup::output::print;
use recoup::{Failure, console, interrupt};
use recoup_support::quantity::parse_duration;
use report::Tally;
use sink::Target;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use transfer::{Options, Transfer};
use url::Url;

const HELP: &str = "\
A line for each URL goes to standard output, or to standard error with --output -: status, bytes, the time to the first byte of
the response and to its end. Times begin with the request, or with the lookup of the name if a connection is made. A URL
without a scheme is taken for http://. Proxies of the environment are not used.

A file appears when its response is whole, and replaces one of this name. If anything goes wrong, it stays as it was. Responses
with another status than 2xx are not written.

Examples:
  recoup fetch http://192.0.2.1:8080/file
  recoup fetch http://192.0.2.1/a http://192.0.2.1/b --output . --sha256
  recoup fetch http://192.0.2.1/page --repeat 1000 --connections 8
  recoup fetch http://192.0.2.1/list --output - | sort

Exit status: 0 all responses were whole and of status 2xx; 1 a response had another status, or repetitions had different bytes;
2 wrong use, no whole response, or a file could not be written.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// What to get, such as http://192.0.2.1:8080/file
    #[arg(required = true, value_name = "URL", value_parser = Url::parse)]
    urls: Vec<Url>,
    /// Write the response to this file, into this folder under the last part of the URL's path, or (-) to standard output
    /// [default: discard it]
    #[arg(short, long, value_name = "FILE|DIR|-")]
    output: Option<PathBuf>,
    /// Get this many responses at a time, each on a connection that is used again
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(1..=256))]
    connections: u64,
    /// Get each URL this many times, and print medians
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u64).range(1..=100_000_000))]
    repeat: u64,
    /// Print the SHA-256 of each response
    #[arg(long)]
    sha256: bool,
    /// Follow redirects
    #[arg(long)]
    location: bool,
    /// Give up a connection when nothing comes for this time
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = patience)]
    timeout: Duration,
}

fn patience(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    let range = Duration::from_millis(1)..=Duration::from_secs(86_400);
    range.contains(&time).then_some(time).ok_or_else(|| "expected a time from 1ms to 24h, such as 30s".into())
}

/// How often progress is drawn.
const LOOK: Duration = Duration::from_millis(100);

/// What the connections do together.
struct Work {
    urls: Vec<Url>,
    targets: Vec<Target>,
    repeat: u64,
    options: Options,
    /// The next response to get: each URL's repetitions follow each other.
    next: AtomicU64,
    /// Connections that were made.
    connections: AtomicU64,
    /// Bytes of responses so far.
    bytes: Arc<AtomicU64>,
}

/// What became of a URL, by its place.
type Outcome = (usize, Result<Transfer, FetchError>);

/// Gets URLs.
pub fn run(args: &Args) -> Result<(), Failure> {
    let targets = sink::targets(args.output.as_deref(), &args.urls)?;
    let is_beside = matches!(targets.first(), Some(Target::Stdout));
    if is_beside && args.connections > 1 {
        return Err(Failure::Wrong("--connections: expected 1 with --output -, so that responses are in order".into()));
    }
    interrupt::watch();
    size_limit::survive()?;
    let bytes = Arc::<AtomicU64>::default();
    let options =
        Options { has_digest: args.sha256, follows: args.location, patience: args.timeout, bytes: Arc::clone(&bytes) };
    let work = Arc::new(Work {
        urls: args.urls.clone(),
        targets,
        repeat: args.repeat,
        options,
        next: AtomicU64::new(0),
        connections: AtomicU64::new(0),
        bytes,
    });
    let (report, outcomes) = mpsc::channel();
    let begin = Instant::now();
    for _ in 0..args.connections.min(work.count()) {
        let (work, report) = (Arc::clone(&work), report.clone());
        let name = thread::Builder::new().name("fetch".into());
        name.spawn(move || work.run(&report))?;
    }
    drop(report);
    let say = |line: String| match is_beside {
        true => {
            console::status(line);
            Ok(())
        }
        false => print(&format!("{line}\n")),
    };
    let tallies = collect(&work, &outcomes, say)?;
    if work.count() > 1 {
        let connections = work.connections.load(Ordering::Relaxed);
        let seconds = begin.elapsed().as_secs_f64();
        let plural = if connections == 1 { "" } else { "s" };
        console::status(format_args!(
            "{} requests on {connections} connection{plural} in {seconds:.3} s",
            work.count()
        ));
    }
    if tallies.iter().any(Tally::has_errors) {
        return Err(Failure::Reported);
    }
    let is_good = tallies.iter().all(Tally::is_good);
    is_good.then_some(()).ok_or(Failure::CheckFailed)
}

/// Tallies what became of the URLs, and says a line for each as soon as it is complete.
fn collect(
    work: &Work,
    outcomes: &mpsc::Receiver<Outcome>,
    say: impl Fn(String) -> Result<(), Failure>,
) -> Result<Vec<Tally>, Failure> {
    let mut tallies: Vec<Tally> = work.urls.iter().map(|_| Tally::default()).collect();
    let bar = console::bar(None, "{spinner} {bytes}, {bytes_per_sec}");
    let mut left = work.count();
    while left > 0 {
        let (place, outcome) = match outcomes.recv_timeout(LOOK) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => {
                bar.set_position(work.bytes.load(Ordering::Relaxed));
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Wrong("fetch: a thread ended before its work was done".into()));
            }
        };
        left -= 1;
        let (Some(tally), Some(url)) = (tallies.get_mut(place), work.urls.get(place)) else { continue };
        if let Err(error) = &outcome
            && !tally.has_errors()
        {
            // Further ones are counted.
            bar.suspend(|| console::error(&format!("{url}: {error}")));
        }
        tally.add(outcome);
        if tally.count() == work.repeat
            && let Some(line) = tally.line(url)
        {
            bar.suspend(|| say(line))?;
        }
    }
    bar.finish_and_clear();
    Ok(tallies)
}

impl Work {
    fn count(&self) -> u64 {
        self.urls.len() as u64 * self.repeat
    }

    /// Gets responses on connections of its own until none is left.
    fn run(&self, report: &mpsc::Sender<Outcome>) {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(e) => return console::error(&format!("fetch: cannot start a thread: {e}")),
        };
        runtime.block_on(async {
            let mut client = Client::new(self.options.patience, &self.connections);
            loop {
                let next = self.next.fetch_add(1, Ordering::Relaxed);
                let place = usize::try_from(next / self.repeat).unwrap_or(usize::MAX);
                let (Some(url), Some(target)) = (self.urls.get(place), self.targets.get(place)) else { break };
                let outcome = transfer::get(&mut client, url, target, &self.options).await;
                // Nobody waits for it after an error.
                if report.send((place, outcome)).is_err() {
                    break;
                }
            }
        });
        // A lookup of a name may still wait, and nobody waits for it.
        runtime.shutdown_background();
    }
}
