//! Measures the relay's throughput: one TCP connection of the kernel over an empty path at MTU 1500, in
//! namespaces. A loop that only reads from one device and writes to the other serves as comparison.
//!
//! `cargo run --release -p recoup-net --example throughput -- [SECONDS] [ROUNDS]`
//!
//! Needs root. Prints the best and the median round of both, without offloads and with super-packets of up
//! to 64 KiB. A round lasts SECONDS.

#[cfg(target_os = "linux")]
fn main() -> Result<(), recoup_net::NetError> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod linux {
    use recoup_net::{Ends, Namespace, NetError, Relay, Tun, Wire};
    use rustix::event::{PollFd, PollFlags, poll};
    use std::{
        io::{Error, Read, Write},
        net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
        os::{
            fd::{AsFd, BorrowedFd},
            unix::net::UnixStream,
        },
        thread::{self, JoinHandle},
        time::{Duration, Instant},
    };

    const MTU: u32 = 1500;

    /// The program that forwards the packets.
    #[derive(Clone, Copy)]
    enum Carrier {
        Relay,
        Loop,
    }

    fn system(source: Error) -> NetError {
        NetError::System { what: "use sockets".into(), source }
    }

    fn argument(place: usize, default: u64) -> u64 {
        let given = std::env::args().nth(place);
        given.and_then(|text| text.parse().ok()).unwrap_or(default).max(1)
    }

    pub fn main() -> Result<(), NetError> {
        let time = Duration::from_secs(argument(1, 2));
        let rounds = argument(2, 5);
        for (offloads, frames) in [(false, "MTU 1500"), (true, "offloads")] {
            let carriers = [(Carrier::Loop, "loop"), (Carrier::Relay, "relay")];
            let mut rates = carriers.map(|_| Vec::new());
            // Alternates, so that both meet the same load.
            for _ in 0..rounds {
                for ((carrier, _), rates) in carriers.iter().zip(&mut rates) {
                    rates.push(round(*carrier, offloads, time)?);
                }
            }
            for ((_, name), rates) in carriers.iter().zip(&mut rates) {
                rates.sort_by(f64::total_cmp);
                let (best, median) = (rates[rates.len() - 1], rates[rates.len() / 2]);
                println!("{frames}, {name}: best {best:.2} Gbit/s, median {median:.2} Gbit/s");
            }
        }
        Ok(())
    }

    /// Transfers data for some time. Returns the payload rate in Gbit/s.
    fn round(carrier: Carrier, offloads: bool, time: Duration) -> Result<f64, NetError> {
        let outside = Namespace::new()?;
        outside.run(move || {
            let wire = if offloads { Wire::open_with_offloads(MTU)? } else { Wire::open(MTU)? };
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(system)?;
            let port = listener.local_addr().map_err(system)?.port();
            let to = SocketAddr::from((wire.block().ends_v4().outside, port));
            // Readable once the other end is gone, with the last of its clones.
            let (running, stop) = UnixStream::pair().map_err(system)?;
            let sender = wire.inside(move || thread::spawn(move || send(to, time)))?;
            let receiver = thread::spawn(move || {
                let rate = receive(&listener);
                drop(running);
                rate
            });
            match carrier {
                Carrier::Relay => {
                    Relay::new(&[], &[], 1, MTU)?.run(wire.ends(), stop.as_fd())?;
                }
                Carrier::Loop => carry(wire.ends(), stop.as_fd()).map_err(system)?,
            }
            join(sender)?;
            let (bytes, took) = join(receiver)?;
            Ok(bytes as f64 * 8.0 / took.as_secs_f64() / 1e9)
        })?
    }

    fn join<T>(thread: JoinHandle<Result<T, Error>>) -> Result<T, NetError> {
        let panicked = |_| Err(Error::other("a thread panicked"));
        thread.join().unwrap_or_else(panicked).map_err(system)
    }

    fn send(to: SocketAddr, time: Duration) -> Result<(), Error> {
        let mut stream = TcpStream::connect(to)?;
        let data = vec![0; 1 << 20];
        let began = Instant::now();
        while began.elapsed() < time {
            stream.write_all(&data)?;
        }
        Ok(())
    }

    /// The bytes received, and the time from the first to the last.
    fn receive(listener: &TcpListener) -> Result<(u64, Duration), Error> {
        let (mut stream, _) = listener.accept()?;
        let mut buffer = vec![0; 1 << 20];
        let began = Instant::now();
        let mut bytes = 0;
        loop {
            match stream.read(&mut buffer)? {
                0 => return Ok((bytes, began.elapsed())),
                len => bytes += len as u64,
            }
        }
    }

    /// The minimal relay: reads and writes only.
    fn carry(ends: Ends<'_>, stop: BorrowedFd<'_>) -> Result<(), Error> {
        let mut buffer = vec![0; ends.inside.longest(MTU)];
        let mut pass = |from: &Tun, to: &Tun| -> Result<(), Error> {
            for _ in 0..32 {
                let Some((header, len)) = from.read_frame(&mut buffer)? else {
                    break;
                };
                // A packet that the device refuses is lost.
                let _ = to.write_frame(&header, [&buffer[..len], &[], &[]]);
            }
            Ok(())
        };
        loop {
            let fds = [ends.inside.as_fd(), ends.outside.as_fd(), stop];
            let mut watched = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            poll(&mut watched, None)?;
            let ready = watched.map(|fd| !fd.revents().is_empty());
            if ready[2] {
                return Ok(());
            }
            if ready[0] {
                pass(ends.inside, ends.outside)?;
            }
            if ready[1] {
                pass(ends.outside, ends.inside)?;
            }
        }
    }
}
