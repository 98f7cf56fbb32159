//! Malformed packets during transfers, which must not be affected.

use crate::faults::{
    PATIENCE, bytes, config,
    conversation::{Conversation, kernel_trades, serve},
    craft::Crafter,
    side::{Kind, Side, on_both_sides},
};
use recoup_net::{TunDevice, VnetHeader};
use recoup_stack::device::{Batch, Device, Properties, Wait};
use recoup_tcp::State;
use recoup_units::SplitMix;
use std::{
    collections::VecDeque,
    io,
    net::{IpAddr, SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

/// The ports of the transfers and of the noise.
const PORT: u16 = 80;
const NOISY_PORT: u16 = 81;

/// The limit of half-open connections.
const BACKLOG: usize = 64;

/// Seconds of noise for each side if RECOUP_NOISE_SECONDS is not set.
const SECONDS: u64 = 3;

fn seconds() -> Duration {
    let setting = std::env::var("RECOUP_NOISE_SECONDS").ok();
    let seconds = setting.map_or(SECONDS, |text| text.parse().expect("a number of seconds"));
    Duration::from_secs(seconds)
}

/// A device on which noise arrives between packets.
struct Noisy<'a> {
    device: &'a mut TunDevice,
    /// Genuine packets that have arrived.
    genuine: VecDeque<Vec<u8>>,
    /// The last batch ended because there was no genuine packet more.
    drained: bool,
    draws: SplitMix,
    crafter: Crafter,
    /// When the noise ends.
    until: Instant,
    /// Packets of noise before the next genuine one.
    pending: u64,
    made: u64,
}

impl Noisy<'_> {
    /// The next genuine packet.
    fn next_genuine(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.genuine.is_empty() {
            let mut arrived = Batch::new();
            self.device.receive(&mut arrived)?;
            self.genuine.extend(arrived.iter().map(|(_, packet)| packet.to_vec()));
        }
        Ok(self.genuine.pop_front())
    }
}

impl Device for Noisy<'_> {
    fn properties(&mut self) -> Properties {
        self.device.properties()
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        // Noise alone must not keep the host from waiting.
        if std::mem::take(&mut self.drained) {
            return Ok(());
        }
        while !batch.is_full() {
            if self.pending > 0 && Instant::now() < self.until {
                self.pending -= 1;
                self.made += 1;
                batch.push(VnetHeader::default(), &self.crafter.packet());
                continue;
            }
            self.pending = self.draws.below(16);
            let Some(packet) = self.next_genuine()? else {
                self.drained = true;
                break;
            };
            self.crafter.see(&packet);
            batch.push(VnetHeader::default(), &packet);
        }
        Ok(())
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        self.device.send(header, packet)
    }

    fn flush(&mut self) -> u64 {
        self.device.flush()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.device.poll_ready(context)
    }
}

impl Wait for Noisy<'_> {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.device.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.device.waker()
    }
}

/// The resident memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<usize>().unwrap() << 10
}

/// The kernel's client: sends `up` and reads `down` until it is stopped. Returns the number of rounds.
fn trades(to: SocketAddr, up: &[u8], down: &[u8], stop: &AtomicBool) -> u64 {
    let mut rounds = 0;
    while !stop.load(Ordering::Relaxed) {
        let stream = TcpStream::connect(to).unwrap();
        let received = kernel_trades(&stream, up, up.len(), Duration::ZERO);
        assert!(received == down, "round {rounds}: {} bytes", received.len());
        rounds += 1;
    }
    rounds
}

on_both_sides!(with_device_alone: malformed_packets_do_no_harm);

fn malformed_packets_do_no_harm<K: Kind>(device: &mut TunDevice) {
    let addresses = device.host_addresses().to_vec();
    for (seed, at) in addresses.iter().enumerate() {
        transfers_in_noise::<K>(device, *at, seed as u64, seconds() / addresses.len() as u32);
    }
}

fn transfers_in_noise<K: Kind>(device: &mut TunDevice, at: IpAddr, seed: u64, length: Duration) {
    let mut config = config(device);
    config.tcp.backlog = BACKLOG;
    let noisy = Noisy {
        crafter: Crafter::new(seed + 100, device.host_addresses(), NOISY_PORT),
        device,
        genuine: VecDeque::new(),
        drained: false,
        draws: SplitMix(seed),
        until: Instant::now() + length,
        pending: 0,
        made: 0,
    };
    let mut side = K::Side::open(config, noisy);
    for port in [PORT, NOISY_PORT] {
        let everywhere: IpAddr = match at {
            IpAddr::V4(_) => [0; 4].into(),
            IpAddr::V6(_) => [0; 16].into(),
        };
        side.listen(SocketAddr::new(everywhere, port));
    }
    let (up, down) = (bytes(seed, 300_000), bytes(seed + 9, 300_000));
    let stop = Arc::new(AtomicBool::new(false));
    let client = {
        let (up, down, stop) = (up.clone(), down.clone(), Arc::clone(&stop));
        thread::spawn(move || trades(SocketAddr::new(at, PORT), &up, &down, &stop))
    };
    let began = Instant::now();
    let (mut conversations, mut over, mut memory) = (Vec::new(), 0, 0);
    while !client.is_finished() {
        assert!(began.elapsed() < length + PATIENCE, "it does not end");
        stop.store(began.elapsed() >= length, Ordering::Relaxed);
        serve(&mut side, &mut conversations, &down);
        conversations.retain(|conversation: &Conversation| {
            let state = side.state(conversation.id);
            let done = matches!(state, None | Some(State::TimeWait | State::Closed(_)));
            if done {
                assert!(conversation.received == up, "at {at}: {:?}", conversation.failed);
                side.release(conversation.id);
                over += 1;
            }
            !done
        });
        // Including connections in TIME-WAIT and those that have just ended.
        let connections = side.connections();
        assert!(connections <= BACKLOG + over + 40, "{connections} connections");
        if memory == 0 && over > 0 {
            memory = resident();
        }
    }
    let (rounds, made) = (client.join().unwrap(), side.device().made);
    let (stats, grown) = (side.stats(), resident().saturating_sub(memory));
    println!("{at}: {rounds} transfers beside {made} packets, {grown} bytes more, {stats:?}");
    assert!(rounds > 0 && made > 1000);
    // All kinds of noise occurred: malformed packets, packets to closed ports, and connection attempts.
    assert!(stats.ignored > made / 10 && stats.refused > made / 100, "{stats:?}");
    assert!(stats.syns_dropped > 0, "{stats:?}");
    // A connection in TIME-WAIT keeps its state, but no stream data.
    assert!(grown < (16 << 20) + over * (16 << 10), "{grown} bytes");
}
