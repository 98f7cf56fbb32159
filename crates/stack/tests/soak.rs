//! A day's worth of connections without growth: all kinds of them over sockets, both ends in this process.
//!
//! `RECOUP_SOAK_SECONDS` sets the duration. A day of 100 connections a second passes in an hour:
//! `RECOUP_SOAK_SECONDS=3600 cargo test --release -p recoup-stack --test soak -- --nocapture`.

#![cfg(target_os = "linux")]

use recoup_stack::{
    Config, Stack, TcpListener, TcpOptions, TcpStream,
    device::{Properties, pair},
};
use recoup_units::SplitMix;
use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Handle,
    task::JoinSet,
    time::{sleep, timeout},
};

/// The duration if RECOUP_SOAK_SECONDS is not set.
const SECONDS: u64 = 3;

/// A day of 100 connections a second, in an hour. It is required of runs from this duration on.
const LEAST_RATE: f64 = 2400.0;
const LONG: Duration = Duration::from_secs(60);

/// How often a long run says how it stands.
const SHOWN: Duration = Duration::from_secs(20);

/// Connections that are used without a pause, and those that are idle most of the time, at the same time.
const BUSY: u64 = 32;
const IDLE: u64 = 500;

/// Listeners. Each leaves clients as many ports as there are.
const PORTS: u16 = 8;

/// How much more memory the process may have than after its warm-up, in bytes.
const GROWTH: u64 = 6 << 20;

/// What one more connection in TIME-WAIT may take, in both maps, in bytes.
const TIME_WAIT: u64 = 160;

/// The time limit of each step.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a client asks of the server, as its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// The bytes come back, and the client closes first.
    Echo,
    /// The server closes first.
    Served,
    /// The client closes its direction first, and the answer follows.
    HalfClosed,
    /// The server aborts.
    Aborted,
    /// The server drops the stream with data that it has not read.
    Unread,
    /// The client aborts.
    GivenUp,
    /// Nobody listens.
    Refused,
    /// The client drops the attempt.
    Dropped,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Echo,
        Self::Served,
        Self::HalfClosed,
        Self::Aborted,
        Self::Unread,
        Self::GivenUp,
        Self::Refused,
        Self::Dropped,
    ];
}

fn payload(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * i / 5 % 251) as u8).collect()
}

/// The server's part.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    let kind = stream.read_u8().await?;
    let length = stream.read_u32().await? as usize;
    match Kind::ALL.into_iter().find(|known| *known as u8 == kind) {
        Some(Kind::Served) => stream.write_all(&payload(length)).await,
        Some(Kind::HalfClosed) => {
            stream.read_to_end(&mut Vec::new()).await?;
            stream.write_all(&payload(length)).await
        }
        Some(Kind::Aborted) => {
            stream.abort();
            Ok(())
        }
        Some(Kind::Unread) => stream.readable().await,
        _ => {
            let (mut reader, mut writer) = stream.split();
            tokio::io::copy(&mut reader, &mut writer).await.map(drop)
        }
    }
}

/// The client's part.
async fn ask(client: &Stack, draws: &mut SplitMix, pause: Duration) -> io::Result<()> {
    let kind = Kind::ALL[draws.below(8) as usize];
    let kind = if pause.is_zero() { kind } else { Kind::Echo };
    let length = [0, 100, 3000, 20_000][draws.below(4) as usize];
    let to = SocketAddr::new([192, 0, 2, 2].into(), 80 + draws.below(u64::from(PORTS)) as u16);
    match kind {
        Kind::Refused => {
            let refused = TcpStream::connect(client, SocketAddr::new(to.ip(), 9)).await;
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
            return Ok(());
        }
        Kind::Dropped => {
            let attempt = TcpStream::connect(client, to);
            let turns = draws.below(4);
            let wait = async {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! { biased; () = wait => {}, _ = attempt => {} }
            return Ok(());
        }
        _ => {}
    }
    let mut stream = TcpStream::connect(client, to).await?;
    let sent = payload(length);
    let mut received = Vec::new();
    stream.write_u8(kind as u8).await?;
    stream.write_u32(length as u32).await?;
    match kind {
        Kind::Served => {
            stream.read_to_end(&mut received).await?;
        }
        Kind::HalfClosed => {
            stream.write_all(&sent).await?;
            stream.shutdown().await?;
            stream.read_to_end(&mut received).await?;
        }
        Kind::Aborted | Kind::Unread => {
            // The reset may come before all is written.
            let _ = stream.write_all(&[1; 100]).await;
            let over = stream.read(&mut [0; 1]).await.unwrap_err();
            assert_eq!(over.kind(), ErrorKind::ConnectionReset);
            return Ok(());
        }
        Kind::GivenUp => {
            stream.write_all(&sent).await?;
            stream.abort();
            return Ok(());
        }
        Kind::Echo | Kind::Refused | Kind::Dropped => {
            sleep(pause).await;
            received.resize(length, 0);
            let (mut reader, mut writer) = stream.split();
            tokio::try_join!(writer.write_all(&sent), reader.read_exact(&mut received))?;
        }
    }
    assert!(received == sent, "{kind:?}: {} of {length} bytes", received.len());
    Ok(())
}

/// The resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap().trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// The processor time of this process, in ticks of 10 ms.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Behind the name, which may have blanks.
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// What a process takes.
#[derive(Clone, Copy, Debug)]
struct Sample {
    ticks: u64,
    resident: u64,
    /// Connections in TIME-WAIT, the most so far: their maps do not shrink.
    time_waits: u64,
    tasks: u64,
}

impl Sample {
    fn take(stacks: [&Stack; 2], before: u64) -> Self {
        let time_waits = stacks.iter().map(|stack| stack.time_waits() as u64).sum::<u64>().max(before);
        let tasks = Handle::current().metrics().num_alive_tasks() as u64;
        Self { ticks: ticks(), resident: resident(), time_waits, tasks }
    }

    /// Whether it is no more than `before` and what connections in TIME-WAIT take.
    fn is_no_growth(&self, before: &Self) -> bool {
        let entries = self.time_waits.saturating_sub(before.time_waits);
        self.resident <= before.resident + GROWTH + entries * TIME_WAIT
    }
}

fn seconds() -> u64 {
    let setting = std::env::var("RECOUP_SOAK_SECONDS").ok();
    setting.map_or(SECONDS, |text| text.parse().expect("a number of seconds"))
}

#[tokio::test]
async fn connections_of_all_kinds_leave_nothing_behind() {
    let length = Duration::from_secs(seconds());
    // Those in TIME-WAIT are as many as they may be after a minute, and streams have had all sizes long before.
    let warm_up = (length / 3).min(Duration::from_secs(90));
    let (first, second) = pair(Properties { mtu: 1500, offloads: false }, 1024);
    let client = Stack::new(first, Config::new([[192, 0, 2, 1].into()])).unwrap();
    let server = Stack::new(second, Config::new([[192, 0, 2, 2].into()])).unwrap();
    let (opened, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut listeners = JoinSet::new();
    for port in 80..80 + PORTS {
        let options = TcpOptions { backlog: 4096, ..TcpOptions::default() };
        let at = SocketAddr::new([192, 0, 2, 2].into(), port);
        let listener = TcpListener::bind_with(&server, at, &options).unwrap();
        listeners.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // An error says that the client has given up.
                tokio::spawn(async move { drop(serve(stream).await) });
            }
        });
    }
    let mut clients = JoinSet::new();
    for number in 0..BUSY + IDLE {
        let (client, opened, over) = (client.clone(), Arc::clone(&opened), Arc::clone(&over));
        clients.spawn(async move {
            let mut draws = SplitMix(number << 32);
            while !over.load(Ordering::Relaxed) {
                let idle = Duration::from_millis(100 + draws.below(3000));
                let pause = if number < BUSY { Duration::ZERO } else { idle };
                let asked = timeout(PATIENCE, ask(&client, &mut draws, pause)).await;
                asked.expect("a connection that ends").expect("a connection that works");
                opened.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let (start, stacks) = (Instant::now(), [&client, &server]);
    let mut before: Option<(Sample, u64, Instant)> = None;
    let (mut shown, mut most) = (Duration::ZERO, 0);
    while start.elapsed() < length {
        sleep(Duration::from_millis(250)).await;
        let (sample, count) = (Sample::take(stacks, most), opened.load(Ordering::Relaxed));
        most = sample.time_waits;
        if start.elapsed() >= shown + SHOWN {
            shown += SHOWN;
            println!("{:.0} s: {count} connections, {sample:?}", start.elapsed().as_secs_f64());
        }
        if start.elapsed() < warm_up {
            continue;
        }
        let (warm, ..) = before.get_or_insert((sample, count, Instant::now()));
        assert!(sample.is_no_growth(warm), "{count} connections: {sample:?} after {warm:?}");
        for stack in stacks {
            // Those that are about to end are beside those in use.
            let (connections, memory) = (stack.connections() as u64, stack.memory());
            assert!(connections <= 20 * (BUSY + IDLE), "{connections} connections");
            assert!(memory < 64 << 20, "{memory} bytes");
        }
    }
    let (warm, count, since) = before.expect("a sample after the warm-up");
    let (last, all) = (Sample::take(stacks, most), opened.load(Ordering::Relaxed));
    let rate = (all - count) as f64 / since.elapsed().as_secs_f64();
    println!("{all} connections, {rate:.0} a second; {warm:?} after the warm-up, {last:?} at the end");
    let micros = |ticks: u64, connections: u64| ticks * 10_000 / connections.max(1);
    let (begin, rest) = (micros(warm.ticks, count), micros(last.ticks - warm.ticks, all - count));
    println!("{begin} µs of processor time for a connection of the warm-up, {rest} µs afterwards");
    println!("client {:?}, server {:?}", client.stats(), server.stats());
    // A short run shares the processors with other tests.
    let least = if length < LONG { LEAST_RATE / 20.0 } else { LEAST_RATE };
    assert!(rate >= least, "{rate} connections a second");

    over.store(true, Ordering::Relaxed);
    while let Some(client) = timeout(PATIENCE, clients.join_next()).await.unwrap() {
        client.unwrap();
    }
    listeners.shutdown().await;
    for stack in stacks {
        timeout(PATIENCE, stack.finished()).await.unwrap();
        assert_eq!((stack.connections(), stack.memory()), (0, 0));
    }
    // The stacks' tasks alone are left.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(Sample::take(stacks, 0).tasks, 2);
}
