//! Bytes both ways, closes, back-pressure.

use super::{AT, Proxy, SERVER, accept, connect, listen, rest};
use crate::hosts::{Client, Hosts, kernel_server};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::thread;
use std::time::Duration;

#[test]
fn bytes_go_both_ways_at_once() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "kernel", SERVER);
    let Some(proxy) = Proxy::start(&hosts, &[]) else { return };
    let clients: Vec<_> = (0..4).map(|_| Client::connect(&hosts.client, AT).unwrap()).collect();
    let threads = clients.into_iter().map(|client| thread::spawn(|| client.exchange(5_000_000)));
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    for record in proxy.log(4) {
        assert_eq!(record["end"], "closed");
        assert_eq!((&record["bytes_from_client"], &record["bytes_to_client"]), (&5_000_000.into(), &5_000_007.into()));
    }
}

#[test]
fn each_side_closes_for_itself() {
    let Some(hosts) = Hosts::new() else { return };
    let listener = listen(&hosts, SERVER);
    let Some(proxy) = Proxy::start(&hosts, &[]) else { return };
    // The client closes first.
    let mut client = connect(&hosts);
    client.write_all(b"question").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut server = accept(&listener);
    assert_eq!(rest(&mut server).unwrap(), b"question");
    thread::sleep(Duration::from_millis(50));
    server.write_all(b"answer").unwrap();
    drop(server);
    assert_eq!(rest(&mut client).unwrap(), b"answer");
    // The server closes first.
    let mut client = connect(&hosts);
    let mut server = accept(&listener);
    server.write_all(b"greeting").unwrap();
    server.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(&mut client).unwrap(), b"greeting");
    client.write_all(b"thanks").unwrap();
    drop(client);
    assert_eq!(rest(&mut server).unwrap(), b"thanks");
    assert!(proxy.log(2).iter().all(|record| record["end"] == "closed"));
}

#[test]
fn nothing_is_read_while_the_other_side_takes_nothing() {
    let Some(hosts) = Hosts::new() else { return };
    let listener = listen(&hosts, SERVER);
    let Some(_proxy) = Proxy::start(&hosts, &["--memory", "8MB"]) else { return };
    let (mut client, mut server) = (connect(&hosts), accept(&listener));
    for upward in [false, true] {
        let (from, to) = if upward { (&mut client, &mut server) } else { (&mut server, &mut client) };
        let block = [7; 1 << 16];
        from.set_nonblocking(true).unwrap();
        let (mut written, mut stuck) = (0_u64, 0);
        while stuck < 20 {
            match from.write(&block) {
                Ok(count) => (written, stuck) = (written + count as u64, 0),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    stuck += 1;
                    thread::sleep(Duration::from_millis(20));
                }
                Err(e) => panic!("{e}"),
            }
            assert!(written < 64 << 20, "{written} bytes, and nobody has read one");
        }
        // What was taken arrives.
        from.set_nonblocking(false).unwrap();
        from.shutdown(Shutdown::Write).unwrap();
        let mut received = 0;
        let mut into = vec![0; 1 << 16];
        loop {
            match to.read(&mut into).unwrap() {
                0 => break,
                count => received += count as u64,
            }
        }
        assert_eq!(received, written);
    }
}
