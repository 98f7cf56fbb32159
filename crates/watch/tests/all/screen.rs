//! The terminal view in a terminal: the program runs in tmux, on the loopback interface of a namespace of its own.

use crate::setup::PROGRAM;
use recoup_testing::skip;
use recoup_trace::read::Reader;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a text may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection over which a kilobyte goes every 10 ms, for a minute at most.
const TRAFFIC: &str = "
import socket, threading, time
listener = socket.create_server(('127.0.0.1', 8080))
def serve():
    peer, _ = listener.accept()
    while peer.recv(65536): pass
threading.Thread(target=serve, daemon=True).start()
client = socket.create_connection(('127.0.0.1', 8080))
for _ in range(6000):
    client.sendall(b'x' * 1000)
    time.sleep(0.01)
";

/// A terminal of 80 × 24 characters, in which commands run in a namespace of their own.
struct Tmux {
    folder: TempDir,
}

impl Tmux {
    /// Runs a script. `None` if this machine cannot, after it said so.
    fn run(script: &str) -> Option<Self> {
        if let Err(why) = Command::new("tmux").arg("-V").output() {
            skip(format!("no tmux: {why}"));
            return None;
        }
        let namespace = Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]).output();
        if !namespace.is_ok_and(|output| output.status.success()) {
            skip("no network namespace can be made with unshare and ip");
            return None;
        }
        if Command::new("python3").arg("-V").output().is_err() {
            skip("no python3");
            return None;
        }
        let tmux = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(tmux.path("traffic.py"), TRAFFIC).unwrap();
        fs::write(tmux.path("script"), format!("ip link set lo up\n{script}\n")).unwrap();
        let run = "unshare --net sh ./script";
        let size = ["new-session", "-d", "-x", "80", "-y", "24", "-c"];
        let folder = tmux.folder.path().to_owned();
        let status = tmux.command().args(size).arg(folder).arg(run).status().unwrap();
        assert!(status.success());
        Some(tmux)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.path("socket")).args(["-f", "/dev/null"]);
        command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color").env_remove("TMUX").env_remove("NO_COLOR");
        command
    }

    fn keys(&self, keys: &[&str]) {
        assert!(self.command().arg("send-keys").args(keys).status().unwrap().success());
    }

    fn screen(&self) -> String {
        String::from_utf8(self.command().args(["capture-pane", "-p"]).output().unwrap().stdout).unwrap()
    }

    /// Waits until the screen has all of these texts.
    fn wait_for(&self, texts: &[&str]) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if texts.iter().all(|text| screen.contains(text)) {
                return screen;
            }
            assert!(begun.elapsed() < PATIENCE, "no {texts:?} in\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        _ = self.command().arg("kill-server").status();
    }
}

/// Runs the program, by another one if there is a name, and says what its exit status is.
fn watching(by: &str, arguments: &str) -> String {
    format!("echo before\n{by} {PROGRAM} {arguments}\necho exit status $?\nexec sleep 60")
}

#[test]
fn a_connection_is_shown_opened_and_saved() {
    let Some(tmux) = Tmux::run(&format!("python3 traffic.py &\nsleep 1\n{}", watching("", "lo"))) else { return };
    tmux.wait_for(&["recoup watch lo", "[1 Overview]", "The last minute", "1 connection", "kernel drops 0"]);
    tmux.keys(&["2"]);
    tmux.wait_for(&["[2 Connections]", "> 127.0.0.1:8080", "RTT"]);
    tmux.keys(&["/", "n", "o", "n", "e", "Enter"]);
    tmux.wait_for(&["0 with “none”"]);
    tmux.keys(&["Escape"]);
    tmux.wait_for(&["> 127.0.0.1:8080"]);
    tmux.keys(&["Enter"]);
    tmux.wait_for(&["Connection 0: 127.0.0.1:", "10.0 s ago", "R needed, S spurious"]);
    tmux.keys(&["s", "Enter"]);
    for _ in 0..40 {
        tmux.keys(&["BSpace"]);
    }
    tmux.keys(&["-l", "frames.pcapng"]);
    tmux.keys(&["Enter"]);
    tmux.wait_for(&["Saved ", "frames.pcapng"]);
    let saved = fs::read(tmux.path("frames.pcapng")).unwrap();
    let mut reader = Reader::new("saved", &saved[..]).unwrap();
    let ports: Vec<u16> = std::iter::from_fn(|| reader.next().map(|packet| packet.endpoints.dst.port())).collect();
    assert!(ports.len() > 50 && ports.contains(&8080), "{ports:?}");
    assert!(tmux.command().args(["resize-window", "-x", "120", "-y", "40"]).status().unwrap().success());
    tmux.keys(&["3"]);
    tmux.wait_for(&["[3 Findings]", "No finding yet"]);
    tmux.keys(&["q"]);
    let screen = tmux.wait_for(&["before", "recoup: lo: ", "exit status 0"]);
    assert!(!screen.contains("Findings"), "{screen}");
}

#[test]
fn an_interface_that_goes_is_told_and_so_is_the_exit_status() {
    let script = format!(
        "ip link add gone type veth\nip link set gone up\n(sleep 2; ip link del gone) &\n{}",
        watching("", "gone")
    );
    let Some(tmux) = Tmux::run(&script) else { return };
    tmux.wait_for(&["! Watching has ended: gone: no interface is left to watch"]);
    tmux.keys(&["q"]);
    tmux.wait_for(&["before", "recoup: gone: no interface is left to watch", "exit status 2"]);
}

#[test]
fn a_signal_ends_the_program_and_gives_the_terminal_back() {
    let ended = watching("timeout --foreground --preserve-status 3", "lo --no-color");
    let Some(tmux) = Tmux::run(&ended.replace("$?", "$?; stty -a")) else { return };
    tmux.wait_for(&["[1 Overview]"]);
    tmux.wait_for(&["before", "exit status 0", " icanon", " echo "]);
}

/// A connection to this machine that breaks takes its terminal along.
#[test]
fn the_program_ends_with_its_terminal() {
    for by in ["", "env --ignore-signal=HUP"] {
        let Some(tmux) = Tmux::run(&format!("echo $$ >pid\nexec {by} {PROGRAM} lo")) else { return };
        tmux.wait_for(&["[1 Overview]"]);
        let pid = fs::read_to_string(tmux.path("pid")).unwrap();
        let process = PathBuf::from("/proc").join(pid.trim());
        assert!(process.exists());
        assert!(tmux.command().arg("kill-server").status().unwrap().success());
        let begun = Instant::now();
        while process.exists() {
            assert!(begun.elapsed() < PATIENCE, "{by}: it still runs");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
