//! What clients may use.

use super::{Proxy, SERVER, accept, connect, listen, rest};
use crate::hosts::{Client, Hosts, kernel_server};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn beyond_the_connections_there_may_be_clients_wait() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "kernel", SERVER);
    let Some(_proxy) = Proxy::start(&hosts, &["--connections", "2"]) else { return };
    let [first, _second] = [(); 2].map(|()| Client::connect(&hosts.client, super::AT).unwrap());
    let third = connect(&hosts);
    third.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!((&third).read(&mut [0]).is_err(), "it is served");
    drop(first);
    assert_eq!(Client::greeted(third).unwrap().server, "kernel");
}

#[test]
fn a_client_has_so_many_connections_and_new_ones() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "kernel", SERVER);
    let greet = || Client::connect(&hosts.client, super::AT);
    {
        let Some(_proxy) = Proxy::start(&hosts, &["--connections-per-client", "2"]) else { return };
        let [first, _second] = [(); 2].map(|()| greet().unwrap());
        assert!(greet().is_err());
        drop(first);
        let until = Instant::now() + Duration::from_secs(5);
        while greet().is_err() {
            assert!(Instant::now() < until, "it has a place again");
        }
    }
    let Some(_proxy) = Proxy::start(&hosts, &["--opens-per-client", "5"]) else { return };
    let served = (0..20).filter(|_| greet().is_ok()).count();
    assert!((5..=10).contains(&served), "{served} of 20");
}

#[test]
fn a_rate_is_kept() {
    let Some(hosts) = Hosts::new() else { return };
    let listener = listen(&hosts, SERVER);
    let Some(_proxy) = Proxy::start(&hosts, &["--rate", "40Mbit"]) else { return };
    let mut client = connect(&hosts);
    let mut server = accept(&listener);
    let writer = thread::spawn(move || server.write_all(&vec![7; 10_000_000]));
    let begun = Instant::now();
    assert_eq!(rest(&mut client).unwrap().len(), 10_000_000);
    let rate = 80.0 / begun.elapsed().as_secs_f64();
    writer.join().unwrap().unwrap();
    assert!((36.0..42.5).contains(&rate), "{rate} Mbit/s");
}

/// Raises the limit of open descriptors as far as the system lets it.
fn raise_descriptors() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[test]
fn idle_clients_and_slow_ones_take_little_and_hold_nobody_up() {
    let Some(hosts) = Hosts::new() else { return };
    // Each has a descriptor of the client, one of the proxy, and one of the server; two of these are in this process.
    let count = usize::try_from(raise_descriptors() / 2).unwrap_or(usize::MAX).saturating_sub(500).min(10_000);
    let listener = listen(&hosts, SERVER);
    let Some(proxy) = Proxy::start(&hosts, &[]) else { return };
    let server = thread::spawn(move || {
        // An echo of the last ones; the others are held open.
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept() {
            open.push(stream);
            if open.len() >= count {
                let mut stream = open.last().unwrap().try_clone().unwrap();
                thread::spawn(move || std::io::copy(&mut stream.try_clone().unwrap(), &mut stream));
            }
        }
    });
    let memory = || -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", proxy.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let before = memory();
    let mut idle: Vec<_> = (1..count).map(|_| connect(&hosts)).collect();
    // Some send a byte now and then.
    for _ in 0..3 {
        idle.iter_mut().step_by(20).for_each(|client| client.write_all(b"x").unwrap());
        thread::sleep(Duration::from_millis(100));
    }
    let each = (memory() - before) * 1024 / count as u64;
    println!("{count} connections, {each} bytes each");
    assert!(each < 8_000, "{each} bytes of memory each");
    let begun = Instant::now();
    let mut client = connect(&hosts);
    client.write_all(b"hello").unwrap();
    client.read_exact(&mut [0; 5]).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    drop((idle, client, server));
}
