//! Live findings beside those of an analysis afterwards, of the same traffic through a lossy path.

use recoup_captures::analysis::AllRetransmissions;
use recoup_captures::capture::{Capture, Unwatched};
use recoup_net::{NetError, Relay, Wire};
use recoup_path::HopSpec;
use recoup_support::quantity::parse_duration;
use recoup_testing::{command, skip};
use recoup_trace::analyze::Settings;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_recoup-watch");

/// Six clients, each of which fetches 400 kB and then 30 kB twice.
const CLIENTS: &str = "
    fetch() { exec 3<>/dev/tcp/$SERVER/$PORT; printf \"$1\\n\" >&3; cat <&3 >/dev/null; exec 3<&-; }
    for i in 1 2 3 4 5 6; do (fetch 400000; fetch 30000; fetch 30000) & done
    wait; sleep 1";

/// Kills and waits for a program that a failed test leaves.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

impl Running {
    /// Starts a program, and waits until its standard error has this text.
    fn until(mut program: Command, ready: &str) -> std::io::Result<(Self, BufReader<ChildStderr>)> {
        let mut child = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stderr.take().expect("piped"));
        let running = Self(child);
        let mut line = String::new();
        while !line.contains(ready) {
            line.clear();
            assert!(lines.read_line(&mut line)? > 0, "it ended before {ready:?}");
        }
        Ok((running, lines))
    }

    /// Ends the program as Ctrl-C does, and returns its exit status.
    fn interrupt(&mut self) -> Option<i32> {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
        self.0.wait().expect("it ends").code()
    }
}

/// Answers each connection with as many bytes as its first line says, and closes it.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming().take(18) {
        let answer = |mut stream: TcpStream| {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line)?;
            stream.write_all(&vec![b'x'; line.trim().parse().unwrap_or(0)])
        };
        let stream = stream.expect("a connection");
        _ = std::thread::Builder::new().spawn(move || answer(stream));
    }
}

/// Devices are named after this process, so that one transfer runs at a time.
static DEVICE: Mutex<()> = Mutex::new(());

/// Fetches over a path with losses, while `recoup watch` with these arguments captures at the server, and dumpcap if there is a file
/// for it. Returns what the program said at its end.
pub fn transfer(findings: &Path, arguments: &[&str], capture: Option<&Path>) -> Result<String, NetError> {
    let _one = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    let hops = |loss: f64| {
        let delay = HopSpec::Delay(parse_duration("15ms").expect("a time"));
        let loss = format!("bernoulli:{loss}").parse().expect("a loss");
        vec![HopSpec::Loss(loss), delay]
    };
    let relay = Relay::new(&hops(0.02), &hops(0.03), 7, 1500)?;
    let wire = Wire::open(1500)?;
    let device = format!("recoup{}o", std::process::id());
    let server = wire.block().ends_v4().outside;
    let listener = TcpListener::bind((server, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    _ = std::thread::Builder::new().spawn(move || serve(&listener));
    let mut watch = command(PROGRAM);
    watch.args([&device, "--format", "jsonl", "-o"]).arg(findings).args(arguments);
    let (mut watch, mut said) = Running::until(watch, "watching").expect("it watches");
    let dumpcap = capture.map(|capture| {
        let mut dumpcap = command("dumpcap");
        dumpcap.args(["-q", "-s", "256", "-i", &device, "-w"]).arg(capture);
        Running::until(dumpcap, "File:").expect("dumpcap captures").0
    });
    let mut clients = Command::new("bash");
    clients.args(["-c", CLIENTS]).env("SERVER", server.to_string()).env("PORT", port.to_string());
    let mut clients = wire.run(clients)?;
    relay.run(wire.ends(), clients.as_fd())?;
    assert!(clients.wait()?.success());
    // What was captured before is read by then.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(watch.interrupt(), Some(0));
    dumpcap.map(|mut dumpcap| dumpcap.interrupt());
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("it is text");
    Ok(rest)
}

/// A retransmission by its ends, sequence number, and which copy it is.
type Key = (String, String, u64, u64);

/// The trigger and the verdict that were said last, by retransmission.
fn last_said(findings: &str) -> BTreeMap<Key, (String, String)> {
    let mut by_id = BTreeMap::new();
    let text = |line: &Value, name: &str| line[name].as_str().expect("text").to_owned();
    for line in findings.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        match line["event"].as_str() {
            Some("retransmission" | "verdict") => {
                let [seq, copy] = ["seq", "copy"].map(|name| line[name].as_u64().expect("a number"));
                let key = (text(&line, "src"), text(&line, "dst"), seq, copy);
                assert!(line["said"].as_f64() > line["time"].as_f64(), "{line}");
                by_id.insert(text(&line, "id"), (key, (text(&line, "trigger"), text(&line, "verdict"))));
            }
            Some("withdrawn") => drop(by_id.remove(&text(&line, "id"))),
            _ => {}
        }
    }
    by_id.into_values().collect()
}

fn found_afterwards(capture: &Path) -> BTreeMap<Key, (String, String)> {
    let capture = Capture::open(capture).expect("a capture");
    let analyzed =
        capture.analyze(&Settings::default(), AllRetransmissions::default, &Unwatched).expect("it is readable");
    let rows = analyzed.findings.rows.into_iter();
    rows.map(|row| {
        let key = (row.endpoints.src.to_string(), row.endpoints.dst.to_string(), row.seq.0.into(), row.copy.into());
        (key, (row.triggers.to_string(), row.verdict.name().to_owned()))
    })
    .collect()
}

#[test]
fn live_findings_are_those_of_an_analysis_afterwards() {
    if Command::new("dumpcap").arg("--version").output().is_err() {
        return skip("dumpcap is not installed");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [findings, capture] = ["findings.jsonl", "capture.pcapng"].map(|name| folder.path().join(name));
    let said = match transfer(&findings, &[], Some(&capture)) {
        Ok(said) => said,
        Err(why) => return skip(why),
    };
    assert!(said.contains("18 connections") && said.contains("the kernel dropped 0"), "{said}");
    let findings = std::fs::read_to_string(&findings).expect("findings");
    let (live, afterwards) = (last_said(&findings), found_afterwards(&capture));
    assert!(afterwards.len() > 20, "the path loses packets: {}", afterwards.len());
    let differing = live.iter().filter(|(key, said)| afterwards.get(*key) != Some(said));
    let missing = afterwards.keys().filter(|key| !live.contains_key(*key));
    let differing: Vec<_> =
        differing.map(|(key, said)| format!("{key:?}: {said:?}, not {:?}", afterwards.get(key))).collect();
    let missing: Vec<_> = missing.collect();
    // Facts about hosts become known at other times.
    let few = afterwards.len() / 200;
    assert!(differing.len() + missing.len() <= few, "{differing:#?}, missing {missing:#?}");
    let ended = findings.lines().filter(|line| line.contains("\"event\":\"connection\"")).count();
    assert_eq!(ended, 18);
}
