//! Puts fragments of IP packets together (RFC 791 §3.2, RFC 8200 §4.5).
//!
//! An incomplete datagram waits [`LIFE_V4`] or [`LIFE_V6`]. Those of one IP version expire in the order in which they
//! began, so none needs a timer of its own.
//!
//! Fragments that overlap end the datagram: it is discarded, and so is what still comes of it (RFC 5722; RFC 8200
//! §4.5). The same holds for IPv4, although RFC 791 lets later fragments overwrite earlier ones: no sender makes such
//! fragments, but attackers do, to show different bytes to a filter and to a host (RFC 1858). A fragment that came
//! twice, byte for byte, is no overlap.
//!
//! **Floods.** The memory of all incomplete datagrams is bounded, bookkeeping included. Where it would be exceeded, the
//! oldest datagram is discarded. So new datagrams always find room: a flood shortens the time that
//! fragments may take to arrive, but locks nobody out for 30 s, as a queue that refuses new datagrams does. One source
//! has a quarter of the memory and [`MOST_OF_SOURCE`] datagrams at most, and beyond that loses its own oldest one. A
//! flood thus costs other sources their datagrams only if its source addresses vary. Tiny fragments count with their
//! bookkeeping, so that the quarter ends a datagram of more than some 4000 of them.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
    time::Duration,
};

use recoup_units::Instant;
use recoup_wire::{Ecn, IpFragment};

/// How long an incomplete datagram waits over IPv4 (RFC 791 §3.2 proposes 15 s at least; Linux `ipfrag_time`).
const LIFE_V4: Duration = Duration::from_secs(30);

/// How long it waits over IPv6 (RFC 8200 §4.5).
const LIFE_V6: Duration = Duration::from_secs(60);

/// Incomplete datagrams of one source, at most.
const MOST_OF_SOURCE: u32 = 64;

/// The longest payload of a packet (the length fields of both versions).
const LONGEST: u32 = 65_535;

/// What an incomplete datagram and a fragment of it count beside its bytes: about what the maps take.
const DATAGRAM_OVERHEAD: usize = 256;
const FRAGMENT_OVERHEAD: usize = 64;

/// What fragments of one packet have in common (RFC 791 §3.2). In IPv6 the protocol does not count (RFC 8200 §4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    src: IpAddr,
    dst: IpAddr,
    id: u32,
    protocol: u8,
}

/// An incomplete datagram.
#[derive(Debug)]
struct Datagram {
    /// Its number, in the order in which datagrams began.
    number: u64,
    expiry: Instant,
    /// The first fragment: its headers are the packet's.
    first: Option<(IpFragment, Box<[u8]>)>,
    /// All payloads, by where they begin.
    pieces: BTreeMap<u32, Box<[u8]>>,
    /// Payload bytes that are there.
    filled: u32,
    /// The whole payload's length, once the last fragment is there.
    len: Option<u32>,
    ecn: EcnSeen,
    /// Fragments overlapped: nothing comes of it any more.
    spoilt: bool,
    /// What it counts.
    memory: usize,
}

/// ECN fields of the fragments.
#[derive(Clone, Copy, Debug)]
struct EcnSeen {
    first: Ecn,
    marked: bool,
    all_capable: bool,
}

impl EcnSeen {
    /// The field of the whole packet: marked if a fragment is. `None` if another fragment says that the packet is not
    /// capable of ECN: then it is discarded (RFC 3168 §5.3).
    fn whole(self) -> Option<Ecn> {
        match self.marked {
            true => self.all_capable.then_some(Ecn::from_ip(0b11)),
            false => Some(self.first),
        }
    }
}

/// What a source has.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    datagrams: u32,
    memory: usize,
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Packets put together.
    pub completed: u64,
    /// Datagrams discarded: expired, spoilt, or for want of room.
    pub discarded: u64,
}

/// All incomplete datagrams.
#[derive(Debug)]
pub(crate) struct Reassembly {
    most: usize,
    memory: usize,
    made: u64,
    datagrams: HashMap<Key, Datagram>,
    /// By number, of each IP version.
    in_order: [BTreeMap<u64, Key>; 2],
    by_source: HashMap<IpAddr, Usage>,
    /// The numbers of a source's datagrams.
    numbers: BTreeSet<(IpAddr, u64)>,
    pub counts: Counts,
}

impl Reassembly {
    /// Keeps at most `most` bytes. The longest datagrams need four times their length, because a source has a quarter.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            memory: 0,
            made: 0,
            datagrams: HashMap::new(),
            in_order: [BTreeMap::new(), BTreeMap::new()],
            by_source: HashMap::new(),
            numbers: BTreeSet::new(),
            counts: Counts::default(),
        }
    }

    /// Bytes that incomplete datagrams take, bookkeeping included.
    #[cfg(test)]
    pub const fn memory(&self) -> usize {
        self.memory
    }

    /// When the next datagram expires.
    pub fn next_expiry(&self) -> Option<Instant> {
        self.first_to_expire().map(|(at, _)| at)
    }

    fn first_to_expire(&self) -> Option<(Instant, Key)> {
        let oldest = self.in_order.iter().filter_map(|order| order.first_key_value());
        let expiring = oldest.filter_map(|(_, key)| Some((self.datagrams.get(key)?.expiry, *key)));
        expiring.min_by_key(|(at, _)| *at)
    }

    /// Discards a datagram that has expired. The first fragment is in the result, if it is there: its sender is to be
    /// notified (RFC 792, RFC 8200 §4.5). `None` if no datagram has expired.
    pub fn expire(&mut self, now: Instant) -> Option<Option<Vec<u8>>> {
        let (at, key) = self.first_to_expire()?;
        if at > now {
            return None;
        }
        let datagram = self.discard(&key)?;
        Some(datagram.first.filter(|_| !datagram.spoilt).map(|(fragment, headers)| {
            let mut packet = headers.into_vec();
            packet.truncate(fragment.payload.start);
            packet.extend_from_slice(datagram.pieces.get(&0).map_or(&[][..], |piece| piece));
            packet
        }))
    }

    /// Takes in a fragment, read from `packet`. Returns the whole packet if this completes it.
    pub fn add(&mut self, now: Instant, fragment: IpFragment, packet: &[u8]) -> Option<Vec<u8>> {
        let bytes = packet.get(fragment.payload.clone())?;
        let end = fragment.offset + bytes.len() as u32;
        // A fragment holds something, all but the last in units of 8 bytes, and ends where packets may end.
        if bytes.is_empty() || end > LONGEST || (fragment.more && bytes.len() % 8 != 0) {
            return None;
        }
        let v4 = fragment.src.is_ipv4();
        let protocol = if v4 { fragment.protocol } else { 0 };
        let key = Key { src: fragment.src, dst: fragment.dst, id: fragment.id, protocol };
        if !self.datagrams.contains_key(&key) {
            self.open(now + if v4 { LIFE_V4 } else { LIFE_V6 }, key, fragment.ecn);
        }
        let datagram = self.datagrams.get_mut(&key)?;
        match datagram.judge(&fragment, bytes, end) {
            Verdict::Known => return None,
            Verdict::Overlaps => {
                self.spoil(&key);
                return None;
            }
            Verdict::New => {}
        }
        let mut added = bytes.len() + FRAGMENT_OVERHEAD;
        datagram.filled += bytes.len() as u32;
        datagram.ecn.marked |= fragment.ecn.is_marked();
        datagram.ecn.all_capable &= fragment.ecn.is_capable();
        datagram.pieces.insert(fragment.offset, bytes.into());
        if !fragment.more {
            datagram.len = Some(end);
        }
        if fragment.offset == 0 {
            let headers: Box<[u8]> = packet.get(..fragment.payload.start)?.into();
            added += headers.len();
            datagram.first = Some((fragment, headers));
        }
        datagram.memory += added;
        if datagram.len == Some(datagram.filled) {
            return self.complete(&key, added);
        }
        self.count(key.src, added);
        self.make_room(key.src);
        None
    }

    /// A datagram of which a first fragment came.
    fn open(&mut self, expiry: Instant, key: Key, ecn: Ecn) {
        self.made += 1;
        let number = self.made;
        let datagram = Datagram {
            number,
            expiry,
            first: None,
            pieces: BTreeMap::new(),
            filled: 0,
            len: None,
            ecn: EcnSeen { first: ecn, marked: false, all_capable: true },
            spoilt: false,
            memory: DATAGRAM_OVERHEAD,
        };
        self.datagrams.insert(key, datagram);
        self.in_order[usize::from(key.src.is_ipv6())].insert(number, key);
        self.numbers.insert((key.src, number));
        self.by_source.entry(key.src).or_default().datagrams += 1;
        self.count(key.src, DATAGRAM_OVERHEAD);
        self.make_room(key.src);
    }

    fn count(&mut self, src: IpAddr, added: usize) {
        self.memory += added;
        self.by_source.entry(src).or_default().memory += added;
    }

    /// Discards what is too much, first of this source.
    fn make_room(&mut self, src: IpAddr) {
        let exceeds = |usage: &Usage, most| usage.datagrams > MOST_OF_SOURCE || usage.memory > most / 4;
        while self.by_source.get(&src).is_some_and(|usage| exceeds(usage, self.most)) {
            let oldest = self.numbers.range((src, 0)..).next();
            let order = &self.in_order[usize::from(src.is_ipv6())];
            let Some(key) = oldest.and_then(|(_, number)| order.get(number)).copied() else {
                break;
            };
            self.discard(&key);
        }
        while self.memory > self.most
            && let Some((_, &key)) =
                self.in_order.iter().filter_map(|order| order.first_key_value()).min_by_key(|(number, _)| **number)
        {
            self.discard(&key);
        }
    }

    /// Fragments of a datagram overlapped. It stays, empty, so that nothing begins anew with what still comes of it.
    fn spoil(&mut self, key: &Key) {
        let Some(datagram) = self.datagrams.get_mut(key) else {
            return;
        };
        datagram.spoilt = true;
        datagram.pieces.clear();
        datagram.first = None;
        let freed = datagram.memory - DATAGRAM_OVERHEAD;
        datagram.memory = DATAGRAM_OVERHEAD;
        self.memory -= freed;
        if let Some(usage) = self.by_source.get_mut(&key.src) {
            usage.memory -= freed;
        }
    }

    fn discard(&mut self, key: &Key) -> Option<Datagram> {
        self.counts.discarded += 1;
        self.remove(key)
    }

    fn remove(&mut self, key: &Key) -> Option<Datagram> {
        let datagram = self.datagrams.remove(key)?;
        self.in_order[usize::from(key.src.is_ipv6())].remove(&datagram.number);
        self.numbers.remove(&(key.src, datagram.number));
        self.memory -= datagram.memory;
        if let Some(usage) = self.by_source.get_mut(&key.src) {
            usage.datagrams -= 1;
            usage.memory -= datagram.memory;
            if usage.datagrams == 0 {
                self.by_source.remove(&key.src);
            }
        }
        Some(datagram)
    }

    /// All of a datagram is there, of which the last `added` bytes are not counted yet.
    fn complete(&mut self, key: &Key, added: usize) -> Option<Vec<u8>> {
        self.count(key.src, added);
        let datagram = self.remove(key)?;
        let whole = datagram.whole();
        match whole {
            Some(_) => self.counts.completed += 1,
            None => self.counts.discarded += 1,
        }
        whole
    }
}

/// How a fragment fits in.
enum Verdict {
    New,
    /// It was there before, or belongs to a datagram that is spoilt.
    Known,
    /// It contradicts others.
    Overlaps,
}

impl Datagram {
    fn judge(&self, fragment: &IpFragment, bytes: &[u8], end: u32) -> Verdict {
        if self.spoilt {
            return Verdict::Known;
        }
        let before = self.pieces.range(..=fragment.offset).next_back();
        if let Some((&start, piece)) = before {
            if start == fragment.offset && **piece == *bytes && fragment.more == (self.len != Some(end)) {
                return Verdict::Known;
            }
            if start + piece.len() as u32 > fragment.offset {
                return Verdict::Overlaps;
            }
        }
        let after = self.pieces.range(fragment.offset + 1..).next();
        let last = self.pieces.last_key_value();
        let reach = last.map_or(0, |(start, piece)| start + piece.len() as u32);
        let beyond = match (fragment.more, self.len) {
            (false, None) => reach > end,
            (false, Some(_)) => true,
            (true, Some(len)) => end > len,
            (true, None) => false,
        };
        match beyond || after.is_some_and(|(&start, _)| start < end) {
            true => Verdict::Overlaps,
            false => Verdict::New,
        }
    }

    /// The whole packet; `None` if there can be none.
    fn whole(&self) -> Option<Vec<u8>> {
        let (fragment, headers) = self.first.as_ref()?;
        let len = self.filled as usize;
        let mut packet = Vec::with_capacity(headers.len() + len);
        if !fragment.whole_headers(headers, len, self.ecn.whole()?, &mut packet) {
            return None;
        }
        self.pieces.values().for_each(|piece| packet.extend_from_slice(piece));
        Some(packet)
    }
}

#[cfg(test)]
mod tests;
