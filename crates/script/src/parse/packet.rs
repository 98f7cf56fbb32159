//! Parses packets: `[ect0] P. 1:1001(1000) ack 1 win 257 urg 0 <mss 1000,sackOK,nop,nop,sack 1:2 3:4>`.

use super::Parser;
use crate::{
    error::{Wrong, wrong},
    lex::Kind,
    packet::{FLAG_LETTERS, Mark, Packet, TcpOption},
};
use recoup_wire::{Flags, SackBlocks};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    In,
    Out,
}

const OPTIONS: [&str; 7] = ["mss", "wscale", "sackOK", "sack", "TS", "nop", "eol"];
const IP_FIELDS: [&str; 3] = ["tos", "ttl", "flowlabel"];
const OTHER_OPTIONS: [&str; 4] = ["FO", "FOEXP", "md5", "ECN"];

impl Parser {
    /// The packet after `<` or `>`.
    pub fn packet(&mut self, direction: Direction) -> Result<Packet, Wrong> {
        let mark = self.ip_info()?;
        self.ports()?;
        let place = self.place();
        let flags = self.flags()?;
        let (seq, payload_len) = self.sequence()?;
        let ack = if self.take_word("ack") { Some(self.number_u32("an acknowledgment number")?) } else { None };
        if ack.is_some() != flags.contains(Flags::ACK) {
            let message = match ack {
                Some(_) => "`ack` without the flag `.`",
                None => "the flag `.` without `ack`",
            };
            return wrong(place, message);
        }
        let window_place = self.place();
        let window = if self.take_word("win") { Some(self.number_u16("a window")?) } else { None };
        if window.is_none() && direction == Direction::In {
            return wrong(window_place, "expected `win`: an incoming packet must have a window");
        }
        let urgent_place = self.place();
        if self.take_word("urg") {
            self.number_u16("an urgent pointer")?;
            self.note(urgent_place, "`urg` has no effect: urgent data is data here");
        }
        let options = self.options(direction)?;
        Ok(Packet { mark, flags, seq, payload_len, ack, window, options })
    }

    /// The fields of the IP header: `[ect0]`, `(tos 0x10)`, `[noecn, ttl 5]`.
    fn ip_info(&mut self) -> Result<Option<Mark>, Wrong> {
        let close = match self.kind() {
            Kind::Sign('[') => ']',
            Kind::Sign('(') => ')',
            _ => return Ok(None),
        };
        self.at += 1;
        let mut mark = None;
        loop {
            let Kind::Word(word) = self.kind().clone() else {
                return Err(self.expected("a word about the IP header, such as `ect0`"));
            };
            let place = self.advance().place;
            if let Some(known) = Mark::ALL.into_iter().find(|mark| mark.name() == word) {
                mark = Some(known);
            } else if IP_FIELDS.contains(&word.as_str()) {
                self.number_u32("its value")?;
                let text = format!("`{word}` has no effect: of the IP header there is only ECN");
                self.note(place, text);
            } else {
                let known = Mark::ALL.into_iter().map(Mark::name).chain(IP_FIELDS);
                return Err(Wrong::unknown(place, "word about the IP header", &word, known));
            }
            if !self.take(',') {
                return self.expect(close, "what the IP header says").map(|()| mark);
            }
        }
    }

    /// `8080 > 50000`.
    fn ports(&mut self) -> Result<(), Wrong> {
        let place = self.place();
        let is_sequence = self.tokens.get(self.at + 1).is_none_or(|t| t.kind != Kind::Sign('>'));
        if !matches!(self.kind(), Kind::Number(_)) || is_sequence {
            return Ok(());
        }
        self.number_u16("a port")?;
        self.expect('>', "the port it comes from")?;
        self.number_u16("the port it goes to")?;
        self.note(place, "ports have no effect: there is one connection");
        Ok(())
    }

    fn flags(&mut self) -> Result<Flags, Wrong> {
        const WHAT: &str = "flags out of S, F, R, P, U, E, W and `.`, or `-` for none";
        let place = self.place();
        let mut flags = Flags::NONE;
        if self.take('-') {
            return Ok(flags);
        }
        let mut any = false;
        loop {
            let text = match self.kind() {
                Kind::Word(word) if !any => word.clone(),
                Kind::Sign('.') if !any || self.adjacent() => ".".into(),
                Kind::Number(_) if any && self.adjacent() => {
                    return Err(self.expected("no number after the flags: AccECN is not supported"));
                }
                _ if any => return Ok(flags),
                _ => return Err(self.expected(WHAT)),
            };
            if let "icmp" | "udp" | "ipv4" | "ipv6" | "gre" | "mpls" = text.as_str() {
                return wrong(place, format!("`{text}` packets are not supported: only TCP is supported"));
            }
            for c in text.chars() {
                let Some((_, flag)) = FLAG_LETTERS.iter().find(|(letter, _)| *letter == c) else {
                    return wrong(place, format!("unknown flag `{c}`, expected {WHAT}"));
                };
                flags |= *flag;
            }
            any = true;
            self.at += 1;
        }
    }

    /// `1:1001(1000)`.
    fn sequence(&mut self) -> Result<(u32, u32), Wrong> {
        let place = self.place();
        let start = self.number_u32("sequence numbers (`1:1001(1000)`)")?;
        self.expect(':', "the first sequence number")?;
        let end = self.number_u32("the sequence number past the payload")?;
        self.expect('(', "the sequence numbers")?;
        let len = self.number_u32("the payload's length")?;
        self.expect(')', "the payload's length")?;
        if end.wrapping_sub(start) != len {
            return wrong(place, format!("{start}:{end} is {} bytes, not {len}", end.wrapping_sub(start)));
        }
        if len > 65535 {
            return wrong(place, format!("{len} bytes: no packet carries more than 65535"));
        }
        Ok((start, len))
    }

    /// The options: `<...>` stands for any options, a missing list for no options.
    fn options(&mut self, direction: Direction) -> Result<Option<Vec<TcpOption>>, Wrong> {
        let place = self.place();
        if !self.take('<') {
            return Ok(Some(Vec::new()));
        }
        if self.kind() == &Kind::Ellipsis {
            self.at += 1;
            self.expect('>', "`...`")?;
            return match direction {
                Direction::In => wrong(place, "an incoming packet must list its options, found `<...>`"),
                Direction::Out => Ok(None),
            };
        }
        let mut options = Vec::new();
        loop {
            options.push(self.option()?);
            if self.take('>') {
                break;
            }
            if !self.take(',') {
                return Err(self.expected("`,` or `>` after an option"));
            }
        }
        let sack_blocks: usize =
            options.iter().map(|o| if let TcpOption::Sack(blocks) = o { blocks.len() } else { 0 }).sum();
        if sack_blocks > SackBlocks::MAX {
            return wrong(place, format!("{sack_blocks} SACK blocks: at most {} fit", SackBlocks::MAX));
        }
        Ok(Some(options))
    }

    fn option(&mut self) -> Result<TcpOption, Wrong> {
        let Kind::Word(word) = self.kind().clone() else {
            return Err(self.expected("an option (`mss 1000`, `sackOK`, `nop`, `TS val 1 ecr 2`, …)"));
        };
        let place = self.advance().place;
        Ok(match word.as_str() {
            "mss" => TcpOption::Mss(self.number_u16("an MSS")?),
            "wscale" => TcpOption::WindowScale(self.number("a window scale", 255)? as u8),
            "sackOK" => TcpOption::SackPermitted,
            "nop" => TcpOption::Nop,
            "eol" => TcpOption::EndOfList,
            "TS" => self.timestamps()?,
            "sack" => self.sack()?,
            _ if OTHER_OPTIONS.contains(&word.as_str()) => {
                return wrong(place, format!("the option `{word}` is not supported"));
            }
            _ => return Err(Wrong::unknown(place, "option", &word, OPTIONS)),
        })
    }

    fn timestamps(&mut self) -> Result<TcpOption, Wrong> {
        self.keyword("val", "`TS`")?;
        let value = self.number_u32("a timestamp")?;
        self.keyword("ecr", "the timestamp")?;
        let echo = self.number_u32("the timestamp echoed")?;
        Ok(TcpOption::Timestamps(value, echo))
    }

    fn keyword(&mut self, word: &str, after: &str) -> Result<(), Wrong> {
        if self.take_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}` after {after}"))) }
    }

    fn sack(&mut self) -> Result<TcpOption, Wrong> {
        let mut blocks = Vec::new();
        while matches!(self.kind(), Kind::Number(_)) {
            let left = self.number_u32("the left edge of a SACK block")?;
            self.expect(':', "the left edge of a SACK block")?;
            let right = self.number_u32("the right edge of a SACK block")?;
            blocks.push((left, right));
        }
        if blocks.is_empty() {
            Err(self.expected("SACK blocks (`sack 1:1001 2001:3001`)"))
        } else {
            Ok(TcpOption::Sack(blocks))
        }
    }
}
