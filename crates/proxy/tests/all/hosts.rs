//! Hosts, a stack's server, and clients.

use recoup_net::Namespace;
use recoup_proxy::inlet::{Inlet, InletOptions};
use recoup_stack::{TcpListener, TcpStream};
use recoup_testing::skip;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{self, Shutdown, SocketAddr};
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;

pub const SERVER: &str = "10.0.0.1";
pub const SERVER_V6: &str = "fd00::1";
pub const CLIENT: &str = "10.0.0.2";
pub const CLIENT_V6: &str = "fd00::2";

/// How long a test waits for what should come.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The server's host, with the interface `outside`, and its client's, with the interface `far`.
pub struct Hosts {
    pub server: Namespace,
    pub client: Namespace,
}

impl Hosts {
    /// `None` if the system does not permit them.
    pub fn new() -> Option<Self> {
        let hosts = Self { server: namespace()?, client: namespace()? };
        join(&hosts.server, "outside", &hosts.client, "far");
        for (host, name, v4, v6) in
            [(&hosts.server, "outside", SERVER, SERVER_V6), (&hosts.client, "far", CLIENT, CLIENT_V6)]
        {
            ip(host, &format!("address add {v4}/24 dev {name}"));
            ip(host, &format!("address add {v6}/64 dev {name} nodad"));
        }
        Some(hosts)
    }
}

/// A host of its own.
pub fn namespace() -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => Some(namespace),
        Err(why) => {
            skip(why);
            None
        }
    }
}

/// Joins two hosts by a pair of interfaces.
pub fn join(one: &Namespace, name: &str, other: &Namespace, other_name: &str) {
    let thread = other.run(|| std::fs::read_link("/proc/thread-self")).unwrap().unwrap();
    let number = thread.file_name().unwrap().to_string_lossy().into_owned();
    ip(one, &format!("link add {name} type veth peer name {other_name} netns {number}"));
    ip(one, &format!("link set {name} up"));
    ip(other, &format!("link set {other_name} up"));
}

/// Runs ip(8) on a host.
pub fn ip(host: &Namespace, arguments: &str) {
    run(host, "ip", arguments);
}

/// What ip(8) says about an interface.
pub fn link(host: &Namespace, interface: &str) -> serde_json::Value {
    let mut links: serde_json::Value =
        serde_json::from_str(&run(host, "ip", &format!("-s -j link show {interface}"))).unwrap();
    links[0].take()
}

/// Runs a program on a host; its standard output.
pub fn run(host: &Namespace, program: &'static str, arguments: &str) -> String {
    let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let output = host.run(move || Command::new(program).args(words).output()).unwrap().unwrap();
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Starts a thread on a host.
pub fn start<T: Send + 'static>(host: &Namespace, job: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    host.run(move || thread::Builder::new().spawn(job)).unwrap().unwrap()
}

/// A job for the inlet of a server.
type Job = Box<dyn FnOnce(&Inlet) + Send>;

/// A server over a stack, on a thread of its host. It greets with its name and a line feed, and echoes.
pub struct Server {
    jobs: Sender<Job>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// `None` if the system does not permit it.
    pub fn new(host: &Namespace, name: &'static str, at: &[&str]) -> Option<Self> {
        Self::with(host, name, at, InletOptions::default())
    }

    pub fn with(host: &Namespace, name: &'static str, at: &[&str], options: InletOptions) -> Option<Self> {
        let at: Vec<SocketAddr> = at.iter().map(|at| at.parse().unwrap()).collect();
        Self::over(host, name, move || Inlet::open(&at, &options))
    }

    pub fn over<E: Error + 'static>(
        host: &Namespace,
        name: &'static str,
        open: impl FnOnce() -> Result<Inlet, E> + Send + 'static,
    ) -> Option<Self> {
        let (jobs, to_do) = channel::<Job>();
        let (end, ends) = oneshot::channel();
        let (ready, is_ready) = channel::<Result<(), String>>();
        let main = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let inlet = match open() {
                    Ok(inlet) => inlet,
                    Err(why) => return drop(ready.send(Err(why.to_string()))),
                };
                serve(&inlet, name);
                inlet.start().unwrap();
                ready.send(Ok(())).unwrap();
                work(&inlet, &to_do, ends).await;
            });
        };
        let thread = start(host, main);
        match is_ready.recv().unwrap() {
            Ok(()) => Some(Self { jobs, end: Some(end), thread: Some(thread) }),
            Err(why) if why.contains("CAP_") => {
                skip(why);
                None
            }
            Err(why) => panic!("{why}"),
        }
    }

    /// Runs a job with the inlet.
    pub fn inlet<T: Send + 'static>(&self, job: impl FnOnce(&Inlet) -> T + Send + 'static) -> T {
        let (answer, answered) = channel();
        self.jobs.send(Box::new(move |inlet| answer.send(job(inlet)).unwrap())).unwrap();
        answered.recv_timeout(PATIENCE).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !thread::panicking()
        {
            panic!("the server has panicked");
        }
    }
}

/// Works on jobs until the end.
async fn work(inlet: &Inlet, jobs: &Receiver<Job>, mut ends: oneshot::Receiver<()>) {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    loop {
        tokio::select! {
            _ = &mut ends => return,
            _ = tick.tick() => jobs.try_iter().for_each(|job| job(inlet)),
        }
    }
}

/// Serves at each place of an inlet, or everywhere if it has none.
pub fn serve(inlet: &Inlet, name: &'static str) {
    for stack in inlet.stacks() {
        let listeners: Vec<_> = match inlet.places() {
            [] => vec![stack.accept_any().unwrap()],
            places => places.iter().map(|place| TcpListener::bind(stack, *place).unwrap()).collect(),
        };
        for listener in listeners {
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(echo(stream, name));
                }
            });
        }
    }
}

async fn echo(stream: TcpStream, name: &'static str) -> io::Result<()> {
    let (mut reader, mut writer) = stream.into_split();
    writer.write_all(format!("{name}\n").as_bytes()).await?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer).await? {
            0 => return writer.shutdown().await,
            len => writer.write_all(&buffer[..len]).await?,
        }
    }
}

/// A server of the kernel's, which does the same.
pub fn kernel_server(host: &Namespace, name: &'static str, at: &str) {
    let at: SocketAddr = at.parse().unwrap();
    let listener = host.run(move || net::TcpListener::bind(at)).unwrap().unwrap();
    thread::Builder::new()
        .spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let serve = move || {
                    let mut reader = stream.try_clone()?;
                    stream.write_all(format!("{name}\n").as_bytes())?;
                    io::copy(&mut reader, &mut stream)?;
                    stream.shutdown(Shutdown::Write)
                };
                thread::Builder::new().spawn(serve).unwrap();
            }
        })
        .unwrap();
}

/// A client of the kernel's.
pub struct Client {
    pub stream: net::TcpStream,
    /// Who greeted it.
    pub server: String,
}

impl Client {
    /// Connects, and reads the greeting.
    pub fn connect(host: &Namespace, to: &str) -> io::Result<Self> {
        Self::greeted(Self::stream(host, to)?)
    }

    /// Connects, and sends bytes before it reads the greeting. Behind a SYN cookie a server that speaks first waits for the
    /// client's last ACK, which nobody repeats if it is lost (RFC 4987 §3.6); data repeats it.
    pub fn connect_and_ask(host: &Namespace, to: &str) -> io::Result<Self> {
        let mut stream = Self::stream(host, to)?;
        stream.write_all(b"ask")?;
        let mut client = Self::greeted(stream)?;
        let mut received = [0; 3];
        client.stream.read_exact(&mut received)?;
        assert_eq!(&received, b"ask");
        Ok(client)
    }

    fn stream(host: &Namespace, to: &str) -> io::Result<net::TcpStream> {
        let to: SocketAddr = to.parse().unwrap();
        host.run(move || net::TcpStream::connect_timeout(&to, PATIENCE)).unwrap()
    }

    /// The client of a connection, once it read the greeting.
    pub fn greeted(mut stream: net::TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut server = String::new();
        loop {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            match byte[0] {
                b'\n' => return Ok(Self { stream, server }),
                byte => server.push(byte.into()),
            }
        }
    }

    /// Whether the server still echoes.
    pub fn asks(&mut self) -> io::Result<()> {
        let sent: [u8; 100] = std::array::from_fn(|place| place as u8);
        self.stream.write_all(&sent)?;
        let mut received = [0; 100];
        self.stream.read_exact(&mut received)?;
        assert_eq!(received, sent);
        Ok(())
    }

    /// Sends bytes and gets them back, both at the same time, and closes.
    pub fn exchange(mut self, bytes: usize) {
        let mut writer = self.stream.try_clone().unwrap();
        let sender = thread::Builder::new().spawn(move || {
            let (mut left, mut seed, mut hash) = (bytes, 1_u64, Sha256::new());
            let mut block = vec![0; 1 << 16];
            while left > 0 {
                for place in block.chunks_mut(8) {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    place.copy_from_slice(&seed.to_le_bytes());
                }
                let now = &block[..left.min(block.len())];
                writer.write_all(now).unwrap();
                hash.update(now);
                left -= now.len();
            }
            writer.shutdown(Shutdown::Write).unwrap();
            hash.finalize()
        });
        let (mut hash, mut received) = (Sha256::new(), 0);
        let mut block = vec![0; 1 << 16];
        loop {
            match self.stream.read(&mut block).unwrap() {
                0 => break,
                len => {
                    hash.update(&block[..len]);
                    received += len;
                }
            }
        }
        assert_eq!(received, bytes);
        assert_eq!(hash.finalize(), sender.unwrap().join().unwrap());
    }
}
