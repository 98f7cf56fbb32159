//! A running program in a network namespace of its own, and connections beside it that lose packets.

use recoup_net::{Namespace, attach_filter};
use recoup_testing::{Folder, skip};
use recoup_wire::bpf::{Instruction, code};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_recoup-watch");

/// Where the program serves its metrics in the namespace, as in packaging/watch/prometheus.yml.
pub const METRICS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 9464);

/// The time limit of each wait.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An offset at which the kernel loads a random number (SKF_AD_OFF + SKF_AD_RANDOM in linux/filter.h).
const RANDOM: u32 = 0xffff_f000 + 56;

/// A file or folder of the source tree.
pub fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Whether these programs are there; otherwise the test is skipped.
pub fn has_programs(names: &[&str]) -> bool {
    let is_there =
        |name: &str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    match names.iter().find(|name| !is_there(name)) {
        None => true,
        Some(missing) => {
            skip(format!("no {missing}"));
            false
        }
    }
}

/// A process that ends with its owner.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A network namespace in which the program watches the loopback interface and serves metrics.
pub struct Watched {
    pub namespace: Namespace,
    pub folder: Folder,
    _watch: Process,
}

impl Watched {
    /// `None` if the system does not permit it; the test is skipped then.
    pub fn start() -> Option<Self> {
        match Namespace::new() {
            Ok(namespace) => Some(Self::start_in(namespace)),
            Err(e) => {
                skip(e);
                None
            }
        }
    }

    fn start_in(namespace: Namespace) -> Self {
        let folder = Folder::new(PROGRAM);
        let mut command = Command::new("setpriv");
        // No other right than the one that docs/watch.md asks for.
        command.args(["--bounding-set=-all,+net_raw", "--inh-caps=-all,+net_raw", PROGRAM, "lo", "--prometheus"]);
        command.arg(SocketAddr::from(METRICS).to_string()).args(["-o", "findings"]);
        let mut watch = start(&namespace, command.current_dir(folder.dir()).stderr(Stdio::piped()));
        let mut notes = String::new();
        // It says what it watches once it watches.
        let stderr = BufReader::new(watch.0.stderr.take().unwrap());
        for line in stderr.lines() {
            notes += &line.unwrap();
            if notes.contains("watching lo") {
                break;
            }
        }
        assert!(notes.contains("metrics at http://127.0.0.1:9464/metrics"), "{notes}");
        assert!(notes.contains("watching lo"), "{notes}");
        Self { namespace, folder, _watch: watch }
    }

    /// The body of a page at this address in the namespace.
    pub fn get(&self, at: (Ipv4Addr, u16), page: &str) -> Result<String, String> {
        let page = page.to_owned();
        let get = move || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(at)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            // With this version the answer comes in one piece, and its end closes the connection.
            write!(stream, "GET {page} HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = self.namespace.run(get).unwrap().map_err(|e| e.to_string())?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("no end of the header")?;
        let status = head.lines().next().unwrap_or_default();
        if status.contains(" 200 ") { Ok(body.into()) } else { Err(format!("{status}: {body}")) }
    }

    /// Sends 20 MB to a socket that drops each twentieth segment after it was captured. Returns both ends, open.
    pub fn lose_packets(&self) -> (TcpStream, TcpStream) {
        let connect = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let (mut client, mut server) = self.namespace.run(connect).unwrap();
        let instruction = |code, k| Instruction { code, jt: 0, jf: 0, k };
        let drop_some = [
            instruction(code::LOAD_WORD, RANDOM),
            Instruction { code: code::IF_AT_LEAST, jt: 0, jf: 1, k: u32::MAX / 20 },
            instruction(code::RETURN, u32::MAX),
            instruction(code::RETURN, 0),
        ];
        attach_filter(&server, &drop_some).unwrap();
        for stream in [&client, &server] {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        let content = vec![7; 20_000_000];
        let mut received = vec![0; content.len()];
        thread::scope(|scope| {
            scope.spawn(|| client.write_all(&content).unwrap());
            server.read_exact(&mut received).unwrap();
        });
        assert_eq!(received, content);
        (client, server)
    }
}

/// Starts a command in a namespace.
pub fn start(namespace: &Namespace, command: &mut Command) -> Process {
    let mut inside = Command::new(command.get_program());
    inside.args(command.get_args());
    std::mem::swap(&mut inside, command);
    Process(namespace.run(move || inside.spawn()).unwrap().unwrap())
}
