//! Verdicts that depend on what becomes known of hosts: they are kept until that is proven, and
//! revised.

use super::{
    by_host::{OfHosts, QueueByHost},
    identify::MOST_CANDIDATES,
};
use crate::{
    cost::lost::causes::Clues,
    finding::{Cause, Evidence, Findings, Renumbering, Retransmission, Revision, Triggers, Verdict},
    hosts::{DuplicateReports, ReportsDuplicates},
    verdict::ConditionalVerdict,
};
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, net::IpAddr};

/// Findings that a shard keeps; beyond, the oldest stay as they are.
const MOST_KEPT: usize = 4096;

/// A retransmission, and what it becomes if more is known of its hosts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct ProvisionalRow {
    pub retransmission: Retransmission,
    /// The verdict, if the receiver behaves otherwise than assumed.
    pub alternative: Option<AlternativeVerdict>,
    /// The triggers under each candidate profile.
    pub triggers: [Triggers; MOST_CANDIDATES],
    pub clues: Clues,
}

/// The verdict on a retransmission if its receiver behaves otherwise than assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AlternativeVerdict {
    /// Assumption about the receiver.
    assumed: ReportsDuplicates,
    verdict: (Verdict, Evidence),
    /// Cause of its episode's lost time in that case, if it begins one.
    pub cause: Option<Cause>,
}

impl AlternativeVerdict {
    /// `None` if the verdict is the same.
    pub fn new(found: &ConditionalVerdict, assumed: ReportsDuplicates) -> Option<Self> {
        let verdict = found.given(match assumed {
            ReportsDuplicates::Yes => ReportsDuplicates::No,
            ReportsDuplicates::No => ReportsDuplicates::Yes,
        });
        (verdict != found.given(assumed)).then_some(Self { assumed, verdict, cause: None })
    }

    /// This assumption for a retransmission whose verdict does not depend on it.
    pub fn with_verdict(self, verdict: (Verdict, Evidence)) -> Self {
        Self { assumed: self.assumed, verdict, cause: None }
    }

    /// The verdict in that case.
    pub fn verdict(&self) -> Verdict {
        self.verdict.0
    }

    /// Exchanges the verdicts if the assumption was wrong.
    fn revise(&mut self, retransmission: &mut Retransmission, reports: DuplicateReports) -> Option<Revision> {
        let fact = reports.belief();
        if fact == self.assumed {
            return None;
        }
        let before = (retransmission.verdict, retransmission.evidence);
        (retransmission.verdict, retransmission.evidence) = self.verdict;
        let cause_before = retransmission.cost.map(|cost| cost.cause);
        if let (Some(cost), Some(cause)) = (&mut retransmission.cost, self.cause) {
            cost.cause = cause;
        }
        *self = Self { assumed: fact, verdict: before, cause: cause_before.filter(|_| self.cause.is_some()) };
        Some(Revision {
            retransmission: *retransmission,
            before,
            cause_before,
            host: retransmission.endpoints.dst.ip(),
            fact,
        })
    }
}

/// Hosts of which more became known between two rounds.
pub(crate) type ChangedHosts = HashMap<IpAddr, DuplicateReports>;

/// The provisional findings of one shard, in the order they were passed on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProvisionalFindings(QueueByHost<ProvisionalFinding>);

/// A retransmission that was passed on, and its other verdict.
#[derive(Debug, Serialize, Deserialize)]
struct ProvisionalFinding {
    retransmission: Retransmission,
    alternative: AlternativeVerdict,
}

impl OfHosts for ProvisionalFinding {
    fn hosts(&self) -> impl Iterator<Item = IpAddr> {
        std::iter::once(self.retransmission.endpoints.dst.ip())
    }
}

impl ProvisionalRow {
    /// Revises the verdict by what is now known of the receiver.
    pub fn revise(&mut self, changed: &ChangedHosts) -> Option<Revision> {
        let reports = changed.get(&self.retransmission.endpoints.dst.ip())?;
        let revision = (self.alternative.as_mut()?).revise(&mut self.retransmission, *reports);
        if reports.proof() == Some(ReportsDuplicates::Yes) {
            self.alternative = None;
            self.retransmission.provisional = false;
        }
        revision
    }
}

impl ProvisionalFindings {
    /// Keeps a retransmission that was passed on with its connection.
    pub fn push(&mut self, retransmission: Retransmission, alternative: AlternativeVerdict) {
        while self.0.len() >= MOST_KEPT {
            self.0.pop_first();
        }
        self.0.push(ProvisionalFinding { retransmission, alternative });
    }

    /// Gives all connections and frames other numbers.
    pub fn renumber(&mut self, by: Renumbering) {
        for finding in self.0.values_mut() {
            finding.retransmission.renumber(by);
        }
    }

    /// Adds those of another analysis.
    pub fn merge(&mut self, other: Self) {
        other.0.into_values().for_each(|finding| self.0.push(finding));
    }

    /// Revises the verdicts that were based on a wrong assumption about one of the hosts. Forgets
    /// those that no longer depend on one.
    pub fn revise(&mut self, changed: &ChangedHosts, findings: &mut impl Findings) {
        for number in self.0.numbers_of(changed.keys().copied()) {
            let Some(finding) = self.0.get_mut(number) else {
                continue;
            };
            let Some(reports) = changed.get(&finding.retransmission.endpoints.dst.ip()) else {
                continue;
            };
            let retransmission = &mut finding.retransmission;
            if let Some(revision) = finding.alternative.revise(retransmission, *reports) {
                findings.revision(&revision);
            }
            if reports.proof() == Some(ReportsDuplicates::Yes) {
                self.0.remove(number);
            }
        }
    }
}
