//! A trial of two profiles, as a server's owner runs it: what `--summary` says.

use super::bed::{Bed, HOST, PathSettings, Result};
use super::loads::load_all;
use super::page;
use super::programs::{Front, NGINX, nginx, proxy};
use recoup_path::LossSpec;
use recoup_support::quantity::parse_duration;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

const PORT: u16 = 80;

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Losses in each direction, as in `recoup emulate --drop`
    #[arg(long, default_value = "bernoulli:3%")]
    loss: LossSpec,
    /// Round-trip time
    #[arg(long, default_value = "80ms", value_parser = parse_duration)]
    rtt: Duration,
    /// The profiles
    #[arg(long, value_delimiter = ',', default_value = "linux-6,linux-6+tlpr")]
    profiles: Vec<String>,
    /// Loads of the page
    #[arg(long, default_value_t = 200)]
    loads: usize,
    /// Loads at a time
    #[arg(long, default_value_t = 10)]
    parallel: usize,
    /// The path's seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(args: &Args, program: &Path) -> Result<bool> {
    let bed = Bed::new(Some(PathSettings { rtt: args.rtt, loss: Some(args.loss), seed: args.seed }), None)?;
    let root = bed.path("files");
    fs::create_dir(&root)?;
    page::write(&root)?;
    let _nginx = nginx(&bed, &root)?;
    let profiles: Vec<&str> = args.profiles.iter().map(String::as_str).collect();
    let front = Front { port: PORT, upstream: NGINX, profiles: &profiles };
    let mut proxy = proxy(&bed, program, &[front], &["--summary"])?;
    let at = SocketAddr::new(HOST.parse()?, PORT);
    let (loads, parallel) = (args.loads, args.parallel);
    let times = bed.at_clients(move || load_all(&[at], loads, parallel))??;
    let status = proxy.stop()?;
    print!("{}{}", proxy.messages()?, proxy.output()?);
    let log = fs::read_to_string(bed.path("access.jsonl"))?;
    println!("{} connections, of which one:\n{}", log.lines().count(), log.lines().last().unwrap_or_default());
    Ok(status.success() && times.iter().flatten().all(|time| time.is_finite()))
}
