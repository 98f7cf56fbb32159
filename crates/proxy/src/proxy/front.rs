//! One listening address: accepts connections at every stack, and begins their sessions.

use super::BACKLOG;
use super::session::Session;
use super::settings::FrontSettings;
use super::shared::Shared;
use recoup::console;
use recoup_stack::{Stack, TcpListener, TcpOptions, TcpStream};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long handshakes under way may take once no new ones begin.
const HANDSHAKES: Duration = Duration::from_secs(2);

/// A listening address.
pub(crate) struct Front {
    settings: Arc<RwLock<Arc<FrontSettings>>>,
    listeners: Vec<Arc<TcpListener>>,
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

/// What accepts at one stack.
struct Acceptor {
    listener: Arc<TcpListener>,
    settings: Arc<RwLock<Arc<FrontSettings>>>,
    shared: Arc<Shared>,
    stop: watch::Receiver<bool>,
}

impl Front {
    /// Listens at every stack.
    pub fn open(settings: FrontSettings, stacks: &[Stack], shared: &Arc<Shared>) -> io::Result<Self> {
        shared.begin_trial(&settings);
        let options = options(&settings);
        let first = options.first().copied().unwrap_or_default();
        let listen = |stack: &Stack| {
            let listener = match settings.listen {
                Some(at) => TcpListener::bind_with(stack, at, &first)?,
                None => stack.accept_any_with(&first)?,
            };
            listener.split_among(&options)?;
            Ok(Arc::new(listener))
        };
        let listeners = stacks.iter().map(listen).collect::<io::Result<Vec<_>>>()?;
        let stop = watch::Sender::new(false);
        let settings = Arc::new(RwLock::new(Arc::new(settings)));
        let accept = |listener: &Arc<TcpListener>| {
            let acceptor = Acceptor {
                listener: Arc::clone(listener),
                settings: Arc::clone(&settings),
                shared: Arc::clone(shared),
                stop: stop.subscribe(),
            };
            tokio::spawn(acceptor.run())
        };
        let tasks = listeners.iter().map(accept).collect();
        Ok(Self { settings, listeners, stop, tasks })
    }

    /// What it does at present.
    pub fn settings(&self) -> Arc<FrontSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// New connections have these settings.
    pub fn change(&self, settings: FrontSettings, shared: &Shared) -> Result<(), String> {
        shared.begin_trial(&settings);
        let options = options(&settings);
        for listener in &self.listeners {
            listener.split_among(&options).map_err(|why| why.to_string())?;
        }
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        Ok(())
    }

    /// Accepts what has begun its handshake, and nothing more.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

/// Waits until all that have begun their handshakes are accepted.
pub(crate) async fn finished(fronts: Vec<Front>) {
    for front in fronts {
        for task in front.tasks {
            // It has no result.
            let _ = task.await;
        }
    }
}

fn options(settings: &FrontSettings) -> Vec<TcpOptions> {
    settings.options().into_iter().map(|options| TcpOptions { backlog: BACKLOG, ..options }).collect()
}

impl Acceptor {
    async fn run(mut self) {
        let mut until = None;
        while let Some((stream, client, permit)) = self.next(&mut until).await {
            self.begin(stream, client, permit);
        }
    }

    /// The next connection, once there is a place for it. Who has no connection yet holds no place: it may be another stack's
    /// turn.
    async fn next(&mut self, until: &mut Option<Instant>) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let next = async {
            let (stream, client) = self.listener.accept().await.ok()?;
            let permit = Arc::clone(&self.shared.room).acquire_owned().await.ok()?;
            Some((stream, client, permit))
        };
        tokio::pin!(next);
        if until.is_none() {
            tokio::select! {
                biased;
                next = &mut next => return next,
                _ = self.stop.wait_for(|stop| *stop) => *until = Some(Instant::now() + HANDSHAKES),
            }
        }
        let left = until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        timeout(left, next).await.ok().flatten()
    }

    fn begin(&self, stream: TcpStream, client: SocketAddr, permit: OwnedSemaphorePermit) {
        let now = Instant::now();
        let Ok(place) = self.shared.clients.admit(client.ip(), now) else {
            self.shared.refused();
            return stream.abort();
        };
        let settings = Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner));
        let at = match (settings.listen, stream.local_addr()) {
            (_, Ok(at)) => at,
            (Some(at), Err(_)) => at,
            (None, Err(why)) => return console::warning(why),
        };
        let choice = self.listener.choice(&stream);
        let stream = Arc::new(stream);
        let profile = settings.names().get(choice).cloned().unwrap_or_default();
        let number = self.shared.begun(&profile, &stream);
        let shared = Arc::clone(&self.shared);
        let session = Session { number, stream, client, at, profile, settings, shared, begun: now };
        tokio::spawn(async move {
            session.run().await;
            drop((place, permit));
        });
    }
}
