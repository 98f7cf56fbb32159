//! Several processes with the same port, drain, and a process that is killed.

use crate::hosts::{Client, Hosts, Server, kernel_server, serve};
use recoup_proxy::inlet::{Inlet, InletOptions};
use std::env;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

const AT: &str = "10.0.0.1:80";

fn at() -> SocketAddr {
    AT.parse().unwrap()
}

#[test]
fn the_newest_process_has_new_connections_and_older_ones_keep_theirs() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "kernel", AT);
    let connect = || Client::connect(&hosts.client, AT).unwrap();
    let mut first = connect();
    assert_eq!(first.server, "kernel");
    let Some(old) = Server::new(&hosts.server, "old", &[AT]) else { return };
    let mut second = connect();
    assert_eq!(second.server, "old");
    let new = Server::new(&hosts.server, "new", &[AT]).unwrap();
    let mut third = connect();
    assert_eq!(third.server, "new");
    for client in [&mut first, &mut second, &mut third] {
        client.asks().unwrap();
    }
    // While the old process waits for the end of its connections, all new ones are the new process's.
    old.inlet(|inlet| inlet.drain(at())).unwrap();
    assert_eq!(connect().server, "new");
    second.asks().unwrap();
    // Another order: the newest gives the port back.
    old.inlet(|inlet| inlet.take(at())).unwrap();
    new.inlet(|inlet| inlet.drain(at())).unwrap();
    assert_eq!(connect().server, "old");
    old.inlet(|inlet| inlet.drain(at())).unwrap();
    assert_eq!(connect().server, "kernel");
    for client in [&mut first, &mut second, &mut third] {
        client.asks().unwrap();
    }
    second.exchange(1 << 20);
    drop(old);
    third.exchange(1 << 20);
    drop(new);
    first.exchange(1 << 20);
    assert_eq!(connect().server, "kernel");
}

#[test]
fn a_port_is_the_kernels_again_when_its_process_is_killed() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "kernel", AT);
    // What the child would skip, this one skips.
    if Server::new(&hosts.server, "stack", &[AT]).is_none() {
        return;
    }
    let links = || crate::hosts::run(&hosts.server, "ip", "-br link");
    let before = links();
    let mut child = hosts.server.run(holder).unwrap();
    let mut client = Client::connect(&hosts.client, AT).unwrap();
    assert_eq!(client.server, "child");
    client.asks().unwrap();
    assert_ne!(links(), before);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(Client::connect(&hosts.client, AT).unwrap().server, "kernel");
    // The kernel knows nothing of the connection.
    assert_eq!(client.asks().unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(links(), before);
}

/// Is set for [`holds_the_port_until_it_is_killed`].
const HOLDS: &str = "RECOUP_TEST_HOLDS";

/// A process of this program, in the calling thread's namespace, that holds the port.
fn holder() -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["inlet::processes::holds_the_port_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
        .env(HOLDS, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("holds")));
    child
}

#[test]
#[ignore = "a part of a_port_is_the_kernels_again_when_its_process_is_killed"]
fn holds_the_port_until_it_is_killed() {
    if env::var_os(HOLDS).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _guard = runtime.enter();
    let inlet = Inlet::open(&[at()], &InletOptions::default()).unwrap();
    serve(&inlet, "child");
    inlet.start().unwrap();
    println!("holds");
    // Until the other end of the pipe is gone, too.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
