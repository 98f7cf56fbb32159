//! `--transparent`, by the routes that its first lines name.

use super::{Proxy, accept, try_connect};
use crate::hosts::{CLIENT, Hosts, ip, join, namespace};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

#[test]
fn a_server_elsewhere_sees_the_clients_address_and_its_answers_come_back() {
    let Some(hosts) = Hosts::new() else { return };
    let Some(elsewhere) = namespace() else { return };
    join(&hosts.server, "inner", &elsewhere, "far");
    ip(&hosts.server, "address add 10.9.0.1/24 dev inner");
    ip(&elsewhere, "address add 10.9.0.2/24 dev far");
    ip(&elsewhere, "route add default via 10.9.0.1");
    ip(&hosts.client, "route add 10.9.0.0/24 via 10.0.0.1");
    hosts.server.run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1")).unwrap().unwrap();
    let listener = elsewhere.run(|| TcpListener::bind("10.9.0.2:80")).unwrap().unwrap();
    let Some(proxy) = Proxy::with(&hosts, &["--transparent"]) else { return };
    let mut commands = 0;
    for line in proxy.said.iter().filter(|line| !line.contains("to undo")) {
        let Some((_, list)) = line.split_once(": ip ") else { continue };
        let list = list.replace("eth0", "outside").replace("eth1", "inner").replace(" (and the same with ip -6)", "");
        list.split("; ip ").for_each(|command| ip(&hosts.server, command));
        commands += list.split("; ").count();
    }
    assert_eq!(commands, 4, "{:#?}", proxy.said);
    let mut client = try_connect(&hosts, "10.9.0.2:80").unwrap();
    client.write_all(b"question").unwrap();
    let mut server = accept(&listener);
    assert_eq!(server.peer_addr().unwrap().ip().to_string(), CLIENT);
    let mut bytes = [0; 8];
    server.read_exact(&mut bytes).unwrap();
    server.write_all(&bytes).unwrap();
    client.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"question");
    drop((client, server));
    assert_eq!(proxy.log(1)[0]["at"], "10.9.0.2:80");
}
