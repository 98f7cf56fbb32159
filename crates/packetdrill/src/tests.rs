//! The table driven as packetdrill drives it: through its C functions, from the outside.

mod blocking;
mod events;
mod flow;
mod traps;

use crate::{calls::filled, interface::Interface, runtime::RUNTIME, settings::Settings};
use libc::{c_int, c_void, sockaddr, socklen_t};
use recoup_recovery::congestion::Algorithm;
use recoup_tcp::sysctl::Sysctls;
use recoup_wire::{Endpoints, Flags, Options, Payload, SackBlocks, Segment, SeqNumber, decode, encode};
use std::{
    ptr::{null, null_mut},
    sync::{Mutex, MutexGuard},
};

/// The sockets are the process's, so that one test at a time has it.
static HOST: Mutex<()> = Mutex::new(());

/// The address scripts have for the stack under test, and for its peer.
const LOCAL: &str = "192.168.0.1:8080";
const REMOTE: &str = "192.0.2.1:40000";

/// The peer's ISN.
const PEER: SeqNumber = SeqNumber(7_000_000);

/// packetdrill, as far as tests need it.
struct Drill {
    table: Interface,
    /// From the peer to the stack.
    path: Endpoints,
    /// The stack's ISN, once seen.
    isn: SeqNumber,
    _alone: MutexGuard<'static, ()>,
}

impl Drop for Drill {
    fn drop(&mut self) {
        // SAFETY: the table's own function, with what it takes.
        unsafe { (self.table.free)(null_mut()) };
    }
}

impl Drill {
    fn new() -> Self {
        Self::with_profile("linux-6")
    }

    fn with_profile(name: &str) -> Self {
        let alone = HOST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        RUNTIME.begin(Settings::of_profile(name).unwrap());
        Self {
            table: filled(),
            path: Endpoints { src: REMOTE.parse().unwrap(), dst: LOCAL.parse().unwrap() },
            isn: SeqNumber(0),
            _alone: alone,
        }
    }

    /// The settings the public suites make before each script.
    fn sysctls() -> Sysctls {
        Sysctls {
            congestion_control: Some(Algorithm::Cubic),
            early_retrans: Some(4),
            rmem: Some([4096, 540_000, 15 << 20]),
            wmem: Some([4096, 256 << 10, 4 << 20]),
            ..Sysctls::default()
        }
    }

    /// A socket under those settings, and not those of the machine the test runs on.
    fn socket(&self) -> c_int {
        self.socket_under(Self::sysctls())
    }

    fn socket_under(&self, sysctls: Sysctls) -> c_int {
        let fd = RUNTIME.call(|sockets| sockets.socket(false, false, sysctls));
        fd.unwrap()
    }

    fn listener(&self) -> c_int {
        let fd = self.socket();
        let address = address(LOCAL);
        // SAFETY: the table's functions with what they take.
        unsafe {
            assert_eq!((self.table.bind)(null_mut(), fd, as_sockaddr(&address), 16), 0);
            assert_eq!((self.table.listen)(null_mut(), fd, 1), 0);
        }
        fd
    }

    fn inject(&self, segment: &Segment, payload: &[u8]) -> c_int {
        let mut bytes = Vec::new();
        encode(segment, &self.path, 1, Payload::Bytes(payload), &mut bytes).unwrap();
        self.inject_bytes(&bytes)
    }

    fn inject_bytes(&self, bytes: &[u8]) -> c_int {
        // SAFETY: the bytes are there.
        unsafe { (self.table.netdev_send)(null_mut(), bytes.as_ptr().cast(), bytes.len()) }
    }

    /// A segment of the peer's, numbers counted from the ISNs.
    fn peer(&self, flags: Flags, seq: u32, ack: u32) -> Segment {
        Segment { seq: PEER + seq, ack: self.isn + ack, flags, window: 257, ..Segment::default() }
    }

    fn ack(&self, ack: u32, sack: &[[u32; 2]]) {
        let blocks = sack.iter().map(|[a, b]| [self.isn + *a, self.isn + *b]);
        let segment = Segment {
            options: Options { sack: SackBlocks::from_iter(blocks), ..Options::NONE },
            ..self.peer(Flags::ACK, 1, ack)
        };
        assert_eq!(self.inject(&segment, &[]), 0);
    }

    /// The next packet, when it left in µs since the first look at the clock would have said 0,
    /// and its payload; `None`: none ever will.
    fn next(&self) -> Option<(i64, Segment, Vec<u8>)> {
        let mut bytes = vec![0u8; 2000];
        let (mut len, mut time) = (bytes.len(), 0);
        // SAFETY: there is room for as many bytes as `len` says, and for length and time.
        let result =
            unsafe { (self.table.netdev_receive)(null_mut(), bytes.as_mut_ptr().cast(), &raw mut len, &raw mut time) };
        assert_eq!(result, 0);
        if len == 0 {
            return None;
        }
        let packet = decode(&bytes[..len]).unwrap();
        assert_eq!(packet.endpoints, self.path.reverse());
        assert!(packet.ip_checksum_ok);
        let payload = bytes[packet.payload].to_vec();
        Some((time - 1_000_000_000_000_000, packet.segment, payload))
    }

    /// The next packet as `flags seq:end ack n`, numbers counted from the ISNs.
    fn line(&mut self) -> String {
        let Some((_, segment, _)) = self.next() else {
            return "nothing".into();
        };
        if segment.flags.contains(Flags::SYN) {
            self.isn = segment.seq;
        }
        let flags = segment.flags.to_string();
        let seq = segment.seq.since(self.isn);
        let mut line = format!("{} {seq}", flags.trim_matches(['[', ']']));
        if segment.sequence_len() > 0 {
            line += &format!(":{}", seq + segment.sequence_len());
        }
        if segment.flags.contains(Flags::ACK) {
            line += &format!(" ack {}", segment.ack.since(PEER));
        }
        line
    }

    fn syn(&self) -> Segment {
        Segment {
            seq: PEER,
            flags: Flags::SYN,
            window: 32_792,
            options: Options { mss: Some(1000), sack_permitted: true, window_scale: Some(7), ..Options::NONE },
            ..Segment::default()
        }
    }

    /// A connection accepted, the peer 100 ms away: listener and connection.
    fn established(&mut self) -> (c_int, c_int) {
        let listener = self.listener();
        assert_eq!(self.inject(&self.syn(), &[]), 0);
        assert_eq!(self.line(), "S. 0:1 ack 1");
        self.sleep(100_000);
        self.ack(1, &[]);
        (listener, self.accept(listener))
    }

    fn accept(&self, listener: c_int) -> c_int {
        // SAFETY: no address is wanted.
        unsafe { (self.table.accept)(null_mut(), listener, null_mut(), null_mut()) }
    }

    fn sleep(&self, micros: u32) {
        // SAFETY: takes no pointers that are looked at.
        unsafe { (self.table.usleep)(null_mut(), micros) };
    }

    /// The time in µs, as [`next`](Self::next) counts it.
    fn time(&self) -> i64 {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: there is room for a time.
        unsafe { (self.table.gettimeofday)(null_mut(), &raw mut time, null_mut()) };
        time.tv_sec * 1_000_000 + time.tv_usec - 1_000_000_000_000_000
    }

    fn write(&self, fd: c_int, bytes: &[u8]) -> isize {
        // SAFETY: the bytes are there.
        unsafe { (self.table.write)(null_mut(), fd, bytes.as_ptr().cast(), bytes.len()) }
    }

    fn read(&self, fd: c_int, count: usize) -> Result<Vec<u8>, c_int> {
        let mut bytes = vec![0u8; count];
        // SAFETY: there is room for `count` bytes.
        let got = unsafe { (self.table.read)(null_mut(), fd, bytes.as_mut_ptr().cast(), count) };
        match usize::try_from(got) {
            Ok(got) => {
                bytes.truncate(got);
                Ok(bytes)
            }
            Err(_) => Err(errno()),
        }
    }

    fn close(&self, fd: c_int) -> c_int {
        // SAFETY: takes no pointers that are looked at.
        unsafe { (self.table.close)(null_mut(), fd) }
    }

    fn set(&self, fd: c_int, level: c_int, name: c_int, value: c_int) -> c_int {
        let value = value.to_ne_bytes();
        // SAFETY: the value is four bytes long.
        unsafe { (self.table.setsockopt)(null_mut(), fd, level, name, value.as_ptr().cast(), 4) }
    }

    fn nonblocking(&self, fd: c_int) {
        let flags = libc::O_RDWR | libc::O_NONBLOCK;
        // SAFETY: takes no pointers that are looked at.
        let done = unsafe { (self.table.fcntl)(null_mut(), fd, libc::F_SETFL, flags) };
        assert_eq!(done, 0);
    }
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

/// An IPv4 socket address in its C form.
fn address(text: &str) -> [u8; 16] {
    let std::net::SocketAddr::V4(v4) = text.parse().unwrap() else {
        panic!("{text}");
    };
    let mut bytes = [0; 16];
    bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&v4.port().to_be_bytes());
    bytes[4..8].copy_from_slice(&v4.ip().octets());
    bytes
}

fn as_sockaddr(bytes: &[u8; 16]) -> *const sockaddr {
    bytes.as_ptr().cast()
}

/// A value of `getsockopt`, called as packetdrill's scripts have it called: past the table.
fn option(fd: c_int, level: c_int, name: c_int, room: usize) -> Result<Vec<u8>, c_int> {
    let mut bytes = vec![0u8; room];
    let mut len = room as socklen_t;
    // SAFETY: there is room for as many bytes as `len` says.
    let result =
        unsafe { crate::preload::getsockopt(fd, level, name, bytes.as_mut_ptr().cast::<c_void>(), &raw mut len) };
    match result {
        0 => {
            bytes.truncate(len as usize);
            Ok(bytes)
        }
        _ => Err(errno()),
    }
}

fn number(bytes: &[u8]) -> c_int {
    c_int::from_ne_bytes(*bytes.first_chunk().unwrap())
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Nothing to look at.
const NOWHERE: *const c_void = null();
