//! `recoup send` and `recoup receive` against the kernel's TCP, in namespaces. If the system does not
//! permit namespaces, the tests print that and pass. If RECOUP_REQUIRE_TOOLS is set, they fail instead.

use crate::real_packets::turn;
use recoup_net::Namespace;
use recoup_testing::skip;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let _turn = turn();
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(e) => return skip(e),
    };
    assert!(namespace.run(test).is_ok(), "the test in the namespace failed");
}

/// The running program, which is killed when dropped.
struct Recoup(Child);

impl Recoup {
    fn start(arguments: &[&str], stdin: Stdio) -> Self {
        let mut command = recoup_testing::command(env!("CARGO_BIN_EXE_recoup"));
        let command = command.args(arguments).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// The first line of standard error, which has the address.
    fn first_line(&mut self) -> String {
        let mut line = String::new();
        let mut stderr = BufReader::new(self.0.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        // Nobody reads the rest, so the program must not block on it.
        thread::spawn(move || stderr.read_to_string(&mut String::new()));
        line
    }

    /// Waits for the exit status and standard output.
    fn end(mut self) -> (Option<i32>, String) {
        let mut stdout = self.0.stdout.take().unwrap();
        let read = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        let start = Instant::now();
        let status = loop {
            match self.0.try_wait().unwrap() {
                Some(status) => break status.code(),
                None => assert!(start.elapsed() < PATIENCE, "it does not end"),
            }
            thread::sleep(Duration::from_millis(10));
        };
        (status, read.join().unwrap().unwrap())
    }
}

impl Drop for Recoup {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn crc(bytes: &[u8]) -> String {
    format!("CRC-32 {:08x}", crc32fast::hash(bytes))
}

#[test]
fn receive_reports_the_stream_of_a_kernel_client() {
    in_namespace(|| {
        let output = tempfile::tempdir().unwrap();
        let (file, pcap) = (output.path().join("stream"), output.path().join("all.pcap"));
        let mut receive = Recoup::start(
            &[
                "receive",
                "--address=10.9.0.1",
                "--port=77",
                "--output",
                file.to_str().unwrap(),
                "--pcap",
                pcap.to_str().unwrap(),
            ],
            Stdio::null(),
        );
        let line = receive.first_line();
        if line.contains("cannot") {
            return skip(line);
        }
        assert_eq!(line, "recoup: listening on 10.9.0.1:77\n");
        let sent: Vec<u8> = (0..2_000_003_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        let mut stream = TcpStream::connect("10.9.0.1:77").unwrap();
        stream.write_all(&sent).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let (status, printed) = receive.end();
        assert_eq!(status, Some(0));
        assert!(printed.contains("2000003 bytes"), "{printed}");
        assert!(printed.contains(&crc(&sent)), "{printed}");
        assert!(std::fs::read(file).unwrap() == sent);
        assert!(std::fs::metadata(pcap).unwrap().len() > 2_000_000);
    });
}

#[test]
fn send_delivers_its_stream_to_a_kernel_server() {
    in_namespace(|| {
        for from_stdin in [false, true] {
            let listener = TcpListener::bind("0.0.0.0:0").unwrap();
            let to = format!("10.9.0.0:{}", listener.local_addr().unwrap().port());
            let generated = ["--bytes=1000001", "--seed=9"];
            let mut arguments = vec!["send", &to, "--address=10.9.0.1"];
            if !from_stdin {
                arguments.extend(generated);
            }
            let mut send = Recoup::start(&arguments, Stdio::piped());
            let line = send.first_line();
            if line.contains("cannot") {
                return skip(line);
            }
            let text = b"what a user types";
            let mut stdin = send.0.stdin.take().unwrap();
            stdin.write_all(text).unwrap();
            drop(stdin);
            let mut received = Vec::new();
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_to_end(&mut received).unwrap();
            drop(stream);
            let (status, printed) = send.end();
            assert_eq!(status, Some(0), "{printed}");
            assert!(printed.contains(&crc(&received)), "{printed}");
            match from_stdin {
                true => assert_eq!(received, text),
                false => assert_eq!(received.len(), 1_000_001),
            }
        }
    });
}

#[test]
fn receive_takes_the_first_stream_that_sends_a_byte() {
    in_namespace(|| {
        let arguments = ["receive", "--address=10.9.0.1", "--port=77", "--output", "-"];
        let mut receive = Recoup::start(&arguments, Stdio::null());
        let line = receive.first_line();
        if line.contains("cannot") {
            return skip(line);
        }
        let connect = || TcpStream::connect("10.9.0.1:77").unwrap();
        // Some come and go, or stay, and send nothing.
        let _idle: Vec<_> = (0..20).map(|_| connect()).collect();
        drop(connect());
        let mut chosen = connect();
        chosen.write_all(b"what ").unwrap();
        thread::sleep(Duration::from_millis(200));
        // It is late.
        let mut other = connect();
        other.write_all(b"something else").unwrap();
        drop(other);
        chosen.write_all(b"is asked for").unwrap();
        drop(chosen);
        let (status, printed) = receive.end();
        assert_eq!((status, printed.as_str()), (Some(0), "what is asked for"));
    });
}

#[test]
fn a_reset_ends_send_while_it_waits_for_standard_input() {
    in_namespace(|| {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let to = format!("10.9.0.0:{}", listener.local_addr().unwrap().port());
        let mut send = Recoup::start(&["send", &to, "--address=10.9.0.1"], Stdio::piped());
        let line = send.first_line();
        if line.contains("cannot") {
            return skip(line);
        }
        let mut stdin = send.0.stdin.take().unwrap();
        stdin.write_all(b"unread").unwrap();
        let (stream, _) = listener.accept().unwrap();
        while stream.peek(&mut [0; 10]).unwrap() < 6 {}
        // Unread data makes the kernel reset the connection (RFC 2525 §2.17).
        drop(stream);
        let (status, printed) = send.end();
        assert_eq!((status, printed.as_str()), (Some(2), ""));
        drop(stdin);
    });
}

#[test]
fn send_goes_on_after_the_peer_has_closed_its_side() {
    in_namespace(|| {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let to = format!("10.9.0.0:{}", listener.local_addr().unwrap().port());
        let mut send = Recoup::start(&["send", &to, "--address=10.9.0.1"], Stdio::piped());
        let line = send.first_line();
        if line.contains("cannot") {
            return skip(line);
        }
        let mut stdin = send.0.stdin.take().unwrap();
        stdin.write_all(b"before ").unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"unasked").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        thread::sleep(Duration::from_millis(200));
        stdin.write_all(b"and after").unwrap();
        drop(stdin);
        let mut received = String::new();
        stream.read_to_string(&mut received).unwrap();
        assert_eq!(received, "before and after");
        let (status, printed) = send.end();
        assert_eq!(status, Some(0), "{printed}");
        assert!(printed.starts_with("sent 16 bytes"), "{printed}");
    });
}

/// Sends from one endpoint to another in a namespace that does not forward, with strict reverse path filters.
fn send_to_receive(receiver: &'static str, sender: &'static str, setting: &'static str) {
    in_namespace(move || {
        for filter in ["all", "default"] {
            std::fs::write(format!("/proc/sys/net/ipv4/conf/{filter}/rp_filter"), "1").unwrap();
        }
        let at = ["receive", "--address", receiver, "--port=5009", "--once"];
        let mut receive = Recoup::start(&at, Stdio::null());
        let line = receive.first_line();
        if line.contains("cannot") {
            return skip(line);
        }
        if line.contains("sysctl -w") {
            assert!(receiver.contains(':') && line.contains("net.ipv6.conf.all.forwarding=1"), "{line}");
            return skip(line);
        }
        let to = std::net::SocketAddr::new(receiver.parse().unwrap(), 5009).to_string();
        let mut command = recoup_testing::command(env!("CARGO_BIN_EXE_recoup"));
        let sent = command.args(["send", "--address", sender, "--bytes=300kB", &to]).output().unwrap();
        let (printed, notes) = (String::from_utf8(sent.stdout).unwrap(), String::from_utf8(sent.stderr).unwrap());
        assert_eq!(sent.status.code(), Some(0), "{notes}");
        let (status, received) = receive.end();
        assert_eq!(status, Some(0));
        let crc = |text: &str| text.split("CRC-32 ").nth(1).map(|rest| rest[..8].to_owned());
        assert!(crc(&printed).is_some() && crc(&printed) == crc(&received), "{printed}{received}");
        // What was set is printed, and nothing else was.
        assert!(notes.contains("set until the end") && notes.contains(setting), "{notes}");
        let all = std::fs::read_to_string("/proc/sys/net/ipv4/ip_forward").unwrap();
        let ipv6 = std::fs::read_to_string("/proc/sys/net/ipv6/conf/all/forwarding").unwrap();
        assert_eq!((all.trim(), ipv6.trim()), ("0", "0"));
        let left: Vec<_> = std::fs::read_dir("/proc/sys/net/ipv4/conf").unwrap().flatten().collect();
        let left = left.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with("recoup")).count();
        assert_eq!(left, 0, "the settings are gone with the devices");
    });
}

#[test]
fn send_reaches_receive_on_the_same_host_over_ipv4() {
    send_to_receive("10.9.8.2", "10.9.9.2", "net.ipv4.conf.recoup");
}

#[test]
fn send_reaches_receive_on_the_same_host_over_ipv6() {
    send_to_receive("fd09:8::2", "fd09:9::2", "net.ipv6.conf.recoup");
}

#[test]
fn wrong_use_is_refused_in_one_line() {
    in_namespace(|| {
        let cases = [
            // (arguments, part of the error)
            (
                vec!["send", "10.9.0.0:9", "--address=10.9.0.1", "--bytes=1"],
                "no connection to 10.9.0.0:9: the peer reset or refused it",
            ),
            (
                vec!["send", "127.0.0.1:9", "--bytes=1"],
                "address 127.0.0.1:9: expected a unicast address, not of a loopback, and port of an IP version this host has",
            ),
            (vec!["receive", "--profile=linux-7"], "linux-7"),
        ];
        for (arguments, expected) in cases {
            let mut command = recoup_testing::command(env!("CARGO_BIN_EXE_recoup"));
            let output = command.args(&arguments).output().unwrap();
            let printed = String::from_utf8(output.stderr).unwrap();
            if printed.contains("/dev/net/tun") {
                return skip(printed);
            }
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {printed}");
            assert!(printed.contains(expected), "{arguments:?}: {printed}");
        }
    });
}
