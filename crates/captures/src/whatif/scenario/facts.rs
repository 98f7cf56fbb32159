//! The facts of one connection that a scenario needs.

use super::super::bases::Bases;
use super::super::candidates::Candidate;
use super::super::gather::Task;
use super::traffic::{Writer, exchanges};
use recoup_recovery::Mechanisms;
use recoup_support::exchange::Exchange;
use recoup_tcp::flow::{Host, Script};
use recoup_units::Offset;
use recoup_whatif::transmission::Transmission;
use recoup_whatif::{AckHabit, Rerunner, Unsuitable, record};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The facts of one connection that a scenario needs.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The end that sent more data.
    pub sender: Host,
    pub peer: IpAddr,
    pub rtt: Duration,
    pub segment_size: u16,
    pub habit: AckHabit,
    pub first_flight: u32,
    /// Every transmission of the sender.
    pub transmissions: Vec<Transmission>,
    /// The writes of both ends; `None` if no rerun reproduces the connection.
    pub traffic: Option<Traffic>,
    pub has_loss: bool,
    /// How much of the sender's stream the peer had received when it wrote.
    pub replied_at: BTreeSet<Offset>,
}

/// The writes of both ends of a connection.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    /// The profile that reproduces the connection, among the known ones.
    pub profile: usize,
    pub exchanges: Vec<Exchange>,
    /// Bytes of client and server.
    pub bytes: [u64; 2],
}

impl Facts {
    /// Infers the facts from the packets of a connection.
    pub fn new(rerunner: &mut Rerunner, candidate: &Candidate, bases: &Bases, task: &Task) -> Result<Self, Unsuitable> {
        let recorded = record(&task.packets, candidate.sender, &candidate.retransmissions)?;
        let recorded = Arc::new(recorded);
        let order = bases.order(candidate);
        let profiles: Vec<Mechanisms> =
            order.iter().map(|i| bases.mechanisms(*i, candidate.sender_address())).collect();
        let reproduced = rerunner.reproduce(&recorded, &profiles).ok();
        let traffic = reproduced.map(|reproduced| {
            let rtt = recorded.rtt();
            let own = Writer::rerun(reproduced.script());
            let peer = Writer::observed(recorded.peer_script(), rtt);
            let [client, server] = match recorded.sender() {
                Host::Client => [own, peer],
                Host::Server => [peer, own],
            };
            Traffic {
                profile: order[reproduced.profile],
                bytes: [&client, &server].map(|writer| Script::total(writer.script)),
                exchanges: exchanges(&client, &server),
            }
        });
        Ok(Self {
            sender: recorded.sender(),
            peer: candidate.peer_address(),
            rtt: recorded.rtt(),
            segment_size: recorded.segment_size(),
            habit: recorded.habit(),
            first_flight: recorded.first_flight(),
            transmissions: recorded.transmissions().to_vec(),
            has_loss: recorded.has_loss(),
            replied_at: recorded.peer_script().writes.iter().map(|write| Offset::DATA + write.when.received).collect(),
            traffic,
        })
    }

    /// Data segments of the sender, without retransmissions.
    pub fn segments(&self) -> u32 {
        u32::try_from(self.originals().len()).unwrap_or(u32::MAX)
    }

    /// The first transmissions of the sender's data segments, in the order of the stream.
    pub fn originals(&self) -> Vec<&Transmission> {
        let sent = || self.transmissions.iter();
        let after_syn = || sent().filter(|one| one.span.start >= Offset::DATA);
        let headers = after_syn().map(|one| u64::from(one.ip_len).saturating_sub(one.span.len())).max().unwrap_or(0);
        // A FIN alone is one offset without payload.
        let has_payload = |one: &&Transmission| one.span.len() > 1 || u64::from(one.ip_len) > headers;
        let originals = after_syn().filter(|one| one.copy == 1);
        let mut originals: Vec<_> = originals.filter(has_payload).collect();
        originals.sort_by_key(|one| one.span.start);
        originals
    }
}
