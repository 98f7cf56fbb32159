//! `recoup guard copies`: its arguments, and connections of a kernel behind a path with losses.

use crate::PROGRAM;
use crate::cgroup::Cgroup;
use recoup_net::{Namespace, NetError, Relay, Wire};
use recoup_path::HopSpec;
use recoup_support::quantity::parse_duration;
use recoup_testing::{Folder, command, skip};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

#[test]
fn wrong_arguments_are_refused_in_one_line() {
    let folder = Folder::new(PROGRAM);
    folder.refuses(&["copies"], &["<INTERFACE>"]);
    folder.refuses(&["copies", "eth0", "--act"], &["--allow <EXPRESSION>", "--allow-cgroup <DIR>"]);
    folder.refuses(&["copies", "eth0", "--act", "--allow-cgroup", "/proc"], &["no cgroup of version 2: /proc: "]);
    folder.refuses(&["copies", "eth0", "--control", "150%"], &["expected a share from 0 to 1, such as 0.5 or 50%"]);
    folder.refuses(&["copies", "eth0", "--help-by", "+tlpz"], &["--help-by +tlpz: ", "did you mean"]);
    folder.refuses(&["copies", "eth0", "--kernel", "linux-7"], &["did you mean `linux-6`?"]);
    folder.refuses(&["copies", "eth0", "--allow", "src prot 80"], &["--allow"]);
    folder.refuses(&["copies", "nosuch0"], &["nosuch0"]);
    folder.refuses(&["copies", "eth0", "--prometheus", "9465"], &["--prometheus", "such as 127.0.0.1:9464"]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = taken.local_addr().expect("bound").to_string();
    folder.refuses(&["copies", "eth0", "--prometheus", &at], &["--prometheus", &at, "in use"]);
}

/// Connections that fetch 14 kB each, ten at a time. Each answer has to be whole.
const CLIENTS: &str = r#"
    ports=($PORTS)
    fetch() { exec 3<>/dev/tcp/$SERVER/$1; printf "14000\n" >&3; cat <&3 | cksum >> sums; exec 3<&-; }
    for i in 1 2 3 4 5 6 7 8; do for j in 1 2 3 4 5 6 7 8 9 10; do fetch ${ports[j % ${#ports[@]}]} & done; wait; done
    cat /proc/net/netstat /proc/net/snmp > counters; sleep 1"#;
const CONNECTIONS: usize = 80;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Answers each connection with as many bytes as its first line says, and closes it.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming() {
        let answer = |mut stream: TcpStream| {
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line)?;
            stream.write_all(&vec![b'x'; line.trim().parse().unwrap_or(0)])
        };
        let Ok(stream) = stream else { return };
        _ = thread::Builder::new().spawn(move || answer(stream));
    }
}

/// Where [`serves_until_its_input_ends`] listens.
const ADDRESS: &str = "RECOUP_TEST_ADDRESS";

/// A process of this program in a cgroup, which serves at two ports.
fn serve_in(cgroup: &Path, address: IpAddr) -> (Running, Vec<u16>) {
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", cgroup.display());
    let mut server = Command::new("bash");
    server.args(["-c", &enter, "bash"]).arg(env::current_exe().expect("a program"));
    server.args(["copies::serves_until_its_input_ends", "--exact", "--ignored", "--nocapture"]);
    server.env(ADDRESS, address.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = Running(server.spawn().expect("it starts"));
    let lines = BufReader::new(server.0.stdout.take().expect("piped")).lines();
    let ports = lines.filter_map(|line| line.expect("text").rsplit_once("serves at ")?.1.parse().ok());
    let ports: Vec<u16> = ports.take(2).collect();
    assert_eq!(ports.len(), 2);
    (server, ports)
}

#[test]
#[ignore = "a part of connections_of_the_cgroup_alone_are_guarded"]
fn serves_until_its_input_ends() {
    let Some(address) = env::var(ADDRESS).ok().and_then(|address| address.parse::<IpAddr>().ok()) else { return };
    for _ in 0..2 {
        let listener = TcpListener::bind((address, 0)).expect("a port");
        println!("serves at {}", listener.local_addr().expect("bound").port());
        _ = thread::Builder::new().spawn(move || serve(&listener));
    }
    std::io::stdin().read_to_end(&mut Vec::new()).expect("it ends");
}

/// Devices are named after this process, so that one transfer runs at a time.
static DEVICE: Mutex<()> = Mutex::new(());

/// What a guarded server and its clients say.
struct Guarded {
    status: Option<i32>,
    summary: Option<Value>,
    log: String,
    /// The metrics that it served at the end, if it was asked to.
    metrics: Option<String>,
    /// The servers' ports.
    ports: Vec<u16>,
    /// `TcpExt` and `Tcp` counters of the clients' and of the server's kernel, by name.
    counters: [Vec<(String, u64)>; 2],
    sums: Vec<String>,
}

impl Guarded {
    fn counter(&self, is_server: bool, name: &str) -> u64 {
        let found = self.counters[usize::from(is_server)].iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no counter {name}")).1
    }
}

/// Counters of /proc/net/netstat and /proc/net/snmp: a line of names, and a line of numbers.
fn counters(text: &str) -> Vec<(String, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let pairs = lines.chunks_exact(2).flat_map(|pair| pair[0].split(' ').zip(pair[1].split(' ')).skip(1));
    pairs.filter_map(|(name, number)| Some((name.to_owned(), number.parse().ok()?))).collect()
}

/// Fetches over a path with losses from a server that is guarded with these arguments. `kill`: the guard is killed meanwhile.
fn guard(arguments: &'static [&'static str], kill: bool) -> Result<Guarded, NetError> {
    guard_all(
        None,
        move |ports| {
            let allow = ["--allow".to_owned(), format!("src port {}", ports[0])];
            allow.into_iter().chain(arguments.iter().map(|&argument| argument.into())).collect()
        },
        kill,
    )
}

/// The same with two servers more, whose process is in this cgroup. `arguments`: those for servers at these ports.
fn guard_all(
    cgroup: Option<PathBuf>,
    arguments: impl FnOnce(&[u16]) -> Vec<String> + Send + 'static,
    kill: bool,
) -> Result<Guarded, NetError> {
    let _one = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    Namespace::new()?.run(move || guard_here(cgroup.as_deref(), arguments, kill))?
}

fn guard_here(
    cgroup: Option<&Path>,
    arguments: impl FnOnce(&[u16]) -> Vec<String>,
    kill: bool,
) -> Result<Guarded, NetError> {
    let folder = tempfile::tempdir().expect("a folder");
    let hops = || {
        let delay = HopSpec::Delay(parse_duration("15ms").expect("a time"));
        vec![HopSpec::Loss("bernoulli:0.05".parse().expect("a loss")), delay]
    };
    let relay = Relay::new(&hops(), &hops(), 7, 1500)?;
    let wire = Wire::open(1500)?;
    let server = wire.block().ends_v4().outside;
    let listener = TcpListener::bind((server, 0)).expect("a port");
    let mut ports = vec![listener.local_addr().expect("bound").port()];
    let inside = cgroup.map(|cgroup| serve_in(cgroup, server.into()));
    ports.extend(inside.iter().flat_map(|(_, ports)| ports));
    _ = thread::Builder::new().spawn(move || serve(&listener));
    let [summary, log] = ["summary.json", "guard.jsonl"].map(|name| folder.path().join(name));
    let mut program = command(PROGRAM);
    program.args(["copies", &format!("recoup{}o", std::process::id())]);
    program.args(arguments(&ports)).arg("--summary").arg(&summary).arg("--guard-log").arg(&log);
    let mut guard = Running(program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts"));
    let mut lines = BufReader::new(guard.0.stderr.take().expect("piped"));
    let mut line = String::new();
    let mut metrics_at = None;
    while !line.contains("Ctrl-C") {
        line.clear();
        assert!(lines.read_line(&mut line).expect("text") > 0, "it ended at once");
        assert!(!line.contains("only handshakes"), "{line}");
        let at = line.trim().rsplit_once("http://").and_then(|(_, page)| page.strip_suffix("/metrics"));
        metrics_at = at.map(str::to_owned).or(metrics_at);
    }
    let mut clients = Command::new("bash");
    clients.args(["-c", CLIENTS]).current_dir(folder.path());
    let names: Vec<String> = ports.iter().map(u16::to_string).collect();
    clients.env("SERVER", server.to_string()).env("PORTS", names.join(" "));
    let mut clients = wire.run(clients)?;
    let pid = guard.0.id().to_string();
    if kill {
        let pid = pid.clone();
        let kill = move || {
            thread::sleep(Duration::from_millis(700));
            Command::new("kill").args(["-KILL", &pid]).status()
        };
        _ = thread::Builder::new().spawn(kill);
    }
    relay.run(wire.ends(), clients.as_fd())?;
    assert!(clients.wait()?.success());
    let metrics = metrics_at.map(|at| {
        // Counts are up to 1 s old, and the guard sleeps for 0.2 s at most.
        thread::sleep(Duration::from_millis(1500));
        page(&at)
    });
    if !kill {
        assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    }
    let status = guard.0.wait().expect("it ends").code();
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let own = read(Path::new("/proc/thread-self/net/netstat")) + &read(Path::new("/proc/thread-self/net/snmp"));
    let sums = read(&folder.path().join("sums")).lines().map(str::to_owned).collect();
    Ok(Guarded {
        status,
        summary: serde_json::from_str(&read(&summary)).ok(),
        log: read(&log),
        metrics,
        ports,
        counters: [counters(&read(&folder.path().join("counters"))), counters(&own)],
        sums,
    })
}

/// The metrics that are served at this address.
fn page(at: &str) -> String {
    let mut stream = TcpStream::connect(at).expect("a server");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split_once("\r\n\r\n").expect("a header").1.to_owned()
}

/// The sum of all samples whose line begins with this.
fn sample(text: &str, begin: &str) -> f64 {
    let found =
        text.lines().filter(|line| line.starts_with(begin)).filter_map(|line| line.rsplit_once(' ')?.1.parse().ok());
    found.collect::<Vec<f64>>().iter().sum()
}

/// Served metrics are those of the summary, and Prometheus' own program has no complaint.
fn check_metrics(guarded: &Guarded) {
    let (text, summary) = (guarded.metrics.as_ref().expect("metrics"), guarded.summary.as_ref().expect("a summary"));
    assert_eq!(sample(text, "recoup_guard_connections_total{group=\"helped\"}"), CONNECTIONS as f64);
    assert_eq!(Some(sample(text, "recoup_guard_copy_bytes_total ")), summary["sent_bytes"].as_f64());
    assert_eq!(Some(sample(text, "recoup_guard_reports_hidden_total ")), summary["reports_hidden"].as_f64());
    for outcome in ["repaired", "needless", "failed"] {
        let copies: f64 = ["syn", "syn_ack", "tail", "probe"]
            .map(|kind| sample(text, &format!("recoup_guard_copies_total{{kind=\"{kind}\",outcome=\"{outcome}\"}}")))
            .iter()
            .sum();
        // What is undecided when the guard ends is decided then.
        assert!(copies <= sum(summary, "sent", outcome) as f64, "{outcome}: {text}\n{summary:#}");
        assert!(outcome != "needless" || copies >= 50.0, "{text}");
    }
    assert!(sample(text, "recoup_guard_transfer_seconds_count{group=\"helped\"}") >= 70.0, "{text}");
    let promtool =
        Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut promtool) = promtool else { return skip("no promtool") };
    promtool.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = promtool.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""));
}

fn check_transfers(guarded: &Guarded) {
    assert_eq!(guarded.sums.len(), CONNECTIONS);
    assert!(guarded.sums.iter().all(|sum| *sum == guarded.sums[0] && sum.ends_with(" 14000")), "{:?}", guarded.sums);
    // No copy has a wrong checksum.
    assert_eq!(guarded.counter(false, "InCsumErrors"), 0);
    assert_eq!(guarded.counter(true, "InCsumErrors"), 0);
}

fn decisions<'a>(summary: &'a Value, act: &str) -> impl Iterator<Item = &'a Value> {
    let act = act.to_owned();
    summary["decisions"].as_array().expect("a list").iter().filter(move |row| row["act"] == act.as_str())
}

fn sum(summary: &Value, act: &str, what: &str) -> u64 {
    decisions(summary, act).map(|row| row[what].as_u64().expect("a number")).sum()
}

#[test]
fn copies_repair_losses_and_the_kernel_hears_nothing_of_them() {
    let arguments = &["--act", "--control", "0", "--help-by", "+tlpr+slp", "--prometheus", "127.0.0.1:0"];
    let guarded = match guard(arguments, false) {
        Ok(guarded) => guarded,
        Err(why) => return skip(why),
    };
    assert_eq!(guarded.status, Some(0));
    check_transfers(&guarded);
    check_metrics(&guarded);
    let summary = guarded.summary.as_ref().expect("a summary");
    assert_eq!(summary["connections"], CONNECTIONS);
    assert_eq!((sum(summary, "control", "decided"), sum(summary, "dry_run", "decided")), (0, 0));
    let (sent, repaired) = (sum(summary, "sent", "decided"), sum(summary, "sent", "repaired"));
    assert_eq!(summary["sent"], sent);
    assert!(sent >= 75 && repaired >= 2, "of 80 SYN-ACKs, one in twenty is lost: {summary:#}");
    // Reports of copies did not reach the kernel. Its own retransmissions may have been spurious.
    let reports = guarded.counter(true, "TCPDSACKRecv") + guarded.counter(true, "TCPDSACKOfoRecv");
    let own = guarded.counter(true, "RetransSegs");
    assert!(reports <= own, "{reports} reports, {own} retransmissions");
}

/// How many copies were sent from each port, by the log.
fn sent_from(log: &str) -> BTreeMap<u16, u64> {
    let mut sent = BTreeMap::new();
    for entry in log.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        if entry["event"] == "decided" {
            let source: SocketAddr = entry["src"].as_str().expect("a text").parse().expect("an address");
            *sent.entry(source.port()).or_default() += 1;
        }
    }
    sent
}

#[test]
fn connections_of_the_cgroup_alone_are_guarded() {
    let cgroup = match Cgroup::new("copies") {
        Ok(cgroup) => cgroup,
        Err(why) => return skip(why),
    };
    // Of each ten connections, three go to the server outside, four to the first one inside, and three to the second.
    for (is_filtered, connections) in [(false, CONNECTIONS * 7 / 10), (true, CONNECTIONS * 4 / 10)] {
        let folder = cgroup.0.display().to_string();
        let arguments = move |ports: &[u16]| {
            let mut arguments: Vec<String> =
                ["--act", "--control", "0", "--allow-cgroup", &folder].map(str::to_owned).into();
            if is_filtered {
                // Of the server outside, and of one inside.
                arguments.extend(["--allow".into(), format!("src port {} or src port {}", ports[0], ports[1])]);
            }
            arguments
        };
        let guarded = match guard_all(Some(cgroup.0.clone()), arguments, false) {
            Ok(guarded) => guarded,
            Err(why) => return skip(why),
        };
        assert_eq!(guarded.status, Some(0));
        check_transfers(&guarded);
        let summary = guarded.summary.as_ref().expect("a summary");
        assert_eq!(summary["connections"], connections, "{summary:#}");
        let sent = sent_from(&guarded.log);
        assert_eq!(sent.values().sum::<u64>(), summary["sent"]);
        let expected = if is_filtered { &guarded.ports[1..2] } else { &guarded.ports[1..] };
        assert!(sent.keys().eq(BTreeSet::from_iter(expected)), "{sent:?} {:?}", guarded.ports);
        let is_copied = |row: &&Value| row["kind"] == "syn_ack";
        let syn_acks = decisions(summary, "sent").find(is_copied).map(|row| row["decided"].as_u64());
        assert!(syn_acks.flatten().is_some_and(|n| n * 10 >= connections as u64 * 9), "{summary:#}");
    }
}

#[test]
fn a_dry_run_sends_nothing() {
    let guarded = match guard(&["--control", "0"], false) {
        Ok(guarded) => guarded,
        Err(why) => return skip(why),
    };
    assert_eq!(guarded.status, Some(0));
    check_transfers(&guarded);
    let summary = guarded.summary.as_ref().expect("a summary");
    assert_eq!((&summary["sent"], &summary["reports_hidden"]), (&0.into(), &0.into()));
    assert!(sum(summary, "dry_run", "decided") >= 75, "{summary:#}");
}

#[test]
fn a_guard_that_is_killed_leaves_connections_as_they_are() {
    let guarded = match guard(&["--act", "--control", "0"], true) {
        Ok(guarded) => guarded,
        Err(why) => return skip(why),
    };
    assert_eq!((guarded.status, guarded.summary.is_none()), (None, true));
    check_transfers(&guarded);
}
