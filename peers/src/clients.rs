//! Clients over the kernel's TCP, each in a thread of its own, that want short answers.

use crate::{
    case::CLIENTS,
    receiver::{connect, read_answer},
    senders::Failed,
};
use std::{
    fs,
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// The answer to the request of a short connection (bytes).
const SHORT_ANSWER: u64 = 100;

/// The answer to a request on an open connection (bytes).
const ANSWER: u64 = 1000;

/// The ports of clients, lowest and highest (`ip_local_port_range` of ip(7)): all that need no privilege.
const PORTS: [u16; 2] = [1024, 65_535];

/// Connections at most of each client. The client's end closes first and keeps its port for a minute (TIME-WAIT). With
/// less than half of the ports in use the kernel finds a free one at once.
const MOST_CONNECTIONS: usize = 24_000 / CLIENTS;

/// What clients exchanged with a sender.
#[derive(Debug)]
pub struct Exchanges {
    /// How long all of them took.
    pub took: Duration,
    /// How long each took, in order of length.
    pub times: Vec<Duration>,
}

impl Exchanges {
    /// What this share of the exchanges did not exceed (µs).
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (self.times.len() as f64 * share) as usize;
        let time = self.times.get(rank.min(self.times.len().saturating_sub(1)));
        time.map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }
}

/// Opens connections for some time, each client one after the other: each with one request, and closed by the client
/// once the answer is complete.
pub fn connections(to: SocketAddr, time: Duration) -> Result<Exchanges, Failed> {
    let [lowest, highest] = PORTS;
    fs::write("/proc/sys/net/ipv4/ip_local_port_range", format!("{lowest} {highest}"))?;
    // The first packets may wait for the link, and for the address of the other end.
    read_answer(&mut connect(to)?, SHORT_ANSWER)?;
    exchange(
        time,
        MOST_CONNECTIONS,
        |_| Ok(()),
        move |()| {
            let began = Instant::now();
            read_answer(&mut connect(to)?, SHORT_ANSWER)?;
            Ok(began.elapsed())
        },
    )
}

/// Sends requests for some time, each client on a connection of its own one after the other.
pub fn requests(to: SocketAddr, time: Duration) -> Result<Exchanges, Failed> {
    let mut open = (0..CLIENTS).map(|_| connect(to)).collect::<Result<Vec<_>, _>>()?.into_iter();
    exchange(
        time,
        usize::MAX,
        |_| open.next().ok_or("no connection".into()),
        |stream: &mut TcpStream| read_answer(stream, ANSWER),
    )
}

/// Has every client make exchanges for some time, at most `most`.
fn exchange<T: Send>(
    time: Duration,
    most: usize,
    client: impl FnMut(usize) -> Result<T, Failed>,
    one: impl Fn(&mut T) -> Result<Duration, Failed> + Sync,
) -> Result<Exchanges, Failed> {
    let clients: Vec<T> = (0..CLIENTS).map(client).collect::<Result<_, _>>()?;
    let began = Instant::now();
    let run = |mut client: T| -> Result<Vec<Duration>, Failed> {
        let mut times = Vec::new();
        while times.len() < most && began.elapsed() < time {
            times.push(one(&mut client)?);
        }
        Ok(times)
    };
    let results: Vec<Result<Vec<Duration>, Failed>> = thread::scope(|scope| {
        let running: Vec<_> = clients.into_iter().map(|client| scope.spawn(move || run(client))).collect();
        let ended = running.into_iter().map(|thread| thread.join());
        ended.map(|ended| ended.unwrap_or_else(|_| Err("a client panicked".into()))).collect()
    });
    let took = began.elapsed();
    let mut times: Vec<Duration> = results.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    times.sort_unstable();
    Ok(Exchanges { took, times })
}
