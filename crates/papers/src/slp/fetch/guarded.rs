//! Figure 7 on this machine's kernel: fetches of a client that loses 2 % of its packets, without and with `recoup guard copies`
//! beside the client's kernel, and in the simulator.
//!
//! The path is that of the scenario without its limit of the rate, so that many fetches at a time are as if each were alone.
//! The kernel's connections are real: Linux at both ends, and the emulator in between. So no two runs are equal, and no claim is
//! judged by them.

use super::fig7::ID;
use crate::experiment::named;
use crate::prelude::*;
use recoup_net::{NetError, Relay, Wire};
use recoup_path::HopSpec;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use thiserror::Error;

/// Fetches of each arm.
const FETCHES: usize = 2000;
/// Fetches at a time.
const PARALLEL: usize = 20;

/// The scenario's values (crates/lab/scenarios/fetch.toml).
const LOSS: &str = "bernoulli:0.02";
const RTT: Duration = Duration::from_millis(40);
const REQUEST: usize = 300;
const FILE: usize = 34_000;

/// How long a fetch may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why there are no fetches on the kernel.
#[derive(Debug, Error)]
pub enum GuardedError {
    /// The simulator's arm cannot run.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// No namespace, device or program.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A socket or a file.
    #[error("cannot fetch on the kernel: {0}")]
    Io(#[from] io::Error),
    /// The guard ended at once.
    #[error("recoup guard copies: {0}")]
    Guard(String),
}

/// Fetches of one arm.
#[derive(Clone, Debug)]
pub struct Arm {
    pub name: &'static str,
    /// Completion times, in increasing order.
    pub times: Vec<Duration>,
    /// Fetches that did not complete.
    pub failed: usize,
}

impl Arm {
    fn new(name: &'static str, times: Vec<Option<Duration>>) -> Self {
        let all = times.len();
        let mut times: Vec<Duration> = times.into_iter().flatten().collect();
        times.sort_unstable();
        Self { name, failed: all - times.len(), times }
    }

    /// The share of fetches that took longer.
    pub fn over(&self, limit_ms: u64) -> Share {
        let within = self.times.partition_point(|time| *time <= Duration::from_millis(limit_ms));
        let all = self.times.len() + self.failed;
        Share::of((all - within) as u64, all as u64)
    }

    /// The mean and the median of those that completed, in ms.
    pub fn mean_and_median(&self) -> [f64; 2] {
        let sum: Duration = self.times.iter().sum();
        [ms(sum) / self.times.len().max(1) as f64, self.times.get(self.times.len() / 2).map_or(NAN, |time| ms(*time))]
    }
}

/// Fetches in the simulator, and on the kernel without and with `guard`, the program recoup-guard.
///
/// # Errors
/// Without the right to make namespaces, devices and programs in the kernel.
pub fn arms(seed: u64, guard: &Path) -> Result<Vec<Arm>, GuardedError> {
    let simulated = |name, profile| Ok::<_, GuardedError>(Arm::new(name, simulate(seed, profile)?));
    Ok(vec![
        simulated("simulator, linux-6", "linux-6")?,
        simulated("simulator, linux-6+slp", "linux-6+slp")?,
        Arm::new("kernel", fetch(seed, None)?),
        Arm::new("kernel with recoup guard", fetch(seed, Some(guard))?),
    ])
}

fn simulate(seed: u64, profile: &str) -> Result<Vec<Option<Duration>>, ExperimentError> {
    let Some(experiment) = named(crate::slp::NAME, ID) else { return Ok(Vec::new()) };
    let mut setup = Setup::new(experiment, Effort::Full)?;
    setup.base.seed = seed;
    for (key, value) in [("rate", "none"), ("timers", "linux-wheel:250"), ("close", "true")] {
        setup.base.settings.set(key, value, Path::new(""))?;
    }
    let mut bench = Bench::new(&setup, profile, "")?;
    Ok((0..FETCHES as u64).map(|flow| bench.record(flow).fct).collect())
}

/// Ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Fetches on the kernel.
fn fetch(seed: u64, guard: Option<&Path>) -> Result<Vec<Option<Duration>>, GuardedError> {
    let loss = LOSS.parse().map_err(io::Error::other)?;
    let relay = Relay::new(&[HopSpec::Loss(loss), HopSpec::Delay(RTT / 2)], &[HopSpec::Delay(RTT / 2)], seed, 1500)?;
    let wire = Wire::open(1500)?;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    let server = SocketAddr::from((wire.block().ends_v4().outside, listener.local_addr()?.port()));
    thread::Builder::new().spawn(move || serve(&listener))?;
    let _guard = match guard {
        None => None,
        Some(program) => {
            let program = program.to_owned();
            let port = server.port();
            Some(wire.inside(move || start(program, port))??)
        }
    };
    // Readable once the clients are done.
    let (running, stop) = UnixStream::pair()?;
    let clients = wire.inside(move || {
        thread::Builder::new().spawn(move || {
            let times = fetch_all(server);
            drop(running);
            times
        })
    })??;
    relay.run(wire.ends(), stop.as_fd())?;
    clients.join().map_err(|_| io::Error::other("a thread panicked").into())
}

/// Starts the guard beside the client, and waits until it guards.
fn start(program: PathBuf, port: u16) -> Result<Running, GuardedError> {
    let said = std::env::temp_dir().join(format!("recoup-guarded-{}", std::process::id()));
    let mut command = Command::new(program);
    let device = format!("recoup{}i", std::process::id());
    command.args(["copies", &device, "--allow", &format!("dst port {port}"), "--act", "--control", "0"]);
    // The paper's mechanism alone. All fetches have one destination here.
    command.args(["--help-by", "+slp", "--destination-limit", "1000"]);
    let child = command.stdout(Stdio::null()).stderr(File::create(&said)?).spawn()?;
    let mut running = Running(child);
    let mut text = String::new();
    for _ in 0..200 {
        thread::sleep(Duration::from_millis(50));
        text = fs::read_to_string(&said)?;
        if text.contains("guarding") || running.0.try_wait()?.is_some() {
            break;
        }
    }
    _ = fs::remove_file(&said);
    if text.contains("guarding") { Ok(running) } else { Err(GuardedError::Guard(text.trim().to_owned())) }
}

/// Answers each request with a file, until the process ends.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let answer = |mut stream: TcpStream| {
            stream.read_exact(&mut [0; REQUEST])?;
            stream.write_all(&vec![7; FILE])
        };
        if let Ok(stream) = stream {
            _ = thread::Builder::new().spawn(move || answer(stream));
        }
    }
}

fn fetch_all(server: SocketAddr) -> Vec<Option<Duration>> {
    let one = move || {
        let begun = std::time::Instant::now();
        let fetch = || -> io::Result<()> {
            let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(&[1; REQUEST])?;
            stream.read_exact(&mut [0; FILE])
        };
        fetch().is_ok().then(|| begun.elapsed())
    };
    let some = move || (0..FETCHES / PARALLEL).map(|_| one()).collect::<Vec<_>>();
    let threads: Vec<_> = (0..PARALLEL).filter_map(|_| thread::Builder::new().spawn(some).ok()).collect();
    threads.into_iter().filter_map(|thread| thread.join().ok()).flatten().collect()
}
