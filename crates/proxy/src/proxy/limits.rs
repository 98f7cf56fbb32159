//! What clients may use: connections of each, new ones in a second, and a rate.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Limits for each client; none where `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientLimits {
    /// Open connections at most.
    pub connections: Option<u32>,
    /// New connections in a second at most.
    pub opens: Option<u32>,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Connections,
    Opens,
}

/// One client's connections.
#[derive(Debug)]
struct Client {
    open: u32,
    /// The second that is counted, and what came in it.
    since: Instant,
    opened: u32,
}

/// The connections of all clients, if they have limits.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    limits: ClientLimits,
    clients: Mutex<HashMap<IpAddr, Client>>,
}

/// A place of a client. It is given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    clients: Arc<Clients>,
    client: IpAddr,
}

const SECOND: Duration = Duration::from_secs(1);

/// Clients that are remembered before those without a connection and without a recent one are forgotten.
const MOST_REMEMBERED: usize = 10_000;

impl Clients {
    pub fn new(limits: ClientLimits) -> Arc<Self> {
        Arc::new(Self { limits, clients: Mutex::default() })
    }

    /// A place for one more connection of `from`.
    pub fn admit(self: &Arc<Self>, from: IpAddr, now: Instant) -> Result<Option<Place>, Refusal> {
        if self.limits == ClientLimits::default() {
            return Ok(None);
        }
        let client = client_of(from);
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.len() >= MOST_REMEMBERED {
            clients.retain(|_, client| client.open > 0 || now.duration_since(client.since) < SECOND);
        }
        let entry = clients.entry(client).or_insert(Client { open: 0, since: now, opened: 0 });
        if now.duration_since(entry.since) >= SECOND {
            (entry.since, entry.opened) = (now, 0);
        }
        if self.limits.connections.is_some_and(|most| entry.open >= most) {
            return Err(Refusal::Connections);
        }
        if self.limits.opens.is_some_and(|most| entry.opened >= most) {
            return Err(Refusal::Opens);
        }
        entry.open += 1;
        entry.opened += 1;
        Ok(Some(Place { clients: Arc::clone(self), client }))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut clients = self.clients.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get_mut(&self.client) {
            client.open = client.open.saturating_sub(1);
        }
    }
}

/// Who counts as one client: an IPv4 address, or an IPv6 network of 64 bits, of which a host has all addresses.
fn client_of(from: IpAddr) -> IpAddr {
    match from {
        IpAddr::V4(_) => from,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// Spreads bytes over time.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_second: f64,
    /// When everything written so far would have been sent.
    busy_until: Mutex<Instant>,
}

/// How far ahead bytes may be.
const BURST: Duration = Duration::from_millis(50);

impl Pace {
    pub fn new(bits_per_second: u64, now: Instant) -> Self {
        Self { bytes_per_second: bits_per_second as f64 / 8.0, busy_until: Mutex::new(now) }
    }

    /// Counts bytes.
    pub fn add(&self, bytes: usize, now: Instant) {
        let mut busy_until = self.busy_until.lock().unwrap_or_else(PoisonError::into_inner);
        *busy_until = (*busy_until).max(now) + Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
    }

    /// How long nothing more may be written.
    pub fn wait(&self, now: Instant) -> Duration {
        let busy_until = *self.busy_until.lock().unwrap_or_else(PoisonError::into_inner);
        busy_until.saturating_duration_since(now).saturating_sub(BURST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_so_many_connections_and_so_many_new_ones_a_second() {
        let clients = Clients::new(ClientLimits { connections: Some(2), opens: Some(3) });
        let (now, from) = (Instant::now(), "192.0.2.1".parse().unwrap());
        let first = clients.admit(from, now).unwrap();
        let _second = clients.admit(from, now).unwrap();
        assert_eq!(clients.admit(from, now).err(), Some(Refusal::Connections));
        assert!(clients.admit("192.0.2.2".parse().unwrap(), now).is_ok());
        drop(first);
        let _third = clients.admit(from, now).unwrap();
        drop(_third);
        assert_eq!(clients.admit(from, now).err(), Some(Refusal::Opens));
        assert!(clients.admit(from, now + SECOND).is_ok());
        let [a, b, c] = ["2001:db8::1", "2001:db8::2:1", "2001:db8:0:1::1"].map(|ip| client_of(ip.parse().unwrap()));
        assert!(a == b && b != c);
    }

    #[test]
    fn without_limits_nobody_is_remembered() {
        let clients = Clients::new(ClientLimits::default());
        assert!(clients.admit("192.0.2.1".parse().unwrap(), Instant::now()).unwrap().is_none());
        assert!(clients.clients.lock().unwrap().is_empty());
    }

    #[test]
    fn bytes_are_spread_over_time() {
        let now = Instant::now();
        let pace = Pace::new(8_000_000, now);
        pace.add(40_000, now);
        assert_eq!(pace.wait(now), Duration::ZERO);
        pace.add(100_000, now);
        assert_eq!(pace.wait(now), Duration::from_millis(90));
        assert_eq!(pace.wait(now + SECOND), Duration::ZERO);
    }
}
