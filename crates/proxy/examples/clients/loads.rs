//! Load times of a page beside the kernel's: all senders behind the same path, in turn.

use super::bed::{Bed, HOST, PathSettings, Result};
use super::page;
use super::programs::{Front, NGINX, nginx, proxy};
use recoup_path::LossSpec;
use recoup_support::quantity::{format_duration, parse_duration};
use recoup_support::stats::{Bootstrap, Sample, Statistic, Statistics};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// The senders, in the table's order: nginx by the kernel, then the proxy by each profile.
const PROFILES: [&str; 4] = ["linux-6", "linux-6+tlpr", "linux-6+slp", "linux-6+bbr1"];

/// The proxy's first port; each profile has one.
const PORTS: u16 = 8101;

/// A page that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(120);

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Losses in each direction, as in `recoup emulate --drop`
    #[arg(long, value_delimiter = ',', default_value = "bernoulli:1%,bernoulli:3%")]
    loss: Vec<LossSpec>,
    /// Round-trip times
    #[arg(long, value_delimiter = ',', default_value = "20ms,80ms,200ms", value_parser = parse_duration)]
    rtt: Vec<Duration>,
    /// Loads of each sender on each path
    #[arg(long, default_value_t = 100)]
    loads: usize,
    /// Loads at a time
    #[arg(long, default_value_t = 10)]
    parallel: usize,
    /// The seed of the paths and of the intervals
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Capture the packets of each path in a folder of this one
    #[arg(long)]
    pcap: Option<PathBuf>,
}

pub fn run(args: &Args, program: &Path) -> Result<bool> {
    print!("| loss (%) | RTT (ms) | kernel, nginx (ms) |");
    PROFILES.iter().for_each(|name| print!(" proxy, {name} (ms) |"));
    println!("\n| --- | --- | --- |{}", " --- |".repeat(PROFILES.len()));
    let mut is_as_fast = true;
    for loss in &args.loss {
        for rtt in &args.rtt {
            let times = measure(args, program, *loss, *rtt)?;
            is_as_fast &= print_row(args, &format!("{loss}"), *rtt, &times);
        }
    }
    Ok(is_as_fast)
}

/// Load times in milliseconds of each sender: NaN for a load that failed.
fn measure(args: &Args, program: &Path, loss: LossSpec, rtt: Duration) -> Result<Vec<Vec<f64>>> {
    let capture =
        args.pcap.as_ref().map(|folder| folder.join(format!("{loss}-{}", format_duration(rtt)).replace(':', "-")));
    if let Some(folder) = &capture {
        fs::create_dir_all(folder)?;
    }
    let bed = Bed::new(Some(PathSettings { rtt, loss: Some(loss), seed: args.seed }), capture.as_deref())?;
    let root = bed.path("files");
    fs::create_dir(&root)?;
    page::write(&root)?;
    let _nginx = nginx(&bed, &root)?;
    let name: Vec<_> = PROFILES.iter().map(|profile| [*profile]).collect();
    let front = |(place, profiles): (u16, &'_ [&'static str; 1])| (PORTS + place, *profiles);
    let fronts: Vec<_> = (0..).zip(&name).map(front).collect();
    let fronts: Vec<_> =
        fronts.iter().map(|(port, profiles)| Front { port: *port, upstream: NGINX, profiles }).collect();
    let mut proxy = proxy(&bed, program, &fronts, &[])?;
    let host: std::net::IpAddr = HOST.parse()?;
    let mut ports = vec![NGINX];
    ports.extend(fronts.iter().map(|front| front.port));
    let senders: Vec<SocketAddr> = ports.iter().map(|port| SocketAddr::new(host, *port)).collect();
    let (loads, parallel) = (args.loads, args.parallel);
    let times = bed.at_clients(move || load_all(&senders, loads, parallel))??;
    proxy.stop()?;
    if let Some(folder) = &capture {
        fs::copy(bed.path("access.jsonl"), folder.join("access.jsonl"))?;
    }
    Ok(times)
}

/// Loads the page from the senders in turn, several at a time.
pub fn load_all(senders: &[SocketAddr], loads: usize, parallel: usize) -> Result<Vec<Vec<f64>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let times = Arc::new(Mutex::new(vec![vec![f64::NAN; loads]; senders.len()]));
    let jobs: Vec<_> = (0..loads).flat_map(|load| (0..senders.len()).map(move |sender| (load, sender))).collect();
    let jobs = Arc::new(Mutex::new(jobs.into_iter()));
    runtime.block_on(async {
        let workers: Vec<_> = (0..parallel)
            .map(|_| {
                let (jobs, times, senders) = (Arc::clone(&jobs), Arc::clone(&times), senders.to_vec());
                tokio::spawn(async move {
                    loop {
                        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some((load, sender)) = job else { return };
                        if let Ok(Ok(time)) = timeout(LONGEST, page::load(senders[sender])).await {
                            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
                            times[sender][load] = time.as_secs_f64() * 1e3;
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.await?;
        }
        Result::Ok(())
    })?;
    let times = times.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(times)
}

/// Prints medians, and how those of the proxy differ from the kernel's, with 95 % intervals. Returns whether the kernel's own
/// profile is not slower than the kernel.
fn print_row(args: &Args, loss: &str, rtt: Duration, times: &[Vec<f64>]) -> bool {
    let known = |times: &Vec<f64>| {
        let values = (0..).zip(times).filter(|(_, time)| time.is_finite());
        Sample::new(values.map(|(load, time)| (load, 1, *time)))
    };
    let samples: Vec<_> = times.iter().map(known).collect();
    let bootstrap = Bootstrap::new(&samples, args.seed, args.loads as u32, args.loads as u64);
    let median = |values: &[Statistics], sender: usize| values[sender][Statistic::P50 as usize];
    let whole = |sender| median(bootstrap.whole(), sender);
    let interval = |estimate: f64, of: &dyn Fn(&[Statistics]) -> f64, digits: usize| {
        let found = bootstrap.interval(estimate, of);
        found.map_or("no interval".into(), |i| format!("{:.digits$} to {:.digits$}", i.low, i.high))
    };
    let loss = loss.trim_start_matches("bernoulli:").trim_end_matches('%');
    let loss = loss.parse().map_or_else(|_| loss.to_owned(), |share: f64| format!("{}", share * 100.0));
    print!("| {loss} | {} | {:.0} ({}) |", rtt.as_millis(), whole(0), interval(whole(0), &|v| median(v, 0), 0));
    let mut is_as_fast = true;
    for sender in 1..times.len() {
        let difference = |values: &[Statistics]| (median(values, sender) / median(values, 0) - 1.0) * 100.0;
        let estimate = difference(bootstrap.whole());
        print!(" {:.0}: {estimate:+.1} % ({}) |", whole(sender), interval(estimate, &difference, 1));
        if sender == 1 {
            is_as_fast = bootstrap.interval(estimate, difference).is_some_and(|interval| interval.low <= 0.0);
        }
    }
    let failed = times.iter().flatten().filter(|time| !time.is_finite()).count();
    println!("{}", if failed > 0 { format!(" {failed} loads failed") } else { String::new() });
    is_as_fast
}
