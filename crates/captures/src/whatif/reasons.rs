//! Why connections, or their senders, are not in an answer, and how many.

use crate::wording::grouped;
use std::collections::BTreeMap;

/// Connections or senders counted by a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons(BTreeMap<&'static str, (String, u64)>);

/// A reason, and how many it applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonCount {
    /// Its name in JSON, such as `captured_at_receiver`.
    pub name: &'static str,
    /// The reason in words.
    pub about: String,
    /// Connections or senders.
    pub count: u64,
}

impl Reasons {
    /// Counts one. `about` says the reason in words, without a full stop.
    pub fn add(&mut self, name: &'static str, about: impl Into<String>) {
        self.add_all(name, about, 1);
    }

    /// Counts several.
    pub(crate) fn add_all(&mut self, name: &'static str, about: impl Into<String>, all: u64) {
        if all > 0 {
            self.0.entry(name).or_insert_with(|| (about.into(), 0)).1 += all;
        }
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: Self) {
        for (name, (about, count)) in other.0 {
            self.0.entry(name).or_insert((about, 0)).1 += count;
        }
    }

    /// All that were counted.
    pub fn total(&self) -> u64 {
        self.0.values().map(|(_, count)| count).sum()
    }

    /// The reasons in words with their counts, the most frequent first.
    pub fn in_words(&self) -> String {
        let all = self.by_count().into_iter().map(|r| format!("{} ({})", r.about, grouped(r.count)));
        all.collect::<Vec<_>>().join("; ")
    }

    /// The reasons, the most frequent first.
    pub fn by_count(&self) -> Vec<ReasonCount> {
        let counts =
            self.0.iter().map(|(name, (about, count))| ReasonCount { name, about: about.clone(), count: *count });
        let mut counts: Vec<_> = counts.collect();
        counts.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_the_most_frequent_comes_first() {
        let mut all = Reasons::default();
        all.add("one_way", "one direction only");
        let mut more = Reasons::default();
        for _ in 0..3 {
            more.add("no_data", "no data");
        }
        more.add("one_way", "one direction only");
        all.merge(more);
        assert_eq!(all.total(), 5);
        let counts: Vec<_> = all.by_count().iter().map(|r| (r.name, r.count)).collect();
        assert_eq!(counts, [("no_data", 3), ("one_way", 2)]);
    }
}
