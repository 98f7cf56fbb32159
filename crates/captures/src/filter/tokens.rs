//! The words of a filter, and what each may be.

use std::fmt;

/// The longest part of a word that an error shows, in characters.
pub(super) const LONGEST_SHOWN: usize = 60;

/// The words that may begin a term.
pub(super) const WORDS: &[&str] = &["host", "net", "port", "portrange", "src", "dst", "ip", "ip6", "tcp", "not"];

/// Words of pcap-filter(7) for what is no property of a TCP connection.
pub(super) const UNSUPPORTED: &[&str] = &[
    "ah",
    "aarp",
    "arp",
    "atalk",
    "broadcast",
    "byte",
    "carp",
    "clns",
    "decnet",
    "dir",
    "direction",
    "esp",
    "ether",
    "fddi",
    "gateway",
    "geneve",
    "greater",
    "hlen",
    "icmp",
    "icmp6",
    "ifname",
    "igmp",
    "igrp",
    "inbound",
    "ipx",
    "iso",
    "isis",
    "lat",
    "len",
    "less",
    "link",
    "llc",
    "moprc",
    "mopdl",
    "mpls",
    "multicast",
    "netbeui",
    "on",
    "outbound",
    "pim",
    "pppoed",
    "pppoes",
    "ppp",
    "proto",
    "protochain",
    "radio",
    "rarp",
    "reason",
    "rnr",
    "ruleset",
    "rulenum",
    "sctp",
    "slip",
    "stp",
    "subtype",
    "tr",
    "type",
    "udp",
    "vlan",
    "vrrp",
    "wlan",
    "action",
];

/// A word, an operator or a parenthesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    /// In bytes.
    pub at: usize,
}

/// Splits a text into words. An operator needs no spaces around it.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match first {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            _ if rest.starts_with("&&") || rest.starts_with("||") => 2,
            '(' | ')' | '!' | '/' | '&' | '|' => 1,
            _ => rest.find(|c: char| c.is_whitespace() || "()!/&|".contains(c)).unwrap_or(rest.len()),
        };
        words.push(Word { text: &rest[..length], at });
        at += length;
    }
    words
}

/// A word as an error shows it: short, and without control characters.
pub(super) struct Shown<'a>(pub &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars().take(LONGEST_SHOWN) {
            match c.is_control() {
                true => write!(f, "{}", c.escape_default())?,
                false => write!(f, "{c}")?,
            }
        }
        match self.0.chars().nth(LONGEST_SHOWN) {
            Some(_) => f.write_str("…"),
            None => Ok(()),
        }
    }
}

/// Whether a word is a value, such as an address or a port.
pub(super) fn is_value(text: &str) -> bool {
    let begins_as_value = text.starts_with(|c: char| c.is_ascii_digit()) || text.contains(':');
    begins_as_value && !text.contains('[')
}

/// Whether a word has a meaning in filters.
pub(super) fn is_known(text: &str) -> bool {
    let other = ["and", "&&", "or", "||", "!", "(", ")", "/", "&", "|", "mask"];
    WORDS.contains(&text) || other.contains(&text) || UNSUPPORTED.contains(&text)
}

/// A decimal number without leading zeros: libpcap reads those as octal.
pub(super) fn decimal(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let is_octal = text.len() > 1 && text.starts_with('0');
    text.parse().ok().filter(|_| is_plain && !is_octal)
}

pub(super) fn port(text: &str) -> Option<u16> {
    decimal(text).and_then(|port| port.try_into().ok())
}

/// Two ports, the lower one first.
pub(super) fn range(text: &str) -> Option<[u16; 2]> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (port(first)?, port(last)?);
    Some([first.min(last), first.max(last)])
}

/// The first one to four bytes of an IPv4 address, and how many there are. The others are 0.
pub(super) fn dotted(text: &str) -> Option<(u32, u32)> {
    let (mut address, mut count) = (0, 0);
    for part in text.split('.') {
        let byte = decimal(part).filter(|byte| *byte < 256 && count < 4)?;
        address = address << 8 | byte;
        count += 1;
    }
    Some((address << (8 * (4 - count)), count))
}

/// A mask of `width` bits whose first `length` are ones.
pub(super) fn ones(length: u32, width: u32) -> u128 {
    let all = u128::MAX >> (128 - width);
    let zeros = width - length.min(width);
    all.checked_shr(zeros).map_or(0, |rest| rest << zeros)
}
