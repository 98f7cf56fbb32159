//! Quantities measured: the columns of the tables.

use std::{fmt, time::Duration};

recoup_units::named! {
    /// How the receiving application reads.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Reader {
        /// At most 16 KiB at a time, as soon as there is data. The window moves with almost every ACK.
        Often = "reads 16 KiB as soon as there is data",
        /// 1 MiB at a time, once as much has arrived (SO_RCVLOWAT).
        Seldom = "reads 1 MiB once it is complete",
    }
}

impl Reader {
    /// The most bytes of one read.
    pub const fn chunk(self) -> usize {
        match self {
            Self::Often => 16 << 10,
            Self::Seldom => 1 << 20,
        }
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

recoup_units::named! {
    /// Which of the ten segments of an answer the path loses.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum LostTail {
        Tenth = "10th lost",
        NinthAndTenth = "9th and 10th lost",
        TenthTwice = "10th lost twice",
    }
}

impl LostTail {
    /// The rules of the path, whose inner end sends.
    pub const fn rules(self) -> &'static str {
        match self {
            Self::Tenth => "up:data:10",
            Self::NinthAndTenth => "up:data:9-10",
            Self::TenthTwice => "up:data:10,up:data:10@2",
        }
    }
}

impl fmt::Display for LostTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The round-trip time of the path on which the tail is lost.
pub const COMPLETION_RTT: Duration = Duration::from_millis(40);

/// The round-trip time of the path with random loss.
pub const LOSS_RTT: Duration = Duration::from_millis(20);

/// The loss rates of the path (%).
pub const LOSSES: [f64; 3] = [0.1, 1.0, 2.0];

/// Packets lost in each direction where both lose (%).
pub const LOST_BOTH_WAYS: f64 = 5.0;

/// Clients that open connections, or send requests, at the same time.
pub const CLIENTS: usize = 32;

/// One measurement of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Case {
    /// One stream without loss or delay.
    Bulk {
        reader: Reader,
        processors: usize,
        /// Whether the kernel does the sender's TCP segmentation and checksums.
        offloads: bool,
    },
    /// One stream with random loss, without delay, at MTU 1500 without offloads.
    Loss {
        reader: Reader,
        processors: usize,
        /// Data packets lost (%).
        percent: f64,
    },
    /// One stream with random loss on a path with an RTT of [`LOSS_RTT`].
    DelayedLoss {
        reader: Reader,
        /// Data packets lost (%).
        percent: f64,
    },
    /// One stream with random loss of data and ACKs, [`LOST_BOTH_WAYS`] each, at MTU 1500 without offloads.
    LossBothWays {
        /// On a path with an RTT of [`LOSS_RTT`].
        delayed: bool,
    },
    /// [`CLIENTS`] clients, each of which opens a connection, requests 100 bytes, closes it, and opens the next.
    Connections { processors: usize },
    /// [`CLIENTS`] clients, each of which sends one request of 1000 bytes after the other on one connection.
    Requests { processors: usize },
    /// An answer of ten segments on a path with an RTT of [`COMPLETION_RTT`].
    Completion(LostTail),
    /// Connections without a request.
    Idle,
}

/// A table: cases side by side.
#[derive(Clone, Debug)]
pub struct Table {
    pub title: String,
    /// The cases, and what each column is called.
    pub columns: Vec<(Case, String)>,
}

/// All tables, in the order of the report.
pub fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    for reader in Reader::ALL {
        for processors in [1, 2] {
            let bulk = |offloads| Case::Bulk { reader, processors, offloads };
            let place = on_processors(processors);
            tables.push(Table {
                title: format!("One stream, {place}, receiver {reader}"),
                columns: vec![(bulk(false), "MTU 1500".into()), (bulk(true), "TSO".into())],
            });
            let loss = |percent| Case::Loss { reader, processors, percent };
            tables.push(Table {
                title: format!("Random loss without delay, {place}, receiver {reader}"),
                columns: lossy(loss),
            });
        }
        tables.push(Table {
            title: format!("Random loss at an RTT of {} ms, receiver {reader}", LOSS_RTT.as_millis()),
            columns: lossy(|percent| Case::DelayedLoss { reader, percent }),
        });
    }
    tables.push(Table {
        title: format!("{LOST_BOTH_WAYS} % of data and ACKs lost, receiver {}", Reader::Often),
        columns: [(false, "no delay".to_owned()), (true, format!("RTT {} ms", LOSS_RTT.as_millis()))]
            .map(|(delayed, name)| (Case::LossBothWays { delayed }, name))
            .into(),
    });
    let by_processors =
        |case: fn(usize) -> Case| [1, 2].map(|processors| (case(processors), on_processors(processors).into())).into();
    tables.push(Table {
        title: format!("Short connections of {CLIENTS} clients"),
        columns: by_processors(|processors| Case::Connections { processors }),
    });
    tables.push(Table {
        title: format!("Requests of {CLIENTS} clients on open connections"),
        columns: by_processors(|processors| Case::Requests { processors }),
    });
    tables.push(Table {
        title: format!("Ten segments at an RTT of {} ms", COMPLETION_RTT.as_millis()),
        columns: LostTail::ALL.map(|lost| (Case::Completion(lost), lost.to_string())).into(),
    });
    tables.push(Table { title: "A connection without a request".into(), columns: vec![(Case::Idle, "memory".into())] });
    tables
}

fn on_processors(count: usize) -> &'static str {
    match count {
        1 => "one processor",
        _ => "two processors",
    }
}

/// A column per loss rate.
fn lossy(case: impl Fn(f64) -> Case) -> Vec<(Case, String)> {
    let column = |percent| (case(percent), format!("{percent} % lost"));
    LOSSES.map(column).into()
}

impl Case {
    /// How many processors sender, receiver and path share.
    pub const fn processors(self) -> usize {
        match self {
            Self::Bulk { processors, .. }
            | Self::Loss { processors, .. }
            | Self::Connections { processors }
            | Self::Requests { processors } => processors,
            Self::DelayedLoss { .. } | Self::LossBothWays { .. } | Self::Completion(_) | Self::Idle => 2,
        }
    }

    /// Whether the path loses packets at random.
    pub const fn is_lossy(self) -> bool {
        matches!(self, Self::Loss { .. } | Self::DelayedLoss { .. } | Self::LossBothWays { .. })
    }

    /// Whether the sender leaves segmentation and checksums to the kernel.
    pub const fn offloads(self) -> bool {
        matches!(self, Self::Bulk { offloads: true, .. })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bulk { reader, processors, offloads } => {
                let packets = if offloads { "TSO" } else { "MTU 1500" };
                let place = on_processors(processors);
                write!(f, "one stream, {packets}, {place}, receiver {reader}")
            }
            Self::Loss { reader, processors, percent } => {
                let place = on_processors(processors);
                write!(f, "{percent} % lost, {place}, receiver {reader}")
            }
            Self::DelayedLoss { reader, percent } => {
                let rtt = LOSS_RTT.as_millis();
                write!(f, "{percent} % lost at {rtt} ms, receiver {reader}")
            }
            Self::LossBothWays { delayed } => {
                let rtt = if delayed { LOSS_RTT.as_millis() } else { 0 };
                write!(f, "{LOST_BOTH_WAYS} % of data and ACKs lost at {rtt} ms")
            }
            Self::Connections { processors } => write!(f, "short connections, {}", on_processors(processors)),
            Self::Requests { processors } => write!(f, "requests, {}", on_processors(processors)),
            Self::Completion(lost) => write!(f, "ten segments, {lost}"),
            Self::Idle => f.write_str("memory"),
        }
    }
}
