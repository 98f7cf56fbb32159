//! What an inlet costs, beside a stack behind a route and beside the kernel's server on the same interface.

use crate::hosts::{Client, Hosts, Server, ip, kernel_server};
use std::fs;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(1);

const ROUNDS: usize = 7;

/// Bytes per second that come back, of a stream that is echoed.
fn throughput(mut client: Client) -> f64 {
    let mut writer = client.stream.try_clone().unwrap();
    std::thread::Builder::new()
        .spawn(move || {
            let block = vec![7; 1 << 18];
            while writer.write_all(&block).is_ok() {}
        })
        .unwrap();
    let (mut block, mut bytes, began) = (vec![0; 1 << 18], 0, Instant::now());
    while began.elapsed() < TIME {
        bytes += client.stream.read(&mut block).unwrap();
    }
    let _ = client.stream.shutdown(std::net::Shutdown::Both);
    bytes as f64 / began.elapsed().as_secs_f64()
}

/// Requests per second, one at a time.
fn requests(mut client: Client) -> f64 {
    let (mut count, began) = (0, Instant::now());
    while began.elapsed() < TIME {
        client.asks().unwrap();
        count += 1;
    }
    f64::from(count) / began.elapsed().as_secs_f64()
}

#[test]
#[ignore = "a measurement"]
fn cost() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.server.run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1")).unwrap().unwrap();
    ip(&hosts.client, "route add 10.7.0.2 via 10.0.0.1");
    kernel_server(&hosts.server, "kernel", "0.0.0.0:81");
    let Some(_own) = Server::new(&hosts.server, "own", &["0.0.0.0:80"]) else { return };
    let Some(_routed) = Server::new(&hosts.server, "routed", &["10.7.0.2:80"]) else { return };
    let cases = [("own", "10.0.0.1:80"), ("routed", "10.7.0.2:80"), ("kernel", "10.0.0.1:81")];
    let mut results = [const { [const { Vec::new() }; 2] }; 3];
    for _ in 0..ROUNDS {
        for ((_, to), [bytes, count]) in cases.iter().zip(&mut results) {
            let connect = || Client::connect(&hosts.client, to).unwrap();
            bytes.push(throughput(connect()));
            count.push(requests(connect()));
        }
    }
    for ((name, _), results) in cases.iter().zip(&mut results) {
        let [bytes, requests] = results.each_mut().map(|values| {
            values.sort_by(f64::total_cmp);
            values[ROUNDS / 2]
        });
        println!("{name}: {:.2} Gbit/s each way, {requests:.0} requests/s (medians)", bytes * 8.0 / 1e9);
    }
}
