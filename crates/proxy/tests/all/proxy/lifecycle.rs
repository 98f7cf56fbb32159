//! Drain, reload, hand-over.

use super::{AT, Proxy, SERVER, try_connect};
use crate::hosts::{Client, Hosts, kernel_server};
use recoup_testing::Folder;
use rustix::process::Signal;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_drained_proxy_lets_open_connections_end_and_takes_no_new_ones() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "proxied", SERVER);
    kernel_server(&hosts.server, "kernel", AT);
    let Some(mut proxy) = Proxy::start(&hosts, &[]) else { return };
    let greet = || Client::connect(&hosts.client, AT).unwrap();
    let mut open = greet();
    assert_eq!(open.server, "proxied");
    proxy.signal(Signal::TERM);
    let line = proxy.hears(|line| line.contains("no new connections"));
    assert!(line.contains("1 open"), "{line}");
    assert_eq!(greet().server, "kernel");
    open.asks().unwrap();
    open.exchange(1_000_000);
    let (status, _) = proxy.ended();
    assert!(status.success(), "{status}: {:#?}", proxy.said);
    assert_eq!(greet().server, "kernel");
}

#[test]
fn connections_beyond_the_drain_are_cut_and_counted() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "proxied", SERVER);
    let Some(mut proxy) = Proxy::start(&hosts, &["--drain", "500ms"]) else { return };
    let mut clients = [(); 3].map(|()| Client::connect(&hosts.client, AT).unwrap());
    proxy.signal(Signal::TERM);
    let (status, _) = proxy.ended();
    assert_eq!(status.code(), Some(1), "{:#?}", proxy.said);
    assert!(proxy.said.iter().any(|line| line.contains("3 connections were cut")), "{:#?}", proxy.said);
    assert!(clients.iter_mut().all(|client| client.asks().is_err()));
    assert!(proxy.log(3).iter().all(|record| record["end"] == "cut"));
}

#[test]
fn a_killed_proxy_gives_the_port_back() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "proxied", SERVER);
    kernel_server(&hosts.server, "kernel", AT);
    let Some(mut proxy) = Proxy::start(&hosts, &[]) else { return };
    proxy.signal(Signal::KILL);
    proxy.ended();
    assert_eq!(Client::connect(&hosts.client, AT).unwrap().server, "kernel");
}

#[test]
fn a_reload_changes_new_connections_alone() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "one", "127.0.0.1:8001");
    kernel_server(&hosts.server, "two", "127.0.0.1:8002");
    let folder = Folder::new(crate::PROGRAM);
    let file = folder.dir().join("proxy.toml");
    let one = "[[proxy]]\nlisten = '10.0.0.1:80'\nupstream = '127.0.0.1:8001'\n";
    fs::write(&file, one).unwrap();
    let Some(mut proxy) = Proxy::in_folder(&hosts, folder, &["--config", "proxy.toml"]) else { return };
    let greet = |at: &str| Client::connect(&hosts.client, at).map(|client| client.server);
    let mut open = Client::connect(&hosts.client, AT).unwrap();
    assert_eq!(open.server, "one");
    // Nonsense changes nothing.
    fs::write(&file, "[[proxy]]\nlisten = 'nowhere'\n").unwrap();
    proxy.signal(Signal::HUP);
    let line = proxy.hears(|line| line.contains("nothing was changed"));
    assert!(line.contains("proxy.toml: line 2: "), "{line}");
    assert_eq!(greet(AT).unwrap(), "one");
    // Another server, another profile, and one more address; the log begins anew.
    let two = "[[proxy]]\nlisten = '10.0.0.1:80'\nupstream = '127.0.0.1:8002'\nprofiles = ['linux-6+tlpr']\n\
               [[proxy]]\nlisten = '10.0.0.1:81'\nupstream = '127.0.0.1:8001'\n";
    fs::write(&file, two).unwrap();
    let log = proxy.folder.dir().join("log.jsonl");
    proxy.log(1);
    fs::rename(&log, proxy.folder.dir().join("old.jsonl")).unwrap();
    proxy.signal(Signal::HUP);
    proxy.hears(|line| line.contains("10.0.0.1:81 to 127.0.0.1:8001"));
    assert_eq!((greet(AT).unwrap(), greet("10.0.0.1:81").unwrap()), ("two".into(), "one".into()));
    // In whichever order they ended.
    let of = |at: &str| proxy.log(2).into_iter().find(|record| record["at"] == at).unwrap();
    assert_eq!(of(AT)["profile"], "linux-6+tlpr");
    assert_eq!(of("10.0.0.1:81")["profile"], "linux-6");
    open.asks().unwrap();
    // One address less.
    fs::write(&file, one).unwrap();
    proxy.signal(Signal::HUP);
    proxy.hears(|line| line.contains("no longer 10.0.0.1:81"));
    proxy.hears(|line| line.contains("10.0.0.1:80 to 127.0.0.1:8001"));
    assert_eq!(greet(AT).unwrap(), "one");
    assert!(try_connect(&hosts, "10.0.0.1:81").is_err());
    open.exchange(100_000);
}

#[test]
fn no_client_notices_that_another_process_takes_over() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "proxied", SERVER);
    let Some(mut old) = Proxy::start(&hosts, &[]) else { return };
    let (stop, served, failed) = (AtomicBool::new(false), AtomicU32::new(0), Mutex::new(Vec::new()));
    let begun = Instant::now();
    let (times, _new) = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let asked = Client::connect(&hosts.client, AT).and_then(|mut client| {
                        assert_eq!(client.server, "proxied");
                        client.asks()
                    });
                    match asked {
                        Ok(()) => drop(served.fetch_add(1, Ordering::Relaxed)),
                        Err(why) => failed.lock().unwrap().push(format!("{why} after {:?}", begun.elapsed())),
                    }
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        thread::sleep(Duration::from_millis(500));
        let new = Proxy::start(&hosts, &[]).unwrap();
        let started = begun.elapsed();
        thread::sleep(Duration::from_millis(300));
        old.signal(Signal::TERM);
        let (status, _) = old.ended();
        let ended = begun.elapsed();
        thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
        assert!(status.success(), "{status}: {:#?}", old.said);
        (format!("the new one began by {started:?}, the old one ended by {ended:?}"), new)
    });
    let (served, failed) = (served.into_inner(), failed.into_inner().unwrap());
    assert!(served > 200 && failed.is_empty(), "{served} were served, and not: {failed:?}; {times}");
}
