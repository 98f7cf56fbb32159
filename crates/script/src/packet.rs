//! Packets as scripts write them.
//!
//! Sequence numbers are the script's, as in packetdrill: those of a SYN are absolute, all others are
//! relative to the initial sequence number of their side.

use recoup_wire::Flags;
use std::fmt;

/// A packet that is expected, injected or seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    /// The ECN field of the IP header; `None`: not compared.
    pub mark: Option<Mark>,
    pub flags: Flags,
    pub seq: u32,
    pub payload_len: u32,
    pub ack: Option<u32>,
    /// The window field; `None`: not compared.
    pub window: Option<u16>,
    /// The options; `None`: not compared.
    pub options: Option<Vec<TcpOption>>,
}

recoup_units::named! {
    /// The ECN field of the IP header (RFC 3168 §5).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Mark {
        NotCapable = "noecn",
        Ect0 = "ect0",
        Ect1 = "ect1",
        /// ECT(0) or ECT(1); only expected, never seen.
        Ect01 = "ect01",
        Experienced = "ce",
    }
}

impl Mark {
    pub fn allows(self, seen: Self) -> bool {
        self == seen || self == Self::Ect01 && matches!(seen, Self::Ect0 | Self::Ect1)
    }
}

/// An option, in the order of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TcpOption {
    Nop,
    EndOfList,
    Mss(u16),
    WindowScale(u8),
    SackPermitted,
    /// The value and the echo.
    Timestamps(u32, u32),
    /// The left and right edges of blocks.
    Sack(Vec<(u32, u32)>),
    /// Another kind of option.
    Other(u8),
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nop => f.write_str("nop"),
            Self::EndOfList => f.write_str("eol"),
            Self::Mss(mss) => write!(f, "mss {mss}"),
            Self::WindowScale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Timestamps(value, echo) => write!(f, "TS val {value} ecr {echo}"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(left, right)| write!(f, " {left}:{right}"))
            }
            Self::Other(kind) => write!(f, "option {kind}"),
        }
    }
}

/// The letters of flags in scripts, in the order in which they print.
pub(crate) const FLAG_LETTERS: [(char, Flags); 8] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('U', Flags::URG),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('.', Flags::ACK),
];

pub(crate) fn flag_text(flags: Flags) -> String {
    if flags.is_empty() {
        return "-".into();
    }
    FLAG_LETTERS.iter().filter(|(_, flag)| flags.contains(*flag)).map(|(letter, _)| letter).collect()
}

/// The options as in `<mss 1000,nop>`; empty without options.
pub(crate) fn options_text(options: &[TcpOption]) -> String {
    if options.is_empty() {
        return String::new();
    }
    let texts: Vec<String> = options.iter().map(ToString::to_string).collect();
    format!("<{}>", texts.join(","))
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { flags, seq, payload_len, .. } = self;
        let end = seq.wrapping_add(*payload_len);
        if let Some(mark) = self.mark.filter(|mark| *mark != Mark::NotCapable) {
            write!(f, "[{}] ", mark.name())?;
        }
        write!(f, "{} {seq}:{end}({payload_len})", flag_text(*flags))?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            None => f.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => write!(f, " {}", options_text(options)),
        }
    }
}
