//! Verdicts that depend on what becomes known of hosts: they are kept until that is proven, and
//! revised.

use crate::finding::{Evidence, Findings, Retransmission, Revision, Verdict};
use crate::hosts::{DuplicateReports, ReportsDuplicates};
use crate::verdict::ConditionalVerdict;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

/// Findings that a shard keeps; beyond, the oldest stay as they are.
const MOST_KEPT: usize = 4096;

/// The verdict on a retransmission if its receiver behaves otherwise than assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AlternativeVerdict {
    /// What was assumed of the receiver.
    assumed: ReportsDuplicates,
    verdict: (Verdict, Evidence),
}

impl AlternativeVerdict {
    /// `None` if the verdict is the same.
    pub fn new(found: &ConditionalVerdict, assumed: ReportsDuplicates) -> Option<Self> {
        let verdict = found.given(match assumed {
            ReportsDuplicates::Yes => ReportsDuplicates::No,
            ReportsDuplicates::No => ReportsDuplicates::Yes,
        });
        (verdict != found.given(assumed)).then_some(Self { assumed, verdict })
    }
}

/// Hosts of which more became known between two rounds.
pub(crate) type ChangedHosts = HashMap<IpAddr, DuplicateReports>;

/// The provisional findings of one shard, in the order they were passed on.
#[derive(Debug, Default)]
pub(crate) struct ProvisionalFindings(VecDeque<(Retransmission, AlternativeVerdict)>);

impl ProvisionalFindings {
    /// Keeps a retransmission that was passed on with its connection.
    pub fn push(&mut self, retransmission: Retransmission, alternative: AlternativeVerdict) {
        if self.0.len() == MOST_KEPT {
            self.0.pop_front();
        }
        self.0.push_back((retransmission, alternative));
    }

    /// Revises the verdicts that were based on a wrong assumption about one of the hosts. Forgets
    /// those that no longer depend on one.
    pub fn revise(&mut self, changed: &ChangedHosts, findings: &mut impl Findings) {
        self.0.retain_mut(|(retransmission, alternative)| {
            let host = retransmission.endpoints.dst.ip();
            let Some(reports) = changed.get(&host) else {
                return true;
            };
            let fact = reports.belief();
            if fact != alternative.assumed {
                let new = alternative.verdict;
                let before = (retransmission.verdict, retransmission.evidence);
                (retransmission.verdict, retransmission.evidence) = new;
                *alternative = AlternativeVerdict {
                    assumed: fact,
                    verdict: before,
                };
                findings.revision(&Revision {
                    retransmission: *retransmission,
                    before,
                    host,
                    fact,
                });
            }
            reports.proof() != Some(ReportsDuplicates::Yes)
        });
    }
}
