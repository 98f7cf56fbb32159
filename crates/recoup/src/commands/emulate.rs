//! `recoup emulate`.

use crate::{Failure, console, interrupt};
use clap::value_parser;
use recoup_lab::settings::{Settings, drop_grammar};
use recoup_net::{NetError, PacketCapture, PacketLog, Relay, Report, Running, Signaller, Wire, carries_super_packets};
use recoup_path::PathSpec;
use recoup_path::{DataSegments, HopSpec, LossKind, one_line};
use recoup_support::output_file::{Files, OutputError, OutputFile, create_folder};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

const HELP: &str = "\
COMMAND runs in a network namespace of its own, as the client: its packets travel up, packets to it
travel down. It sees no processes but those it starts, and what it mounts is not mounted outside. It reaches this machine at $RECOUP_OUTSIDE and $RECOUP_OUTSIDE6, where its default
route leads. Within other emulators, $RECOUP_BASE and $RECOUP_BASE6 are the outermost machine. Needs
root, or a system whose users may create namespaces.

Exit status: COMMAND's, 128+N if signal N ended it, 127 if there is no such command, 126 if it
cannot be run, 2 for wrong use or missing rights.";

#[derive(clap::Args)]
#[command(after_help = HELP, after_long_help = long_help())]
pub(crate) struct Args {
    /// Round-trip propagation delay, half of it each way: 80ms
    #[arg(long, value_name = "TIME", default_value = "0")]
    rtt: String,
    /// Link rate: 10Mbit, or up:1Mbit,down:10Mbit
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Drop-tail queue in front of a rate or link: none, 100 (packets), 64kB (64,000 bytes) or 64KiB; or
    /// up:…,down:…
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Recorded link (mahimahi format, at most 64 MiB) in place of a rate: FILE (down), or
    /// up:FILE,down:FILE
    #[arg(long, value_name = "FILE")]
    link: Option<String>,
    /// Packets that are lost, by the rules in --help: up:syn:1,down:bernoulli:1%; positions count
    /// within each TCP connection
    #[arg(long, value_name = "RULES")]
    drop: Option<String>,
    /// Probability that a packet is held back, and for how long: 1%:20ms; or up:…,down:…
    #[arg(long, value_name = "P:EXTRA")]
    reorder: Option<String>,
    /// Probability that a packet is duplicated: 0.01 or 1%; or up:…,down:…
    #[arg(long, value_name = "P")]
    duplicate: Option<String>,
    /// Probability that a packet is damaged: 0.01 or 1%; or up:…,down:…
    #[arg(long, value_name = "P")]
    corrupt: Option<String>,
    /// Data segments each connection sends in each direction, which tail:N in --drop counts back from
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    segments: Option<u64>,
    /// Longest packet in bytes, IP header included
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = value_parser!(u32).range(1280..=65_535))]
    mtu: u32,
    /// Seed of everything random
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Write the fate of each packet as a JSON line to this file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write captures of both ends of the path into this folder: outside.pcap and inside.pcap
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Carry TCP in super-packets of up to 64 KiB, which is faster; only for a path of --rtt alone
    #[arg(long)]
    offload: bool,
    /// Command to run behind the path, and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

fn long_help() -> String {
    format!("{HELP}\n\n--drop: {}", drop_grammar())
}

impl Args {
    /// The path of the arguments.
    fn path(&self) -> Result<PathSpec, Failure> {
        let mut settings = Settings::default();
        let rtt = Some(&self.rtt);
        for (key, value) in [
            ("rtt", rtt),
            ("rate", self.rate.as_ref()),
            ("queue", self.queue.as_ref()),
            ("link", self.link.as_ref()),
            ("drop", self.drop.as_ref()),
            ("reorder", self.reorder.as_ref()),
            ("duplicate", self.duplicate.as_ref()),
            ("corrupt", self.corrupt.as_ref()),
        ] {
            if let Some(value) = value {
                let set = settings.set(key, value, Path::new(""));
                set.map_err(|e| Failure::Wrong(format!("--{e}")))?;
            }
        }
        let tail = |kind| matches!(kind, LossKind::Tail(_));
        if self.segments.is_none() && settings.drop.0.iter().any(|(_, spec)| tail(spec.kind)) {
            let line = "--drop: tail:N counts from the end of a flow, which nobody knows of live \
                        connections: expected --segments with what each sends, or data:K";
            return Err(Failure::Wrong(line.into()));
        }
        let lengths = DataSegments { up: self.segments, down: self.segments };
        let resolved = settings.drop.resolve(lengths);
        settings.drop = resolved.map_err(|e| Failure::Wrong(format!("--drop: {e}")))?;
        // Connections have no known end, so that no rule can lie beyond it.
        (settings.segments, settings.request) = (u64::MAX, u64::MAX);
        let path = settings.path();
        let path = path.map_err(|e| Failure::Wrong(format!("--{e}")))?;
        if self.offload && !(carries_super_packets(&path.up) && carries_super_packets(&path.down)) {
            let line = "--offload: a path can only delay super-packets: expected --rtt alone";
            return Err(Failure::Wrong(line.into()));
        }
        self.check_files(&settings)?;
        Ok(path)
    }

    /// Checks that no file overwrites a recorded link or another file. They are made later: their threads would keep this
    /// process out of a user namespace.
    fn check_files(&self, settings: &Settings) -> Result<(), Failure> {
        let mut files = Files::reading(settings.files());
        self.log.as_deref().map_or(Ok(()), |log| files.write("--log", log))?;
        for capture in self.pcap.iter().flat_map(|dir| CAPTURES.map(|name| dir.join(name))) {
            files.write("--pcap", &capture)?;
        }
        Ok(())
    }
}

/// The captures outside and inside of the path.
const CAPTURES: [&str; 2] = ["outside.pcap", "inside.pcap"];

/// The log and captures being written.
struct Records {
    log: Option<(PathBuf, PacketLog<OutputFile>)>,
    capture: Option<(PathBuf, PacketCapture<OutputFile>)>,
}

impl Records {
    /// Begins the records of a relay that the arguments ask for.
    fn start(args: &Args, relay: &mut Relay) -> Result<Self, Failure> {
        let mut records = Self { log: None, capture: None };
        if let Some(target) = &args.log {
            let log = PacketLog::start(OutputFile::create(target)?)?;
            relay.watch(log.sender());
            records.log = Some((target.clone(), log));
        }
        if let Some(dir) = &args.pcap {
            create_folder(dir)?;
            let [outside, inside] = CAPTURES.map(|name| OutputFile::create(&dir.join(name)));
            let capture = PacketCapture::start(outside?, inside?)?;
            relay.capture(capture.tap());
            records.capture = Some((dir.clone(), capture));
        }
        Ok(records)
    }

    /// Completes the files once the relay is gone. They get their names when they are published.
    fn close(self) -> Result<Vec<OutputFile>, Failure> {
        let failed = |path: PathBuf| move |source| OutputError { path, source };
        let mut files = Vec::new();
        if let Some((target, log)) = self.log {
            files.push(log.finish().map_err(failed(target))?);
        }
        if let Some((dir, capture)) = self.capture {
            files.extend(capture.finish().map_err(failed(dir))?);
        }
        Ok(files)
    }
}

/// Runs a command behind a path, and returns its exit status.
pub(crate) fn run(args: &Args) -> Result<u8, Failure> {
    let path = args.path()?;
    let mut relay = Relay::new(&path.up, &path.down, args.seed, args.mtu)?;
    // User namespaces can be entered only while the process has one thread.
    let wire = match args.offload {
        true => Wire::open_with_offloads(args.mtu)?,
        false => Wire::open(args.mtu)?,
    };
    note(args, &wire);
    let records = Records::start(args, &mut relay)?;
    let played = play(args, relay, &wire);
    let files = records.close();
    let (code, report) = played?;
    if let Some(report) = report {
        // Before the report, which may have nowhere to go.
        let published = files.and_then(|files| files.into_iter().try_for_each(|file| Ok(file.publish()?)));
        print_report(&report, &path, args.seed);
        published?;
    }
    Ok(code)
}

/// Runs the command and carries packets until it ends. Returns the exit status, and a report if the
/// command could be run.
fn play(args: &Args, relay: Relay, wire: &Wire) -> Result<(u8, Option<Report>), Failure> {
    let signals = catch_signals();
    let mut running = match wire.run(command(args, wire)) {
        Ok(running) => running,
        Err(NetError::Command { program, source }) => {
            console::error(&format!("cannot run `{}`: {source}", program.display()));
            let code = match source.kind() {
                ErrorKind::NotFound => 127,
                _ => 126,
            };
            return Ok((code, None));
        }
        Err(e) => return Err(e.into()),
    };
    if running.sees_others() {
        console::note("the command sees all processes of this machine: the system permits no /proc of its own");
    }
    pass_on(signals, running.signaller()?);
    // An error ends this process, which kills the command: without a path it would wait for ever.
    let report = carry(relay, wire, &running)?;
    let status = running.wait()?;
    Ok((exit_code(status), Some(report)))
}

/// Prints notes on what the system does not permit, and on loopback addresses among the command's
/// arguments: they are the command's own namespace.
fn note(args: &Args, wire: &Wire) {
    let arguments = args.command.iter().skip(1);
    let arguments = arguments.map(|word| word.to_string_lossy());
    if let Some(loopback) = arguments.filter_map(|word| loopback(&word)).next() {
        let ends = (wire.block().ends_v4(), wire.block().ends_v6());
        let (outside, variable) = match loopback {
            "::1" if wire.ipv6() => (ends.1.outside.to_string(), "$RECOUP_OUTSIDE6"),
            _ => (ends.0.outside.to_string(), "$RECOUP_OUTSIDE"),
        };
        console::note(format!(
            "{loopback} is the command itself. It reaches this machine at {outside} ({variable}); a server must listen on that address or on all"
        ));
    }
    if wire.is_apart() {
        console::note("not as root: there is nothing outside the path but the address $RECOUP_OUTSIDE");
    }
    if !wire.forwards() {
        console::note("emulators within this one do not reach out: the system keeps forwarding off");
    }
}

/// The loopback address or its name in an argument such as `http://127.0.0.1:8080/`.
fn loopback(argument: &str) -> Option<&'static str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    // Addresses and names between brackets, slashes, colons and the like.
    let mut words = argument.split(|c: char| !is_name(c));
    match argument {
        "::1" => Some("::1"),
        _ if argument.contains("[::1]") => Some("::1"),
        _ => words.find_map(|word| match word {
            "localhost" => Some("localhost"),
            "127.0.0.1" => Some("127.0.0.1"),
            _ => None,
        }),
    }
}

/// Carries packets until the command ends.
fn carry(relay: Relay, wire: &Wire, running: &Running) -> Result<Report, NetError> {
    use std::os::fd::AsFd;
    let mut report = relay.run(wire.ends(), running.as_fd())?;
    [report.down.missed, report.up.missed] = wire.queue_drops()?;
    Ok(report)
}

/// The command with the addresses of the path in its environment.
fn command(args: &Args, wire: &Wire) -> Command {
    let (program, arguments) = args.command.split_first().unwrap_or_else(|| unreachable!("required"));
    let mut command = Command::new(program);
    command.args(arguments);
    let (v4, v6) = (wire.block().ends_v4(), wire.block().ends_v6());
    let mut set = |name: &str, outside: String, inside: String| {
        command.env(format!("RECOUP_OUTSIDE{name}"), &outside);
        command.env(format!("RECOUP_INSIDE{name}"), inside);
        let base = format!("RECOUP_BASE{name}");
        if std::env::var_os(&base).is_none() {
            command.env(base, outside);
        }
    };
    set("", v4.outside.to_string(), v4.inside.to_string());
    if wire.ipv6() {
        set("6", v6.outside.to_string(), v6.inside.to_string());
    }
    command
}

/// Catches signals, to pass them on to the command. Ignored signals stay ignored.
fn catch_signals() -> Option<Signals> {
    let caught = interrupt::not_ignored([SIGINT, SIGTERM, SIGHUP, SIGQUIT]);
    // Without a handler, signals keep their default action.
    Signals::new(caught).ok()
}

/// Passes signals on to the command. This process ends when the command does.
fn pass_on(signals: Option<Signals>, command: Signaller) {
    let Some(mut signals) = signals else {
        return;
    };
    let forever = move || {
        for signal in signals.forever() {
            // A terminal sends these signals to all processes in its foreground.
            if !([SIGINT, SIGQUIT].contains(&signal) && in_foreground()) {
                command.send(signal);
            }
        }
    };
    let _ = std::thread::Builder::new().spawn(forever);
}

/// Whether the terminal sends signals to both this process and its command.
fn in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    let foreground = terminal.map(rustix::termios::tcgetpgrp);
    foreground.is_ok_and(|group| group == Ok(rustix::process::getpgrp()))
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2)
}

/// Prints how many packets were carried, and how late they were.
fn print_report(report: &Report, path: &PathSpec, seed: u64) {
    for (way, hops, counts) in [("up", &path.up, report.up), ("down", &path.down, report.down)] {
        console::status(format_args!("{way} ({}): {counts}", one_line(hops)));
    }
    let random = |hop: &HopSpec| match hop {
        HopSpec::Loss(spec) => spec.kind.is_random(),
        HopSpec::LossTrace(_)
        | HopSpec::Reorder { .. }
        | HopSpec::Shortcut { .. }
        | HopSpec::Duplicate { .. }
        | HopSpec::Corrupt { .. } => true,
        HopSpec::Delay(_) | HopSpec::Rate { .. } | HopSpec::Link { .. } | HopSpec::ThinAcks { .. } => false,
    };
    if path.up.iter().chain(&path.down).any(random) {
        console::status(format_args!("seed: {seed}"));
    }
    if report.up.delivered + report.down.delivered > 0 {
        console::status(format_args!("delivery error: {}", report.error));
    }
    if report.error.is_excessive() {
        console::warning("more than one packet in 1000 was over 0.2 ms late: the machine is too busy for this path");
    }
    let missed = report.up.missed + report.down.missed;
    if missed > 0 {
        console::warning(format_args!("{missed} packets were lost before the path, in full queues of the devices"));
    }
    if report.connections_exhausted {
        console::warning("too many connections to track: positional drops did not apply to the later ones");
    }
}

#[cfg(test)]
mod tests {
    use super::loopback;

    #[test]
    fn loopback_addresses_are_found_in_arguments() {
        for (argument, found) in [
            ("127.0.0.1", Some("127.0.0.1")),
            ("http://127.0.0.1:8080/file", Some("127.0.0.1")),
            ("localhost:80", Some("localhost")),
            ("user@localhost", Some("localhost")),
            ("curl http://localhost/; true", Some("localhost")),
            ("::1", Some("::1")),
            ("http://[::1]:80/", Some("::1")),
            ("fe80::1", None),
            ("10.127.0.0.1", None),
            ("127.0.0.10", None),
            ("localhost.example.org", None),
            ("-o", None),
        ] {
            assert_eq!(loopback(argument), found, "{argument}");
        }
    }
}
