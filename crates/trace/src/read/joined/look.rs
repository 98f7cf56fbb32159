//! Looks at the beginning of a capture: when it begins, and which capture it is.

use super::super::{CapturedPacket, PacketSource, ReadError, Reader, name_of};
use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::{fs::File, io::Read, net::IpAddr, path::Path};

/// Bytes of a file that are looked at. If its first packet is longer, [`MOST_BYTES`] are.
const BYTES: u64 = 1 << 16;
const MOST_BYTES: u64 = 1 << 20;

/// Packets that a capture is recognized by.
const PACKETS: usize = 8;

/// The first packets of a capture. Two files with the same ones hold the same capture, whatever their
/// names, formats and compression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstPackets {
    /// A digest of the first packet, one of the first two, and so on.
    digests: Vec<u64>,
}

impl FirstPackets {
    fn add(&mut self, packet: &CapturedPacket) {
        let before = self.digests.last().copied().unwrap_or_default();
        self.digests.push(mix(before, digest(packet)));
    }

    /// Whether both begin with the same packets, as far as both are known.
    pub fn same_as(&self, other: &Self) -> bool {
        let known = self.digests.len().min(other.digests.len());
        known > 0 && self.digests[known - 1] == other.digests[known - 1]
    }

    /// Whether the capture may begin with the packet that has this digest.
    pub fn may_begin_with(&self, digest: u64) -> bool {
        let first = self.digests.first();
        first.is_none_or(|first| *first == mix(0, digest))
    }

    /// A digest of the first packet; `None` if there is none.
    pub fn key(&self) -> Option<u64> {
        self.digests.first().copied()
    }
}

/// The beginning of a capture.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Beginning {
    /// When its first frame was captured; `None` if no frame has a time.
    pub at: Option<Instant>,
    pub packets: FirstPackets,
    /// The size of the file in bytes.
    pub size: u64,
}

impl Beginning {
    /// Looks at a file.
    ///
    /// # Errors
    /// If it cannot be read, is no file, or does not begin like a capture.
    pub fn of(path: &Path) -> Result<Self, ReadError> {
        let file = || name_of(path);
        let unreadable = |source| ReadError::Unreadable { file: file(), source };
        if path.as_os_str() == "-" {
            return Err(ReadError::NoFile { file: file() });
        }
        let about = path.metadata().map_err(unreadable)?;
        if about.is_dir() {
            return Err(ReadError::Directory { file: file() });
        }
        if !about.is_file() {
            return Err(ReadError::NoFile { file: file() });
        }
        let mut found = Self { size: about.len(), ..Self::default() };
        for bytes in [BYTES, MOST_BYTES] {
            let input = File::open(path).map_err(unreadable)?.take(bytes);
            match Reader::new(&file(), input) {
                Ok(reader) => found.read(reader),
                // The file was begun a moment ago, and nothing of it is written yet.
                Err(ReadError::Cut { .. }) => {}
                Err(ReadError::Unknown { .. }) if about.len() == 0 => {}
                Err(error) => return Err(error),
            }
            if found.at.is_some() || found.size <= bytes {
                break;
            }
        }
        Ok(found)
    }

    fn read(&mut self, mut reader: Reader<'_>) {
        while self.packets.digests.len() < PACKETS
            && let Some(packet) = reader.next_or_message()
        {
            self.packets.add(packet);
            self.at = self.at.or(Some(packet.at));
        }
        self.at = match (self.at, reader.first_skipped_at()) {
            (Some(packet), Some(other)) => Some(packet.min(other)),
            (packet, other) => packet.or(other),
        };
    }
}

/// A digest of a packet, the same in every run and for every format of captures with times in
/// microseconds or finer.
pub(super) fn digest(packet: &CapturedPacket) -> u64 {
    let segment = &packet.segment;
    let ends = [packet.endpoints.src, packet.endpoints.dst];
    let addresses = ends.iter().flat_map(|end| match end.ip() {
        IpAddr::V4(ip) => [u64::from(ip.to_bits()), 4],
        IpAddr::V6(ip) => [(ip.to_bits() >> 64) as u64, ip.to_bits() as u64],
    });
    let ports = ends.map(|end| u64::from(end.port()));
    let own = [
        packet.at.as_nanos() / 1000,
        u64::from(segment.seq.0) << 32 | u64::from(segment.ack.0),
        u64::from(segment.payload_len) << 32 | u64::from(segment.window),
        packet.ip_id.map_or(1 << 16, u64::from),
        u64::from(packet.hop_limit) << 32 | u64::from(packet.link),
        packet.outgoing.map_or(2, u64::from),
        packet.message.map_or(1 << 16, |message| u16::from(message).into()),
    ];
    addresses.chain(ports).chain(own).fold(0, mix)
}

/// Mixes a value into a digest (the multiplier: Knuth, The Art of Computer Programming, §6.4).
fn mix(digest: u64, value: u64) -> u64 {
    let product = u128::from(digest ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xff51_afd7_ed55_8ccd;
    (product >> 64) as u64 ^ product as u64 ^ digest.rotate_left(23)
}
