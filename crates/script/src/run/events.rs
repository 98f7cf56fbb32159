//! Calls that wait for events: poll and epoll.

use super::{
    Runner, Stop,
    calls::{Attempt, Returned, done, error},
    sockets::{Role, bits, event_names, fatal_error, has_opened, readiness},
};
use crate::{
    error::wrong,
    script::{Call, Expression},
};
use recoup_units::Instant;
use std::time::Duration;

impl Runner<'_> {
    /// The events of a descriptor that poll reports.
    pub fn ready(&self, fd: i64) -> i64 {
        let Some(socket) = self.sockets.streams.get(&fd) else {
            return 0;
        };
        match (&self.host.endpoint, socket.role) {
            (Some(endpoint), Role::Connection) => {
                let failed = fatal_error(endpoint, !socket.connect_reported).is_some();
                readiness(endpoint, failed && !socket.error_reported)
            }
            (Some(endpoint), Role::Listener) if has_opened(endpoint) && !self.sockets.accepted => {
                bits::IN | bits::RDNORM
            }
            (_, Role::Listener) => 0,
            _ => bits::OUT | bits::HUP | bits::WRNORM,
        }
    }

    pub fn poll(&mut self, call: &Call, begun: Instant) -> Result<Attempt, Stop> {
        let (list, place) = self.argument(call, 0, "descriptors")?;
        let Expression::List(entries) = list else {
            return wrong(place, "expected descriptors: `[{fd=4, events=POLLIN, revents=POLLIN}]`");
        };
        let (mut count, mut mismatch) = (0, None);
        for entry in entries {
            let field = |name: &str| match entry.field(name) {
                Some(value) => Self::integer(value, place).map(Some),
                None => Ok(None),
            };
            let (Some(fd), Some(events)) = (field("fd")?, field("events")?) else {
                return wrong(place, "expected `{fd=4, events=POLLIN, revents=POLLIN}`");
            };
            let ready = self.ready(fd) & (events | bits::ERR | bits::HUP);
            count += i64::from(ready != 0);
            let expected = field("revents")?.unwrap_or(0);
            if ready != expected && mismatch.is_none() {
                let (ready, expected) = (event_names(ready), event_names(expected));
                mismatch = Some(format!("poll says {ready} of descriptor {fd}, expected {expected}"));
            }
        }
        let timeout = self.number(call, 2, "a timeout in milliseconds")?;
        Ok(self.waited(count, timeout, begun, mismatch))
    }

    /// The result of a call that waits for events. It returns at once if there are events or its timeout
    /// has passed.
    fn waited(&self, count: i64, timeout: i64, begun: Instant, mismatch: Option<String>) -> Attempt {
        let end = u64::try_from(timeout).ok().map(|ms| begun + Duration::from_millis(ms));
        if count > 0 || end.is_some_and(|end| end <= self.host.now) {
            Attempt::Returned(Returned { value: count, error: None, mismatch })
        } else {
            Attempt::Blocks { wakes_at: end }
        }
    }

    pub fn epoll(&mut self, call: &Call, epfd: i64, begun: Instant) -> Result<Attempt, Stop> {
        match call.name.as_str() {
            "close" => {
                self.sockets.epolls.remove(&epfd);
                done(0)
            }
            "epoll_ctl" => self.epoll_ctl(call, epfd),
            "epoll_wait" => self.epoll_wait(call, epfd, begun),
            _ => error("EINVAL"),
        }
    }

    fn epoll_ctl(&mut self, call: &Call, epfd: i64) -> Result<Attempt, Stop> {
        let how = self.number(call, 1, "EPOLL_CTL_ADD, EPOLL_CTL_MOD or EPOLL_CTL_DEL")?;
        let fd = self.number(call, 2, "a descriptor")?;
        if !self.sockets.streams.contains_key(&fd) {
            return error("EBADF");
        }
        let mut events = 0;
        if how != 2 {
            let (event, place) = self.argument(call, 3, "an event")?;
            let Some(field) = event.field("events") else {
                return wrong(place, "expected `{events=EPOLLIN, fd=4}`");
            };
            events = Self::integer(field, place)?;
        }
        if events & (3 << 30) != 0 {
            self.note("EPOLLET and EPOLLONESHOT have no effect: epoll is level-triggered here");
        }
        let interest = self.sockets.epolls.entry(epfd).or_default();
        match (how, interest.contains_key(&fd)) {
            (1, true) => return error("EINVAL"),
            (2, _) => interest.remove(&fd),
            _ => interest.insert(fd, events),
        };
        done(0)
    }

    fn epoll_wait(&mut self, call: &Call, epfd: i64, begun: Instant) -> Result<Attempt, Stop> {
        let interest = self.sockets.epolls.get(&epfd).cloned().unwrap_or_default();
        let ready: Vec<(i64, i64)> = interest
            .iter()
            .map(|(fd, events)| (*fd, self.ready(*fd) & (events | bits::ERR | bits::HUP)))
            .filter(|(_, events)| *events != 0)
            .collect();
        let (expected, place) = self.argument(call, 1, "the events expected")?;
        let expected = match expected {
            Expression::List(list) => &list[..],
            Expression::Any => &[],
            one => std::slice::from_ref(one),
        };
        let mut mismatch = None;
        for ((fd, events), expected) in ready.iter().zip(expected) {
            let Some(wanted) = expected.field("events") else {
                continue;
            };
            let wanted = Self::integer(wanted, place)?;
            if wanted != *events && mismatch.is_none() {
                let (events, wanted) = (event_names(*events), event_names(wanted));
                mismatch = Some(format!("epoll says {events} of descriptor {fd}, expected {wanted}"));
            }
        }
        let most = self.number(call, 2, "a number of events")?;
        let timeout = self.number(call, 3, "a timeout in milliseconds")?;
        let count = i64::try_from(ready.len()).unwrap_or(i64::MAX).min(most.max(1));
        Ok(self.waited(count, timeout, begun, mismatch))
    }
}
