//! Applies socket options.

use super::{Runner, Stop, arguments::word, calls::Attempt, setup::is_mss, sockets::Role};
use crate::{
    error::{Wrong, wrong},
    script::{Call, Expression},
};
use recoup_recovery::congestion::Algorithm;
use recoup_tcp::{Endpoint, State};
use std::time::Duration;

/// Options that have no effect here, with the reason.
const WITHOUT_EFFECT: [(&str, &str); 19] = [
    ("SO_KEEPALIVE", "nothing is kept alive"),
    ("SO_MARK", "packets have no marks"),
    ("SO_MAX_PACING_RATE", "nothing is paced"),
    ("SO_PRIORITY", "packets have no priority"),
    ("SO_RCVLOWAT", "reads return what there is"),
    ("SO_RCVTIMEO", "calls wait as long as it takes"),
    ("SO_REUSEADDR", "addresses do not matter"),
    ("SO_REUSEPORT", "addresses do not matter"),
    ("SO_SNDBUF", "writes take any length"),
    ("SO_SNDBUFFORCE", "writes take any length"),
    ("SO_SNDTIMEO", "calls wait as long as it takes"),
    ("IP_MTU_DISCOVER", "packets have no IP header"),
    ("IP_TOS", "packets have no IP header"),
    ("TCP_KEEPCNT", "nothing is kept alive"),
    ("TCP_KEEPIDLE", "nothing is kept alive"),
    ("TCP_KEEPINTVL", "nothing is kept alive"),
    ("TCP_LINGER2", "nothing ends a half-closed connection"),
    ("TCP_NOTSENT_LOWAT", "writes take any length"),
    ("TCP_SYNCNT", "the user timeout alone ends the handshake"),
];

const IN_FORCE: [&str; 7] =
    ["SO_LINGER", "SO_RCVBUF", "SO_RCVBUFFORCE", "TCP_CONGESTION", "TCP_MAXSEG", "TCP_NODELAY", "TCP_USER_TIMEOUT"];

const READ: [&str; 4] = ["SO_ERROR", "TCP_INFO", "TCP_MAXSEG", "TCP_NODELAY"];

impl Runner<'_> {
    /// The error of a `setsockopt`, if it has one.
    pub fn setsockopt(&mut self, call: &Call, fd: i64) -> Result<Option<&'static str>, Stop> {
        let (option, place) = self.argument(call, 2, "an option")?;
        let name = word(option);
        if let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(n, _)| *n == name) {
            self.note(format!("{name} has no effect: {why}"));
            return Ok(None);
        }
        let mut options = self.stream(fd)?.options;
        match name {
            "SO_LINGER" => {
                let (value, place) = self.argument(call, 3, "`{onoff=1, linger=0}`")?;
                let field = |name| match value.field(name) {
                    Some(field) => Self::integer(field, place),
                    None => wrong(place, "expected `{onoff=1, linger=0}`"),
                };
                let zero = field("onoff")? != 0 && field("linger")? == 0;
                self.stream(fd)?.linger_zero = zero;
                return Ok(None);
            }
            "TCP_CONGESTION" => {
                let (value, place) = self.argument(call, 3, "\"reno\", \"cubic\" or \"bbr\"")?;
                let text = match value {
                    Expression::Text(text) => text.as_str(),
                    _ => "",
                };
                let known = Algorithm::named(text);
                let Some(algorithm) = known else {
                    let names = Algorithm::ALL.map(Algorithm::linux_name);
                    return Err(Wrong::unknown(place, "congestion control", text, names).into());
                };
                options.congestion = Some(algorithm);
            }
            "TCP_MAXSEG" => match is_mss(self.number(call, 3, "an MSS")?) {
                Some(mss) => options.mss = Some(mss),
                None => return Ok(Some("EINVAL")),
            },
            "SO_RCVBUF" | "SO_RCVBUFFORCE" => {
                // Linux doubles the value and uses half of it for payload.
                options.receive_buffer = Some(self.length(call, 3)?.max(1152));
            }
            "TCP_USER_TIMEOUT" => {
                let ms = self.number(call, 3, "milliseconds")?;
                let Ok(ms) = u64::try_from(ms) else {
                    return Ok(Some("EINVAL"));
                };
                options.user_timeout = (ms > 0).then(|| Duration::from_millis(ms));
                self.set_user_timeout(fd, options.user_timeout)?;
            }
            "TCP_NODELAY" => return self.set_nodelay(call, fd),
            _ => {
                let known = WITHOUT_EFFECT.iter().map(|(n, _)| *n).chain(IN_FORCE);
                return Err(not_supported(place, "setsockopt", name, known));
            }
        }
        self.stream(fd)?.options = options;
        self.apply_to_endpoint(fd, name)
    }

    /// Applies a new option to the endpoint, if its connection has not begun.
    fn apply_to_endpoint(&mut self, fd: i64, name: &str) -> Result<Option<&'static str>, Stop> {
        let role = self.stream(fd)?.role;
        let state = self.host.endpoint.as_ref().map(Endpoint::state);
        match (role, state) {
            (Role::Listener, Some(State::Listen)) => {
                self.host.endpoint = Some(Endpoint::listen(&self.config_of(fd)));
            }
            (Role::Fresh, _) => {}
            _ if name == "TCP_USER_TIMEOUT" => {} // the endpoint was told
            _ => self.note(format!("{name} has no effect: the connection has begun")),
        }
        Ok(None)
    }

    /// Sets the user timeout, also of an existing connection; `None`: the default.
    fn set_user_timeout(&mut self, fd: i64, timeout: Option<Duration>) -> Result<(), Stop> {
        let role = self.stream(fd)?.role;
        let usual = self.setup.mechanisms().user_timeout;
        if let (Role::Connection, Some(endpoint)) = (role, &mut self.host.endpoint) {
            endpoint.set_user_timeout(timeout.unwrap_or(usual));
        }
        Ok(())
    }

    /// Sets TCP_NODELAY, also of an existing connection.
    fn set_nodelay(&mut self, call: &Call, fd: i64) -> Result<Option<&'static str>, Stop> {
        let on = self.number(call, 3, "0 or 1")? != 0;
        let socket = self.stream(fd)?;
        socket.options.no_delay = on;
        let role = socket.role;
        match (role, &mut self.host.endpoint) {
            (Role::Fresh, _) | (_, None) => {}
            (_, Some(endpoint)) => endpoint.set_nagle(!on),
        }
        Ok(None)
    }

    pub fn getsockopt(&mut self, call: &Call, fd: i64) -> Result<Attempt, Stop> {
        let (option, place) = self.argument(call, 2, "an option")?;
        let name = word(option);
        let now = self.host.now;
        let info = self.host.endpoint.as_ref().map(|e| e.info(now));
        let value = match name {
            "SO_ERROR" => {
                let error = self.take_error(fd)?;
                error.map_or(0, number_of)
            }
            "TCP_MAXSEG" => {
                let socket = self.stream(fd)?;
                match info.filter(|_| socket.role == Role::Connection) {
                    Some(info) => u64::from(info.snd_mss),
                    None => u64::from(socket.options.mss.unwrap_or(536)),
                }
            }
            "TCP_NODELAY" => u64::from(self.stream(fd)?.options.no_delay),
            "TCP_INFO" => return self.wrote_anything(call),
            _ => return Err(not_supported(place, "getsockopt", name, READ)),
        };
        self.wrote(call, 3, name, value)
    }

    fn wrote_anything(&self, call: &Call) -> Result<Attempt, Stop> {
        match self.argument(call, 3, "`...`")? {
            (Expression::Any, _) => Ok(Attempt::Returned(super::calls::Returned::default())),
            (_, place) => wrong(place, "expected `...`: %{ }% looks into TCP_INFO"),
        }
    }
}

fn not_supported<'a>(
    place: crate::error::Place,
    call: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Stop {
    let hint = crate::error::did_you_mean(name, known);
    Wrong::new(place, format!("{call} of `{name}` is not supported{hint}")).into()
}

/// Linux's number of an error.
fn number_of(error: &str) -> u64 {
    match error {
        "ECONNRESET" => 104,
        "ETIMEDOUT" => 110,
        "ECONNREFUSED" => 111,
        _ => 5,
    }
}
