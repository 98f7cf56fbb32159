//! At an interface, beside the kernel's TCP.

use super::*;
use crate::two_hosts::{HERE, TwoHosts, connect};
use recoup_net::{Namespace, Tun};
use std::env;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

const PORT: u16 = 4000;

/// Names of the programs at an interface, the first first.
fn programs(host: &Namespace) -> Vec<String> {
    let query = || SchedClassifier::query_tcx("here", TcAttachType::Ingress);
    let (_, programs) = host.run(query).unwrap().unwrap();
    programs.iter().map(|program| program.name_as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_kernel_detaches_the_programs_of_a_killed_process() {
    if permitted(PortRedirect::load(1)).is_none() {
        return;
    }
    let Some(hosts) = TwoHosts::new() else { return };
    let listener = hosts.here.run(|| TcpListener::bind((HERE, PORT))).unwrap().unwrap();
    let connect = |patience| connect(&hosts.there, HERE, PORT, Duration::from_millis(patience)).join().unwrap();
    let mut client = connect(5000).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut child = hosts.watcher.run(holder).unwrap();
    assert_eq!(programs(&hosts.watcher), [TO_STACK]);
    // Nobody reads from the device.
    assert!(connect(300).is_err());
    // A connection that the kernel had before goes on.
    client.write_all(b"before").unwrap();
    server.read_exact(&mut [0; 6]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(programs(&hosts.watcher), [""; 0]);
    connect(5000).unwrap();
}

/// Is set for [`takes_a_port_until_it_is_killed`].
const HOLDS: &str = "RECOUP_TEST_HOLDS";

/// A process of this program, in the calling thread's namespace, that takes the port.
fn holder() -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["port_redirect::tests::live::takes_a_port_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
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
#[ignore = "a part of the_kernel_detaches_the_programs_of_a_killed_process"]
fn takes_a_port_until_it_is_killed() {
    if env::var_os(HOLDS).is_none() {
        return;
    }
    let tun = Tun::create("stack").unwrap();
    let (mut redirect, _) = PortRedirect::attach(tun.name(), tun.index(), &["here"]).unwrap();
    redirect.take(SocketAddr::new(HERE.parse().unwrap(), PORT)).unwrap();
    println!("holds");
    // Until the other end of the pipe is gone, too.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
