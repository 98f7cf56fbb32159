//! What is known of a connection that ended: a line of the access log.

use recoup_recovery::{Counters, Trigger};
use recoup_tcp::Info;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// Both sides closed.
    Closed,
    /// The client reset the connection, or went without a word.
    ClientGone,
    /// The server did.
    ServerGone,
    /// The server refused the connection, or could not be reached.
    ServerRefused,
    /// The server did not answer in time.
    ServerSilent,
    /// Nothing was sent or received for too long.
    Idle,
    /// The proxy ended.
    Cut,
}

impl End {
    /// All, in order.
    pub const ALL: [Self; 7] = [
        Self::Closed,
        Self::ClientGone,
        Self::ServerGone,
        Self::ServerRefused,
        Self::ServerSilent,
        Self::Idle,
        Self::Cut,
    ];

    /// The name in the log and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::ClientGone => "client_gone",
            Self::ServerGone => "server_gone",
            Self::ServerRefused => "server_refused",
            Self::ServerSilent => "server_silent",
            Self::Idle => "idle",
            Self::Cut => "cut",
        }
    }
}

/// A connection that ended.
#[derive(Debug, Serialize)]
pub(crate) struct Record {
    /// When it began, in seconds since 1970.
    pub begun: f64,
    /// Where it came to.
    pub at: SocketAddr,
    pub client: SocketAddr,
    /// The server's address, if it was reached.
    pub server: Option<SocketAddr>,
    pub profile: Arc<str>,
    pub end: End,
    /// From the end of the handshake, in milliseconds, as all times.
    pub duration_ms: f64,
    /// The server's handshake.
    pub connect_ms: Option<f64>,
    /// Until the first byte of the server was there.
    pub first_byte_ms: Option<f64>,
    pub bytes_from_client: u64,
    pub bytes_to_client: u64,
    pub responses: Responses,
    pub tcp: Tcp,
}

/// Completion times: of each response, the time in which data of it was sent and not acknowledged.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Responses {
    pub count: u64,
    pub mean_ms: Option<f64>,
    pub longest_ms: Option<f64>,
}

impl Responses {
    pub fn of(times: &[f64]) -> Self {
        let count = times.len() as u64;
        let mean = (count > 0).then(|| rounded(times.iter().sum::<f64>() / count as f64));
        Self { count, mean_ms: mean, longest_ms: times.iter().copied().reduce(f64::max).map(rounded) }
    }
}

/// What the sender towards the client did, and where its time went.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Tcp {
    /// By trigger, those that were.
    pub retransmissions: BTreeMap<&'static str, u64>,
    /// Segments that the client reported to have had already (DSACK).
    pub needless: u64,
    /// Window reductions taken back, because nothing was lost.
    pub undone: u64,
    pub timeouts: u64,
    /// Copies of selective loss prevention.
    pub copies: u64,
    /// Time in fast recovery and after timeouts.
    pub recovering_ms: f64,
    /// Time with data on its way to the client.
    pub busy_ms: f64,
    /// Time in which data of the server waited for room towards the client.
    pub waited_for_client_ms: f64,
    /// Time from the client's last bytes to the server's next.
    pub waited_for_server_ms: f64,
    pub rtt_ms: Option<f64>,
    pub least_rtt_ms: Option<f64>,
    pub segments: u64,
    /// The congestion window at the end, in segments.
    pub window: u32,
}

impl Tcp {
    /// What the sender says.
    pub fn of(counters: &Counters, info: &Info) -> Self {
        let triggers = Trigger::ALL.into_iter().map(|trigger| (trigger.name(), counters.retransmissions.of(trigger)));
        let micros = |value: u32| (value != u32::MAX && value > 0).then(|| rounded(f64::from(value) / 1e3));
        Self {
            retransmissions: triggers.filter(|(_, count)| *count > 0).collect(),
            needless: counters.dsacks,
            undone: counters.undone.iter().sum(),
            timeouts: counters.timeouts.iter().sum(),
            copies: counters.copies,
            recovering_ms: millis(counters.in_recovery + counters.in_loss),
            busy_ms: millis(counters.busy),
            waited_for_client_ms: 0.0,
            waited_for_server_ms: 0.0,
            rtt_ms: micros(info.rtt),
            least_rtt_ms: micros(info.min_rtt),
            segments: counters.segments_sent,
            window: info.snd_cwnd,
        }
    }
}

/// A time in milliseconds, to the microsecond.
pub(crate) fn millis(time: Duration) -> f64 {
    rounded(time.as_secs_f64() * 1e3)
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
