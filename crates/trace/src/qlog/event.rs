//! One event of a trace: what Recoup reads of it, by the names of every version.
//!
//! Sources: draft-ietf-quic-qlog-quic-events (§5 to §8), its revisions up to 02 (categories `transport`, `recovery` and
//! `connectivity` in place of `quic`), and what stacks write.
//!
//! Deviations: a number may be a string, as in the first drafts. Fields that are missing are unknown; an event with a field of
//! another type is unreadable.

use super::number::{Millis, Number, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The longest list of frames of one packet that is read.
const MOST_FRAMES: usize = 1 << 12;

/// An event as a JSON object (every version since draft-02).
#[derive(Deserialize)]
pub(super) struct Record<'a> {
    #[serde(borrow, default)]
    pub name: Text<'a>,
    #[serde(default)]
    pub time: Option<Millis>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub group_id: Option<Text<'a>>,
    #[serde(borrow, default, rename = "ODCID")]
    pub odcid: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub time_format: Option<Text<'a>>,
}

/// A number space (RFC 9000 §12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    Initial,
    Handshake,
    Data,
}

impl Space {
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Data];

    /// The space of a packet type, or of the name of a space; `None` for packets without a number.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "initial" | "INITIAL" => Self::Initial,
            "handshake" | "HANDSHAKE" => Self::Handshake,
            "1RTT" | "0RTT" | "1rtt" | "0rtt" | "1-RTT" | "application_data" | "ONERTT" | "ZERORTT" => Self::Data,
            _ => return None,
        })
    }
}

/// How a packet was found to be lost, or why it was sent (RFC 9002 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stated {
    PacketThreshold,
    TimeThreshold,
    Probe,
    /// A larger packet that probed for a larger path MTU.
    MtuProbe,
}

/// An event that is read.
#[derive(Debug)]
pub(super) enum Event {
    Sent(Packet),
    Received(Packet),
    Lost {
        space: Space,
        number: u64,
        stated: Option<Stated>,
    },
    Acked {
        space: Space,
        numbers: Vec<u64>,
    },
    /// The sender found that a packet had not been lost (quic-go's `spurious_loss`).
    Spurious {
        space: Space,
        number: u64,
    },
    Metrics(Metrics),
    /// A probe timeout expired.
    ProbeTimeout,
    /// The congestion controller detected persistent congestion (RFC 9002 §7.6).
    PersistentCongestion,
    /// The addresses and ports, as text: the own end, and the peer.
    Started([Option<(String, u64)>; 2]),
    /// The connection was closed; `true` if it was idle for too long.
    Closed(bool),
    HandshakeDone,
    /// The peer's transport parameters.
    PeerLimits(Limits),
    /// Flow control began or ceased to hold data back.
    Blocked(bool),
    /// The keys of a space were discarded.
    Discarded(Space),
}

impl Event {
    /// Whether a packet was sent or received.
    pub fn is_packet(&self) -> bool {
        matches!(self, Self::Sent(_) | Self::Received(_))
    }
}

/// How much data a peer takes at first (RFC 9000 §18.2), in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// Of all streams together.
    pub connection: Option<u64>,
    /// Of a stream that the sender opened, of one that the peer opened, and of one in one direction.
    pub opened_by_sender: Option<u64>,
    pub opened_by_peer: Option<u64>,
    pub one_way: Option<u64>,
}

/// A packet that was sent or received.
#[derive(Debug, Default)]
pub(super) struct Packet {
    pub space: Option<Space>,
    pub is_zero_rtt: bool,
    pub number: Option<u64>,
    /// Its bytes; 0 if unknown.
    pub size: u64,
    /// `None`: the trace does not have its frames.
    pub frames: Option<Vec<Frame>>,
    pub stated: Option<Stated>,
}

/// A frame.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    /// Packet numbers, both ends included.
    Ack(Vec<(u64, u64)>),
    /// Bytes of a stream, or of the handshake (`None`).
    Data {
        stream: Option<u64>,
        from: u64,
        to: u64,
        is_last: bool,
    },
    /// Flow control holds back the connection, or a stream.
    Blocked(Option<u64>),
    /// More credit for the connection, or for a stream.
    Credit {
        stream: Option<u64>,
        limit: u64,
    },
    HandshakeDone,
    Close,
    /// Any other frame that asks for an ACK.
    Eliciting,
    /// PADDING.
    Padding,
}

impl Packet {
    /// Whether the receiver acknowledges it without being asked again (RFC 9002 §2); `None` if unknown.
    pub fn is_eliciting(&self) -> Option<bool> {
        let frames = self.frames.as_ref()?;
        Some(frames.iter().any(|frame| !matches!(frame, Frame::Ack(_) | Frame::Close | Frame::Padding)))
    }
}

/// Quantities of the sender's recovery.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metrics {
    pub smoothed_rtt: Option<Millis>,
    pub latest_rtt: Option<Millis>,
    pub pto_count: Option<Number>,
    #[serde(alias = "cwnd")]
    pub congestion_window: Option<Number>,
    pub bytes_in_flight: Option<Number>,
    pub packets_in_flight: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawHeader<'a> {
    #[serde(borrow)]
    packet_type: Option<Text<'a>>,
    packet_number: Option<Number>,
    packet_size: Option<Number>,
    length: Option<Number>,
    payload_length: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawInfo {
    length: Option<Number>,
    payload_length: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawFrame<'a> {
    #[serde(borrow)]
    frame_type: Text<'a>,
    acked_ranges: Option<Vec<Vec<Number>>>,
    stream_id: Option<Number>,
    #[serde(borrow)]
    stream_type: Option<Text<'a>>,
    offset: Option<Number>,
    length: Option<Number>,
    fin: Option<bool>,
    maximum: Option<Number>,
    raw: Option<RawInfo>,
}

/// The data of `packet_sent`, `packet_received` and `packet_lost`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RawPacket<'a> {
    #[serde(borrow)]
    header: Option<RawHeader<'a>>,
    #[serde(borrow)]
    packet_type: Option<Text<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    packet_number: Option<Number>,
    #[serde(borrow)]
    packet_number_space: Option<Text<'a>>,
    packet_numbers: Option<Vec<Number>>,
    raw: Option<RawInfo>,
    #[serde(borrow)]
    frames: Option<Vec<RawFrame<'a>>>,
    is_mtu_probe_packet: bool,
    #[serde(borrow)]
    trigger: Option<Text<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawTimer<'a> {
    #[serde(borrow)]
    timer_type: Option<Text<'a>>,
    #[serde(borrow)]
    event_type: Option<Text<'a>>,
}

/// The data of events that report a new state.
#[derive(Deserialize, Default)]
#[serde(default)]
struct RawState<'a> {
    #[serde(borrow)]
    new: Option<Text<'a>>,
    #[serde(borrow)]
    trigger: Option<Text<'a>>,
    #[serde(borrow)]
    reason: Option<Text<'a>>,
    #[serde(borrow)]
    key_type: Option<Text<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawParameters<'a> {
    #[serde(borrow)]
    initiator: Option<Text<'a>>,
    #[serde(borrow)]
    owner: Option<Text<'a>>,
    initial_max_data: Option<Number>,
    initial_max_stream_data_bidi_local: Option<Number>,
    initial_max_stream_data_bidi_remote: Option<Number>,
    initial_max_stream_data_uni: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawEnd<'a> {
    #[serde(borrow)]
    ip_v4: Option<Text<'a>>,
    port_v4: Option<Number>,
    #[serde(borrow)]
    ip_v6: Option<Text<'a>>,
    port_v6: Option<Number>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RawStarted<'a> {
    #[serde(borrow)]
    local: Option<RawEnd<'a>>,
    #[serde(borrow)]
    remote: Option<RawEnd<'a>>,
    #[serde(borrow)]
    src_ip: Option<Text<'a>>,
    src_port: Option<Number>,
    #[serde(borrow)]
    dst_ip: Option<Text<'a>>,
    dst_port: Option<Number>,
}

/// Reads the data of an event. `Ok(None)`: it is none of those that are read.
///
/// # Errors
/// A field has a type that its event does not have in any version.
pub(super) fn read(name: &str, data: Option<&RawValue>) -> Result<Option<Event>, serde_json::Error> {
    let (category, name) = name.split_once(':').unwrap_or(("quic", name));
    let is_read = ["quic", "transport", "recovery", "connectivity", "security"];
    if !is_read.iter().any(|read| category.eq_ignore_ascii_case(read)) {
        return Ok(None);
    }
    let data = data.map_or("{}", RawValue::get);
    Ok(match name.to_ascii_lowercase().as_str() {
        "packet_sent" => Some(Event::Sent(packet(serde_json::from_str(data)?))),
        "packet_received" => Some(Event::Received(packet(serde_json::from_str(data)?))),
        "packet_lost" => lost(serde_json::from_str(data)?),
        "packets_acked" => acked(serde_json::from_str(data)?),
        "spurious_loss" => {
            named_packet(&serde_json::from_str(data)?).map(|(space, number)| Event::Spurious { space, number })
        }
        "metrics_updated" | "metric_update" | "recovery_metrics_updated" => {
            Some(Event::Metrics(serde_json::from_str(data)?))
        }
        "loss_timer_updated" | "timer_updated" => timer(&serde_json::from_str(data)?),
        "congestion_state_updated"
        | "connection_state_updated"
        | "connection_closed"
        | "key_discarded"
        | "key_retired"
        | "connection_data_blocked_updated" => state(name, &serde_json::from_str(data)?),
        "parameters_set" => limits(&serde_json::from_str(data)?),
        "connection_started" => Some(started(serde_json::from_str(data)?)),
        _ => None,
    })
}

fn stated(trigger: Option<&Text<'_>>) -> Option<Stated> {
    match trigger?.as_str() {
        "reordering_threshold" => Some(Stated::PacketThreshold),
        "time_threshold" => Some(Stated::TimeThreshold),
        "pto_expired" | "pto_probe" | "pto" => Some(Stated::Probe),
        _ => None,
    }
}

/// The most bytes of a packet or a frame: a UDP datagram holds no more.
const LONGEST: u64 = 65_535;

fn packet(raw: RawPacket<'_>) -> Packet {
    let header = raw.header.unwrap_or_default();
    let kind = header.packet_type.or(raw.packet_type).or(raw.kind);
    let info = raw.raw.unwrap_or_default();
    let size = info.length.or(header.packet_size).or(header.length).or(info.payload_length).or(header.payload_length);
    let frames = raw.frames.map(|frames| frames.into_iter().take(MOST_FRAMES).map(frame).collect());
    let trigger = if raw.is_mtu_probe_packet { Some(Stated::MtuProbe) } else { stated(raw.trigger.as_ref()) };
    let is_zero_rtt = kind.as_ref().is_some_and(|kind| kind.as_str().to_ascii_uppercase().starts_with(['0', 'Z']));
    Packet {
        is_zero_rtt,
        space: kind.and_then(|kind| Space::of(kind.as_str())),
        number: header.packet_number.or(raw.packet_number).map(|number| number.0),
        size: size.map_or(0, |size| size.0.min(LONGEST)),
        frames,
        stated: trigger,
    }
}

/// The packet that an event names by its number alone.
fn named_packet(raw: &RawPacket<'_>) -> Option<(Space, u64)> {
    let header = raw.header.as_ref();
    let kind = header.and_then(|header| header.packet_type.as_ref());
    let kind = kind.or(raw.packet_number_space.as_ref()).or(raw.packet_type.as_ref()).or(raw.kind.as_ref());
    let space = kind.map_or(Some(Space::Data), |kind| Space::of(kind.as_str()))?;
    let number = header.and_then(|header| header.packet_number).or(raw.packet_number)?;
    Some((space, number.0))
}

fn lost(raw: RawPacket<'_>) -> Option<Event> {
    let (space, number) = named_packet(&raw)?;
    let stated = if raw.is_mtu_probe_packet { Some(Stated::MtuProbe) } else { stated(raw.trigger.as_ref()) };
    Some(Event::Lost { space, number, stated })
}

fn acked(raw: RawPacket<'_>) -> Option<Event> {
    let space = raw.packet_number_space.as_ref().map_or(Some(Space::Data), |name| Space::of(name.as_str()))?;
    let numbers = raw.packet_numbers?.into_iter().map(|number| number.0).collect();
    Some(Event::Acked { space, numbers })
}

fn timer(raw: &RawTimer<'_>) -> Option<Event> {
    let is = |text: &Option<Text<'_>>, name: &str| text.as_ref().is_some_and(|text| text.as_str() == name);
    // `loss_timeout` is either timer of RFC 9002: the losses that follow show which it was.
    (is(&raw.event_type, "expired") && is(&raw.timer_type, "pto")).then_some(Event::ProbeTimeout)
}

fn state(name: &str, raw: &RawState<'_>) -> Option<Event> {
    let of = |text: &Option<Text<'_>>| text.as_ref().map(|text| text.as_str().to_ascii_lowercase()).unwrap_or_default();
    let (new, trigger) = (of(&raw.new), of(&raw.trigger));
    match name.to_ascii_lowercase().as_str() {
        "congestion_state_updated" => (trigger == "persistent_congestion").then_some(Event::PersistentCongestion),
        "connection_closed" => Some(Event::Closed(trigger == "idle_timeout")),
        "connection_data_blocked_updated" => {
            let is_flow_control = matches!(of(&raw.reason).as_str(), "connection_flow_control" | "stream_flow_control");
            match new.as_str() {
                "blocked" if is_flow_control => Some(Event::Blocked(true)),
                "unblocked" => Some(Event::Blocked(false)),
                _ => None,
            }
        }
        "connection_state_updated" => match new.as_str() {
            "handshake_completed" | "handshake_complete" | "handshake_confirmed" | "active" => {
                Some(Event::HandshakeDone)
            }
            "closing" | "draining" | "closed" => Some(Event::Closed(false)),
            _ => None,
        },
        _ => match of(&raw.key_type).as_str() {
            "client_initial_secret" | "server_initial_secret" => Some(Event::Discarded(Space::Initial)),
            "client_handshake_secret" | "server_handshake_secret" => Some(Event::Discarded(Space::Handshake)),
            _ => None,
        },
    }
}

/// The limits that the peer sets, if these are its parameters.
fn limits(raw: &RawParameters<'_>) -> Option<Event> {
    let of = |number: Option<Number>| number.map(|number| number.0);
    let owner = raw.initiator.as_ref().or(raw.owner.as_ref()).map(Text::as_str);
    (owner == Some("remote")).then(|| {
        Event::PeerLimits(Limits {
            connection: of(raw.initial_max_data),
            // The names are from the peer's view.
            opened_by_sender: of(raw.initial_max_stream_data_bidi_remote),
            opened_by_peer: of(raw.initial_max_stream_data_bidi_local),
            one_way: of(raw.initial_max_stream_data_uni),
        })
    })
}

fn started(raw: RawStarted<'_>) -> Event {
    let end = |end: Option<RawEnd<'_>>| {
        let end = end?;
        let (ip, port) = match end.ip_v4 {
            Some(ip) => (ip, end.port_v4),
            None => (end.ip_v6?, end.port_v6),
        };
        Some((ip.as_str().to_owned(), port?.0))
    };
    let old = |ip: Option<Text<'_>>, port: Option<Number>| Some((ip?.as_str().to_owned(), port?.0));
    let local = end(raw.local).or_else(|| old(raw.src_ip, raw.src_port));
    let remote = end(raw.remote).or_else(|| old(raw.dst_ip, raw.dst_port));
    Event::Started([local, remote])
}

fn frame(raw: RawFrame<'_>) -> Frame {
    let info = raw.raw.unwrap_or_default();
    let length = raw.length.or(info.payload_length).or(info.length).map_or(0, |length| length.0.min(LONGEST));
    let data = |stream| {
        let from = raw.offset.map_or(0, |offset| offset.0);
        let is_last = raw.fin.unwrap_or_default();
        Frame::Data { stream, from, to: from.saturating_add(length), is_last }
    };
    let limit = raw.maximum.map_or(0, |limit| limit.0);
    let stream = raw.stream_id.map(|stream| stream.0);
    let is_data = |name: &str| name.contains("data_blocked") || name == "blocked" || name == "stream_blocked";
    match raw.frame_type.as_str().to_ascii_lowercase().as_str() {
        "ack" | "ack_ecn" => {
            Frame::Ack(raw.acked_ranges.into_iter().flatten().filter_map(|range| ends(&range)).collect())
        }
        "stream" => data(Some(stream.unwrap_or_default())),
        "crypto" => data(None),
        "padding" => Frame::Padding,
        "connection_close" | "application_close" => Frame::Close,
        "handshake_done" => Frame::HandshakeDone,
        "max_data" => Frame::Credit { stream: None, limit },
        "max_stream_data" => Frame::Credit { stream, limit },
        name if is_data(name) && raw.stream_type.is_none() => Frame::Blocked(stream),
        _ => Frame::Eliciting,
    }
}

/// The ends of a range of packet numbers: one number, or two in either order.
fn ends(range: &[Number]) -> Option<(u64, u64)> {
    match *range {
        [one] => Some((one.0, one.0)),
        [first, second] => Some((first.0.min(second.0), first.0.max(second.0))),
        _ => None,
    }
}
