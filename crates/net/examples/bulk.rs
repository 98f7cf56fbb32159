//! Measures the rate of one stream between a host and the kernel's TCP over a TUN device, and the host's
//! processor time, in both directions, with and without offloads.
//!
//! `cargo run --release -p recoup-net --example bulk -- [GIGABYTES] [MTU] [send|receive] [on|off]`
//!
//! The host's end generates its data in the send buffer and discards what it reads. The kernel's end
//! discards data without copying it (MSG_TRUNC), and wakes once per 256 KiB (SO_RCVLOWAT). Both share one
//! processor, so the result does not depend on the number of processors or the cost of waking one. The
//! processor time is that of the host's thread, including system calls: they contain the device's work and
//! most of the kernel's TCP processing.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use recoup_net::{Namespace, TunDevice, TunOptions, set_receive_low_water_mark};
    use recoup_stack::{
        Config, Driver,
        host::{ConnectionId, Host, Read, Secret},
    };
    use recoup_tcp::State;
    use rustix::{
        net::{RecvFlags, recv},
        thread::{CpuSet, sched_getcpu, sched_setaffinity},
        time::{ClockId, clock_gettime},
    };
    use std::{
        error::Error,
        io::Write,
        net::{Shutdown, SocketAddr, TcpListener, TcpStream},
        thread::{self, JoinHandle},
        time::{Duration, Instant},
    };

    type Failed = Box<dyn Error + Send + Sync>;

    const CHUNK: usize = 256 << 10;

    /// The processor time of the calling thread.
    fn cpu() -> Duration {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    /// Pins the calling thread and its children to one processor, if permitted.
    fn stay_on_one_processor() {
        let mut set = CpuSet::new();
        set.set(sched_getcpu());
        let _ = sched_setaffinity(None, &set);
    }

    /// The cost of one stream.
    struct Taken {
        bytes: u64,
        wall: Duration,
        host: Duration,
        kernel: Duration,
        retransmissions: u64,
    }

    pub fn main() -> Result<(), Failed> {
        let argument = |place: usize, default: f64| {
            let given = std::env::args().nth(place);
            given.and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let gigabytes = argument(1, 4.0);
        let mtu = argument(2, 1500.0) as u16;
        println!("One stream between a host and the kernel, MTU {mtu}, {gigabytes} GB");
        println!("direction  offloads  Gbit/s  host CPU-s/GB  kernel's end CPU-s/GB  retransmissions");
        let other_than = |place: usize, word: &str| {
            let given = std::env::args().nth(place);
            given.is_some_and(|given| given != word)
        };
        for (sends, offloads) in [(true, false), (true, true), (false, false), (false, true)] {
            let direction = if sends { "send" } else { "receive" };
            let on_off = if offloads { "on" } else { "off" };
            if other_than(3, direction) || other_than(4, on_off) {
                continue;
            }
            // Without offloads a stream takes about ten times as long.
            let share = if offloads { 1.0 } else { 0.2 };
            let bytes = (gigabytes * share * 1e9) as u64;
            let namespace = Namespace::new()?;
            let taken = namespace.run(move || measure(sends, offloads, mtu, bytes))??;
            let gigabytes = taken.bytes as f64 / 1e9;
            println!(
                "{:9}  {:8}  {:6.2}  {:13.3}  {:21.3}  {:15}",
                direction,
                on_off,
                8.0 * gigabytes / taken.wall.as_secs_f64(),
                taken.host.as_secs_f64() / gigabytes,
                taken.kernel.as_secs_f64() / gigabytes,
                taken.retransmissions
            );
        }
        Ok(())
    }

    fn measure(sends: bool, offloads: bool, mtu: u16, bytes: u64) -> Result<Taken, Failed> {
        stay_on_one_processor();
        let device = TunDevice::open_with(&TunOptions { mtu, address: None, offloads })?;
        let config = Config::new(device.host_addresses().iter().copied());
        let host = Host::new(config, mtu, Secret::draw()?);
        let kernel = device.kernel_addresses()[0];
        let mut driver = Driver::new(host, device);
        let listener = TcpListener::bind(SocketAddr::new(kernel, 0))?;
        let id = {
            let now = driver.now();
            driver.host.connect(now, listener.local_addr()?)?
        };
        let peer: JoinHandle<Result<Duration, Failed>> = thread::spawn(move || {
            let (stream, _) = listener.accept()?;
            if sends { discard(&stream) } else { push(stream, bytes) }
        });
        let (start, cpu_before) = (Instant::now(), cpu());
        let moved = if sends { send(&mut driver, id, bytes)? } else { receive(&mut driver, id)? };
        let (wall, host) = (start.elapsed(), cpu() - cpu_before);
        let counters = driver.host.counters(id).unwrap_or_default();
        let now = driver.now();
        driver.host.release(now, id)?;
        driver.turn(Duration::from_millis(10))?;
        let kernel = peer.join().map_err(|_| "the kernel's end failed")??;
        Ok(Taken { bytes: moved, wall, host, kernel, retransmissions: counters.retransmissions.total() })
    }

    /// Sends this many bytes, and waits until the peer has received them and closed.
    fn send(driver: &mut Driver<TunDevice>, id: ConnectionId, bytes: u64) -> Result<u64, Failed> {
        let (mut left, mut open, mut room) = (bytes, false, false);
        while driver.host.state(id) != Some(State::TimeWait) {
            let waits = left == 0 || !room;
            driver.turn(Duration::from_secs(u64::from(waits)))?;
            while let Some(event) = driver.host.next_event() {
                open |= event.opened;
                room |= event.opened || event.writable;
                if event.closed.is_some() {
                    return Err("the connection ended".into());
                }
            }
            let now = driver.now();
            while open && room && left > 0 {
                let taken = driver.host.write_with(now, id, |room| {
                    let len = room.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    room[..len].fill(7);
                    len
                })?;
                left -= taken as u64;
                room = taken > 0;
                if left == 0 {
                    driver.host.close(now, id)?;
                }
            }
        }
        Ok(bytes)
    }

    /// Reads to the end of the stream.
    fn receive(driver: &mut Driver<TunDevice>, id: ConnectionId) -> Result<u64, Failed> {
        let mut chunk = vec![0; CHUNK];
        let mut bytes = 0;
        loop {
            driver.turn(Duration::from_secs(1))?;
            while driver.host.next_event().is_some() {}
            let now = driver.now();
            if driver.host.state(id) == Some(State::SynSent) {
                continue;
            }
            loop {
                match driver.host.read(now, id, &mut chunk)? {
                    Read::Bytes(count) => bytes += count as u64,
                    Read::Nothing => break,
                    Read::End => return Ok(bytes),
                }
            }
        }
    }

    /// The kernel's end: discards the stream.
    fn discard(stream: &TcpStream) -> Result<Duration, Failed> {
        let mut chunk = vec![0_u8; CHUNK];
        set_receive_low_water_mark(stream, CHUNK as u64)?;
        while recv(stream, &mut chunk[..], RecvFlags::TRUNC)?.1 > 0 {}
        Ok(cpu())
    }

    /// The kernel's end: sends this many bytes.
    fn push(mut stream: TcpStream, bytes: u64) -> Result<Duration, Failed> {
        let chunk = vec![7; CHUNK];
        let mut left = bytes;
        while left > 0 {
            let len = left.min(CHUNK as u64) as usize;
            stream.write_all(&chunk[..len])?;
            left -= len as u64;
        }
        stream.shutdown(Shutdown::Write)?;
        Ok(cpu())
    }
}
