//! Cost of an analysis: packets per second and memory, on one thread and on all.
//!
//! The bench makes a capture of more than 20 million packets in 300,000 connections. It also times
//! reading alone, counting records, and tcptrace and tshark if they are installed. It says what each
//! step of the analysis costs: the difference between an analysis that ends with the step and one that
//! ends with the step before. A step that touches the memory that the next one needs pays for both.
//!
//! `RECOUP_BENCH_CONNECTIONS` sets the number of connections (300,000), `RECOUP_BENCH_SEED` the
//! seed of the traffic (1), `RECOUP_BENCH_RETRANSMITTING` in how many of a hundred connections the server
//! retransmits (12 or 13), and `RECOUP_BENCH_CAPTURE` where the capture is kept; otherwise it is removed.

use mimalloc::MiMalloc;
use recoup_benches::{
    measure::{self, Cost},
    traffic::{self, Content, Traffic},
};
use recoup_trace::{
    ablation::{self, Step},
    analyze::{Findings, Settings, analyze},
    finding::{Connection, Retransmission, Revision, Tally, Verdict},
    read::{Packet, PacketSource, Reader},
};
use std::{
    fs::File,
    hint::black_box,
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
    str::FromStr,
    time::Instant,
};
use tempfile::TempDir;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// The steps of an analysis after reading.
const STEPS: [(&str, Step); 6] = [
    ("deal", Step::Deal),
    ("find and open", Step::Find),
    ("follow", Step::Follow),
    ("duplicates and RTTs", Step::Sample),
    ("cases and verdicts", Step::Judge),
    ("replay", Step::Replay),
];

/// Packets for other programs: for all of them, tshark would take minutes and 10 GB.
const SLICE: u64 = 2_000_000;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["case", case, capture] => run(case, Path::new(capture)),
        // `cargo bench` passes `--bench`. Without it, this is a test of the bench itself.
        _ => bench(if words.contains(&"--bench") { 300_000 } else { 300 }),
    }
}

/// Runs one case in this process.
fn run(case: &str, capture: &Path) {
    let step = STEPS.iter().find(|(name, _)| *name == case);
    measure::report(|| match (case, step) {
        ("records", _) => vec![count(capture, u64::MAX).expect("a capture").0],
        ("read", _) => vec![read(capture)],
        (_, Some((_, step))) => {
            ablation::stop_after(*step);
            classify(capture, 0)
        }
        (threads, None) => classify(capture, threads.parse().expect("a number of threads")),
    });
}

fn count(capture: &Path, most: u64) -> io::Result<(u64, u64)> {
    traffic::records(BufReader::with_capacity(1 << 18, File::open(capture)?), most)
}

/// Reads all packets, as an analysis does.
fn read(capture: &Path) -> u64 {
    let mut reader = Reader::open(capture).expect("a capture");
    let mut packet = Packet::default();
    while reader.next_into(&mut packet) {
        black_box(&packet);
    }
    reader.counts().packets
}

/// Counts the findings.
#[derive(Default)]
struct Counted {
    connections: u64,
    packets: u64,
    connections_with_retransmissions: u64,
    retransmissions: Tally,
}

impl Findings for Counted {
    fn connection(&mut self, connection: Connection, _: &[Retransmission]) {
        self.connections += 1;
        self.packets += connection.packets;
        let [client, server] = connection.directions.map(|d| d.retransmissions);
        self.connections_with_retransmissions += u64::from(server.total() > 0);
        self.retransmissions.merge(&client);
        self.retransmissions.merge(&server);
    }

    fn revision(&mut self, revision: &Revision) {
        let new = &revision.retransmission;
        (self.retransmissions).change(new.triggers, revision.before.0, new.verdict);
    }
}

/// Analyzes everything. Returns packets, connections, connections with a retransmission by the
/// server, and retransmissions by verdict.
fn classify(capture: &Path, threads: usize) -> Vec<u64> {
    let settings = Settings { threads, ..Settings::default() };
    let reader = Reader::open(capture).expect("a capture");
    let found = analyze(reader, &settings, Counted::default, |_| true);
    let mut all = Counted::default();
    for part in found.expect("a capture").findings {
        all.connections += part.connections;
        all.packets += part.packets;
        all.connections_with_retransmissions += part.connections_with_retransmissions;
        all.retransmissions.merge(&part.retransmissions);
    }
    let verdicts = Verdict::ALL.map(|v| all.retransmissions.of_verdict(v));
    [&[all.packets, all.connections, all.connections_with_retransmissions][..], &verdicts].concat()
}

fn bench(connections: u64) {
    let connections = set("RECOUP_BENCH_CONNECTIONS").unwrap_or(connections);
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let capture = set("RECOUP_BENCH_CAPTURE");
    let capture: PathBuf = capture.unwrap_or_else(|| folder.path().join("traffic.pcap"));
    let content = make(&capture, connections);

    Cost::print_head();
    for (name, case) in [("records counted", "records"), ("read", "read")] {
        let cost = measure::own(case, &capture);
        assert_eq!(cost.counted, [content.packets], "{case}");
        cost.print(name, content.packets);
    }
    let threads = Settings::default().threads;
    let one = measure::own("0", &capture);
    one.print("analyzed on one thread", content.packets);
    let more = measure::own(&threads.to_string(), &capture);
    more.print(&format!("analyzed on {}", 1 + threads), content.packets);
    println!("{} threads take 1/{:.2} of the time", 1 + threads, one.time.as_secs_f64() / more.time.as_secs_f64());
    print_steps(&capture, content.packets);
    compare_programs(&capture, &folder.path().join("slice.pcap"));
    found(&one, &content);
    assert_eq!(one.counted, more.counted, "threads change what is found");
}

/// The value of an environment variable.
fn set<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("{name}={text}: expected a number"),
    }
}

/// Makes the capture, and leaves it in the page cache.
fn make(capture: &Path, connections: u64) -> Content {
    let seed = set("RECOUP_BENCH_SEED").unwrap_or(1);
    let begun = Instant::now();
    let file = File::create(capture).expect("a file");
    let mut file = BufWriter::with_capacity(1 << 20, file);
    let mut traffic = Traffic::new(seed, connections);
    if let Some(percent) = set::<f64>("RECOUP_BENCH_RETRANSMITTING") {
        traffic = traffic.retransmitting(percent / 100.0);
    }
    let content = traffic.capture(&mut file);
    file.flush().expect("room on the disk");
    let content = content.expect("room on the disk");
    println!(
        "seed {seed}: {} packets of {} connections that begin within {:.0} s, {} open at once at most; \
         servers sent {} of {} data segments and SYNs again, in {} connections; made in {:.1} s",
        content.packets,
        content.connections,
        content.begun_within.as_secs_f64(),
        content.most_open,
        content.retransmissions,
        content.data + content.connections,
        content.connections_with_retransmissions,
        begun.elapsed().as_secs_f64()
    );
    content
}

/// Prints what each step of an analysis on one thread costs.
fn print_steps(capture: &Path, packets: u64) {
    println!("of which, in ns of processor time a packet:");
    let cpu = |case| measure::own(case, capture).cpu.as_secs_f64() * 1e9 / packets as f64;
    let mut before = cpu("read");
    println!("  {:<24} {before:>6.1}", "read");
    for (name, _) in STEPS {
        let with = cpu(name);
        println!("  {name:<24} {:>6.1}", with - before);
        before = with;
    }
}

/// Times other programs on a slice of the capture.
fn compare_programs(capture: &Path, slice: &Path) {
    let (packets, bytes) = count(capture, SLICE).expect("a capture");
    let part = File::open(capture).map(|file| file.take(bytes));
    let copied = part.and_then(|mut part| io::copy(&mut part, &mut File::create(slice)?));
    copied.expect("room on the disk");
    println!("the first {packets} packets:");
    let own = measure::own("0", slice);
    own.print("analyzed on one thread", packets);
    for (program, arguments) in [("tcptrace", &["-n", "-l"][..]), ("tshark", &["-n", "-q", "-z", "conv,tcp", "-r"])] {
        match measure::other(program, arguments, slice) {
            Some(cost) => {
                cost.print(program, packets);
                println!("{program} takes {:.1} times the processor time", own.ratio(&cost));
            }
            None => println!("{program}: not installed, or it failed"),
        }
    }
}

/// Prints what was found, and what the capture holds.
fn found(cost: &Cost, content: &Content) {
    let [packets, connections, connections_with_retransmissions, needed, spurious, unknowable] = cost.counted[..]
    else {
        panic!("six numbers");
    };
    println!(
        "found: {packets} packets of {connections} connections; {} retransmissions, {needed} needed, \
         {spurious} spurious, {unknowable} unknowable; the servers' in {connections_with_retransmissions} connections",
        needed + spurious + unknowable
    );
    println!(
        "there are: {} packets of {} connections; the servers' retransmissions in {}",
        content.packets, content.connections, content.connections_with_retransmissions
    );
}
