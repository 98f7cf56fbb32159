//! Inlets without a port of the host.

use crate::hosts::{Client, Hosts, Server, ip};
use recoup_net::Namespace;
use recoup_proxy::inlet::{Inlet, InletOptions};
use std::fs;
use std::process::Command;

fn forward(host: &Namespace) {
    host.run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1")).unwrap().unwrap();
}

#[test]
fn an_address_that_is_not_the_hosts_is_routed_to_the_stack() {
    let Some(hosts) = Hosts::new() else { return };
    forward(&hosts.server);
    ip(&hosts.client, "route add 10.7.0.2 via 10.0.0.1");
    let Some(server) = Server::new(&hosts.server, "routed", &["10.7.0.2:80"]) else { return };
    for host in [&hosts.client, &hosts.server] {
        let client = Client::connect(host, "10.7.0.2:80").unwrap();
        assert_eq!(client.server, "routed");
        client.exchange(1 << 20);
    }
    let changes = server.inlet(|inlet| (inlet.changes().join("\n"), inlet.counts()));
    assert!(changes.0.contains("routes 10.7.0.2 to recoup") && changes.1.is_none(), "{changes:?}");
}

#[test]
fn a_stack_with_free_addresses_is_reached_from_its_host() {
    let Some(hosts) = Hosts::new() else { return };
    let Some(server) = Server::new(&hosts.server, "free", &[]) else { return };
    for address in server.inlet(|inlet| inlet.addresses().to_vec()) {
        let client = Client::connect(&hosts.server, &std::net::SocketAddr::new(address, 80).to_string()).unwrap();
        assert_eq!(client.server, "free");
        client.exchange(1 << 20);
    }
}

/// The commands are those that the inlet prints.
#[test]
fn a_transparent_inlet_takes_what_the_policy_routes_send() {
    let Some(hosts) = Hosts::new() else { return };
    ip(&hosts.client, "route add 203.0.113.0/24 via 10.0.0.1");
    // As many distributions have it.
    hosts.server.run(|| fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "1")).unwrap().unwrap();
    let open = || Inlet::open_transparent(Some("proxy0"), &InletOptions::default());
    let Some(server) = Server::over(&hosts.server, "any", open) else { return };
    let changes = server.inlet(|inlet| inlet.changes().to_vec());
    for line in &changes {
        for command in line.split("; ") {
            let command = command.split(" (").next().unwrap();
            let Some(at) = ["ip route", "ip rule add", "sysctl"].iter().find_map(|name| command.find(name)) else {
                continue;
            };
            let words: Vec<String> = command[at..].replace("eth0", "outside").split(' ').map(str::to_owned).collect();
            let run = move || Command::new(&words[0]).args(&words[1..]).status();
            assert!(hosts.server.run(run).unwrap().unwrap().success(), "{command}");
        }
    }
    for to in ["203.0.113.9:80", "203.0.113.10:80"] {
        let client = Client::connect(&hosts.client, to).unwrap();
        assert_eq!(client.server, "any");
        client.exchange(1 << 20);
    }
}
