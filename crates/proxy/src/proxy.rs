//! `recoup proxy`: takes connections of clients over a stack of Recoup's, and hands their bytes on to an ordinary server.
//!
//! ```text
//! clients ─► inlet: stacks ─► front: accepts, with a profile of its own ─► session ─► upstream: the server, by the host's sockets
//!                                                                           │  └ relay: bytes both ways
//!                                                                           └► shared: access log, metrics, trial
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `args`, `settings` | the command line, and the file that it names |
//! | `front` | one listening address: accepts, limits, and is reloaded |
//! | `session` | one connection of a client |
//! | `relay` | bytes from one end to the other, with back-pressure |
//! | `upstream` | connections to servers |
//! | `header` | the PROXY protocol |
//! | `limits` | what clients may use |
//! | `record`, `log` | what is known of a connection that ended, and the access log |
//! | `trial` | compares profiles |
//! | `metrics` | metrics for Prometheus |
//! | `shared` | what all connections share |

mod args;
mod front;
mod header;
mod limits;
mod log;
mod metrics;
mod record;
mod relay;
mod session;
mod settings;
mod shared;
mod trial;
mod upstream;

pub(crate) use args::Args;
pub(crate) use settings::parse_profile;

use crate::descriptors::allowed_connections;
use crate::inlet::{Inlet, InletOptions};
use crate::suggest::{self, Place};
use front::Front;
use limits::{ClientLimits, Clients};
use log::Log;
use recoup::Failure;
use recoup::console;
use recoup::output::print;
use recoup_stack::Config;
use settings::{FrontSettings, fronts};
use shared::{SessionLimits, Shared};
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep, timeout};

/// How long the stacks may take to send the last packets.
const LAST_PACKETS: Duration = Duration::from_secs(5);

/// How often the number of open connections is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the proxy until a signal ends it.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if !args.what.suggest.is_empty() {
        return suggest(args);
    }
    let fronts = fronts(args)?;
    let log =
        Log::open(&args.log).map_err(|why| Failure::Wrong(format!("cannot open {}: {why}", args.log.display())))?;
    let threads = args.queues.unwrap_or_else(recoup_support::threads::cores);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    runtime.block_on(serve(args, fronts, log, threads))
}

fn suggest(args: &Args) -> Result<(), Failure> {
    let listen = args.what.listen.map(|at| at.to_string());
    let upstream = args.front.upstream.as_ref().map(ToString::to_string);
    suggest::run(&args.what.suggest, Place { listen: listen.as_deref(), upstream: upstream.as_deref() })
}

/// The signals that end the proxy.
struct Ends([Signal; 2]);

impl Ends {
    fn new() -> std::io::Result<Self> {
        Ok(Self([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?]))
    }

    async fn come(&mut self) {
        let [terminate, interrupt] = &mut self.0;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

async fn serve(args: &Args, settings: Vec<FrontSettings>, log: Log, queues: usize) -> Result<(), Failure> {
    let (mut ends, mut reloads) = (Ends::new()?, signal(SignalKind::hangup())?);
    let inlet = open(args, &settings, queues)?;
    let limits = SessionLimits { rate: args.limits.rate, idle: args.limits.idle };
    let clients = Clients::new(ClientLimits {
        connections: args.limits.connections_per_client,
        opens: args.limits.opens_per_client,
    });
    // Its server's socket.
    let most = allowed_connections(args.limits.connections, 1);
    let shared = Arc::new(Shared::new(limits, clients, most, log, inlet.stacks().to_vec()));
    let mut fronts = Vec::new();
    for one in settings {
        fronts.push(Front::open(one, inlet.stacks(), &shared)?);
    }
    if let Some(at) = args.prometheus {
        let of = Arc::clone(&shared);
        let at = recoup_exposition::serve(at, move |format| metrics::page(&of, format))
            .map_err(|why| Failure::Wrong(format!("--prometheus {at}: {why}")))?;
        console::status(format_args!("metrics: http://{at}/metrics"));
    }
    inlet.start()?;
    for line in inlet.changes() {
        console::status(line);
    }
    for front in &fronts {
        console::status(format_args!("proxy: {}", front.settings()));
    }
    loop {
        tokio::select! {
            () = ends.come() => break,
            _ = reloads.recv() => {
                shared.log.reopen();
                reload(args, &mut fronts, &inlet, &shared);
            }
        }
    }
    end(args, fronts, inlet, &shared, &mut ends).await
}

fn open(args: &Args, settings: &[FrontSettings], queues: usize) -> Result<Inlet, Failure> {
    let memory = args.limits.memory / queues.max(1);
    let most_connections = args.limits.connections as usize + BACKLOG;
    let config = Config { memory, most_connections, ..Config::new([]) };
    let options = InletOptions { queues, mtu: None, interfaces: args.interfaces.clone(), config };
    let listens: Vec<_> = settings.iter().filter_map(|front| front.listen).collect();
    Ok(match args.what.transparent {
        true => Inlet::open_transparent(None, &options)?,
        false => Inlet::open(&listens, &options)?,
    })
}

/// Connections that wait to be accepted, at most, at each stack.
const BACKLOG: usize = 4096;

/// Reads the file again. What cannot be used changes nothing.
fn reload(args: &Args, fronts: &mut Vec<Front>, inlet: &Inlet, shared: &Arc<Shared>) {
    if args.what.config.is_none() {
        return;
    }
    let wanted = match settings::fronts(args) {
        Ok(wanted) => wanted,
        Err(why) => return console::warning(format_args!("nothing was changed: {why}")),
    };
    fronts.retain(|front| {
        let stays = wanted.iter().any(|one| one.listen == front.settings().listen);
        if !stays {
            console::status(format_args!("proxy: no longer {}", front.settings()));
            front.stop();
            if let Some(Err(why)) = front.settings().listen.map(|at| inlet.drain(at)) {
                console::warning(why);
            }
        }
        stays
    });
    for one in wanted {
        let said = one.to_string();
        let changed = match fronts.iter().find(|front| front.settings().listen == one.listen) {
            Some(front) if *front.settings() == one => continue,
            Some(front) => front.change(one, shared),
            None => begin(one, fronts, inlet, shared),
        };
        match changed {
            Ok(()) => console::status(format_args!("proxy: {said}")),
            Err(why) => console::warning(format_args!("{said}: {why}")),
        }
    }
}

/// Adds a listening address.
fn begin(one: FrontSettings, fronts: &mut Vec<Front>, inlet: &Inlet, shared: &Arc<Shared>) -> Result<(), String> {
    let at = one.listen;
    let front = Front::open(one, inlet.stacks(), shared).map_err(|why| why.to_string())?;
    if let Some(at) = at {
        inlet.take(at).map_err(|why| why.to_string())?;
    }
    fronts.push(front);
    Ok(())
}

/// Takes no new connections, and waits for the open ones.
async fn end(
    args: &Args,
    fronts: Vec<Front>,
    inlet: Inlet,
    shared: &Arc<Shared>,
    ends: &mut Ends,
) -> Result<(), Failure> {
    for front in &fronts {
        if let Some(Err(why)) = front.settings().listen.map(|at| inlet.drain(at)) {
            console::warning(why);
        }
        front.stop();
    }
    let until = Instant::now() + args.drain;
    let open = shared.open();
    if open > 0 {
        let most = recoup_support::quantity::format_duration(args.drain);
        console::status(format_args!("no new connections; {open} open ones may go on for {most}"));
    }
    // Handshakes that are done are served, too.
    let all = async {
        front::finished(fronts).await;
        while shared.open() > 0 {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        _ = tokio::time::timeout_at(until, all) => {}
        () = ends.come() => {}
    }
    let cut = shared.open();
    shared.cut.send_replace(true);
    let _ = timeout(LAST_PACKETS, async {
        while shared.open() > 0 {
            sleep(LOOK).await;
        }
        for stack in inlet.stacks() {
            while stack.connections() > 0 {
                sleep(LOOK).await;
            }
        }
    })
    .await;
    drop(inlet);
    if args.summary {
        print(&shared.summary())?;
    }
    if cut > 0 {
        console::error(&format!("{cut} connections were cut"));
        return Err(Failure::CheckFailed);
    }
    Ok(())
}
