//! Connections that have ended, in a fifth of the memory. They wait for late packets, which few connections
//! get. One that gets a packet is [restored](EndedConnection::restore).

use super::{ConnectionState, Handshake, LastSyn};
use crate::explain::episode::Episode;
use crate::finding::Opening;
use crate::follow::compact::{Compact, Reader, Writer, compact};
use crate::memory::allocated;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use serde::{Deserialize, Serialize};

/// A connection that has ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EndedConnection {
    /// When its last packet came.
    pub last: Instant,
    /// Distinguishes connections that used the same slot.
    pub serial: u64,
    pub first_frame: u64,
    pub endpoints: Endpoints,
    /// The rest of its state.
    state: Box<[u8]>,
    episodes: [Option<Box<Episode>>; 2],
}

impl EndedConnection {
    /// Takes the state of a connection that has ended; `None` if it must stay as it is.
    pub fn new(connection: &mut ConnectionState, writer: &mut Writer) -> Option<Self> {
        let is_usual = connection.is_over()
            && connection.number.get().is_some()
            && !connection.in_pair
            && !connection.has_doubtful_packets
            && connection.pending_syns.is_empty()
            && !connection.is_half_open();
        if !is_usual {
            return None;
        }
        writer.begin(connection.last);
        connection.write(writer);
        Some(Self {
            last: connection.last,
            serial: connection.serial,
            first_frame: connection.first_frame,
            endpoints: connection.shared.endpoints,
            state: writer.finish()?,
            episodes: [0, 1].map(|side| connection.directions[side].episode.take()),
        })
    }

    /// Its memory, in bytes.
    pub fn memory(&self) -> usize {
        let episodes = self.episodes.iter().flatten();
        let episodes = episodes.map(|episode| episode.memory());
        allocated(size_of::<Self>()) + allocated(self.state.len()) + episodes.sum::<usize>()
    }

    /// Its state; `None` if that is damaged.
    pub fn restore(&mut self) -> Option<ConnectionState> {
        let mut connection = self.read()?;
        for (direction, episode) in connection.directions.iter_mut().zip(&mut self.episodes) {
            direction.episode = episode.take();
        }
        Some(connection)
    }

    /// Whether its state is complete, and refers to what is there.
    pub fn is_consistent(&self, profiles: usize) -> bool {
        let mut episodes = self.episodes.iter().flatten();
        self.read().is_some_and(|connection| {
            let is_same = connection.serial == self.serial && connection.last == self.last;
            is_same && connection.is_over() && connection.is_consistent(profiles)
        }) && episodes.all(|episode| episode.is_consistent(profiles))
    }

    /// Its state without episodes.
    fn read(&self) -> Option<ConnectionState> {
        let mut reader = Reader::new(&self.state, self.last, self.endpoints);
        let connection = ConnectionState::read(&mut reader);
        reader.finish().then_some(connection)
    }
}

compact!(ConnectionState {
    last,
    packets,
    last_frame,
    marks,
    counted_memory,
    knows_close,
    was_over,
    has_sent,
    reset,
    in_handshake,
    has_doubtful_packets,
    in_pair,
    point,
    opening,
    shared,
    directions,
    handshake,
    serial,
    number,
    first_frame,
    begun,
    first,
    syns,
} default { pending_syns });

compact!(LastSyn {
    fingerprint,
    time,
    captured_at,
});

compact!(Handshake {
    syn_at,
    syns,
    syn_acks,
    opened,
    answered,
    rtt,
    scales,
    sack,
    mss,
    timestamps,
});

impl Compact for Opening {
    fn write(&self, to: &mut Writer) {
        (*self == Self::Handshake).write(to);
    }

    fn read(from: &mut Reader<'_>) -> Self {
        match bool::read(from) {
            true => Self::Handshake,
            false => Self::MidConnection,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::context::ReplayContext;
    use crate::follow::TimedPacket;
    use crate::read::{CapturedPacket, Packet};
    use recoup_wire::{Flags, SackBlocks, Segment, SeqNumber, Timestamps};

    /// A connection that ended, captured 20 ms from the end that opened it and 30 ms from the other one.
    fn ended() -> Box<ConnectionState> {
        let ends = Endpoints {
            src: "192.0.2.1:40000".parse().unwrap(),
            dst: "198.51.100.2:80".parse().unwrap(),
        };
        let mut frame = 0;
        let mut packet = |ms: u64, side: usize, flags: Flags, [seq, ack, payload]: [u32; 3]| {
            frame += 1;
            let mut segment = Segment {
                seq: SeqNumber(seq),
                ack: SeqNumber(ack),
                payload_len: payload,
                window: 500,
                flags,
                ..Segment::default()
            };
            let options = &mut segment.options;
            options.timestamps = Some(Timestamps {
                value: ms as u32,
                echo: ms as u32 - 30,
            });
            if flags.contains(Flags::SYN) {
                options.mss = Some(1460);
                options.window_scale = Some(7);
                options.sack_permitted = true;
            } else if payload == 0 && seq == 101 && ack == 1_201 {
                options.sack = SackBlocks::from_iter([[SeqNumber(2_201), SeqNumber(3_201)]]);
            }
            TimedPacket {
                time: Instant::from_millis(ms),
                packet: CapturedPacket {
                    frame,
                    at: Instant::from_millis(ms),
                    endpoints: if side == 0 { ends } else { ends.reverse() },
                    segment,
                    ip_id: Some(frame as u16),
                    ..CapturedPacket::from(&Packet::default())
                },
            }
        };
        let (ack, fin) = (Flags::ACK, Flags::FIN.union(Flags::ACK));
        let packets = [
            packet(1000, 0, Flags::SYN, [0, 0, 0]),
            packet(1030, 1, Flags::SYN.union(ack), [200, 1, 0]),
            packet(1050, 0, ack, [1, 201, 0]),
            packet(1051, 0, ack, [1, 201, 100]),
            packet(1081, 1, ack, [201, 101, 1000]),
            packet(1082, 1, ack, [1_201, 101, 1000]),
            packet(1083, 1, ack, [2_201, 101, 1000]),
            packet(1103, 0, ack, [101, 1_201, 0]),
            packet(1133, 1, ack, [1_201, 101, 1000]),
            packet(1153, 0, ack, [101, 3_201, 0]),
            packet(1183, 1, fin, [3_201, 101, 0]),
            packet(1203, 0, fin, [101, 3_202, 0]),
            packet(1233, 1, ack, [3_202, 102, 0]),
        ];
        let context = ReplayContext::default();
        let mut connection = ConnectionState::new(3, &packets[0]);
        for timed in &packets {
            let side = connection.side(&timed.packet.endpoints).unwrap();
            connection.on_packet(timed, side, &context);
        }
        connection.on_connection_over(&context, |_, _| ());
        connection.forget_most();
        connection
    }

    #[test]
    fn a_connection_is_restored_as_it_was() {
        let mut connection = ended();
        let mut writer = Writer::default();
        // Until it has a number, its slot is asked for.
        assert!(EndedConnection::new(&mut connection, &mut writer).is_none());
        connection.number = 7.into();
        let (before, memory) = (format!("{connection:?}"), connection.memory());
        assert!(before.contains("episode: Some") && before.contains("away: Some"));
        let mut small = EndedConnection::new(&mut connection, &mut writer).unwrap();
        assert!(small.is_consistent(8));
        assert!(
            small.memory() + 1000 < memory,
            "{} {memory}",
            small.memory()
        );
        let restored = small.restore().unwrap();
        assert_eq!(format!("{restored:?}"), before);
    }

    #[test]
    fn a_damaged_state_is_not_restored() {
        let mut connection = ended();
        connection.number = 7.into();
        let mut ended = EndedConnection::new(&mut connection, &mut Writer::default()).unwrap();
        let whole = ended.state.clone();
        for len in 0..whole.len() {
            ended.state = whole[..len].into();
            assert!(
                !ended.is_consistent(8) && ended.restore().is_none(),
                "{len}"
            );
        }
        ended.state = whole;
        ended.serial += 1;
        assert!(!ended.is_consistent(8));
    }
}
