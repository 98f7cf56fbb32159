//! Measures the emulator's delivery error under load. Small UDP packets cross a path of pure delay at a
//! steady rate. Sender and receiver run on the same machine, in namespaces.
//!
//! `cargo run --release -p recoup-net --example punctuality -- [PACKETS_PER_SECOND] [SECONDS] [ordinary]`
//!
//! Prints the sender's lateness, the emulator's own delivery error, and the packets' extra delay from the
//! sender's system call to the receiver's. The extra delay comes from timestamps in the packets, and
//! includes the kernel's work on both sides and the receiver's wait for a processor.
//!
//! The sender has real-time priority, so its rate is steady. An `ordinary` sender loses the processor for
//! milliseconds, and then sends hundreds of packets at once, faster than the relay can forward them one
//! by one.

#[cfg(target_os = "linux")]
fn main() -> Result<(), recoup_net::NetError> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use hdrhistogram::Histogram;
    use recoup_net::{Clock, Namespace, NetError, Relay, Wire, be_punctual};
    use recoup_path::HopSpec;
    use std::{
        net::{Ipv4Addr, SocketAddr, UdpSocket},
        process::Command,
        thread,
        time::Duration,
    };

    /// The one-way delay of the path.
    const DELAY: Duration = Duration::from_millis(20);
    /// The size of the datagrams.
    const PAYLOAD: usize = 64;

    fn system(source: std::io::Error) -> NetError {
        NetError::System { what: "use sockets".into(), source }
    }

    fn argument(place: usize, default: u64) -> u64 {
        let given = std::env::args().nth(place);
        given.and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    pub fn main() -> Result<(), NetError> {
        let (rate, seconds) = (argument(1, 50_000).max(1), argument(2, 10));
        let outside = Namespace::new()?;
        outside.run(move || measure(rate, seconds))?
    }

    /// Runs in a namespace that stands for the network outside.
    fn measure(rate: u64, seconds: u64) -> Result<(), NetError> {
        let clock = Clock::start();
        let wire = Wire::open(1500)?;
        let receiver = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(system)?;
        let port = receiver.local_addr().map_err(system)?.port();
        let to = SocketAddr::from((wire.block().ends_v4().outside, port));
        let received = thread::spawn(move || receive(&receiver, clock));
        let sent = wire.inside(move || thread::spawn(move || send(to, rate, seconds, clock)))?;
        let print = |what: &str, late: &Histogram<u64>| {
            let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(|q| late.value_at_quantile(q) as f64 / 1e6);
            println!("{what}: p50 {p50:.3} ms, p99 {p99:.3} ms, p99.9 {p999:.3} ms, max {max:.3} ms");
        };
        let hops = [HopSpec::Delay(DELAY)];
        let relay = Relay::new(&hops, &hops, 1, 1500)?;
        // The relay runs until this command ends, so the command sleeps.
        let mut command = Command::new("sleep");
        command.arg((seconds + 1).to_string());
        let mut running = wire.run(command)?;
        let report = {
            use std::os::fd::AsFd;
            relay.run(wire.ends(), running.as_fd())?
        };
        running.wait()?;
        let [_, missed] = wire.queue_drops()?;
        let late = sent.join().unwrap_or_else(|_| Ok(lateness()))?;
        println!("up: {}, missed {missed}", report.up);
        print(&format!("sender behind its rate, {} sent", late.len()), &late);
        println!("delivery error: {}", report.error);
        if let Ok(late) = received.join() {
            print(&format!("end to end over the delay, {} received", late.len()), &late);
        }
        Ok(())
    }

    fn lateness() -> Histogram<u64> {
        let mut late = Histogram::new(3).unwrap_or_else(|_| unreachable!("three digits"));
        late.auto(true);
        late
    }

    /// Sends each packet at its time, or several at once when late. Returns the lateness.
    fn send(to: SocketAddr, rate: u64, seconds: u64, clock: Clock) -> Result<Histogram<u64>, NetError> {
        if std::env::args().all(|argument| argument != "ordinary") {
            be_punctual();
        }
        let mut late = lateness();
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(system)?;
        socket.connect(to).map_err(system)?;
        let start = clock.now();
        let mut payload = [0; PAYLOAD];
        for n in 0..rate * seconds {
            let due = start + Duration::from_nanos(n * 1_000_000_000 / rate);
            let early = due.since(clock.now());
            if early > Duration::ZERO {
                thread::sleep(early);
            }
            let now = clock.now();
            late.record(now.since(due).as_nanos() as u64).unwrap_or_default();
            payload[..8].copy_from_slice(&now.as_nanos().to_le_bytes());
            socket.send(&payload).map_err(system)?;
        }
        Ok(late)
    }

    /// Each packet's delay beyond that of the path, until none arrives for a second.
    fn receive(socket: &UdpSocket, clock: Clock) -> Histogram<u64> {
        let mut late = lateness();
        let mut buffer = [0; PAYLOAD];
        let mut timeout = Duration::from_secs(3);
        while socket.set_read_timeout(Some(timeout)).is_ok() && socket.recv(&mut buffer).is_ok() {
            timeout = Duration::from_secs(1);
            let sent = buffer.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
            let took = clock.now().as_nanos() - sent;
            let over = took.saturating_sub(DELAY.as_nanos() as u64);
            late.record(over).unwrap_or_default();
        }
        late
    }
}
