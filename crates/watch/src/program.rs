//! The command line of `recoup watch`: the program `recoup-watch`.

use crate::files::FolderSource;
use crate::guarded::{GrowingLog, Guarded};
use crate::kept::Kept;
use crate::kernel_reasons::KernelReasons;
use crate::metrics;
use crate::outlet::{Form, Outlet};
use crate::saver::Saver;
use crate::screen::{self, Look};
use crate::shared::Shared;
use crate::source::{LiveSource, Source};
use crate::watcher::{WatchError, Watcher};
use clap::{Parser, ValueEnum};
use recoup::analysis_args::{parse_idle, parse_threads};
use recoup::program::{OutputArgs, parse};
use recoup::signals::Signals;
use recoup::{Failure, console};
use recoup_captures::filter::{Filter, kernel_program};
use recoup_captures::guard_log::LogError;
use recoup_exposition::{listening_address, serve};
use recoup_net::{MergedRings, Namespace, NamespaceTarget, PacketSocketOptions, USUAL_SNAP};
use recoup_support::profile::parse_profile;
use recoup_support::quantity::{parse_duration, parse_size};
use recoup_trace::analyze::{ConnectionFilter, Settings};
use recoup_trace::read::PacketSource;
use recoup_wire::bpf::Framing;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const HELP: &str = "\
Packets are read as the kernel sees them; only headers are kept, and nothing is sent. A
retransmission is named as it leaves, its verdict when the ACK comes that decides it, and a verdict
that turns out otherwise is revised. On a terminal, a screen shows the last minute, the connections
and the findings (? lists its keys). Ctrl-C ends it.

Examples:
  recoup watch eth0
  recoup watch eth0 --format lines
  recoup watch any --filter 'port 443' --format jsonl -o findings.jsonl
  recoup watch any -o findings.log --prometheus 127.0.0.1:9464
  recoup watch eth0 --netns 4711
  mkdir ring; tcpdump -i eth0 -s 256 -U -G 60 -w 'ring/%s.pcap' & recoup watch --from ring

Exit status: 0 ended by a signal or --for; 2 wrong use, no right to read, or no interface left.";

/// How long packets are kept beyond what is saved of them.
const MARGIN: Duration = Duration::from_secs(5);

/// Explain connections while they are open: what is retransmitted, why, whether it was needed, and what it costs
#[derive(Parser)]
#[command(name = "recoup watch", bin_name = "recoup watch", version, after_help = HELP)]
struct Args {
    /// Interfaces to read, such as eth0; any: all of them
    #[arg(required_unless_present = "from", value_name = "INTERFACE")]
    interfaces: Vec<String>,
    /// Read captures that another program writes into this folder, one after another, such as tcpdump -G or -C
    #[arg(long, value_name = "DIR", conflicts_with_all = ["interfaces", "netns", "ring", "promiscuous"])]
    from: Option<PathBuf>,
    /// Read the interfaces of another network namespace: its name, the path of its file, or the number of a process in it
    #[arg(long, value_name = "NAMESPACE")]
    netns: Option<NamespaceTarget>,
    /// Watch only these connections: an expression of tcpdump, such as 'net 10.0.0.0/8 and port 443'
    #[arg(long, value_name = "EXPRESSION", allow_hyphen_values = true)]
    filter: Option<Filter>,
    /// Leave out the copies of segments that `recoup guard copies` sends on this host and names in this log: they are no
    /// retransmissions. The log is read as it grows. May be repeated
    #[arg(long, value_name = "FILE")]
    guard_log: Vec<PathBuf>,
    /// The form of findings: a screen, sentences, or a JSON object a line [default: screen on a terminal, or else lines]
    #[arg(long, value_name = "FORM")]
    format: Option<FormName>,
    /// Append findings to this file; - for standard output. SIGHUP opens it again
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// End after this time
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    most: Option<Duration>,
    /// Memory of open connections. Beyond, those that were silent for longest are followed no longer
    #[arg(long, value_name = "SIZE", default_value = "96MB", value_parser = memory)]
    memory: usize,
    /// Consider a connection over after this long without a packet
    #[arg(long, value_name = "TIME", default_value = "15min", value_parser = parse_idle)]
    idle: Duration,
    /// Explain every sender by this profile, such as linux-6 [default: for each sender, the profile that explains most]
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    profile: Option<recoup_recovery::Profile>,
    /// Number of threads that read and analyze [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
    /// Memory for packets that wait to be read, for each interface
    #[arg(long, value_name = "SIZE", default_value = "32MB", value_parser = memory)]
    ring: usize,
    /// Keep packets for this long, so that the screen draws and saves them
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    keep_time: Duration,
    /// Also take frames for other hosts
    #[arg(long)]
    promiscuous: bool,
    /// Save the packets of a connection from this long before a retransmission until as long after it into a file in this
    /// folder, headers alone. The newest 1000 files are kept
    #[arg(long, num_args = 2, value_names = ["TIME", "DIR"], conflicts_with = "from")]
    pcap_ring: Option<Vec<String>>,
    /// Also say why the kernel itself sent each retransmission, and how often its reason agrees. For senders on this machine;
    /// needs Linux 5.8 and root, or the capabilities cap_bpf and cap_perfmon
    #[arg(long, conflicts_with = "from")]
    kernel_reasons: bool,
    /// Memory for the latest packets, which the screen draws and saves, and --pcap-ring saves
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = memory)]
    keep: usize,
    /// Serve metrics for Prometheus at this address: http://ADDRESS:PORT/metrics. Port 0: one that is free
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = listening_address)]
    prometheus: Option<SocketAddr>,
    #[command(flatten)]
    output_args: OutputArgs,
}

impl Args {
    /// Whether findings go into a file.
    fn has_file(&self) -> bool {
        self.output.as_os_str() != "-"
    }
}

/// The form of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormName {
    /// A screen with keys
    Screen,
    /// Sentences
    Lines,
    /// JSON objects, one a line
    Jsonl,
}

fn memory(text: &str) -> Result<usize, String> {
    let size = parse_size(text)?;
    let size = (1_000_000..=64_000_000_000).contains(&size).then_some(size);
    size.and_then(|size| usize::try_from(size).ok()).ok_or_else(|| "expected a size from 1MB to 64GB".into())
}

fn profile(text: &str) -> Result<recoup_recovery::Profile, String> {
    parse_profile(text).map_err(|why| format!("{why} (`recoup profiles` lists what there is)"))
}

/// Watches until it is told to end, and returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Args = match parse(arguments) {
        Ok(args) => args,
        Err(status) => return status,
    };
    args.output_args.apply();
    watch(&args).map_or_else(Failure::exit, |()| 0)
}

fn watch(args: &Args) -> Result<(), Failure> {
    let form = form(args)?;
    let log = |path: &PathBuf| GrowingLog::open(path).map_err(wrong_log);
    let logs = args.guard_log.iter().map(log).collect::<Result<Vec<_>, _>>()?;
    let (signals, shown) = match form {
        FormName::Screen => (Signals::of_terminal()?, Shown::Screen(Look { colors: args.output_args.takes_colors() })),
        FormName::Lines => (Signals::new(args.has_file())?, Shown::By(outlet(Form::Lines, args)?)),
        FormName::Jsonl => (Signals::new(args.has_file())?, Shown::By(outlet(Form::json(), args)?)),
    };
    match &args.from {
        Some(folder) => {
            let source = FolderSource::open(folder)
                .map_err(|why| Failure::Wrong(format!("--from {}: {why}", folder.display())))?;
            let shared = Shared::new(source.name().to_owned(), Kept::default());
            let source = Guarded::new(source, logs).map_err(wrong_log)?;
            follow(args, &signals, source, Arc::new(shared), shown, None, None)
        }
        None => {
            let names = interfaces(args)?;
            // Before the first packet, so that the kernel reports each retransmission that is captured.
            let kernel = args.kernel_reasons.then(KernelReasons::open).transpose()?;
            let rings = open(args, names)?;
            let name = args.interfaces.join(", ");
            let mut time = Duration::ZERO;
            if form == FormName::Screen {
                time = args.keep_time;
            }
            let saver = match &args.pcap_ring {
                None => None,
                Some(ring) => {
                    let (around, folder) = pcap_ring(ring)?;
                    let saver = Saver::new(folder.clone(), around)
                        .map_err(|why| Failure::Wrong(format!("--pcap-ring {}: {why}", folder.display())))?;
                    time = time.max(around * 2 + MARGIN);
                    Some(saver)
                }
            };
            let kept = if time.is_zero() { Kept::default() } else { Kept::new(args.keep, time) };
            let shared = Arc::new(Shared::new(name.clone(), kept));
            let source = LiveSource::new(rings, name, Arc::clone(&shared));
            let source = Guarded::new(source, logs).map_err(wrong_log)?;
            follow(args, &signals, source, shared, shown, saver, kernel)
        }
    }
}

fn wrong_log(why: LogError) -> Failure {
    Failure::Wrong(format!("--guard-log {why}"))
}

/// The form that is asked for, or else the one that suits standard output.
fn form(args: &Args) -> Result<FormName, Failure> {
    let is_file = args.has_file();
    // Keys come from standard input.
    let is_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    let is_dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
    match args.format {
        Some(FormName::Screen) if is_file => {
            Err(Failure::Wrong("--format screen: expected no --output, because a screen writes no file".into()))
        }
        Some(FormName::Screen) if !is_terminal => {
            Err(Failure::Wrong("--format screen: expected standard input and output to be a terminal".into()))
        }
        Some(form) => Ok(form),
        None if is_terminal && !is_dumb && !is_file => Ok(FormName::Screen),
        None => Ok(FormName::Lines),
    }
}

fn outlet(form: Form, args: &Args) -> Result<Outlet, Failure> {
    Outlet::open(form, &args.output).map_err(|why| Failure::Wrong(format!("--output {}: {why}", args.output.display())))
}

/// Where findings go.
enum Shown {
    Screen(Look),
    By(Outlet),
}

fn follow(
    args: &Args,
    signals: &Signals,
    source: impl Source + 'static,
    shared: Arc<Shared>,
    shown: Shown,
    saver: Option<Saver>,
    kernel: Option<KernelReasons>,
) -> Result<(), Failure> {
    if let Some(at) = args.prometheus {
        let watched = Arc::clone(&shared);
        let at = serve(at, move |format| metrics::page(&watched.status(), format))
            .map_err(|why| Failure::Wrong(format!("--prometheus {at}: cannot serve metrics there: {why}")))?;
        console::status(format_args!("metrics at http://{at}/metrics"));
    }
    let settings = settings(args);
    match shown {
        Shown::By(outlet) => {
            console::status(format_args!("watching {} (Ctrl-C ends)", source.name()));
            let mut watcher =
                Watcher::new(source, &settings, shared, Some(outlet)).with_saver(saver).with_kernel_reasons(kernel);
            if args.prometheus.is_some() {
                watcher = watcher.with_surveys();
            }
            match watcher.run(signals, args.most) {
                // Whoever read the findings, such as `head`, wants no more.
                Err(WatchError::Outlet(why)) if why.kind() == ErrorKind::BrokenPipe => {}
                ended => ended?.summary().iter().for_each(console::status),
            }
        }
        Shown::Screen(look) => {
            // Notes would be written into the screen.
            let is_quiet = console::is_quiet();
            console::set_quiet();
            let (most, until, seen) = (args.most, signals.clone(), Arc::clone(&shared));
            let watcher = Watcher::new(source, &settings, shared, None)
                .with_saver(saver)
                .with_kernel_reasons(kernel)
                .with_surveys();
            let watch = move || watcher.run(&until, most);
            let status = screen::show(&seen, look, signals, watch)?;
            if !is_quiet {
                status.summary().iter().for_each(|line| console::plain(&format!("recoup: {line}")));
            }
        }
    }
    Ok(())
}

/// The two values of `--pcap-ring`.
fn pcap_ring(values: &[String]) -> Result<(Duration, PathBuf), Failure> {
    let [time, folder] = values else {
        return Err(Failure::Wrong("--pcap-ring: expected a time and a folder".into()));
    };
    let time = parse_duration(time).map_err(|why| Failure::Wrong(format!("--pcap-ring {time}: {why}")))?;
    Ok((time, folder.into()))
}

/// Opens rings in the namespace that is asked for.
fn open(args: &Args, interfaces: Vec<String>) -> Result<MergedRings, Failure> {
    let filter = args.filter.as_ref();
    let options = PacketSocketOptions {
        ring_bytes: args.ring,
        promiscuous: args.promiscuous,
        ethernet_filter: kernel_program(filter, Framing::Ethernet, USUAL_SNAP),
        network_filter: kernel_program(filter, Framing::Network, USUAL_SNAP),
        ..PacketSocketOptions::default()
    };
    let open = move || {
        let names: Vec<&str> = interfaces.iter().map(String::as_str).collect();
        MergedRings::open(&names, &options, 1)
    };
    Ok(match &args.netns {
        Some(target) => Namespace::join(target)?.run(open)??,
        None => open()?,
    })
}

/// The interfaces by name; none: all.
fn interfaces(args: &Args) -> Result<Vec<String>, Failure> {
    let all = args.interfaces.iter().any(|name| name == "any");
    match all && args.interfaces.len() > 1 {
        true => Err(Failure::Wrong("any: expected no other interface beside it, because it stands for all".into())),
        false if all => Ok(Vec::new()),
        false => Ok(args.interfaces.clone()),
    }
}

fn settings(args: &Args) -> Settings {
    let usual = Settings::default();
    let filter = args.filter.clone().map(|filter| Arc::new(filter) as Arc<dyn ConnectionFilter>);
    Settings {
        profile: args.profile.clone(),
        idle: args.idle,
        most_memory: args.memory,
        threads: args.threads.map_or(usual.threads, |threads| threads - 1),
        filter,
        ..usual
    }
}
