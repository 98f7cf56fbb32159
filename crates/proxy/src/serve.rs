//! `recoup serve`: the files of a folder by HTTP/1.1 (RFC 9110, RFC 9112).
//!
//! | module | what it does |
//! | --- | --- |
//! | `acceptor` | where connections come from |
//! | `connections` | serves connections within limits, and ends gracefully |
//! | `patience` | ends connections on which nothing moves |
//! | `respond` | a request, and its response |
//! | `target` | the file name that a request's target stands for |
//! | `folder` | files below the folder, and nothing outside it |
//! | `version` | what tells a file's contents from earlier ones: its entity tag, its last modification |
//! | `conditions` | conditional requests |
//! | `ranges` | the parts of a file that a request asks for |
//! | `body` | the bytes of a response, read in chunks |
//! | `upload` | stores or discards what clients send |
//! | `media_type` | media types by the endings of names |

mod acceptor;
mod body;
mod conditions;
mod connections;
mod folder;
mod media_type;
mod patience;
mod ranges;
mod respond;
mod target;
mod upload;
mod version;

use crate::descriptors::allowed_connections;
use crate::inlet::{Inlet, InletOptions};
use crate::proxy::parse_profile;
use crate::size_limit;
use clap::ValueEnum;
use connections::{Limits, Served};
use folder::Folder;
use recoup::output::print;
use recoup::{Failure, console};
use recoup_exposition::listening_address;
use recoup_recovery::Profile;
use recoup_stack::{Config, TcpOptions};
use recoup_support::quantity::{parse_duration, parse_size};
use respond::Site;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep, timeout};
use upload::Uploads;

const HELP: &str = "\
The first line on standard output says where the server listens. It answers GET and HEAD with regular files, with ranges and
conditional requests. Folders are not listed, index.html is found by its name alone, and symbolic links lead to files below DIR
alone; an absolute link is not followed. Media types follow the endings of names.

SIGINT and SIGTERM end the server once the responses under way are sent, after at most 10 s. A second signal ends it at once.

Examples:
  recoup serve --root /srv/files
  recoup serve --root . --listen '[::]:8000' --connections 100
  recoup serve --root /srv/files --listen 192.0.2.1:8080 --profile linux-6+tlpr
  recoup serve --root /srv/inbox --uploads --upload-limit 100MB
  recoup serve --root /srv/files --uploads=discard

Exit status: 0 ended by a signal; 2 wrong use, or the server cannot listen.";

/// A connection has a socket and a file. An upload has its folder too.
const DESCRIPTORS_EACH: u64 = 3;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Serve the files of this folder
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Listen at this address. Port 0: one that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080", value_parser = listening_address)]
    listen: SocketAddr,
    /// Send by Recoup's loss recovery with this profile instead of the host's TCP (needs root): `recoup profiles` lists them
    #[arg(long, value_name = "PROFILE", value_parser = parse_profile)]
    profile: Option<Profile>,
    /// Serve at most this many connections at a time; further ones wait
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: u32,
    /// End connections that send no whole request for this time, or on which nothing moves
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = patience)]
    timeout: Duration,
    /// Take files by PUT: store them in the folder, or discard the bytes
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "store")]
    uploads: Option<Kind>,
    /// Take at most this many bytes by one PUT
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = parse_size)]
    upload_limit: u64,
}

/// What happens to files that clients send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// They appear in the folder when they are whole
    Store,
    /// They are read and discarded
    Discard,
}

fn patience(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    let range = Duration::from_millis(10)..=Duration::from_secs(86_400);
    range.contains(&time).then_some(time).ok_or_else(|| "expected a time from 10ms to 24h, such as 30s".into())
}

/// How long responses under way may take once a signal came.
const DRAIN: Duration = Duration::from_secs(10);

/// How long the last packets of a stack's connections may take, and how often they are looked for.
const LAST_PACKETS: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(10);

/// Connections of a stack that wait to be accepted, at most.
const BACKLOG: usize = 1024;

/// Serves until a signal comes.
pub fn run(args: &Args) -> Result<(), Failure> {
    let cannot_serve = |e| Failure::Wrong(format!("--root {}: {e}", args.root.display()));
    let folder = Folder::open(&args.root).map_err(cannot_serve)?;
    let uploads = args.uploads.map(|kind| Uploads { limit: args.upload_limit, is_stored: kind == Kind::Store });
    if let Some(Uploads { is_stored: true, .. }) = uploads {
        size_limit::survive()?;
    }
    let site = Arc::new(Site::new(folder, uploads));
    let limits = Limits {
        connections: allowed_connections(args.connections, DESCRIPTORS_EACH),
        patience: args.timeout,
        drain: DRAIN,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        match &args.profile {
            None => serve_by_host(args, site, limits).await,
            Some(profile) => serve_by_engine(args, profile, site, limits).await,
        }
    })?;
    // Tasks that are left are dropped, which removes uploads that are not whole.
    runtime.shutdown_timeout(Duration::from_secs(1));
    report(served);
    Ok(())
}

/// Serves connections of the host's TCP.
async fn serve_by_host(args: &Args, site: Arc<Site>, limits: Limits) -> Result<Served, Failure> {
    let cannot_listen = |e| Failure::Wrong(format!("--listen {}: {e}", args.listen));
    let listener = TcpListener::bind(args.listen).await.map_err(cannot_listen)?;
    let ends = Ends::new()?;
    announce(args, listener.local_addr()?)?;
    Ok(connections::serve(listener, site, limits, ends).await)
}

/// Serves connections of a stack of Recoup's.
async fn serve_by_engine(args: &Args, profile: &Profile, site: Arc<Site>, limits: Limits) -> Result<Served, Failure> {
    let cannot_listen = |why: String| Failure::Wrong(format!("--listen {}: {why}", args.listen));
    let tcp = TcpOptions::new(*profile.mechanisms());
    let config = Config { tcp, most_connections: limits.connections + BACKLOG, ..Config::new([]) };
    let options = InletOptions { config, ..InletOptions::default() };
    let inlet = Inlet::open(&[args.listen], &options).map_err(|e| cannot_listen(e.to_string()))?;
    let (Some(stack), Some(place)) = (inlet.stacks().first(), inlet.places().first()) else {
        return Err(cannot_listen("no stack".into()));
    };
    let listener = recoup_stack::TcpListener::bind(stack, *place).map_err(|e| cannot_listen(e.to_string()))?;
    let ends = Ends::new()?;
    inlet.start()?;
    for line in inlet.changes() {
        console::status(line);
    }
    announce(args, *place)?;
    let served = connections::serve(listener, site, limits, ends).await;
    // Clients still acknowledge what they got.
    let _ = timeout(LAST_PACKETS, async {
        while stack.connections() > 0 {
            sleep(LOOK).await;
        }
    })
    .await;
    Ok(served)
}

fn announce(args: &Args, at: SocketAddr) -> Result<(), Failure> {
    print(&format!("serving {} at http://{at}/\n", args.root.display()))
}

fn report(served: Served) {
    let Served { requests, connections, cut_off } = served;
    console::status(format_args!("served {requests} requests on {connections} connections"));
    if cut_off > 0 {
        console::warning(format_args!("{cut_off} connections were cut off before their responses were sent"));
    }
}

/// The signals that end the server.
struct Ends {
    interrupt: Signal,
    terminate: Signal,
}

impl Ends {
    /// Waits for signals from here on.
    fn new() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal.
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
