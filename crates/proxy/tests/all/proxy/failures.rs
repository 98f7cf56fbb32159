//! Servers and clients that are not there, or go.

use super::{Proxy, SERVER, accept, connect, listen, rest, try_connect};
use crate::hosts::Hosts;
use std::io::{ErrorKind, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_server_that_refuses_has_its_clients_reset() {
    let Some(hosts) = Hosts::new() else { return };
    let Some(mut proxy) = Proxy::start(&hosts, &[]) else { return };
    for _ in 0..3 {
        // The reset may come while the test prepares its socket.
        let why = try_connect(&hosts, super::AT).and_then(|mut client| rest(&mut client)).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::ConnectionReset);
    }
    let warning = proxy.hears(|line| line.contains("warning"));
    assert!(warning.contains("no connection to 127.0.0.1:80: Connection refused"), "{warning}");
    assert!(proxy.log(3).iter().all(|record| record["end"] == "server_refused" && record["server"].is_null()));
    assert!(!proxy.lines.try_iter().any(|line| line.contains("warning")), "once is enough");
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let Some(hosts) = Hosts::new() else { return };
    // Nobody has this address.
    let args = ["--listen", super::AT, "--upstream", "10.0.0.77:80", "--connect-timeout", "300ms"];
    let Some(proxy) = Proxy::with(&hosts, &args) else { return };
    let mut client = connect(&hosts);
    let begun = Instant::now();
    assert_eq!(rest(&mut client).unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert!((250..3000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    assert_eq!(proxy.log(1)[0]["end"], "server_silent");
}

#[test]
fn what_breaks_off_on_one_side_breaks_off_on_the_other() {
    let Some(hosts) = Hosts::new() else { return };
    let listener = listen(&hosts, SERVER);
    let Some(proxy) = Proxy::start(&hosts, &[]) else { return };
    // The server resets, in the middle of its answer: that is no end.
    let mut client = connect(&hosts);
    let mut server = accept(&listener);
    client.write_all(b"unread").unwrap();
    server.write_all(b"half").unwrap();
    let mut half = [0; 4];
    client.read_exact(&mut half).unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(server);
    assert_eq!(rest(&mut client).unwrap_err().kind(), ErrorKind::ConnectionReset);
    proxy.log(1);
    // The client resets.
    let mut client = connect(&hosts);
    let mut server = accept(&listener);
    client.write_all(b"half").unwrap();
    server.read_exact(&mut half).unwrap();
    server.write_all(b"unread").unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(client);
    assert_eq!(rest(&mut server).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let ends: Vec<_> = proxy.log(2).iter().map(|record| record["end"].clone()).collect();
    assert_eq!(ends, ["server_gone", "client_gone"]);
}

#[test]
fn an_idle_connection_ends() {
    let Some(hosts) = Hosts::new() else { return };
    let listener = listen(&hosts, SERVER);
    let Some(proxy) = Proxy::start(&hosts, &["--idle", "400ms"]) else { return };
    let mut client = connect(&hosts);
    let mut server = accept(&listener);
    for _ in 0..6 {
        client.write_all(b"x").unwrap();
        server.read_exact(&mut [0]).unwrap();
        thread::sleep(Duration::from_millis(150));
    }
    assert!(rest(&mut client).is_err() && rest(&mut server).is_err());
    assert_eq!(proxy.log(1)[0]["end"], "idle");
}
