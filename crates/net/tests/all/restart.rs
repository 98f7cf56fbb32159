//! A program that is killed and started again at the same address, while its peers still have connections to it.

use crate::{
    examples::{Example, with_example},
    host::peers::with_device,
};
use recoup_net::{TunDevice, TunOptions};
use recoup_stack::{
    Config, Driver,
    host::{ConnectionId, Host, Read, Secret},
};
use recoup_tcp::State;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt::set_socket_reuseaddr};
use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// The stack's address. The kernel's is the next one.
const OWN: &str = "100.64.9.2";
const SERVER: &str = "100.64.9.2:7";
const KERNEL: &str = "100.64.9.3";

/// The time limit of what should be done soon.
const SOON: Duration = Duration::from_millis(900);

/// The time limit of a reset that a retransmission of the peer's draws. It doubles while the program is away.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection of the kernel to the server, from this port.
fn connect_from(port: u16) -> TcpStream {
    let client = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    set_socket_reuseaddr(&client, true).unwrap();
    bind(&client, &SocketAddr::new(KERNEL.parse().unwrap(), port)).unwrap();
    connect(&client, &SERVER.parse::<SocketAddr>().unwrap()).unwrap();
    let stream = TcpStream::from(client);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the server echoes.
fn echoes(mut stream: &TcpStream) -> bool {
    stream.write_all(b"echo").unwrap();
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).unwrap();
    &answer == b"echo"
}

fn start(program: &std::path::Path) -> Example {
    let example = Example::start(program, &[OWN]);
    assert!(example.line().ends_with(SERVER));
    example
}

#[test]
fn peers_of_a_killed_server_are_reset_and_come_back() {
    with_example("echo", |program| {
        let mut server = start(program);
        let (idle, mut busy, closing, finished) =
            (connect_from(2001), connect_from(2002), connect_from(2003), connect_from(2004));
        for client in [&idle, &busy, &closing, &finished] {
            assert!(echoes(client));
        }
        // The client closes first: it has a connection in TIME-WAIT.
        finished.shutdown(Shutdown::Write).unwrap();
        assert_eq!((&finished).read(&mut [0; 1]).unwrap(), 0);
        drop(finished);

        // SIGKILL.
        server.process.kill().unwrap();
        server.process.wait().unwrap();
        // One has data on the way, one is in FIN-WAIT-1.
        busy.write_all(&[7; 10_000]).unwrap();
        let _ = closing.shutdown(Shutdown::Write);
        thread::sleep(Duration::from_millis(100));
        server = start(program);
        let began = Instant::now();
        // A new client works at once, and so does one from the port of the connection in TIME-WAIT.
        for port in [0, 2004] {
            assert!(echoes(&connect_from(port)), "port {port}");
        }
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        // The old ones are reset: the idle one once it writes.
        (&idle).write_all(b"anybody there?").unwrap();
        for (client, limit) in [(&idle, SOON), (&busy, PATIENCE), (&closing, PATIENCE)] {
            let mut client = client;
            let mut into = vec![0; 20_000];
            // What had arrived before comes first.
            let over = loop {
                match client.read(&mut into) {
                    Ok(1..) => {}
                    Ok(0) => panic!("the end of a stream that was killed"),
                    Err(error) => break error,
                }
            };
            assert_eq!(over.kind(), ErrorKind::ConnectionReset);
            assert!(began.elapsed() < limit, "{:?}", began.elapsed());
        }
        // Their ports can be used again at once.
        drop((idle, busy, closing));
        let began = Instant::now();
        for port in 2001..=2004 {
            assert!(echoes(&connect_from(port)), "port {port}");
        }
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        drop(server);
    });
}

/// The stack anew, with a secret of its own. Dropping it says nothing to its peers, as a kill.
fn reborn() -> Option<Driver<TunDevice>> {
    let options = TunOptions { address: Some(OWN.parse().unwrap()), ..TunOptions::default() };
    let device = TunDevice::open_with(&options).ok()?;
    let host = Host::new(Config::new([OWN.parse().unwrap()]), 1500, Secret::draw().unwrap());
    Some(Driver::new(host, device))
}

fn until(driver: &mut Driver<TunDevice>, what: &str, holds: impl Fn(&Driver<TunDevice>) -> bool) -> Duration {
    let began = Instant::now();
    while !holds(driver) {
        assert!(began.elapsed() < PATIENCE, "{what}");
        driver.turn(Duration::from_millis(2)).unwrap();
        while driver.host.next_event().is_some() {}
    }
    began.elapsed()
}

/// Lets the driver run until the kernel has a connection.
fn accept(driver: &mut Driver<TunDevice>, listener: &TcpListener) -> TcpStream {
    let began = Instant::now();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                return stream;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        assert!(began.elapsed() < PATIENCE, "nobody came");
        driver.turn(Duration::from_millis(2)).unwrap();
    }
}

/// Which state the kernel is in when the stack is killed.
#[derive(Clone, Copy, Debug)]
enum Kernel {
    Established,
    /// It has closed, and the stack has not.
    FinWait2,
    /// The stack has closed, and it has not.
    CloseWait,
    /// Both have closed, it first.
    TimeWait,
}

#[test]
fn a_client_that_was_killed_reaches_its_server_again_from_the_same_port() {
    // The device is each driver's own.
    with_device(|_| {
        for state in [Kernel::Established, Kernel::FinWait2, Kernel::CloseWait, Kernel::TimeWait] {
            for round in 0..3 {
                let mut driver = reborn().expect("a device");
                let listener = TcpListener::bind((KERNEL, 0)).unwrap();
                listener.set_nonblocking(true).unwrap();
                let remote = listener.local_addr().unwrap();
                let local = SocketAddr::new(OWN.parse::<IpAddr>().unwrap(), 3000 + round);
                let begin = |driver: &mut Driver<TunDevice>| -> ConnectionId {
                    driver.host.connect_with(driver.now(), local, remote, None).unwrap()
                };
                let id = begin(&mut driver);
                until(&mut driver, "open", |driver| driver.host.state(id) == Some(State::Established));
                let mut old = accept(&mut driver, &listener);
                match state {
                    Kernel::Established => {}
                    Kernel::FinWait2 | Kernel::TimeWait => {
                        old.shutdown(Shutdown::Write).unwrap();
                        until(&mut driver, "its FIN", |driver| driver.host.state(id) == Some(State::CloseWait));
                        if matches!(state, Kernel::TimeWait) {
                            driver.host.close(driver.now(), id).unwrap();
                            let closed =
                                |driver: &Driver<TunDevice>| matches!(driver.host.state(id), Some(State::Closed(_)));
                            until(&mut driver, "the end", closed);
                        }
                    }
                    Kernel::CloseWait => {
                        driver.host.close(driver.now(), id).unwrap();
                        until(&mut driver, "its ACK", |driver| driver.host.state(id) == Some(State::FinWait2));
                    }
                }
                drop(driver);
                let mut driver = reborn().expect("a device");
                let id = begin(&mut driver);
                let took = until(&mut driver, "open again", |driver| driver.host.state(id) == Some(State::Established));
                assert!(took < SOON, "{state:?}: {took:?}");
                let mut new = accept(&mut driver, &listener);
                new.write_all(b"hello").unwrap();
                let mut into = [0; 9];
                until(&mut driver, "data", |driver| driver.host.readiness(id).unwrap().readable);
                let read = driver.host.read(driver.now(), id, &mut into).unwrap();
                assert_eq!((read, &into[..5]), (Read::Bytes(5), &b"hello"[..]));
                // The connection of the past was reset by what its challenge drew.
                if matches!(state, Kernel::Established) {
                    assert_eq!(old.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::ConnectionReset);
                }
            }
        }
    });
}
