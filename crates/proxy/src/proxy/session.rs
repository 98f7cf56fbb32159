//! One connection of a client, from the end of its handshake to its end.

use super::header::header;
use super::limits::Pace;
use super::record::{End, Record, Responses, Tcp, millis};
use super::relay::{Broken, Watch, pump};
use super::settings::FrontSettings;
use super::shared::Shared;
use super::upstream;
use recoup_recovery::Counters;
use recoup_stack::TcpStream;
use socket2::SockRef;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream as HostStream;
use tokio::time::{sleep, timeout};

/// How long the last data of an ended connection may take to be acknowledged, so that the record has all of it.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How often the proxy looks whether a connection is idle, or its last data is acknowledged.
const LOOK: Duration = Duration::from_millis(20);

/// A connection that was accepted.
pub(crate) struct Session {
    pub number: u64,
    pub stream: Arc<TcpStream>,
    pub client: SocketAddr,
    /// Where it came to.
    pub at: SocketAddr,
    pub profile: Arc<str>,
    pub settings: Arc<FrontSettings>,
    pub shared: Arc<Shared>,
    pub begun: Instant,
}

/// What both directions say about themselves.
struct Meters {
    stream: Arc<TcpStream>,
    begun: Instant,
    /// The last byte in either direction, in nanoseconds after `begun`.
    last: AtomicU64,
    up: AtomicU64,
    down: AtomicU64,
    turns: Mutex<Turns>,
    pace: Option<Pace>,
}

/// The client's and the server's turns.
#[derive(Default)]
struct Turns {
    first_byte: Option<Duration>,
    /// Something of the present response was written.
    responds: bool,
    /// [`recoup_recovery::Counters::busy`] at its begin.
    busy_before: Duration,
    /// Completion times in milliseconds.
    times: Vec<f64>,
    /// Since when the client waits for an answer.
    asked_at: Option<Instant>,
    /// Time in which it did.
    unanswered: Duration,
    /// Since when data of the server waits for room.
    stuck_since: Option<Instant>,
    stuck: Duration,
}

/// Completion times of a connection that are kept.
const MOST_TIMES: usize = 10_000;

impl Meters {
    fn new(session: &Session) -> Self {
        let rate = session.shared.limits.rate;
        Self {
            stream: Arc::clone(&session.stream),
            begun: session.begun,
            last: AtomicU64::new(0),
            up: AtomicU64::new(0),
            down: AtomicU64::new(0),
            turns: Mutex::default(),
            pace: rate.map(|rate| Pace::new(rate.bits_per_second(), session.begun)),
        }
    }

    fn turns(&self) -> std::sync::MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        self.last.store(self.begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    fn silent_for(&self) -> Duration {
        self.begun.elapsed().saturating_sub(Duration::from_nanos(self.last.load(Ordering::Relaxed)))
    }

    /// The client has asked for more, or is done: the present response ends here if all of it is acknowledged. Otherwise the
    /// next one belongs to it.
    fn end_response(&self) {
        let mut turns = self.turns();
        if !turns.responds || self.stream.unacknowledged() != Some(0) {
            return;
        }
        let busy = self.stream.counters().map_or(Duration::ZERO, |counters| counters.busy);
        let time = busy.saturating_sub(turns.busy_before);
        if turns.times.len() < MOST_TIMES {
            turns.times.push(millis(time));
        }
        turns.busy_before = busy;
        turns.responds = false;
    }
}

/// From the client to the server.
struct Upward<'a>(&'a Meters);

impl Watch for Upward<'_> {
    fn read(&self, _bytes: usize) {
        self.0.touch();
        self.0.end_response();
        self.0.turns().asked_at = Some(Instant::now());
    }

    fn written(&self, bytes: usize) {
        self.0.up.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    async fn pause(&self) {}
}

/// From the server to the client.
struct Downward<'a>(&'a Meters);

impl Watch for Downward<'_> {
    fn read(&self, _bytes: usize) {
        let mut turns = self.0.turns();
        turns.responds = true;
        let now = Instant::now();
        turns.first_byte.get_or_insert(now - self.0.begun);
        if let Some(asked_at) = turns.asked_at.take() {
            turns.unanswered += now - asked_at;
        }
        turns.stuck_since = Some(now);
    }

    fn written(&self, bytes: usize) {
        self.0.touch();
        self.0.down.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(pace) = &self.0.pace {
            pace.add(bytes, Instant::now());
        }
    }

    async fn pause(&self) {
        {
            let mut turns = self.0.turns();
            if let Some(since) = turns.stuck_since.take() {
                turns.stuck += since.elapsed();
            }
        }
        if let Some(pace) = &self.0.pace {
            let wait = pace.wait(Instant::now());
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
    }
}

impl Session {
    /// Serves it to its end.
    pub async fn run(self) {
        let meters = Meters::new(&self);
        let mut cut = self.shared.cut.subscribe();
        let (mut server, mut connect) = (None, None);
        let end = tokio::select! {
            end = self.serve(&meters, &mut server, &mut connect) => end,
            () = idle(&meters, self.shared.limits.idle) => End::Idle,
            _ = cut.wait_for(|cut| *cut) => End::Cut,
        };
        if end == End::Closed {
            self.settle().await;
        }
        meters.end_response();
        let counters = self.stream.counters().unwrap_or_default();
        let record = self.record(&meters, &counters, end, server, connect);
        let times = std::mem::take(&mut meters.turns().times);
        self.shared.ended(&self, &counters, &record, &times);
        if end != End::Closed {
            self.stream.reset();
        }
    }

    async fn serve(&self, meters: &Meters, server: &mut Option<SocketAddr>, connect: &mut Option<Duration>) -> End {
        let began = Instant::now();
        let to = &self.settings.upstream;
        let connected = timeout(self.settings.connect_timeout, upstream::connect(to, self.client, self.at)).await;
        let mut upstream = match connected {
            Ok(Ok(upstream)) => upstream,
            Ok(Err(why)) => {
                self.shared.warn_of(&self.settings, &why);
                return End::ServerRefused;
            }
            Err(_) => return End::ServerSilent,
        };
        // What ends without a close on one side does so on the other: half a request must not look whole.
        let _ = upstream.set_zero_linger();
        *connect = Some(began.elapsed());
        *server = upstream.peer_addr().ok();
        if let Some(version) = self.settings.proxy_protocol {
            let header = header(version, self.client, self.at);
            let told = match header {
                Ok(header) => upstream.write_all(&header).await,
                Err(why) => Err(why),
            };
            if told.is_err() {
                return End::ServerGone;
            }
        }
        let end = relay(&self.stream, &upstream, meters).await;
        if end == End::Closed {
            // All was said, and takes as long as it does to arrive.
            let _ = SockRef::from(&upstream).set_linger(None);
        }
        end
    }

    /// Waits until the client has acknowledged everything, or is gone.
    async fn settle(&self) {
        let until = Instant::now() + LAST_WORDS;
        while self.stream.unacknowledged().is_some_and(|bytes| bytes > 0) && Instant::now() < until {
            if self.stream.state().is_none_or(|state| matches!(state, recoup_tcp::State::Closed(_))) {
                return;
            }
            sleep(LOOK).await;
        }
    }

    fn record(
        &self,
        meters: &Meters,
        counters: &Counters,
        end: End,
        server: Option<SocketAddr>,
        connect: Option<Duration>,
    ) -> Record {
        let duration = self.begun.elapsed();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let turns = meters.turns();
        let mut tcp = Tcp::of(counters, &self.stream.info().unwrap_or_default());
        tcp.waited_for_client_ms = millis(turns.stuck);
        tcp.waited_for_server_ms = millis(turns.unanswered);
        Record {
            begun: since_1970.saturating_sub(duration).as_secs_f64(),
            at: self.at,
            client: self.client,
            server,
            profile: Arc::clone(&self.profile),
            end,
            duration_ms: millis(duration),
            connect_ms: connect.map(millis),
            first_byte_ms: turns.first_byte.map(millis),
            bytes_from_client: meters.up.load(Ordering::Relaxed),
            bytes_to_client: meters.down.load(Ordering::Relaxed),
            responses: Responses::of(&turns.times),
            tcp,
        }
    }
}

/// Both directions, until both ends have closed or one has failed.
async fn relay(client: &TcpStream, server: &HostStream, meters: &Meters) -> End {
    let (up, down) = (Upward(meters), Downward(meters));
    let upward = pump(client, server, &up);
    let downward = pump(server, client, &down);
    tokio::pin!(upward, downward);
    let (mut up_done, mut down_done) = (false, false);
    while !(up_done && down_done) {
        let end = tokio::select! {
            done = &mut upward, if !up_done => {
                up_done = true;
                done.map_err(|broken| match broken { Broken::Reading => End::ClientGone, Broken::Writing => End::ServerGone })
            }
            done = &mut downward, if !down_done => {
                down_done = true;
                done.map_err(|broken| match broken { Broken::Reading => End::ServerGone, Broken::Writing => End::ClientGone })
            }
        };
        if let Err(end) = end {
            return end;
        }
    }
    End::Closed
}

/// Ends once nothing was sent or received for `most`.
async fn idle(meters: &Meters, most: Duration) {
    loop {
        match most.checked_sub(meters.silent_for()) {
            Some(left) if !left.is_zero() => sleep(left.max(LOOK)).await,
            _ => return,
        }
    }
}
