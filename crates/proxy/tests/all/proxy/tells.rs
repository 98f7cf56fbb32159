//! What the server, the log and the metrics hear.

use super::{Proxy, SERVER, accept, connect, listen, rest};
use crate::hosts::{Client, Hosts, kernel_server, run};
use std::io::{Read, Write};

#[test]
fn the_server_hears_who_its_client_is() {
    let Some(hosts) = Hosts::new() else { return };
    let listener = listen(&hosts, SERVER);
    for (version, header) in
        [("v1", &b"PROXY TCP4 10.0.0.2 10.0.0.1 "[..]), ("v2", b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c")]
    {
        let Some(proxy) = Proxy::start(&hosts, &["--proxy-protocol", version]) else { return };
        let mut client = connect(&hosts);
        let port = client.local_addr().unwrap().port();
        client.write_all(b"hello").unwrap();
        let mut server = accept(&listener);
        let mut told = vec![0; header.len()];
        server.read_exact(&mut told).unwrap();
        assert_eq!(told, header);
        let expected = match version {
            "v1" => format!("{port} 80\r\n").into_bytes(),
            _ => [&[10, 0, 0, 2, 10, 0, 0, 1][..], &port.to_be_bytes(), &80_u16.to_be_bytes()].concat(),
        };
        let mut told = vec![0; expected.len()];
        server.read_exact(&mut told).unwrap();
        assert_eq!(told, expected);
        server.write_all(b"hi").unwrap();
        client.read_exact(&mut [0; 2]).unwrap();
        drop(client);
        assert_eq!(rest(&mut server).unwrap(), b"hello");
        drop(server);
        assert_eq!(proxy.log(1)[0]["client"], format!("10.0.0.2:{port}"));
    }
}

#[test]
fn the_log_and_the_metrics_agree_with_each_other_and_with_clients() {
    let Some(hosts) = Hosts::new() else { return };
    kernel_server(&hosts.server, "kernel", SERVER);
    let args = ["--profile", "linux-6", "--profile", "linux-6+tlpr", "--prometheus", "127.0.0.1:9465", "--summary"];
    let Some(mut proxy) = Proxy::start(&hosts, &args) else { return };
    const CLIENTS: usize = 60;
    for _ in 0..CLIENTS {
        Client::connect(&hosts.client, super::AT).unwrap().exchange(20_000);
    }
    let open = Client::connect(&hosts.client, super::AT).unwrap();
    let log = proxy.log(CLIENTS);
    let of = |profile: &str| log.iter().filter(|record| record["profile"] == profile).count();
    let halves = [of("linux-6"), of("linux-6+tlpr")];
    assert_eq!(halves[0] + halves[1], CLIENTS);
    assert!(halves.iter().all(|half| (12..=48).contains(half)), "{halves:?}");
    for record in &log {
        assert_eq!(record["bytes_to_client"], 20_007);
        assert!(record["responses"]["count"].as_u64() >= Some(1), "{record}");
        assert!(record["responses"]["mean_ms"].as_f64() <= record["duration_ms"].as_f64(), "{record}");
        assert!(record["tcp"]["rtt_ms"].as_f64() > Some(0.0), "{record}");
        assert!(record["tcp"]["segments"].as_u64() >= Some(14), "{record}");
    }
    let metrics = run(&hosts.server, "curl", "-s http://127.0.0.1:9465/metrics");
    let value = |name: &str| -> f64 {
        let line =
            metrics.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}: {metrics}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value("recoup_proxy_connections_open"), 1.0);
    assert_eq!(value("recoup_proxy_connections_ended_total{end=\"closed\"}"), CLIENTS as f64);
    assert_eq!(value("recoup_proxy_bytes_total{direction=\"to_client\"}"), (CLIENTS * 20_007) as f64);
    let segments =
        ["linux-6", "linux-6+tlpr"].map(|name| value(&format!("recoup_proxy_segments_total{{profile=\"{name}\"}}")));
    let logged: u64 = log.iter().map(|record| record["tcp"]["segments"].as_u64().unwrap()).sum();
    // The open one has sent its greeting.
    assert_eq!(segments[0] + segments[1], logged as f64 + 1.0);
    drop(open);
    proxy.log(CLIENTS + 1);
    proxy.signal(rustix::process::Signal::TERM);
    let (status, summary) = proxy.ended();
    assert!(status.success(), "{status}");
    assert!(summary.contains("linux-6+tlpr against linux-6, with 95 % intervals:"), "{summary}");
    assert!(summary.lines().any(|line| line.trim_start().starts_with("mean  ") && line.contains('%')), "{summary}");
}
