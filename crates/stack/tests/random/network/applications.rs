//! What applications do with their connections, and what they check.

use super::{
    Duration, End, Endpoints, Network, Plan,
    choices::Choices,
    ends::fill,
    forge::PORTS,
    path::addresses,
    settings::{Ending, Reading, options},
};
use recoup_stack::{
    KeepAlive,
    host::{ConnectionId, HostError, Read},
};
use recoup_tcp::SendLimits;
use std::net::SocketAddr;

/// Bytes that a slow reader reads at a time.
const LITTLE: usize = 700;

impl Network {
    /// The applications of a host act on its events. Returns whether there were some.
    pub(super) fn attend(&mut self, number: usize) -> bool {
        let mut busy = false;
        while let Some(event) = self.nodes[number].host.next_event() {
            busy = true;
            match self.nodes[number].ids.get(&event.connection).copied() {
                Some(end) => {
                    self.ends[end].opened |= event.opened;
                    if let Some(how) = event.closed {
                        self.ends[end].how = Some(how);
                    }
                    self.serve(end, false);
                }
                None => self.accept(number),
            }
        }
        if self.nodes[number].host.has_events() {
            busy |= self.decide(number);
            busy |= self.read_datagrams(number);
        }
        busy
    }

    /// Accepts connections, if the applications do so now.
    pub(super) fn accept(&mut self, number: usize) {
        if !self.nodes[number].accepts {
            return;
        }
        for place in 0..self.nodes[number].listeners.len() {
            let listener = self.nodes[number].listeners[place];
            while let Some(id) = self.nodes[number].host.accept(listener) {
                self.adopt(number, id);
            }
        }
    }

    /// A connection that was accepted gets an end.
    fn adopt(&mut self, number: usize, id: ConnectionId) {
        let path = self.nodes[number].host.path(id).expect("an accepted connection has a path");
        let plan = Plan::any(&mut self.draws);
        let end = self.add(number, id, path, plan, false);
        self.serve(end, false);
    }

    fn add(&mut self, number: usize, id: ConnectionId, path: Endpoints, plan: Plan, connected: bool) -> usize {
        let (key, end) = (self.draws.number(), self.ends.len());
        let plan = if self.ending { Plan { bytes: 0, ending: Ending::WhenWritten, ..plan } } else { plan };
        self.ends.push(End::new(number, id, path, key, plan, connected));
        self.keys.insert(key, end);
        let before = self.nodes[number].ids.insert(id, end);
        assert_eq!(before, None, "an id is used again");
        end
    }

    /// Connects from a host to another.
    pub(super) fn connect(&mut self, choices: &mut Choices<'_>, from: usize) {
        let to = (from + 1 + choices.below(self.nodes.len() as u32 - 1) as usize) % self.nodes.len();
        let version = usize::from(choices.chance(80));
        // Nobody listens at the last port.
        let port = if choices.chance(4) { PORTS[3] } else { choices.one(&PORTS[..3]) };
        let remote = SocketAddr::new(addresses(to)[version], port);
        let local = if choices.chance(8) { 5000 + choices.below(8) as u16 } else { 0 };
        let local = SocketAddr::new(addresses(from)[version], local);
        let options = choices.chance(30).then(|| options(choices));
        let node = &mut self.nodes[from];
        let id = match node.host.connect_with(self.now, local, remote, options.as_ref()) {
            Ok(id) => id,
            Err(HostError::Exhausted(_) | HostError::InUse(_)) => return,
            Err(error) => panic!("{error}"),
        };
        Self::check_memory(&node.host);
        let path = node.host.path(id).expect("a connection has a path");
        if port == PORTS[3] || local.port() != 0 {
            // What an earlier connection of the same ends left behind may refuse it.
            self.excuse(path);
        }
        let plan = Plan::any(&mut self.draws);
        let end = self.add(from, id, path, plan, true);
        self.serve(end, false);
    }

    /// Decides about SYNs that wait for it.
    fn decide(&mut self, number: usize) -> bool {
        let mut busy = false;
        while let Some(listener) = self.nodes[number].host.next_asking() {
            busy = true;
            while let Some(incoming) = self.nodes[number].host.next_incoming(listener) {
                let host = &mut self.nodes[number].host;
                let options = host.listener_options(listener);
                let decision = self.draws.below(16);
                if decision < 2 {
                    match decision {
                        0 => drop(host.refuse(self.now, &incoming.path)),
                        _ => host.ignore(&incoming.path),
                    }
                    self.excuse(incoming.path);
                } else if let Ok(id) = host.admit(self.now, &incoming.path, &options) {
                    self.adopt(number, id);
                }
                Self::check_memory(&self.nodes[number].host);
            }
        }
        busy
    }

    /// An application reads, writes and closes as it plans. `late`: it also reads what it left so far.
    pub(super) fn serve(&mut self, end: usize, late: bool) {
        if self.ends[end].released {
            return;
        }
        self.read(end, late);
        self.write(end);
        self.close(end);
        Self::check_memory(&self.nodes[self.ends[end].host].host);
    }

    fn read(&mut self, number: usize, late: bool) {
        let End { host, id, plan, .. } = self.ends[number];
        let mut left = match plan.reading {
            _ if self.ending => usize::MAX,
            Reading::Eagerly => usize::MAX,
            Reading::Little => LITTLE,
            Reading::AtLast if late => LITTLE,
            Reading::AtLast => 0,
        };
        let mut scratch = std::mem::take(&mut self.scratch);
        while left > 0 && !self.ends[number].finished {
            let most = left.min(scratch.len());
            let host = &mut self.nodes[host].host;
            match host.read(self.now, id, &mut scratch[..most]) {
                Ok(Read::Bytes(count)) => {
                    left -= count;
                    self.check_bytes(number, &scratch[..count]);
                }
                Ok(Read::Nothing) => break,
                Ok(Read::End) => self.ends[number].finished = true,
                Err(HostError::Ended(how)) => {
                    self.ends[number].how = Some(how);
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        self.scratch = scratch;
    }

    /// Bytes were read: they are the next ones of the peer's stream.
    fn check_bytes(&mut self, number: usize, bytes: &[u8]) {
        let end = &mut self.ends[number];
        let (offset, path) = (end.read, end.path);
        let key = end.key_of_peer(bytes);
        end.read += bytes.len() as u64;
        let after = end.read;
        if self.tainted.contains(&path) {
            return;
        }
        let Some(key) = key else {
            return;
        };
        let at = self.now;
        let Some(peer) = self.keys.get(&key).copied() else {
            panic!("{at:?}: {path:?} reads a stream that nobody wrote");
        };
        assert_eq!(self.ends[peer].path, path.reverse(), "{at:?}: a stream of another connection");
        let before = self.ends[peer].peer.replace(number).filter(|before| *before != number);
        let expected = &mut self.expected[..bytes.len()];
        fill(key, offset, expected);
        let written = after <= self.ends[peer].written;
        if before.is_none() && written && *expected == *bytes {
            return;
        }
        // An old segment with a valid cookie opens a connection that was there before, as in Linux: two write one stream, or
        // two read it.
        let ends = [path, path.reverse()].map(|path| self.ends.iter().filter(|end| end.path == path).count());
        let hosts = [number, peer].map(|end| &self.nodes[self.ends[end].host].host);
        if ends != [1, 1] && hosts.iter().any(|host| host.stats().cookies_accepted > 0) {
            return self.excuse(path);
        }
        assert!(before.is_none(), "{at:?}: {path:?} has two peers");
        assert!(written, "{at:?}: {path:?} reads more than was written");
        // The key itself is checked by being found.
        let place = self.expected.iter().zip(bytes).position(|(a, b)| a != b).unwrap_or_default();
        panic!("{at:?}: {path:?} reads a wrong byte at {}", offset + place as u64);
    }

    fn write(&mut self, number: usize) {
        let end = &self.ends[number];
        if end.shut || end.how.is_some() {
            return;
        }
        let (id, key, plan, host) = (end.id, end.key, end.plan, end.host);
        let mut scratch = std::mem::take(&mut self.scratch);
        while self.ends[number].written < plan.bytes {
            let at = self.ends[number].written;
            let len = (plan.bytes - at).min(plan.chunk as u64) as usize;
            let host = &mut self.nodes[host].host;
            let written = match plan.in_place {
                true => host.write_with(self.now, id, |room| {
                    let len = len.min(room.len());
                    fill(key, at, &mut room[..len]);
                    len
                }),
                false => {
                    fill(key, at, &mut scratch[..len]);
                    host.write(self.now, id, &scratch[..len])
                }
            };
            match written {
                Ok(0) => break,
                Ok(count) => self.ends[number].written += count as u64,
                Err(HostError::Ended(how)) => {
                    self.ends[number].how = Some(how);
                    break;
                }
                Err(error) => panic!("{error}"),
            }
        }
        self.scratch = scratch;
    }

    fn close(&mut self, number: usize) {
        let End { host, id, path, plan, written, finished, shut, how, .. } = self.ends[number];
        let host = &mut self.nodes[host].host;
        let done = written >= plan.bytes;
        if !shut && how.is_none() {
            match plan.ending {
                Ending::WhenWritten if done => {}
                Ending::WhenRead if done && finished => {}
                Ending::AtLast if self.ending => {}
                Ending::Release if done => {
                    self.excuse(path);
                    return self.release(number);
                }
                Ending::Abort if done => {
                    return self.abort(number);
                }
                _ => return,
            }
            host.close(self.now, id).expect("it is there");
            self.ends[number].shut = true;
        }
        let end = &self.ends[number];
        let over = end.how.is_some();
        if (over && (finished || end.is_broken())) || (!plan.waits && finished && end.shut) {
            self.release(number);
        }
    }

    pub(super) fn release(&mut self, number: usize) {
        let End { host, id, .. } = self.ends[number];
        self.nodes[host].host.release(self.now, id).expect("it is there");
        self.forget(number);
    }

    fn abort(&mut self, number: usize) {
        let End { host, id, path, .. } = self.ends[number];
        self.nodes[host].host.abort(id).expect("it is there");
        self.forget(number);
        self.excuse(path);
    }

    fn forget(&mut self, number: usize) {
        let end = &mut self.ends[number];
        end.released = true;
        self.nodes[end.host].ids.remove(&end.id);
    }

    /// Something happens to a connection that its plan does not say.
    pub(super) fn interfere(&mut self, choices: &mut Choices<'_>) {
        let number = choices.below(self.ends.len() as u32) as usize;
        let Some(end) = self.ends.get_mut(number).filter(|end| !end.released) else {
            return;
        };
        let (id, path, now) = (end.id, end.path, self.now);
        let host = &mut self.nodes[end.host].host;
        let millis = |most: u32, choices: &mut Choices<'_>| Duration::from_millis(u64::from(choices.below(most)));
        let done = match choices.below(12) {
            0 => host.set_cork(now, id, choices.chance(100)),
            1 => host.set_nagle(id, choices.chance(128)),
            2 => host.push(now, id),
            3 => {
                // Longer in all than the slowest round trip, or else the path is taken for broken.
                let (idle, interval) = (millis(3000, choices), millis(1000, choices) + Duration::from_secs(1));
                let rules = choices.chance(128).then_some(KeepAlive { idle, interval, probes: 30 });
                host.set_keep_alive(id, rules)
            }
            4 => host.await_room(id),
            5 => {
                let limits = SendLimits { buffer: choices.number().into(), unsent: choices.number().into() };
                host.set_limits(id, limits)
            }
            6 if choices.chance(60) => {
                self.excuse(path);
                let host = &mut self.nodes[self.ends[number].host].host;
                host.set_user_timeout(id, millis(5000, choices))
            }
            7 if choices.chance(60) => {
                self.abort(number);
                Ok(())
            }
            8 if choices.chance(60) => {
                self.excuse(path);
                self.release(number);
                Ok(())
            }
            9 if !end.shut => {
                end.plan.bytes += u64::from(choices.number() % 100_000);
                Ok(())
            }
            _ => {
                self.serve(number, true);
                Ok(())
            }
        };
        done.expect("it is there");
        self.serve(number, false);
    }
}
