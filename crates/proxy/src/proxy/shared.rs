//! What all connections of the proxy share.

use super::limits::Clients;
use super::log::Log;
use super::metrics::Totals;
use super::record::Record;
use super::session::Session;
use super::settings::FrontSettings;
use super::trial::{Counted, Trial};
use recoup::console;
use recoup_recovery::Counters;
use recoup_stack::{Stack, TcpStream};
use recoup_units::BitRate;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, watch};

/// Limits of each connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionLimits {
    pub rate: Option<BitRate>,
    pub idle: Duration,
}

/// For how long after the last time the same complaint about a server is not repeated.
const QUIET: Duration = Duration::from_secs(60);

/// What all connections share.
pub(crate) struct Shared {
    pub limits: SessionLimits,
    pub clients: Arc<Clients>,
    /// Places for connections.
    pub room: Arc<Semaphore>,
    /// Whether every connection is cut.
    pub cut: watch::Sender<bool>,
    pub log: Log,
    stacks: Vec<Stack>,
    totals: Mutex<Totals>,
    open: Mutex<HashMap<u64, Open>>,
    number: Mutex<u64>,
    trials: Mutex<BTreeMap<String, Trial>>,
    warned: Mutex<HashMap<String, Instant>>,
}

/// A connection that is open.
struct Open {
    profile: Arc<str>,
    stream: Arc<TcpStream>,
}

/// What the stacks count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StackStats {
    pub packets_in: u64,
    pub packets_out: u64,
    pub memory: u64,
    pub syns_dropped: u64,
    pub cookies_sent: u64,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(limits: SessionLimits, clients: Arc<Clients>, most: usize, log: Log, stacks: Vec<Stack>) -> Self {
        Self {
            limits,
            clients,
            room: Arc::new(Semaphore::new(most)),
            cut: watch::Sender::new(false),
            log,
            stacks,
            totals: Mutex::default(),
            open: Mutex::default(),
            number: Mutex::default(),
            trials: Mutex::default(),
            warned: Mutex::default(),
        }
    }

    /// A trial of what this listening address has.
    pub fn begin_trial(&self, settings: &FrontSettings) {
        let names = settings.names();
        let mut totals = lock(&self.totals);
        for name in &names {
            totals.profiles.entry(Arc::clone(name)).or_default();
        }
        lock(&self.trials).entry(title(settings)).or_insert_with(|| Trial::new(&names));
    }

    /// A connection has begun. Returns its number.
    pub fn begun(&self, profile: &Arc<str>, stream: &Arc<TcpStream>) -> u64 {
        let mut number = lock(&self.number);
        *number += 1;
        lock(&self.open).insert(*number, Open { profile: Arc::clone(profile), stream: Arc::clone(stream) });
        *number
    }

    /// A connection was refused, because of a limit of its client.
    pub fn refused(&self) {
        lock(&self.totals).refused += 1;
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        lock(&self.open).len()
    }

    /// A connection has ended.
    pub fn ended(&self, session: &Session, counters: &Counters, record: &Record, times: &[f64]) {
        self.log.write(record);
        let counted = Counted {
            retransmissions: counters.retransmissions.total(),
            timeouts: counters.timeouts.iter().sum(),
            segments: counters.segments_sent,
            times,
        };
        if let Some(trial) = lock(&self.trials).get_mut(&title(&session.settings)) {
            trial.add(&record.profile, &counted);
        }
        // Whoever adds them up sees it in one of the two.
        let mut totals = lock(&self.totals);
        lock(&self.open).remove(&session.number);
        totals.ended[record.end as usize] += 1;
        totals.up += record.bytes_from_client;
        totals.down += record.bytes_to_client;
        let of = totals.profiles.entry(Arc::clone(&record.profile)).or_default();
        of.counters.merge(counters);
        of.responses += times.len() as u64;
        of.completion_ms += times.iter().sum::<f64>();
        of.waited_for_client_ms += record.tcp.waited_for_client_ms;
        of.waited_for_server_ms += record.tcp.waited_for_server_ms;
        if let Some(rtt) = record.tcp.rtt_ms {
            of.rtt_ms += rtt;
            of.rtts += 1;
        }
    }

    /// Counts with those of open connections, and how many are open.
    pub fn totals_with_open(&self) -> (Totals, usize) {
        let totals = lock(&self.totals);
        let open: Vec<(Arc<str>, Arc<TcpStream>)> =
            lock(&self.open).values().map(|open| (Arc::clone(&open.profile), Arc::clone(&open.stream))).collect();
        let mut sums = totals.clone();
        drop(totals);
        for (profile, stream) in &open {
            if let Ok(counters) = stream.counters() {
                sums.profiles.entry(Arc::clone(profile)).or_default().counters.merge(&counters);
            }
        }
        (sums, open.len())
    }

    pub fn stack_stats(&self) -> StackStats {
        self.stacks.iter().fold(StackStats::default(), |sum, stack| {
            let stats = stack.stats();
            StackStats {
                packets_in: sum.packets_in + stats.packets_in,
                packets_out: sum.packets_out + stats.packets_out,
                memory: sum.memory + stack.memory() as u64,
                syns_dropped: sum.syns_dropped + stats.syns_dropped,
                cookies_sent: sum.cookies_sent + stats.cookies_sent,
            }
        })
    }

    /// The server could not be reached.
    pub fn warn_of(&self, settings: &FrontSettings, why: &io::Error) {
        let line = format!("no connection to {}: {why}", settings.upstream);
        let now = Instant::now();
        let mut warned = lock(&self.warned);
        warned.retain(|_, at| now.duration_since(*at) < QUIET);
        if warned.insert(line.clone(), now).is_none() {
            console::warning(line);
        }
    }

    /// What the trials of all listening addresses have shown.
    pub fn summary(&self) -> String {
        let trials = lock(&self.trials);
        trials.iter().map(|(title, trial)| trial.summary(title)).collect::<Vec<_>>().join("\n")
    }
}

/// What distinguishes a trial.
fn title(settings: &FrontSettings) -> String {
    match settings.listen {
        Some(listen) => listen.to_string(),
        None => "every address".into(),
    }
}
