//! Why connections are not in an answer, and how many.

use std::collections::BTreeMap;

/// Connections counted by a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasons(BTreeMap<&'static str, (String, u64)>);

/// A reason, and how many connections it applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasonCount {
    /// Its name in JSON, such as `captured_at_receiver`.
    pub name: &'static str,
    /// The reason in words.
    pub about: String,
    /// Connections.
    pub connections: u64,
}

impl Reasons {
    /// Counts a connection. `about` says the reason in words, without a full stop.
    pub fn add(&mut self, name: &'static str, about: impl Into<String>) {
        let (_, count) = self.0.entry(name).or_insert_with(|| (about.into(), 0));
        *count += 1;
    }

    /// Adds what another thread counted.
    pub fn merge(&mut self, other: Self) {
        for (name, (about, count)) in other.0 {
            self.0.entry(name).or_insert((about, 0)).1 += count;
        }
    }

    /// All connections.
    pub fn total(&self) -> u64 {
        self.0.values().map(|(_, count)| count).sum()
    }

    /// The reasons, the most frequent first.
    pub fn by_count(&self) -> Vec<ReasonCount> {
        let counts = self.0.iter().map(|(name, (about, count))| ReasonCount {
            name,
            about: about.clone(),
            connections: *count,
        });
        let mut counts: Vec<_> = counts.collect();
        counts.sort_by_key(|reason| std::cmp::Reverse(reason.connections));
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
        let counts = all.by_count();
        let counts: Vec<_> = counts.iter().map(|r| (r.name, r.connections)).collect();
        assert_eq!(counts, [("no_data", 3), ("one_way", 2)]);
    }
}
