//! A queue in which the values of a host are found quickly.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

/// A value that depends on hosts.
pub(crate) trait OfHosts {
    /// The hosts. They do not change.
    fn hosts(&self) -> impl Iterator<Item = IpAddr>;
}

/// Values in the order in which they were added, numbered from 0.
#[derive(Debug)]
pub(crate) struct QueueByHost<T> {
    /// Boxed, because the nodes of a tree are half empty.
    values: BTreeMap<u64, Box<T>>,
    by_host: BTreeSet<(IpAddr, u64)>,
    next: u64,
}

impl<T> Default for QueueByHost<T> {
    fn default() -> Self {
        Self { values: BTreeMap::new(), by_host: BTreeSet::new(), next: 0 }
    }
}

impl<T: OfHosts> QueueByHost<T> {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The number of the next value that is added.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    pub fn push(&mut self, value: T) {
        for host in value.hosts() {
            self.by_host.insert((host, self.next));
        }
        self.values.insert(self.next, Box::new(value));
        self.next += 1;
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.values.get_mut(&number).map(Box::as_mut)
    }

    pub fn remove(&mut self, number: u64) -> Option<T> {
        let value = *self.values.remove(&number)?;
        for host in value.hosts() {
            self.by_host.remove(&(host, number));
        }
        Some(value)
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.values_mut().map(Box::as_mut)
    }

    pub fn into_values(self) -> impl Iterator<Item = T> {
        self.values.into_values().map(|value| *value)
    }

    /// Removes the oldest value.
    pub fn pop_first(&mut self) -> Option<T> {
        let (&number, _) = self.values.first_key_value()?;
        self.remove(number)
    }

    /// The numbers from `first` on.
    pub fn numbers_from(&self, first: u64) -> impl Iterator<Item = u64> {
        self.values.range(first..).map(|(&number, _)| number)
    }

    /// The numbers of the values that depend on any of `hosts`, in order.
    pub fn numbers_of(&self, hosts: impl Iterator<Item = IpAddr>) -> Vec<u64> {
        let mut numbers = Vec::new();
        if self.values.is_empty() {
            return numbers;
        }
        for host in hosts {
            let of_host = self.by_host.range((host, 0)..=(host, u64::MAX));
            numbers.extend(of_host.map(|&(_, number)| number));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// Only the values are saved, in order.
impl<T: Serialize> Serialize for QueueByHost<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.values.values())
    }
}

impl<'de, T: OfHosts + Deserialize<'de>> Deserialize<'de> for QueueByHost<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut queue = Self::default();
        let values: Vec<T> = Vec::deserialize(deserializer)?;
        values.into_iter().for_each(|value| queue.push(value));
        Ok(queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// Two hosts.
    struct Between(u8, u8);

    fn host(number: u8) -> IpAddr {
        Ipv4Addr::new(192, 0, 2, number).into()
    }

    impl OfHosts for Between {
        fn hosts(&self) -> impl Iterator<Item = IpAddr> {
            [host(self.0), host(self.1)].into_iter()
        }
    }

    #[test]
    fn values_are_found_by_either_host_in_the_order_they_came() {
        let mut queue = QueueByHost::default();
        for (a, b) in [(1, 2), (3, 1), (2, 3), (4, 4)] {
            queue.push(Between(a, b));
        }
        // (hosts, numbers)
        let cases: [(&[u8], &[u64]); 5] =
            [(&[1], &[0, 1]), (&[3, 1], &[0, 1, 2]), (&[4], &[3]), (&[9], &[]), (&[], &[])];
        for (hosts, expected) in cases {
            let found = queue.numbers_of(hosts.iter().map(|&n| host(n)));
            assert_eq!(found, expected, "{hosts:?}");
        }
        assert!(queue.remove(1).is_some() && queue.remove(1).is_none());
        assert_eq!(queue.numbers_of([host(1), host(3)].into_iter()), [0, 2]);
        assert_eq!(queue.pop_first().map(|Between(a, b)| (a, b)), Some((1, 2)));
        assert_eq!(queue.numbers_of([host(1), host(2)].into_iter()), [2]);
        assert_eq!(queue.numbers_from(1).collect::<Vec<_>>(), [2, 3]);
        assert_eq!((queue.len(), queue.next_number()), (2, 4));
        while queue.pop_first().is_some() {}
        assert!(queue.by_host.is_empty(), "nothing is left of removed values");
    }
}
