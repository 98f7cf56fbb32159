//! How the time of connections was spent, and what the capture does not show of it.

use super::super::facts::{CapturedAt, Facts, Marks, Policed, Unopened};
use super::super::queues;
use super::super::quic::Protocol;
use crate::wording::{bit_rate, bytes, capitalized, count, duration, list, longest_first, percent_of};
use recoup_trace::finding::{Cause, SenderState, WhyUnknown};
use std::time::Duration;

/// The least share of the time that is worth a word.
const LEAST_SHARE: f64 = 0.005;

/// How the time was spent: first all states by their share, then what held senders up besides losses. And
/// whether anything did.
pub fn sentences(facts: &Facts) -> (Vec<String>, bool) {
    let all = facts.connection_time;
    let mut states = longest_first(SenderState::ALL, |state| facts.time.of(state));
    states.retain(|(_, time)| *time >= all.mul_f64(LEAST_SHARE));
    if states.is_empty() {
        return (unanswered_syns(facts).into_iter().chain(refused(facts)).collect(), false);
    }
    let protocol = facts.protocol();
    let shares: Vec<String> =
        states.iter().map(|(state, time)| format!("{} {}", percent_of(*time, all), doing(*state, protocol))).collect();
    let whole = format!(
        "Where the time of {} went: {}.",
        match facts.connections {
            1 => "the main sender".into(),
            n => count(n, "connection"),
        },
        list(&shares)
    );
    let held: Vec<String> = states
        .iter()
        .filter_map(|(state, time)| {
            let connections = facts.connections_in_state[*state as usize];
            let who = limiter(*state, protocol).filter(|_| connections > 0)?;
            Some(format!(
                "{who} held {} up for {} ({})",
                count(connections, "connection"),
                duration(*time),
                percent_of(*time, all)
            ))
        })
        .collect();
    let held_up = !held.is_empty();
    let mut sentences = vec![whole];
    if held_up {
        sentences.push(format!("{}.", capitalized(&held.join("; "))));
    }
    sentences.extend(beyond_recovery(facts));
    sentences.extend(unanswered_syns(facts));
    sentences.extend(refused(facts));
    sentences.extend(outage(facts));
    sentences.extend(losses_by_side(facts));
    sentences.extend(queues::sentence(facts));
    sentences.extend(policed(facts));
    sentences.extend(unanswered_fins(facts));
    sentences.extend(marks(facts));
    (sentences, held_up)
}

/// The lever where most of the time lies, if that is not recovery.
fn beyond_recovery(facts: &Facts) -> Vec<String> {
    let all = facts.connection_time;
    let share = |time: Duration, percent: u32| !all.is_zero() && time * 100 >= all * percent;
    let idle = facts.time.of(SenderState::Application);
    // Without what lost SYNs and SYN-ACKs cost.
    let lost = [
        Cause::LostSyn,
        Cause::LostSynAck,
        Cause::LostSynOrSynAck,
        Cause::LostHandshakePacket,
        Cause::UnansweredSyn,
        Cause::IgnoredAck,
    ];
    let lost: Duration = lost.iter().map(|cause| facts.lost.of(*cause)).sum();
    let connecting = facts.time.of(SenderState::Connecting).saturating_sub(lost);
    let mut sentences = Vec::new();
    if share(idle, 50) {
        sentences.push(format!(
            "For {} of the time nothing in {} was the limit: the applications had nothing to send.",
            percent_of(idle, all),
            facts.protocol().choose("TCP", "QUIC")
        ));
    }
    // A handshake takes a round trip, whatever the stack.
    if facts.connections > 1 && facts.unopened.connections == 0 && share(connecting, 20) {
        sentences.push(format!(
            "Handshakes took {}: connections that are kept open for further requests save that (`recoup profiles --levers reuse-connections`).",
            duration(connecting)
        ));
    }
    sentences
}

/// Connections whose SYNs nobody answered.
fn unanswered_syns(facts: &Facts) -> Option<String> {
    let Unopened { connections, syns, longest, server, several_servers, .. } = facts.unopened;
    let to = server.filter(|_| !several_servers).map_or(String::new(), |server| format!(" to {server}"));
    let who = if several_servers { "the hosts or the paths" } else { "the host or the path" };
    let sent_for = if connections == 1 { "sent for" } else { "sent for up to" };
    (connections > 0).then(|| {
        format!(
            "Nobody answered the {} of {}{to}, {sent_for} {}: {who} did not answer.",
            count(syns, "SYN"),
            count(connections, "connection"),
            duration(longest)
        )
    })
}

/// Connections that the server refused.
fn refused(facts: &Facts) -> Option<String> {
    let refused = facts.unopened.refused;
    let was = if refused == 1 { "was" } else { "were" };
    (refused > 0).then(|| format!("{} {was} refused: a reset answered the SYN.", count(refused, "connection")))
}

/// A time in which many connections stood still.
fn outage(facts: &Facts) -> Option<String> {
    let (outage, (begun, _)) = (facts.outage()?, facts.span?);
    let [from, until] = [outage.from, outage.until].map(|at| duration(at.since(begun)));
    let connections = count(outage.connections as u64, "connection");
    Some(format!(
        "From {from} to {until} after the first packet, {connections} stood still at once: one outage, of the path or of a host."
    ))
}

/// On which side of the capture point packets were lost, if it is between the ends.
fn losses_by_side(facts: &Facts) -> Option<String> {
    let is_between = facts.captured_at[CapturedAt::Between as usize] > 0;
    let [client, server] = facts.losses_by_side;
    let were = if client == 1 { "was" } else { "were" };
    (is_between && client + server > 0).then(|| {
        format!(
            "Of the lost packets that the capture can place, {client} {were} lost between the capture point and the client, \
             and {server} between it and the server."
        )
    })
}

/// Congestion that routers signalled by marks instead of losses.
fn marks(facts: &Facts) -> Option<String> {
    let Marks { connections, counts } = facts.marks;
    let reductions = match counts.reductions {
        0 => String::new(),
        times => format!(", and senders confirmed {} of their windows for them", count(times, "reduction")),
    };
    (connections > 0).then(|| {
        format!(
            "Routers marked packets of {} instead of dropping them (ECN): the capture holds {} with a mark and {} of marks{reductions}.",
            count(connections, "connection"),
            count(counts.marked, "packet"),
            count(counts.reported, "report")
        )
    })
}

/// Policers, and what they let pass.
fn policed(facts: &Facts) -> Option<String> {
    let Policed { senders, rates, bursts } = facts.policed;
    let said = |(least, most): (u64, u64), say: fn(u64) -> String| match [least, most].map(say) {
        [least, most] if least == most => least,
        [least, most] => format!("{least} to {most}"),
    };
    let (rates, bursts) = (said(rates?, bit_rate), said(bursts?, bytes));
    Some(format!(
        "A policer held {} to {rates}: a burst of at least {bursts} passed above that rate, then what exceeded it was dropped, and no \
         queue grew. Pacing at that rate avoids the losses.",
        count(senders, "sender")
    ))
}

/// Peers that were gone when a connection was closed.
fn unanswered_fins(facts: &Facts) -> Option<String> {
    let fins = facts.unanswered_fins;
    let gone = if fins == 1 {
        "peer had gone, and nobody waited for it"
    } else {
        "peers had gone, and nobody waited for them"
    };
    (fins > 0).then(|| format!("{} went unanswered: the {gone}.", count(fins, "FIN")))
}

/// A state in words, as the end of "71 % …".
fn doing(state: SenderState, protocol: Protocol) -> &'static str {
    match state {
        SenderState::Connecting => "connecting",
        SenderState::Recovering => "recovering from losses",
        SenderState::ZeroWindow => protocol.choose("waiting for a closed window", "waiting for flow-control credit"),
        SenderState::ReceiverWindow => protocol.choose("limited by the receiver's window", "limited by flow control"),
        SenderState::SenderBuffer => "limited by the send buffer",
        SenderState::Network => "sending at the pace of the network",
        SenderState::Application => "with nothing to send",
        SenderState::Closing => "closing",
        SenderState::Unknown => "unknown",
    }
}

/// The time in a state, with its share of all time.
pub fn state_share(state: SenderState, time: Duration, all: Duration) -> String {
    format!("{} {} ({})", state_title(state), duration(time), percent_of(time, all))
}

/// A state's name in tables: `receiver window`.
pub fn state_title(state: SenderState) -> &'static str {
    match state {
        SenderState::Connecting => "connecting",
        SenderState::Recovering => "recovering",
        SenderState::ZeroWindow => "zero window",
        SenderState::ReceiverWindow => "receiver's window",
        SenderState::SenderBuffer => "send buffer",
        SenderState::Network => "network",
        SenderState::Application => "nothing to send",
        SenderState::Closing => "closing",
        SenderState::Unknown => "unknown",
    }
}

/// The cause that holds a sender up in this state, if it is neither a loss, nor the network, nor the application.
fn limiter(state: SenderState, protocol: Protocol) -> Option<&'static str> {
    match state {
        SenderState::ZeroWindow => Some(protocol.choose("closed receive windows", "used-up flow-control credit")),
        SenderState::ReceiverWindow => Some(protocol.choose("small receive windows", "little flow-control credit")),
        SenderState::SenderBuffer => Some("full send buffers"),
        _ => None,
    }
}

/// Why some of the time is unknown.
pub fn unknown(facts: &Facts) -> Vec<String> {
    let all = facts.connection_time;
    let reasons = facts.unknown().into_iter();
    let noticeable = reasons.filter(|(_, time)| *time >= all.mul_f64(LEAST_SHARE));
    let sentence = |(why, time): (WhyUnknown, Duration)| {
        let because = match why {
            WhyUnknown::CaptureBegins => "the capture begins within the connection",
            WhyUnknown::OneDirection => "the capture holds one direction only",
            WhyUnknown::PacketsMissing => "packets are missing from the capture",
        };
        format!("the sender's state is unknown for {} ({}): {because}", duration(time), percent_of(time, all))
    };
    noticeable.map(sentence).collect()
}

/// Handshake losses that the capture point hides.
pub fn invisible_syns(facts: &Facts) -> Option<String> {
    let at_server = facts.captured_at[CapturedAt::Server as usize];
    (at_server > 0 && facts.protocol() == Protocol::Tcp)
        .then(|| "a SYN that was lost on its way to the server is not in a capture taken at the server".into())
}
