//! The trait, its inputs, and what a host shows.

use recoup_units::Instant;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::SocketAddr, str::FromStr};

/// A host with one connection: a transport stack and the application's side of its socket.
pub trait Guest {
    /// What it is.
    fn about(&self) -> &About;

    /// `input` happens at `now`. The IP packets that the host sends because of it are appended to `packets`, in order, and
    /// leave at `now`.
    ///
    /// `now` never runs backwards. The first input is [`Input::Connect`] or [`Input::Listen`].
    ///
    /// # Errors
    /// When the stack fails in a way that no peer causes: the run is over.
    fn step(&mut self, now: Instant, input: Input<'_>, packets: &mut Vec<Vec<u8>>) -> Result<Status, Failed>;

    /// What the stack itself has counted of its loss recovery so far.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// What a stack counts of its loss recovery. `None`: it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that it declared lost.
    pub lost: Option<u64>,
    /// Of them, those that it later found delivered.
    pub spurious: Option<u64>,
    /// Timeouts: the RTO's, or the PTO's.
    pub timeouts: Option<u64>,
    /// Reductions of the congestion window.
    pub congestion_events: Option<u64>,
    /// Of them, those that it undid.
    pub undone: Option<u64>,
}

/// What happens to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// The application connects to the peer.
    Connect,
    /// The application waits for the peer's connection, and accepts it.
    Listen,
    /// This IP packet arrives.
    Packet(&'a [u8]),
    /// The application writes up to this many bytes. What they are does not matter.
    Write(u64),
    /// The application reads up to this many bytes.
    Read(u64),
    /// The application has written everything: it closes its side, and still reads.
    Close,
    /// The application gives the connection up.
    Reset,
    /// The time of [`Status::wake`] has come.
    Wake,
}

/// What a host shows after an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// When it must be woken at the latest. It may be woken earlier, and then does nothing. `None`: no timer runs.
    pub wake: Option<Instant>,
    /// Whether the connection is established here, or was.
    pub open: bool,
    /// The bytes that the application can read.
    pub readable: u64,
    /// The bytes that the application can write.
    pub writable: u64,
    /// Whether the peer has closed its side, and everything before that was read.
    pub finished: bool,
    /// How the connection ended, if nothing more will happen to it.
    pub ended: Option<Ended>,
    /// The bytes that [`Input::Write`] took or [`Input::Read`] gave. They may be fewer than asked for.
    pub taken: u64,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Both sides closed, and all was acknowledged.
    Closed,
    /// One side reset it.
    Reset,
    /// The peer no longer answers.
    TimedOut,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP in IP packets.
    Tcp,
    /// QUIC in UDP datagrams.
    Quic,
    /// SCTP, in IP packets or in UDP datagrams.
    Sctp,
}

/// What a guest is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The stack's own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its protocol.
    pub transport: Transport,
    /// How it is configured, in words, for reports.
    #[serde(default)]
    pub configuration: String,
    /// Whether it reads no clock and no random numbers but those it is given, so that a run can be repeated exactly.
    #[serde(default = "yes")]
    pub repeatable: bool,
}

impl About {
    pub(crate) const FIELDS: [&str; 5] = ["name", "version", "transport", "configuration", "repeatable"];
}

const fn yes() -> bool {
    true
}

/// What a guest is told before its first input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// All its random numbers follow from this.
    pub seed: u64,
    /// The longest IP packet that it may send, in bytes.
    pub mtu: u16,
    /// Its own address and port. A client may choose another port.
    pub local: SocketAddr,
    /// The peer's.
    pub peer: SocketAddr,
    /// What the application asks of the stack, by name, such as `congestion`, `receive-buffer`, `no-delay`. A guest
    /// ends with an error that names an option it lacks.
    pub options: BTreeMap<String, String>,
}

impl Setup {
    /// The value of an option; `None` without the option.
    ///
    /// # Errors
    /// When the value is not of this type: `expected` says what it must be.
    pub fn option<T: FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, Failed> {
        let value = self.options.get(name);
        let wrong = |value| Failed::new(format_args!("option `{name}`: expected {expected}, found `{value}`"));
        value.map(|value| value.parse().map_err(|_| wrong(value))).transpose()
    }

    /// Checks that there are no options but these.
    ///
    /// # Errors
    /// When there is another: its message has the nearest name, or all.
    pub fn only_options(&self, known: &[&str]) -> Result<(), Failed> {
        match self.options.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(Failed::new(format_args!("unknown option `{name}`{}", hint(name, known)))),
            None => Ok(()),
        }
    }
}

/// What may have been meant: the nearest name, or all.
pub(crate) fn hint(word: &str, known: &[&str]) -> String {
    let alike = known.iter().map(|name| (strsim::jaro_winkler(word, name), name)).filter(|(score, _)| *score > 0.8);
    match alike.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((_, name)) => format!("; did you mean `{name}`?"),
        None if known.is_empty() => ": this stack has none".into(),
        None => format!("; known are {}", known.join(", ")),
    }
}

/// Why a guest cannot go on, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

impl Failed {
    /// For this reason, on one line.
    pub fn new(reason: impl ToString) -> Self {
        Self(reason.to_string().replace('\n', " "))
    }
}
