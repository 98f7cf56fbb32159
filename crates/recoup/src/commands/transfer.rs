//! The parts that `recoup send` and `recoup receive` share: a stack on a TUN device, and the report of a
//! stream.

use crate::output::create_file;
use crate::{Failure, console};
use crc32fast::Hasher;
use indicatif::ProgressBar;
use recoup_net::{Clock, Forwarding, NetError, TunDevice, TunOptions};
use recoup_recovery::{Counters, Trigger};
use recoup_stack::blocking::Stack;
use recoup_stack::device::Tapped;
use recoup_stack::host::HostError;
use recoup_stack::{Config, TcpOptions};
use recoup_support::output_file::{Files, OutputFile};
use recoup_support::profile::parse_profile;
use recoup_tcp::Closed;
use recoup_wire::pcap;
use std::io::{self, BufWriter, ErrorKind};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The arguments that describe the stack.
#[derive(clap::Args)]
pub struct HostArgs {
    /// Address of this end; the kernel's end of the device differs from it in the last bit [default: a
    /// free address of 100.64.0.0/10, and an IPv6 address]
    #[arg(long, value_name = "ADDR")]
    pub address: Option<IpAddr>,
    /// Loss recovery of this end: BASE or BASE+MECHANISM+… (see `recoup profiles`)
    #[arg(long, value_name = "NAME", default_value = "linux-6")]
    profile: String,
    /// Longest packet in bytes, IP header included
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1280..))]
    mtu: u16,
    /// Turn off segmentation and checksum offloads on the device [default: super-packets of up to
    /// 64 KiB cross the device, as between a host and its network card]
    #[arg(long)]
    no_offload: bool,
    /// Write every packet, or super-packet without --no-offload, to this capture file
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
}

/// The writer, until it is taken out.
type Capture = Arc<Mutex<Option<io::Result<pcap::Writer<BufWriter<OutputFile>>>>>>;

/// A running stack, and the capture of its packets.
pub struct Transfer {
    pub stack: Stack,
    /// The addresses of the stack.
    pub addresses: Vec<IpAddr>,
    /// What was set on this machine, so that other hosts of Recoup's on it are reached.
    pub forwarding: Forwarding,
    capture: Option<(Capture, PathBuf)>,
}

impl HostArgs {
    /// Creates the device and the stack. `files` are the command's other files.
    pub fn open(&self, files: &mut Files) -> Result<Transfer, Failure> {
        let profile =
            parse_profile(&self.profile).map_err(|e| Failure::Wrong(format!("--profile {}: {e}", self.profile)))?;
        let capture = self.pcap.as_deref().map(|path| begin_capture(files, path)).transpose()?;
        let options = TunOptions { mtu: self.mtu, address: self.address, offloads: !self.no_offload };
        let device = TunDevice::open_with(&options).map_err(not_root)?;
        let addresses = device.host_addresses().to_vec();
        let forwarding = device.forward();
        let tcp = TcpOptions::new(*profile.mechanisms());
        let config = Config { tcp, ..Config::new(addresses.iter().copied()) };
        let stack = match &capture {
            Some((capture, _)) => {
                let (capture, clock) = (Arc::clone(capture), Clock::start());
                Stack::new(Tapped::new(device, move |packet: &[u8]| record(&capture, clock, packet)), config)?
            }
            None => Stack::new(device, config)?,
        };
        stack.on_notice(|notice| console::note(notice));
        Ok(Transfer { stack, addresses, forwarding, capture })
    }
}

/// Adds to a permission error that root is needed, which the system's error does not say.
fn not_root(e: NetError) -> Failure {
    match &e {
        NetError::System { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            Failure::Wrong(format!("{e}: expected to be root (CAP_NET_ADMIN)"))
        }
        _ => e.into(),
    }
}

fn begin_capture(files: &mut Files, path: &Path) -> Result<(Capture, PathBuf), Failure> {
    let file = BufWriter::new(create_file(files, "--pcap", path)?);
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let writer = pcap::Writer::new(file, epoch.unwrap_or_default());
    Ok((Arc::new(Mutex::new(Some(writer))), path.into()))
}

/// What a mutex protects. A panic elsewhere leaves it whole.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the first error, which ends the capture.
fn record(capture: &Capture, clock: Clock, packet: &[u8]) {
    let mut writer = lock(capture);
    if let Some(Ok(to)) = writer.as_mut()
        && let Err(e) = to.write(clock.now(), packet)
    {
        *writer = Some(Err(e));
    }
}

/// How the connection of a socket ended, if that is the error of the socket.
pub fn end_of(error: &io::Error) -> Option<Closed> {
    match error.get_ref()?.downcast_ref()? {
        HostError::Ended(how) => Some(*how),
        _ => None,
    }
}

impl Transfer {
    /// Prints in a first line what the program does, and what the user has to set where it cannot reach other hosts of
    /// Recoup's on this machine; and in a second line what it set.
    pub fn begin(&self, does: &str) {
        let Forwarding { made, lacking } = &self.forwarding;
        let lacking = match lacking.is_empty() {
            true => String::new(),
            false => format!(
                " (to reach other Recoup endpoints of this machine, which does not forward: sysctl -w {})",
                lacking.join(" ")
            ),
        };
        console::status(format_args!("{does}{lacking}"));
        if !made.is_empty() {
            console::status(format_args!(
                "set until the end, for other Recoup endpoints of this machine: {}",
                made.join(" ")
            ));
        }
    }

    /// Gives the capture its name.
    pub fn finish(self) -> Result<(), Failure> {
        let lost = self.stack.stats().device_lost;
        if lost > 0 {
            console::note(format_args!("the device did not take {lost} packets"));
        }
        let Some((capture, path)) = self.capture else {
            return Ok(());
        };
        let failed = |e: io::Error| Failure::Wrong(format!("cannot write `{}`: {e}", path.display()));
        // Later packets are not captured.
        let writer = lock(&capture).take();
        if let Some(writer) = writer {
            let file = writer.and_then(pcap::Writer::finish).map_err(failed)?;
            let file = file.into_inner().map_err(|e| failed(e.into_error()))?;
            file.publish()?;
        }
        Ok(())
    }
}

/// The length of a stream so far, its CRC-32 (IEEE 802.3, as in gzip), and its beginning.
pub struct Tally {
    pub bytes: u64,
    crc: Hasher,
    start: Instant,
    bar: ProgressBar,
}

impl Tally {
    /// The tally of a stream that begins now. `length` is its length, if it is known.
    pub fn begin(length: Option<u64>) -> Self {
        let template = match length {
            Some(_) => "{wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{spinner} {bytes}, {bytes_per_sec}",
        };
        let bar = console::bar(length, template);
        Self { bytes: 0, crc: Hasher::new(), start: Instant::now(), bar }
    }

    /// Adds the next bytes of the stream.
    pub fn add(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.bytes += bytes.len() as u64;
        self.bar.set_position(self.bytes);
    }

    /// The report of a stream that ends now, in one line.
    pub fn report(self, verb: &str, counters: Option<Counters>) -> String {
        self.bar.finish_and_clear();
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = match seconds > 0.0 {
            true => self.bytes as f64 * 8.0 / seconds / 1e6,
            false => 0.0,
        };
        format!(
            "{verb} {} bytes in {seconds:.3} s, {rate:.1} Mbit/s, CRC-32 {:08x}, {}\n",
            self.bytes,
            self.crc.finalize(),
            retransmissions(&counters.unwrap_or_default())
        )
    }
}

fn retransmissions(counters: &Counters) -> String {
    let total = counters.retransmissions.total();
    let of = |trigger: Trigger| (trigger.name(), counters.retransmissions.of(trigger));
    let by_trigger: Vec<String> = Trigger::ALL
        .into_iter()
        .map(of)
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    match total {
        0 => "no retransmissions".into(),
        1 => format!("1 retransmission ({})", by_trigger.join(", ")),
        _ => format!("{total} retransmissions ({})", by_trigger.join(", ")),
    }
}

/// Words of a [`Generator`]'s block.
const BLOCK: u64 = 8192;

/// Generates pseudorandom bytes from a seed, at the speed of memory.
///
/// The stream consists of blocks of 64 KiB. All blocks have the same random words, and each block has
/// one more random word, which is combined with all of them by exclusive or. So no two blocks are
/// alike. Words are numbers of [`splitmix64`], in little-endian order.
pub struct Generator {
    seed: u64,
    words: Vec<u64>,
    /// Bytes generated so far, always whole words.
    made: u64,
}

/// The number at `place` in the sequence of `seed` (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
const fn splitmix64(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add((place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Generator {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, words: (0..BLOCK).map(|i| splitmix64(seed, i)).collect(), made: 0 }
    }

    /// Fills `into` with the next bytes. A part of a word may only be asked for at the end of the
    /// stream.
    pub fn fill(&mut self, mut into: &mut [u8]) {
        while !into.is_empty() {
            let (block, at) = (self.made / 8 / BLOCK, (self.made / 8 % BLOCK) as usize);
            let own = splitmix64(self.seed, BLOCK + block);
            let words = &self.words[at..];
            let len = into.len().min(8 * words.len());
            let (now, later) = into.split_at_mut(len);
            let mut whole = now.chunks_exact_mut(8);
            for (place, word) in whole.by_ref().zip(words) {
                place.copy_from_slice(&(word ^ own).to_le_bytes());
            }
            let rest = whole.into_remainder();
            if let Some(word) = words.get(len / 8) {
                rest.copy_from_slice(&(word ^ own).to_le_bytes()[..rest.len()]);
            }
            self.made += len as u64;
            into = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_is_one_stream() {
        const LEN: usize = 200_005;
        let (mut whole, mut parts) = (vec![0; LEN], vec![0; LEN]);
        Generator::new(5).fill(&mut whole);
        let mut generator = Generator::new(5);
        for part in parts.chunks_mut(56) {
            generator.fill(part);
        }
        assert!(whole == parts);
        let [first, second] = [&whole[..65_536], &whole[65_536..131_072]];
        assert!(first.iter().zip(second).filter(|(a, b)| a == b).count() < 1000);
        // The first number of splitmix64 seeded with 0.
        assert_eq!(splitmix64(0, 0), 0xe220_a839_7b1d_cdaf);
    }
}
