//! The connections by path, without a second copy of the paths.
//!
//! An entry has the connection's number and 32 bits of its path's hash, so that only a connection that is most likely the right
//! one is looked at, and none when the map grows.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
};

use hashbrown::HashTable;
use recoup_wire::Endpoints;

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    number: u32,
}

/// The numbers of connections by path.
#[derive(Debug, Default)]
pub(super) struct Paths {
    entries: HashTable<Entry>,
    hasher: RandomState,
}

/// The hash that the map works with: it takes places from the lower bits, and tags from the upper ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Paths {
    /// Memory of an entry, in bytes, with the map no more than half full.
    pub const ENTRY: usize = 2 * (size_of::<Entry>() + 1);

    fn hash(&self, path: &Endpoints) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        let ports = u32::from(path.src.port()) << 16 | u32::from(path.dst.port());
        match (path.src, path.dst) {
            (SocketAddr::V4(src), SocketAddr::V4(dst)) => {
                let addresses = [src, dst].map(|end| Ipv4Addr::to_bits(*end.ip()));
                hasher.write_u64(u64::from(addresses[0]) << 32 | u64::from(addresses[1]));
            }
            _ => {
                for end in [path.src, path.dst] {
                    let ip = match end {
                        SocketAddr::V4(end) => end.ip().to_ipv6_mapped(),
                        SocketAddr::V6(end) => *end.ip(),
                    };
                    hasher.write_u128(Ipv6Addr::to_bits(ip));
                }
            }
        }
        hasher.write_u32(ports);
        hasher.finish() as u32
    }

    /// The connection along `path`, of which `is_along` says whether a connection is along it.
    pub fn find(&self, path: &Endpoints, is_along: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = self.hash(path);
        let same = |entry: &Entry| entry.hash == hash && is_along(entry.number);
        self.entries.find(spread(hash), same).map(|entry| entry.number)
    }

    /// Adds a connection along `path`, along which there is none.
    pub fn insert(&mut self, path: &Endpoints, number: u32) {
        let hash = self.hash(path);
        self.entries.insert_unique(spread(hash), Entry { hash, number }, |entry| spread(entry.hash));
    }

    /// The memory of the map, in bytes.
    pub fn memory(&self) -> usize {
        self.entries.allocation_size()
    }

    /// Takes out a connection along `path`, if it is there.
    pub fn remove(&mut self, path: &Endpoints, number: u32) {
        let hash = self.hash(path);
        if let Ok(found) = self.entries.find_entry(spread(hash), |entry| entry.number == number) {
            found.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(src: &str, dst: &str) -> Endpoints {
        Endpoints { src: src.parse().unwrap(), dst: dst.parse().unwrap() }
    }

    #[test]
    fn connections_are_found_by_both_ends() {
        let all = [
            path("192.0.2.1:80", "192.0.2.2:4000"),
            path("192.0.2.1:80", "192.0.2.2:4001"),
            path("192.0.2.1:81", "192.0.2.2:4000"),
            path("192.0.2.2:80", "192.0.2.1:4000"),
            path("[2001:db8::1]:80", "[2001:db8::2]:4000"),
            path("[2001:db8::1]:80", "[2001:db8::3]:4000"),
        ];
        let mut paths = Paths::default();
        for (path, number) in all.iter().zip(0..) {
            paths.insert(path, number);
        }
        let find = |paths: &Paths, path: &Endpoints| paths.find(path, |number| all[number as usize] == *path);
        for (path, number) in all.iter().zip(0..) {
            assert_eq!(find(&paths, path), Some(number));
        }
        paths.remove(&all[1], 3);
        assert_eq!(find(&paths, &all[1]), Some(1), "another connection's entry");
        paths.remove(&all[1], 1);
        assert_eq!(find(&paths, &all[1]), None);
        assert_eq!(find(&paths, &all[0]), Some(0));
    }

    #[test]
    fn many_paths_do_not_share_a_hash() {
        let paths = Paths::default();
        let all = (0..u16::MAX).map(|port| path("192.0.2.1:80", &format!("192.0.2.2:{port}")));
        let hashes: std::collections::HashSet<u32> = all.map(|path| paths.hash(&path)).collect();
        // Half of a pair is to be expected: 2^32 pairs / 2 / 2^32.
        assert!(hashes.len() > 65_520, "{}", hashes.len());
    }
}
