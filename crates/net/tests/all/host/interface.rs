//! A stack on an ordinary interface: a veth device, whose other end is the kernel's in another namespace.

use crate::{
    beside_others,
    host::peers::{MTU, bytes, kernel_trades, trade},
};
use recoup_net::{Namespace, PacketDevice, PacketOptions};
use recoup_stack::{
    Config, Driver,
    device::{Batch, Device as _, Wait as _},
    host::{Host, Secret},
};
use recoup_tcp::{Closed, Unreachable};
use recoup_testing::skip;
use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// The stack's addresses.
const OWN: [&str; 2] = ["192.0.2.7", "2001:db8:1::7"];

/// Runs `ip` with these words in the calling thread's namespace.
fn ip(words: &str) {
    let done = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {words}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Runs `ip` several times in a namespace.
pub fn ip_in(namespace: &Namespace, lines: &'static [&'static str]) {
    namespace.run(move || lines.iter().for_each(|line| ip(line))).unwrap();
}

/// Joins two namespaces by a pair of devices that are up.
pub fn join(near: &Namespace, name: &'static str, far: &Namespace, far_name: &'static str) {
    let thread = far.run(|| rustix::thread::gettid().as_raw_nonzero().to_string()).unwrap();
    let add = move || {
        ip(&format!("link add {name} type veth peer name {far_name} netns {thread}"));
        ip(&format!("link set {name} up"));
    };
    near.run(add).unwrap();
    far.run(move || ip(&format!("link set {far_name} up"))).unwrap();
}

/// Runs `test` in a namespace with the device `stack0`, whose other end `peer0` is in the given one, if the system
/// permits it.
pub fn with_ends(test: impl FnOnce(Namespace) + Send + 'static) {
    let _beside = beside_others();
    let (Ok(stack), Ok(peer)) = (Namespace::new(), Namespace::new()) else {
        return skip("no network namespaces");
    };
    join(&stack, "stack0", &peer, "peer0");
    stack.run(move || test(peer)).unwrap();
}

/// Those of a stack on `stack0`.
pub fn options() -> PacketOptions {
    let [v4, v6] = OWN.map(|own| own.parse().unwrap());
    PacketOptions { interface: "stack0".into(), addresses: vec![(v4, 24), (v6, 64)], ..PacketOptions::default() }
}

/// A stack on `stack0` that listens at port 80.
fn open(change: impl FnOnce(&mut PacketOptions)) -> Driver<PacketDevice> {
    let mut options = options();
    change(&mut options);
    let device = PacketDevice::open(&options).unwrap();
    let mut host = Host::new(Config::new(device.addresses().iter().copied()), MTU, Secret::from_key([1; 16]));
    for address in device.addresses() {
        host.listen(SocketAddr::new(*address, 80)).unwrap();
    }
    Driver::new(host, device)
}

/// The kernel in `peer` and the stack send each other streams at the same time. First the kernel connects, then the
/// stack, to these addresses of the kernel.
fn trade_both_ways(driver: &mut Driver<PacketDevice>, peer: &Namespace, kernel: [&str; 2]) {
    for (own, kernel) in OWN.into_iter().zip(kernel) {
        let [own, kernel]: [IpAddr; 2] = [own, kernel].map(|ip| ip.parse().unwrap());
        let (up, down) = (bytes(1, 2_000_000), bytes(2, 2_000_000));
        let sent = up.clone();
        let client = move || kernel_trades(TcpStream::connect((own, 80)).unwrap(), &sent);
        let client = peer.run(|| thread::spawn(client)).unwrap();
        assert!(trade(driver, None, &down) == up, "from {kernel}");
        assert!(client.join().unwrap() == down, "to {kernel}");

        let listener = peer.run(move || TcpListener::bind((kernel, 0)).unwrap()).unwrap();
        let remote = listener.local_addr().unwrap();
        let sent = up.clone();
        let server = thread::spawn(move || kernel_trades(listener.accept().unwrap().0, &sent));
        assert!(trade(driver, Some(remote), &down) == up, "from the server {kernel}");
        assert!(server.join().unwrap() == down, "to the server {kernel}");
    }
    assert_eq!(driver.lost(), 0);
}

pub const PEER: &[&str] = &["address add 192.0.2.1/24 dev peer0", "address add 2001:db8:1::1/64 dev peer0 nodad"];

#[test]
fn streams_to_a_neighbour() {
    with_ends(|peer| {
        ip_in(&peer, PEER);
        // With the link address of the interface, and with one of its own.
        for mac in [None, Some([2, 0, 0, 0x12, 0x34, 0x56])] {
            let mut driver = open(|options| options.mac = mac);
            trade_both_ways(&mut driver, &peer, ["192.0.2.1", "2001:db8:1::1"]);
            // The kernel learned the stack's link address.
            let [a, b, c, d, e, f] = driver.device().mac();
            let mac = format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}");
            let shown = peer.run(|| Command::new("ip").arg("neighbour").output().unwrap()).unwrap();
            let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
            for own in OWN {
                let entry = shown.lines().find(|line| line.starts_with(&format!("{own} ")));
                assert!(entry.is_some_and(|entry| entry.contains(&mac)), "{own} at {mac}: {shown}");
            }
            // The next one has another link address.
            ip_in(&peer, &["neighbour flush dev peer0"]);
        }
    });
}

#[test]
fn streams_through_a_gateway() {
    with_ends(|router| {
        let Ok(far) = Namespace::new() else {
            return skip("no network namespaces");
        };
        join(&router, "far1", &far, "far0");
        ip_in(&router, PEER);
        ip_in(
            &router,
            &[
                "address add fe80::1/64 dev peer0 nodad",
                "address add 198.51.100.1/24 dev far1",
                "address add 2001:db8:2::1/64 dev far1 nodad",
            ],
        );
        let forward = |file: &str| std::fs::write(format!("/proc/sys/net/{file}"), "1");
        let forwards =
            router.run(move || forward("ipv4/ip_forward").and_then(|()| forward("ipv6/conf/all/forwarding")));
        if let Err(why) = forwards.unwrap() {
            return skip(why);
        }
        ip_in(
            &far,
            &[
                "address add 198.51.100.2/24 dev far0",
                "address add 2001:db8:2::2/64 dev far0 nodad",
                "route add default via 198.51.100.1",
                "route add default via 2001:db8:2::1",
            ],
        );
        let gateways = ["192.0.2.1", "fe80::1"].map(|ip| ip.parse().unwrap());
        let mut driver = open(|options| options.gateways = gateways.to_vec());
        trade_both_ways(&mut driver, &far, ["198.51.100.2", "2001:db8:2::2"]);
    });
}

#[test]
fn connections_to_silent_neighbours_and_nowhere_fail() {
    with_ends(|_peer| {
        let mut driver = open(|_| ());
        for (remote, why) in [
            ("203.0.113.1:80", Unreachable::Net),
            ("[2001:db8:3::1]:80", Unreachable::Net),
            ("192.0.2.99:80", Unreachable::Host),
            ("[2001:db8:1::99]:80", Unreachable::Host),
        ] {
            let begun = Instant::now();
            let now = driver.now();
            let id = driver.host.connect(now, remote.parse().unwrap()).unwrap();
            // A packet to nowhere is refused at once, another when nobody has answered for three seconds.
            let closed = loop {
                assert!(begun.elapsed() < Duration::from_secs(20), "{remote}: {:?}", driver.host.state(id));
                driver.turn(Duration::from_millis(100)).unwrap();
                if let Some(closed) = driver.host.next_event().and_then(|event| event.closed) {
                    break closed;
                }
            };
            assert_eq!(closed, Closed::Unreachable(why), "{remote}");
            assert_eq!(begun.elapsed() >= Duration::from_secs(3), why == Unreachable::Host);
        }
    });
}

#[test]
fn an_interface_that_is_down_loses_packets_and_one_that_was_removed_is_gone() {
    with_ends(|peer| {
        ip_in(&peer, PEER);
        let mut driver = open(|_| ());
        ip("link set stack0 down");
        for _ in 0..2 {
            let down = driver.turn(Duration::from_millis(200)).unwrap_err();
            assert_eq!(
                (down.kind(), down.to_string().as_str()),
                (io::ErrorKind::NetworkDown, "the interface stack0 is down")
            );
        }
        ip("link set stack0 up");
        trade_both_ways(&mut driver, &peer, ["192.0.2.1", "2001:db8:1::1"]);
        drop(driver);

        let mut device = PacketDevice::open(&options()).unwrap();
        ip("link delete stack0");
        let begun = Instant::now();
        let gone = loop {
            let mut batch = Batch::new();
            if let Err(error) = device.receive(&mut batch) {
                break error;
            }
            assert!(begun.elapsed() < Duration::from_secs(20));
            device.wait(Some(Duration::from_secs(20))).unwrap();
        };
        assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(gone.to_string(), "the interface stack0 was removed");
    });
}

#[test]
fn options_that_do_not_fit_are_refused_in_one_line() {
    with_ends(|_peer| {
        ip("address add 192.0.2.3/24 dev stack0");
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let good = PacketOptions {
            interface: "stack0".into(),
            addresses: vec![(address("192.0.2.7"), 24)],
            gateways: vec![address("192.0.2.1")],
            mac: None,
        };
        assert!(PacketDevice::open(&good).is_ok());
        let with = |addresses: &[(&str, u8)], gateways: &[&str]| PacketOptions {
            addresses: addresses.iter().map(|(ip, len)| (address(ip), *len)).collect(),
            gateways: gateways.iter().map(|ip| address(ip)).collect(),
            ..good.clone()
        };
        for (options, part) in [
            (with(&[], &[]), "expected an address"),
            (with(&[("192.0.2.3", 24)], &[]), "192.0.2.3: the kernel has it"),
            (with(&[("192.0.2.7", 33)], &[]), "192.0.2.7/33: expected a prefix of at most 32 bits"),
            (with(&[("224.0.0.1", 24)], &[]), "expected one of a host"),
            (with(&[("192.0.2.7", 24)], &["192.0.3.1"]), "gateway 192.0.3.1: expected one in a network"),
            (with(&[("192.0.2.7", 24)], &["192.0.2.1", "192.0.2.2"]), "gateway 192.0.2.2: another one"),
            (PacketOptions { mac: Some([1; 6]), ..good.clone() }, "whose first byte is even"),
            (PacketOptions { interface: "lo".into(), ..good.clone() }, "expected one with Ethernet headers"),
            (PacketOptions { interface: "stack1".into(), ..good.clone() }, "no interface stack1"),
        ] {
            let error = PacketDevice::open(&options).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        }
    });
}
