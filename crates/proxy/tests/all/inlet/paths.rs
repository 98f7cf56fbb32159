//! Routers, path MTU, routes.

use crate::hosts::{Client, Hosts, Server, ip, join, link, namespace, run};
use recoup_net::Namespace;
use recoup_proxy::inlet::InletOptions;
use recoup_stack::{Config, TcpOptions};
use recoup_tcp::MtuProbing;
use std::fs;
use std::net::{SocketAddrV6, TcpStream};

const PLACES: [&str; 2] = ["0.0.0.0:80", "[::]:80"];

/// Sets a sysctl of a host.
fn set(host: &Namespace, name: &str, value: &'static str) {
    let path = format!("/proc/sys/net/{name}");
    host.run(move || fs::write(path, value)).unwrap().unwrap();
}

/// Hosts with two routers between them, joined by a link that takes less than theirs.
struct Narrow {
    server: Namespace,
    /// The client's router.
    far: Namespace,
    client: Namespace,
    _near: Namespace,
}

impl Narrow {
    fn new() -> Option<Self> {
        let [server, near, far, client] = [namespace()?, namespace()?, namespace()?, namespace()?];
        // The hosts do not see that the link in the middle is a narrow one.
        for (one, name, other, other_name, mtu) in [
            (&server, "outside", &near, "left", 1500),
            (&near, "right", &far, "left", 1300),
            (&far, "right", &client, "far", 1500),
        ] {
            join(one, name, other, other_name);
            for (host, name) in [(one, name), (other, other_name)] {
                ip(host, &format!("link set {name} mtu {mtu}"));
            }
        }
        for (host, name, network, number) in [
            (&server, "outside", 1, 1),
            (&near, "left", 1, 2),
            (&near, "right", 2, 1),
            (&far, "left", 2, 2),
            (&far, "right", 3, 1),
            (&client, "far", 3, 2),
        ] {
            ip(host, &format!("address add 10.{network}.0.{number}/24 dev {name}"));
            ip(host, &format!("address add fd0{network}::{number}/64 dev {name} nodad"));
        }
        for (host, v4, v6) in [
            (&server, "10.1.0.2", "fd01::2"),
            (&near, "10.2.0.2", "fd02::2"),
            (&far, "10.2.0.1", "fd02::1"),
            (&client, "10.3.0.1", "fd03::1"),
        ] {
            ip(host, &format!("route add default via {v4}"));
            ip(host, &format!("-6 route add default via {v6}"));
        }
        for router in [&near, &far] {
            set(router, "ipv4/ip_forward", "1");
            set(router, "ipv6/conf/all/forwarding", "1");
        }
        Some(Self { server, far, client, _near: near })
    }
}

/// Without a search for the path MTU, large segments pass only once the router's ICMP error has come.
#[test]
fn path_mtu_discovery_works() {
    let Some(Narrow { server, client, .. }) = &Narrow::new() else { return };
    let mut tcp = TcpOptions::default();
    tcp.endpoint.mtu_probing = MtuProbing::Off;
    let options = InletOptions { config: Config { tcp, ..Config::new([]) }, ..InletOptions::default() };
    let Some(_server) = Server::with(server, "stack", &PLACES, options) else { return };
    for to in ["10.1.0.1:80", "[fd01::1]:80"] {
        Client::connect(client, to).unwrap().exchange(1 << 20);
    }
    // The kernel of the server has not heard of it.
    assert!(!run(server, "ip", "route get 10.3.0.2").contains("1300"));
}

/// A client that permits it has its segments cut by its router.
#[test]
fn fragments_come_to_the_stack() {
    let Some(Narrow { server, far, client, .. }) = &Narrow::new() else { return };
    set(client, "ipv4/ip_no_pmtu_disc", "1");
    let Some(_server) = Server::new(server, "stack", &PLACES) else { return };
    Client::connect(client, "10.1.0.1:80").unwrap().exchange(1 << 20);
    let counts = far.run(|| fs::read_to_string("/proc/thread-self/net/snmp")).unwrap().unwrap();
    let lines: Vec<&str> = counts.lines().filter(|line| line.starts_with("Ip:")).collect();
    let place = lines[0].split(' ').position(|word| word == "FragCreates").unwrap();
    let created: u64 = lines[1].split(' ').nth(place).unwrap().parse().unwrap();
    assert!(created > 1000, "{created}");
}

/// A host with two ways out: clients come by one, and its routes point to the other.
#[test]
fn answers_leave_by_the_routes_or_where_the_client_came_from() {
    let Some(hosts) = Hosts::new() else { return };
    join(&hosts.server, "second", &hosts.client, "near");
    ip(&hosts.server, "address add 10.3.0.1/24 dev second");
    ip(&hosts.client, "address add 10.3.0.2/24 dev near");
    // Addresses of the client's that both ways reach; strict filters would drop what does not come where answers leave.
    ip(&hosts.client, "address add 192.0.2.7/32 dev lo");
    ip(&hosts.server, "route add 192.0.2.7 via 10.3.0.2");
    for name in ["all", "outside", "second"] {
        set(&hosts.server, &format!("ipv4/conf/{name}/rp_filter"), "1");
    }
    // Requests for the server's hardware address are no exception.
    set(&hosts.client, "ipv4/conf/all/arp_announce", "2");
    let Some(server) = Server::new(&hosts.server, "stack", &["10.0.0.1:80"]) else { return };
    let connect = || {
        let to = std::net::SocketAddr::from(([10, 0, 0, 1], 80));
        let socket = hosts.client.run(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let stream = runtime.block_on(async {
                let socket = tokio::net::TcpSocket::new_v4()?;
                socket.bind("192.0.2.7:0".parse().unwrap())?;
                tokio::time::timeout(crate::hosts::PATIENCE, socket.connect(to)).await?
            });
            let stream = stream.and_then(tokio::net::TcpStream::into_std)?;
            stream.set_nonblocking(false)?;
            std::io::Result::Ok(stream)
        });
        Client::greeted(socket.unwrap().unwrap()).unwrap()
    };
    let sent = |name| link(&hosts.server, name)["stats64"]["tx"]["bytes"].as_u64().unwrap();
    let [first, second] = ["outside", "second"].map(sent);
    connect().exchange(1 << 20);
    assert!(sent("second") > second + (1 << 20) && sent("outside") < first + 10_000);
    // Where /proc/sys cannot be written, the device does not forward.
    let device = server.inlet(|inlet| inlet.device().to_owned());
    set(&hosts.server, &format!("ipv4/conf/{device}/forwarding"), "0");
    let [first, second] = ["outside", "second"].map(sent);
    connect().exchange(1 << 20);
    assert!(sent("outside") > first + (1 << 20) && sent("second") < second + 10_000);
    set(&hosts.server, &format!("ipv4/conf/{device}/forwarding"), "1");
    // No route at all.
    let mut client = connect();
    ip(&hosts.server, "route replace unreachable 192.0.2.7/32");
    client.stream.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    assert!(client.asks().is_err());
    assert!(server.inlet(|inlet| inlet.counts().unwrap()).without_route > 0);
}

#[test]
fn link_local_addresses_are_served() {
    let Some(hosts) = Hosts::new() else { return };
    // They are usable once nobody else has them.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let address = run(&hosts.server, "ip", "-6 -br address show dev outside scope link");
    let address = address.split_whitespace().find_map(|word| word.strip_suffix("/64")).unwrap().parse().unwrap();
    let Some(_server) = Server::new(&hosts.server, "stack", &["[::]:80"]) else { return };
    let scope = link(&hosts.client, "far")["ifindex"].as_u64().unwrap() as u32;
    let connect = move || TcpStream::connect(SocketAddrV6::new(address, 80, 0, scope));
    let client = Client::greeted(hosts.client.run(connect).unwrap().unwrap()).unwrap();
    assert_eq!(client.server, "stack");
    client.exchange(1 << 20);
}
