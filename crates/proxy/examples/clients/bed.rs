//! The hosts, the path between them, and processes on them.

use recoup_net::{Namespace, PacketCapture, Relay, Wire};
use recoup_path::{HopSpec, LossSpec};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, PipeWriter, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The address of the proxy's host.
pub const HOST: &str = "10.7.0.1";

/// How long a program may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// An emulated path, the same in both directions.
#[derive(Clone, Copy, Debug)]
pub struct PathSettings {
    pub rtt: Duration,
    /// In each direction, as in `recoup emulate --drop`.
    pub loss: Option<LossSpec>,
    pub seed: u64,
}

/// The proxy's host and the host of its clients.
pub struct Bed {
    host: Namespace,
    clients: Clients,
    pub folder: tempfile::TempDir,
}

/// Where clients are.
enum Clients {
    /// On a host of their own, at the other end of a cable.
    Near(Namespace),
    Behind(Behind),
}

/// Clients behind an emulated path.
struct Behind {
    wire: Arc<Wire>,
    relay: Option<(PipeWriter, JoinHandle<Result<()>>)>,
    capture: Option<PacketCapture<File>>,
    _router: Namespace,
}

impl Bed {
    /// Joins the hosts, by a path if there is one. Packets that the path carries are captured in `capture`.
    pub fn new(path: Option<PathSettings>, capture: Option<&Path>) -> Result<Self> {
        let (host, router) = (Namespace::new()?, Namespace::new()?);
        let task = router.run(|| fs::read_link("/proc/thread-self"))??;
        let task = task.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        ip(&host, &format!("link add eth0 type veth peer name eth0 netns {task}"))?;
        ip(&host, "link set eth0 up")?;
        ip(&router, "link set eth0 up")?;
        ip(&host, &format!("address add {HOST}/24 dev eth0"))?;
        ip(&router, "address add 10.7.0.2/24 dev eth0")?;
        ip(&host, "route add 100.64.0.0/10 via 10.7.0.2")?;
        // The kernel's TCP is what the profile linux-6 is, and learns nothing from one connection for the next.
        write(&host, "/proc/sys/net/ipv4/tcp_congestion_control", "cubic")?;
        write(&host, "/proc/sys/net/ipv4/tcp_no_metrics_save", "1")?;
        let clients = match path {
            Some(path) => Clients::Behind(Behind::new(router, path, capture)?),
            None => Clients::Near(router),
        };
        Ok(Self { host, clients, folder: tempfile::tempdir()? })
    }

    /// Runs a job on the host of the clients.
    pub fn at_clients<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        Ok(match &self.clients {
            Clients::Near(near) => near.run(job)?,
            Clients::Behind(behind) => behind.wire.inside(job)?,
        })
    }

    /// Runs a client to its end, for so many seconds at most.
    pub fn client(&self, seconds: u32, program: &str, arguments: &[&str]) -> Result<Output> {
        let output = self.client_with(seconds, program, arguments, |_| Ok(()))?;
        match output.status.success() {
            true => Ok(output),
            false => Err(format!("{program}: {}: {}", output.status, last_line(&output.stderr)).into()),
        }
    }

    /// The same, for a command that needs more than arguments.
    pub fn client_with(
        &self,
        seconds: u32,
        program: &str,
        arguments: &[&str],
        change: impl FnOnce(&mut Command) -> Result<()>,
    ) -> Result<Output> {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", &seconds.to_string(), program]).args(arguments);
        command.stdin(Stdio::null()).current_dir(self.folder.path());
        change(&mut command)?;
        let output = self.at_clients(move || command.output())?;
        output.map_err(|why| format!("{program}: {why}").into())
    }

    /// Starts a program on the proxy's host. Its output goes to files of this name.
    pub fn start(&self, name: &str, program: &Command) -> Result<Process> {
        // The kernel kills it when the thread of its namespace ends, however that ends (PR_SET_PDEATHSIG(2const)).
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program.get_program()).args(program.get_args());
        let output = self.folder.path().join(format!("{name}.out"));
        let messages = self.folder.path().join(format!("{name}.err"));
        command.stdin(Stdio::null()).stdout(File::create(&output)?).stderr(File::create(&messages)?);
        let child = self.host.run(move || command.spawn())?.map_err(|why| format!("{name}: {why}"))?;
        Ok(Process { name: name.into(), child, output, messages })
    }

    /// Waits until something listens at a port of the proxy's host.
    pub fn wait_for_port(&self, process: &mut Process, port: u16) -> Result<()> {
        let at = SocketAddr::from(([127, 0, 0, 1], port));
        process.wait_until(|_| Ok(self.host.run(move || TcpStream::connect(at).is_ok())?))
    }

    /// A file in the folder of the bed.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Behind {
    fn new(router: Namespace, path: PathSettings, capture: Option<&Path>) -> Result<Self> {
        let wire = Arc::new(router.run(|| Wire::open(1500))??);
        write(&router, "/proc/sys/net/ipv4/ip_forward", "1")?;
        let mut hops = Vec::new();
        hops.extend(path.loss.map(HopSpec::Loss));
        hops.push(HopSpec::Delay(path.rtt / 2));
        let mut relay = Relay::new(&hops, &hops, path.seed, 1500)?;
        let files = |folder: &Path| {
            let file = |name| File::create(folder.join(name));
            Ok::<_, io::Error>(PacketCapture::start(file("outside.pcap")?, file("inside.pcap")?))
        };
        let capture = capture.map(files).transpose()?.transpose()?;
        if let Some(capture) = &capture {
            relay.capture(capture.tap());
        }
        let (stop, end) = io::pipe()?;
        let ends = Arc::clone(&wire);
        let carry = move || {
            relay.run(ends.ends(), stop.as_fd())?;
            Ok(())
        };
        let thread = router.run(|| thread::Builder::new().name("path".into()).spawn(carry))??;
        Ok(Self { wire, relay: Some((end, thread)), capture, _router: router })
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        // A path or a capture that failed has failed its clients before.
        if let Some((mut end, thread)) = self.relay.take() {
            let _ = end.write_all(b"x");
            let _ = thread.join();
        }
        if let Some(capture) = self.capture.take() {
            let _ = capture.finish();
        }
    }
}

/// A program on the proxy's host, which ends with its owner.
pub struct Process {
    name: String,
    child: Child,
    output: PathBuf,
    messages: PathBuf,
}

impl Process {
    /// What it has printed.
    pub fn output(&self) -> io::Result<String> {
        fs::read_to_string(&self.output)
    }

    /// What it has printed to standard error.
    pub fn messages(&self) -> io::Result<String> {
        fs::read_to_string(&self.messages)
    }

    /// Waits until something is so, or the program has ended.
    pub fn wait_until(&mut self, mut is_so: impl FnMut(&Self) -> Result<bool>) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while !is_so(self)? {
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("{} ended: {status}: {}", self.name, self.messages()?.trim()).into());
            }
            if Instant::now() > end {
                return Err(format!("{} is not ready: {}", self.name, self.messages()?.trim()).into());
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Ends it by SIGTERM.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        let end = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait()? {
                Some(status) => return Ok(status),
                None if Instant::now() > end => return Err(format!("{} does not end", self.name).into()),
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Processor time of all its threads, in seconds (proc_pid_stat(5): `utime`, `stime`, in ticks of a hundredth).
    pub fn processor_seconds(&self) -> Result<f64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(')').ok_or("/proc/PID/stat: expected a name in brackets")?;
        let ticks: Vec<u64> =
            fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
        Ok(ticks.iter().sum::<u64>() as f64 / 100.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the machine has a program.
pub fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The last line that is not empty.
pub fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

fn ip(host: &Namespace, arguments: &str) -> Result<()> {
    let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let output = host.run(move || Command::new("ip").args(words).output())??;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {arguments}: {}", last_line(&output.stderr)).into()),
    }
}

fn write(host: &Namespace, file: &'static str, value: &'static str) -> Result<()> {
    host.run(move || fs::write(file, value))?.map_err(|why| format!("{file}: {why}").into())
}
