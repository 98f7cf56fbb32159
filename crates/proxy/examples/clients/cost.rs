//! What the proxy costs without loss: beside nginx by the kernel on the same port of the same host, in turn.

use super::bed::{Bed, HOST, Process, Result, is_there};
use super::page::{self, OBJECTS};
use super::programs::{Front, NGINX, nginx, proxy};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

const PROXY: u16 = 80;

#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Loss recovery of the proxy
    #[arg(long, default_value = "linux-6")]
    profile: String,
    /// Rounds, of which medians are printed
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Gigabytes of each download
    #[arg(long, default_value_t = 2)]
    gigabytes: u64,
    /// Connections of wrk
    #[arg(long, default_value_t = 50)]
    connections: u32,
    /// Seconds of each run of wrk
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// Connections at a time that each carry packets of the proxy
    #[arg(long, default_value_t = 2)]
    queues: u32,
}

/// What is measured of a sender; one value of each a round.
#[derive(Debug, Default)]
struct Measured {
    request_us: Vec<f64>,
    connect_us: Vec<f64>,
    requests: Vec<f64>,
    gigabits: Vec<f64>,
    /// Processor seconds a gigabyte, of nginx and of the proxy.
    nginx: Vec<f64>,
    proxy: Vec<f64>,
}

pub fn run(args: &Args, program: &Path) -> Result<bool> {
    let bed = Bed::new(None, None)?;
    let root = bed.path("files");
    fs::create_dir(&root)?;
    page::write(&root)?;
    // A hole: its bytes are zeros, and take no space.
    File::create(root.join("endless"))?.set_len(args.gigabytes * 1_000_000_000)?;
    let nginx = nginx(&bed, &root)?;
    let profiles = [args.profile.as_str()];
    let front = Front { port: PROXY, upstream: NGINX, profiles: &profiles };
    let mut proxy = proxy(&bed, program, &[front], &["--queues", &args.queues.to_string()])?;
    let mut all = [Measured::default(), Measured::default()];
    for _ in 0..args.rounds {
        for (port, measured) in [NGINX, PROXY].into_iter().zip(&mut all) {
            measure(args, &bed, port, [&nginx, &proxy], measured)?;
        }
    }
    proxy.stop()?;
    let [kernel, through] = &all;
    let small = page::length(smallest());
    println!("| quantity | nginx by the kernel | through the proxy | ratio |\n| --- | --- | --- | --- |");
    let row = |name: &str, of: fn(&Measured) -> f64, digits: usize| {
        let [direct, through] = [kernel, through].map(of);
        println!("| {name} | {direct:.digits$} | {through:.digits$} | {:.2} |", through / direct);
    };
    row(&format!("request of {small} bytes on an open connection (µs)"), |m| median(&m.request_us), 0);
    row("connect, request, close (µs)", |m| median(&m.connect_us), 0);
    if is_there("wrk") {
        row(&format!("requests/s of wrk, {} connections", args.connections), |m| median(&m.requests), 0);
    } else {
        println!("left out requests/s: no wrk");
    }
    row("one download (Gbit/s)", |m| median(&m.gigabits), 2);
    row("processor seconds/GB, nginx", |m| median(&m.nginx), 3);
    row("processor seconds/GB, nginx and proxy", |m| median(&m.nginx) + median(&m.proxy), 3);
    Ok(true)
}

/// The object of 1 kB.
fn smallest() -> usize {
    (0..OBJECTS).min_by_key(|number| page::length(*number)).unwrap_or(0)
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn measure(args: &Args, bed: &Bed, port: u16, [nginx, proxy]: [&Process; 2], into: &mut Measured) -> Result<()> {
    into.request_us.push(bed.at_clients(move || requests(port))??);
    into.connect_us.push(bed.at_clients(move || connections(port))??);
    if is_there("wrk") {
        let (connections, time) = (format!("-c{}", args.connections), format!("-d{}s", args.seconds));
        let address = format!("http://{HOST}:{port}/{}", smallest());
        let output = bed.client(args.seconds + 30, "wrk", &["-t1", &connections, &time, &address])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rate = text.lines().find_map(|line| line.strip_prefix("Requests/sec:"));
        into.requests.push(rate.and_then(|rate| rate.trim().parse().ok()).ok_or("wrk: no Requests/sec")?);
    }
    let before = [nginx.processor_seconds()?, proxy.processor_seconds()?];
    let begun = Instant::now();
    let address = format!("http://{HOST}:{port}/endless");
    bed.client(120, "curl", &["-s", "--fail", "--noproxy", "*", "-o", "/dev/null", &address])?;
    let time = begun.elapsed().as_secs_f64();
    let gigabytes = args.gigabytes as f64;
    into.gigabits.push(gigabytes * 8.0 / time);
    into.nginx.push((nginx.processor_seconds()? - before[0]) / gigabytes);
    into.proxy.push((proxy.processor_seconds()? - before[1]) / gigabytes);
    Ok(())
}

fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect((HOST, port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    Ok(stream)
}

/// Requests the object of 1 kB, and reads the response.
fn request(stream: &mut TcpStream) -> Result<()> {
    let number = smallest();
    stream.write_all(format!("GET /{number} HTTP/1.1\r\nHost: {HOST}\r\n\r\n").as_bytes())?;
    let (mut response, mut block) = (Vec::<u8>::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut block)?;
        response.extend(&block[..count]);
        let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        match end {
            Some(end) if response.len() >= end + 4 + page::length(number) => return Ok(()),
            _ if count == 0 => return Err("the server closed".into()),
            _ => {}
        }
    }
}

/// The median time of a request, in microseconds.
fn requests(port: u16) -> Result<f64> {
    let mut stream = connect(port)?;
    let mut times = Vec::new();
    for _ in 0..1000 {
        let begun = Instant::now();
        request(&mut stream)?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&times))
}

/// The median time of a connection with one request, in microseconds.
fn connections(port: u16) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..300 {
        let begun = Instant::now();
        request(&mut connect(port)?)?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&times))
}
