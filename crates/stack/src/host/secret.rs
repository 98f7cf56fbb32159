//! Numbers that nobody outside can guess: initial sequence numbers, ports, identifications of packets, limits.
//!
//! All are SipHash-2-4 (Aumasson and Bernstein 2012) under one secret of the process.
//!
//! - Initial sequence numbers: RFC 6528 §3, ISN = M + F(localip, localport, remoteip, remoteport,
//!   secretkey), M a clock of 4 µs.
//! - Ephemeral ports: RFC 6056 §3.3.3 ("simple hash-based"), so that a peer sees its own ports counted up
//!   and nothing of others'.

use std::{
    cell::Cell,
    hash::{Hash, Hasher},
    net::{IpAddr, SocketAddr},
};

use recoup_units::Instant;
use recoup_wire::{Endpoints, SeqNumber};
use siphasher::sip::SipHasher24;

/// The first ephemeral port, and how many there are (RFC 6056 §3.2 would have them from 1024 on; these
/// are Linux's).
const FIRST_PORT: u16 = 32_768;
const PORTS: u16 = 28_232;

/// The key of everything that must not be guessed.
#[derive(Clone)]
pub struct Secret {
    key: [u8; 16],
    next_port: Cell<u16>,
}

/// Purpose of a hash.
#[derive(Clone, Copy, Debug, Hash)]
enum Purpose {
    Isn,
    Port,
    Limit,
    Identification,
    Cookie,
    Choice,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// One from the system's random numbers.
    ///
    /// # Errors
    /// When it has none.
    // WebAssembly without a system has no random numbers. Its programs bring a key of their own.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn draw() -> std::io::Result<Self> {
        let mut key = [0; 16];
        getrandom::fill(&mut key)?;
        Ok(Self::from_key(key))
    }

    /// One with this key, which must be kept secret and must not be used again. Tests use a known one.
    pub const fn from_key(key: [u8; 16]) -> Self {
        Self { key, next_port: Cell::new(0) }
    }

    fn hash(&self, purpose: Purpose, what: impl Hash) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        (purpose, what).hash(&mut hasher);
        hasher.finish()
    }

    /// Which of several options a connection along `path` has, modulo their number.
    pub(crate) fn choice(&self, path: &Endpoints) -> u64 {
        self.hash(Purpose::Choice, (path.src, path.dst))
    }

    /// The initial sequence number of a connection along `path` that begins now.
    pub(crate) fn isn(&self, now: Instant, path: &Endpoints) -> SeqNumber {
        let clock = now.as_nanos() / 4_000;
        let place = self.hash(Purpose::Isn, (path.src, path.dst));
        SeqNumber(clock.wrapping_add(place) as u32)
    }

    /// Every ephemeral port, in the order to try them for `remote`.
    pub(crate) fn ports(&self, local: IpAddr, remote: SocketAddr) -> impl Iterator<Item = u16> {
        let offset = self.hash(Purpose::Port, (local, remote)) % u64::from(PORTS);
        let first = self.next_port.get();
        self.next_port.set((first + 1) % PORTS);
        let from = u64::from(first) + offset;
        (from..from + u64::from(PORTS)).map(|n| FIRST_PORT + (n % u64::from(PORTS)) as u16)
    }

    /// Where identifications of packets from `src` to `dst` begin (RFC 7739 §5).
    pub(crate) fn identification(&self, src: IpAddr, dst: IpAddr) -> u32 {
        self.hash(Purpose::Identification, (src, dst)) as u32
    }

    /// The bits of a SYN cookie, the lowest first (see [`cookies`](super::cookies)).
    pub(crate) fn cookie(&self, path: &Endpoints, peer_isn: SeqNumber, size: u8, period: u64) -> u32 {
        self.hash(Purpose::Cookie, (path.src, path.dst, peer_isn.0, size, period)) as u32
    }

    /// A number below `below` that belongs to `period`.
    pub(crate) fn below(&self, below: u32, period: u64) -> u32 {
        (self.hash(Purpose::Limit, period) % u64::from(below.max(1))) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn path(src: &str, dst: &str) -> Endpoints {
        Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() }
    }

    #[test]
    fn sequence_numbers_are_a_clock_of_each_path() {
        let secret = Secret::from_key([7; 16]);
        let one = path("192.0.2.1:80", "192.0.2.2:4000");
        let other = path("192.0.2.1:80", "192.0.2.2:4001");
        let at = |ms, path| secret.isn(Instant::from_millis(ms), path);
        // 4 µs: 250 a millisecond.
        assert_eq!(at(10, &one).since(at(0, &one)), 2_500);
        assert_eq!(at(10, &other).since(at(0, &other)), 2_500);
        assert_ne!(at(0, &one), at(0, &other));
        let anyone_else = Secret::from_key([8; 16]);
        assert_ne!(anyone_else.isn(Instant::ZERO, &one), at(0, &one));
    }

    #[test]
    fn every_port_is_tried_once() {
        let secret = Secret::from_key([7; 16]);
        let (local, remote) = ([192, 0, 2, 1].into(), "192.0.2.2:80".parse().unwrap());
        let first: Vec<u16> = secret.ports(local, remote).collect();
        assert_eq!(first.iter().collect::<HashSet<_>>().len(), usize::from(PORTS));
        assert!(first.iter().all(|port| *port >= FIRST_PORT));
        // The next connection begins with the next port.
        assert_eq!(secret.ports(local, remote).next(), Some(first[1]));
    }
}
