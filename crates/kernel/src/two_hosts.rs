//! For tests: two hosts, each a network namespace, joined by a pair of interfaces. The sockets of the first are in a
//! cgroup of their own. Where the system does not permit them, the test is skipped.

use recoup_net::{Namespace, NamespaceTarget, PacketRing, PacketSocketOptions, RingFrame};
use recoup_testing::skip;
use recoup_units::Instant;
use recoup_wire::decode_unverified;
use std::fs;
use std::io::{self, Error, Result};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub const HERE: &str = "10.0.0.1";
pub const THERE: &str = "10.0.0.2";
pub const HERE_V6: &str = "fd00::1";
pub const THERE_V6: &str = "fd00::2";

/// The kernel's hardware addresses, and one that nobody has.
const HARDWARE: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
const NOBODY: &str = "02:00:00:00:00:99";

pub struct TwoHosts {
    /// Its sockets are in the cgroup.
    pub here: Namespace,
    /// The same namespace, outside the cgroup.
    pub watcher: Namespace,
    pub there: Namespace,
    pub cgroup: Cgroup,
}

impl TwoHosts {
    /// `None` if the system does not permit them.
    pub fn new() -> Option<Self> {
        match Self::make() {
            Ok(hosts) => Some(hosts),
            Err(why) => {
                skip(why);
                None
            }
        }
    }

    fn make() -> Result<Self> {
        let (here, there) = (namespace()?, namespace()?);
        let [here_thread, there_thread] = [thread_in(&here)?, thread_in(&there)?];
        let file = PathBuf::from(format!("/proc/self/task/{here_thread}/ns/net"));
        let watcher = Namespace::join(&NamespaceTarget::File(file)).map_err(Error::other)?;
        let [here_hardware, there_hardware] = HARDWARE;
        ip(
            &watcher,
            &format!(
                "link add here address {here_hardware} type veth \
                 peer name there address {there_hardware} netns {there_thread}"
            ),
        )?;
        let hosts = Self { here, watcher, there, cgroup: Cgroup::new()? };
        for (host, name, v4, v6) in [(&hosts.watcher, "here", HERE, HERE_V6), (&hosts.there, "there", THERE, THERE_V6)]
        {
            ip(host, &format!("address add {v4}/24 dev {name}"))?;
            ip(host, &format!("address add {v6}/64 dev {name} nodad"))?;
            ip(host, &format!("link set {name} up"))?;
        }
        hosts.set_reachable(true)?;
        hosts.cgroup.enter(&hosts.here)?;
        Ok(hosts)
    }

    /// Whether what the first host sends arrives.
    pub fn set_reachable(&self, is_reachable: bool) -> Result<()> {
        let hardware = if is_reachable { HARDWARE[1] } else { NOBODY };
        for address in [THERE, THERE_V6] {
            ip(&self.watcher, &format!("neighbour replace {address} lladdr {hardware} dev here nud permanent"))?;
        }
        Ok(())
    }

    /// Sets net.ipv4.NAME of the first host.
    pub fn set(&self, name: &str, value: u32) -> Result<()> {
        let path = format!("/proc/sys/net/ipv4/{name}");
        self.watcher.run(move || fs::write(path, value.to_string())).map_err(Error::other)?
    }

    /// Sees the first host's packets.
    pub fn packets(&self) -> Packets {
        Packets::open(&self.watcher, "here")
    }

    /// Sees the second host's packets.
    pub fn packets_there(&self) -> Packets {
        Packets::open(&self.there, "there")
    }

    /// What ss(8) says about a host's connections.
    pub fn sockets(host: &Namespace, filter: &str) -> String {
        let filter = filter.to_owned();
        let command = move || Command::new("ss").args(["-tinH"]).args(filter.split(' ')).output();
        let output = host.run(command).unwrap().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Connects in the background.
pub fn connect(host: &Namespace, to: &str, port: u16, patience: Duration) -> JoinHandle<io::Result<TcpStream>> {
    let to = SocketAddr::new(to.parse::<IpAddr>().unwrap(), port);
    // The socket belongs to the namespace and the cgroup of the thread that opens it, which the new thread has from the
    // host's.
    let connect = move || TcpStream::connect_timeout(&to, patience);
    host.run(move || thread::Builder::new().spawn(connect)).unwrap().unwrap()
}

fn namespace() -> Result<Namespace> {
    Namespace::new().map_err(Error::other)
}

/// The number of a namespace's thread.
fn thread_in(host: &Namespace) -> Result<u32> {
    let link = host.run(|| fs::read_link("/proc/thread-self")).map_err(Error::other)??;
    let number = link.file_name().and_then(|name| name.to_str()?.parse().ok());
    number.ok_or_else(|| Error::other(format!("/proc/thread-self is {}", link.display())))
}

/// Runs ip(8) in a namespace.
pub fn ip(host: &Namespace, arguments: &str) -> Result<()> {
    let line = arguments.to_owned();
    let command = move || Command::new("ip").args(line.split_whitespace()).output();
    let output = host.run(command).map_err(Error::other)??;
    match output.status.success() {
        true => Ok(()),
        false => Err(Error::other(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))),
    }
}

/// A cgroup for single threads, below that of this process.
pub struct Cgroup(PathBuf);

impl Cgroup {
    fn new() -> Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let mount = mounts.lines().filter_map(|line| line.split_once(' ')).find_map(|(_, rest)| {
            let mut fields = rest.split(' ');
            let path = fields.next()?;
            (fields.next() == Some("cgroup2")).then_some(path)
        });
        let mount = mount.ok_or_else(|| Error::other("no cgroups of version 2 are mounted"))?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(mount).join(own).join(format!("recoup-test-{}-{number}", std::process::id()));
        let failed = |what: &str, why: Error| Error::other(format!("cannot {what} {}: {why}", path.display()));
        fs::create_dir(&path).map_err(|why| failed("create", why))?;
        let cgroup = Self(path.clone());
        fs::write(path.join("cgroup.type"), "threaded").map_err(|why| failed("set the type of", why))?;
        Ok(cgroup)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Moves a namespace's thread into it.
    fn enter(&self, host: &Namespace) -> Result<()> {
        let number = thread_in(host)?;
        fs::write(self.0.join("cgroup.threads"), number.to_string())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The threads in it end soon.
        for _ in 0..200 {
            match fs::remove_dir(&self.0) {
                Err(why) if why.kind() == io::ErrorKind::ResourceBusy => thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
    }
}

pub struct Packets(PacketRing);

impl Packets {
    fn open(host: &Namespace, interface: &'static str) -> Self {
        let options = PacketSocketOptions { block_timeout: Duration::from_millis(1), ..Default::default() };
        Self(host.run(move || PacketRing::open(Some(interface), &options)).unwrap().unwrap())
    }

    /// Sends a frame beside the host's TCP.
    pub fn send(&self, frame: &[u8]) -> Result<()> {
        self.0.send(frame)
    }

    /// The frames that this host sent since the last call.
    pub fn frames(&mut self) -> Vec<Vec<u8>> {
        self.timed_frames().into_iter().map(|(_, frame)| frame).collect()
    }

    fn timed_frames(&mut self) -> Vec<(Instant, Vec<u8>)> {
        // A frame waits in its block for a moment.
        thread::sleep(Duration::from_millis(20));
        let mut frames = Vec::new();
        let mut take = |frame: RingFrame<'_>| {
            if frame.outgoing == Some(true) {
                frames.push((frame.at, frame.data.to_vec()));
            }
        };
        while self.0.drain(&mut take) > 0 {}
        frames
    }

    /// Milliseconds from the first to each of the TCP segments that were sent since the last call.
    pub fn sent_millis(&mut self) -> Vec<u64> {
        let is_tcp = |frame: &[u8]| frame.get(14..).is_some_and(|packet| decode_unverified(packet).is_ok());
        let mut sent = self.timed_frames();
        sent.retain(|(_, frame)| is_tcp(frame));
        let Some(first) = sent.first().map(|(at, _)| *at) else { return Vec::new() };
        sent.iter().map(|(at, _)| (at.as_nanos() - first.as_nanos()) / 1_000_000).collect()
    }
}
