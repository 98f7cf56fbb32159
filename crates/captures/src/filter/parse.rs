//! Parses filters: recursive descent over words, each with its position.

use super::tokens::{Shown, UNSUPPORTED, WORDS, Word, decimal, dotted, is_known, is_value, ones, port, range, words};
use super::{Chain, Filter, Joint, Net, Operand, Side, Term, Test};
use recoup_support::suggest::did_you_mean;
use recoup_units::named;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// The deepest nesting of parentheses.
const DEEPEST: usize = 64;

/// Why a text is no filter, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("column {column}: {what}")]
pub struct FilterError {
    /// The position of the word, in characters from 1.
    pub column: usize,
    /// The word found there, and the expected ones.
    pub what: String,
}

/// The qualifiers of a primitive.
#[derive(Clone, Copy, Debug)]
struct Qualifiers {
    protocol: Option<Protocol>,
    side: Side,
    kind: Kind,
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Protocol {
        Ip = "ip",
        Ip6 = "ip6",
        Tcp = "tcp",
    }
}

named! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Kind {
        Host = "host",
        Net = "net",
        Port = "port",
        PortRange = "portrange",
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut parser = Parser { text, words: words(text), next: 0, depth: 0 };
        let chain = parser.filter(None)?;
        match parser.peek() {
            None => Ok(Self(chain)),
            Some(word) if word.text == ")" => Err(parser.error(word, "`)` without `(`")),
            Some(word) => {
                let near = did_you_mean(word.text, ["and", "or"]);
                Err(parser.unexpected(word, &format!("and, or, or the end{near}")))
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
    /// The index of the next word.
    next: usize,
    /// How many parentheses are open.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<Word<'a>> {
        self.words.get(self.next).copied()
    }

    /// Takes the next word if it is this one.
    fn take(&mut self, text: &str) -> bool {
        let is_there = self.peek().is_some_and(|word| word.text == text);
        self.next += usize::from(is_there);
        is_there
    }

    /// `term { joint ( term | id ) }`; with `inherited` qualifiers, it may begin with an id.
    fn filter(&mut self, inherited: Option<Qualifiers>) -> Result<Chain, FilterError> {
        let (first, mut qualifiers) = self.term(inherited)?;
        let mut rest = Vec::new();
        while let Some(joint) = self.joint() {
            let (term, next) = self.term(qualifiers)?;
            rest.push((joint, term));
            qualifiers = next;
        }
        Ok(Chain { first, rest })
    }

    fn joint(&mut self) -> Option<Joint> {
        let joint = match self.peek()?.text {
            "and" | "&&" => Joint::And,
            "or" | "||" => Joint::Or,
            _ => return None,
        };
        self.next += 1;
        Some(joint)
    }

    /// Whether the next term is negated.
    fn negation(&mut self) -> bool {
        let mut is_negated = false;
        while self.take("not") || self.take("!") {
            is_negated = !is_negated;
        }
        is_negated
    }

    /// A term or, with `inherited` qualifiers, an id. Returns the qualifiers that the next id inherits.
    fn term(&mut self, inherited: Option<Qualifiers>) -> Result<(Term, Option<Qualifiers>), FilterError> {
        let is_negated = self.negation();
        let Some(word) = self.peek() else {
            return Err(self.end(&format!("{}, or (", WORDS.join(", "))));
        };
        if word.text == "(" {
            if let Some(qualifiers) = inherited.filter(|_| self.is_group_of_ids()) {
                return Ok((self.group_of_ids(qualifiers)?.negated(is_negated), inherited));
            }
            let group = self.group(|parser| parser.filter(None))?;
            return Ok((group.negated(is_negated), None));
        }
        if let Some(qualifiers) = inherited.filter(|_| is_value(word.text)) {
            return Ok((self.primitive(qualifiers)?.negated(is_negated), inherited));
        }
        let (term, qualifiers) = self.qualified()?;
        Ok((term.negated(is_negated), qualifiers))
    }

    /// Parses the expression in parentheses.
    fn group(&mut self, inside: impl FnOnce(&mut Self) -> Result<Chain, FilterError>) -> Result<Term, FilterError> {
        let opening = self.words[self.next];
        self.next += 1;
        self.depth += 1;
        if self.depth > DEEPEST {
            let what = format!("too many parentheses: expected at most {DEEPEST} levels");
            return Err(self.error(opening, &what));
        }
        let chain = inside(self)?;
        self.depth -= 1;
        match self.peek() {
            _ if self.take(")") => Ok(Term::group(chain)),
            None => Err(self.error(opening, "`(` without `)`")),
            Some(word) => {
                let near = did_you_mean(word.text, ["and", "or"]);
                Err(self.unexpected(word, &format!("and, or, or `)`{near}")))
            }
        }
    }

    /// Whether the parentheses that begin here hold addresses or ports without qualifiers.
    fn is_group_of_ids(&self) -> bool {
        let words = self.words[self.next..].iter().map(|word| word.text);
        let mut words = words.skip_while(|text| matches!(*text, "(" | "!" | "not"));
        words.next().is_some_and(is_value)
    }

    fn group_of_ids(&mut self, qualifiers: Qualifiers) -> Result<Term, FilterError> {
        self.group(|parser| {
            let first = parser.id(qualifiers)?;
            let mut rest = Vec::new();
            while let Some(joint) = parser.joint() {
                rest.push((joint, parser.id(qualifiers)?));
            }
            Ok(Chain { first, rest })
        })
    }

    /// An address or a port, or several in parentheses.
    fn id(&mut self, qualifiers: Qualifiers) -> Result<Term, FilterError> {
        let is_negated = self.negation();
        let term = match self.peek() {
            Some(word) if word.text == "(" => self.group_of_ids(qualifiers)?,
            _ => self.primitive(qualifiers)?,
        };
        Ok(term.negated(is_negated))
    }

    /// A term that begins with a qualifier, and the qualifiers for the next id.
    fn qualified(&mut self) -> Result<(Term, Option<Qualifiers>), FilterError> {
        let first = self.words[self.next];
        let protocol = self.one_of(Protocol::ALL, Protocol::name);
        let side = self.side()?;
        let kind = self.one_of(Kind::ALL, Kind::name);
        match (protocol, side, kind) {
            (None, None, None) => return Err(self.no_term(first)),
            (Some(protocol), None, None) => return self.lone_protocol(protocol),
            _ => {}
        }
        let qualifiers = Qualifiers { protocol, side: side.unwrap_or(Side::Either), kind: kind.unwrap_or(Kind::Host) };
        if let Some(protocol) = protocol {
            self.check_protocol(first, protocol, qualifiers.kind)?;
        }
        Ok((self.id(qualifiers)?, Some(qualifiers)))
    }

    /// Takes the next word if it names one of these.
    fn one_of<T: Copy, const N: usize>(&mut self, all: [T; N], name: fn(T) -> &'static str) -> Option<T> {
        let word = self.peek()?;
        let found = all.into_iter().find(|one| name(*one) == word.text)?;
        self.next += 1;
        Some(found)
    }

    /// A protocol without other qualifiers.
    fn lone_protocol(&self, protocol: Protocol) -> Result<(Term, Option<Qualifiers>), FilterError> {
        let test = match protocol {
            Protocol::Ip => Test::IpV4,
            Protocol::Ip6 => Test::IpV6,
            Protocol::Tcp => Test::Tcp,
        };
        match self.peek() {
            None => {}
            Some(word) if matches!(word.text, "and" | "&&" | "or" | "||" | ")") => {}
            Some(word) if UNSUPPORTED.contains(&word.text) => return Err(self.no_term(word)),
            Some(word) => {
                let expected = match protocol {
                    Protocol::Tcp => ["src", "dst", "port", "portrange", "and", "or"],
                    Protocol::Ip | Protocol::Ip6 => ["src", "dst", "host", "net", "and", "or"],
                };
                let near = did_you_mean(word.text, expected);
                return Err(self.unexpected(word, &format!("{}{near}", expected.join(", "))));
            }
        }
        Ok((Term::test(test), None))
    }

    fn side(&mut self) -> Result<Option<Side>, FilterError> {
        let side = match self.peek().map(|word| word.text) {
            Some("src") => Side::Source,
            Some("dst") => Side::Destination,
            _ => return Ok(None),
        };
        self.next += 1;
        let following = self.words.get(self.next).map(|word| word.text);
        let combined = match following {
            Some("or" | "||") => Side::Either,
            Some("and" | "&&") => Side::Both,
            _ => return Ok(Some(side)),
        };
        self.next += 1;
        let other = match side {
            Side::Source => "dst",
            _ => "src",
        };
        match self.peek() {
            _ if self.take(other) => Ok(Some(combined)),
            None => Err(self.end(other)),
            Some(word) => Err(self.unexpected(word, other)),
        }
    }

    /// Checks that a protocol may qualify this kind.
    fn check_protocol(&self, first: Word<'a>, protocol: Protocol, kind: Kind) -> Result<(), FilterError> {
        let is_address = matches!(kind, Kind::Host | Kind::Net);
        let kinds = match (protocol, is_address) {
            (Protocol::Tcp, true) => "port or portrange",
            (Protocol::Ip | Protocol::Ip6, false) => "host or net",
            _ => return Ok(()),
        };
        let (found, kind) = (first.text, kind.name());
        let what = format!("`{found}` cannot qualify {kind}: expected {kinds} after it, or `and`");
        Err(self.error(first, &what))
    }

    /// One address, network, port or range of ports.
    fn primitive(&mut self, qualifiers: Qualifiers) -> Result<Term, FilterError> {
        let Qualifiers { side, kind, .. } = qualifiers;
        let Some(word) = self.peek() else {
            return Err(self.end(kind.expected()));
        };
        if !is_value(word.text) && is_known(word.text) {
            return Err(self.unexpected(word, kind.expected()));
        }
        self.next += 1;
        let test = match kind {
            Kind::Host => Test::Net(side, self.host(word)?),
            Kind::Net => Test::Net(side, self.net(word)?),
            Kind::Port => {
                let port = self.port(word)?;
                Test::Ports(side, [port; 2])
            }
            Kind::PortRange => Test::Ports(side, self.port_range(word)?),
        };
        if let Test::Net(_, net) = test {
            self.check_version(word, qualifiers.protocol, net)?;
        }
        Ok(Term::test(test))
    }

    fn check_version(&self, word: Word<'a>, protocol: Option<Protocol>, net: Net) -> Result<(), FilterError> {
        match (protocol, net) {
            (Some(Protocol::Ip), Net::V6 { .. }) => Err(self.unexpected(word, "an IPv4 address after `ip`")),
            (Some(Protocol::Ip6), Net::V4 { .. }) => Err(self.unexpected(word, "an IPv6 address after `ip6`")),
            _ => Ok(()),
        }
    }

    fn host(&self, word: Word<'a>) -> Result<Net, FilterError> {
        let net = match (Ipv4Addr::from_str(word.text), Ipv6Addr::from_str(word.text)) {
            (Ok(ip), _) => Net::whole_v4(ip),
            (_, Ok(ip)) => Net::whole_v6(ip),
            _ => return Err(self.no_address(word, Kind::Host)),
        };
        match self.peek() {
            Some(next) if next.text == "/" || next.text == "mask" => {
                let what = format!("a host has no mask: expected `net` before {}", word.text);
                Err(self.error(next, &what))
            }
            _ => Ok(net),
        }
    }

    fn net(&mut self, word: Word<'a>) -> Result<Net, FilterError> {
        if let Ok(ip) = Ipv6Addr::from_str(word.text) {
            let length = self.prefix(128)?.unwrap_or(128);
            let mask = ones(length, 128);
            let net = Net::V6 { address: ip.to_bits() & mask, mask };
            return match ip.to_bits() & mask == ip.to_bits() {
                true => Ok(net),
                false => Err(self.beyond_mask(word, net)),
            };
        }
        let Some((address, bytes)) = dotted(word.text) else {
            return Err(self.no_address(word, Kind::Net));
        };
        let mask = match self.take("mask") {
            true => self.mask()?,
            // libpcap takes `net 0` for one host.
            false if (address, bytes) == (0, 1) => ones(self.prefix(32)?.unwrap_or(32), 32) as u32,
            false => ones(self.prefix(32)?.unwrap_or(8 * bytes), 32) as u32,
        };
        let net = Net::V4 { address: address & mask, mask };
        match address & mask == address {
            true => Ok(net),
            false => Err(self.beyond_mask(word, net)),
        }
    }

    /// The length after a slash, if there is one.
    fn prefix(&mut self, longest: u32) -> Result<Option<u32>, FilterError> {
        if !self.take("/") {
            return Ok(None);
        }
        let expected = format!("a prefix length from 0 to {longest}");
        let Some(word) = self.peek() else {
            return Err(self.end(&expected));
        };
        self.next += 1;
        let length = decimal(word.text).filter(|length| *length <= longest);
        length.map(Some).ok_or_else(|| self.unexpected(word, &expected))
    }

    fn mask(&mut self) -> Result<u32, FilterError> {
        let expected = "a mask, such as 255.255.0.0";
        let Some(word) = self.peek() else {
            return Err(self.end(expected));
        };
        self.next += 1;
        let mask = Ipv4Addr::from_str(word.text);
        mask.map(Ipv4Addr::to_bits).map_err(|_| self.unexpected(word, expected))
    }

    fn port(&self, word: Word<'a>) -> Result<u16, FilterError> {
        let port = port(word.text);
        port.ok_or_else(|| match range(word.text) {
            Some(_) => self.unexpected(word, "one port, or `portrange` before the range"),
            None => self.unexpected(word, Kind::Port.expected()),
        })
    }

    fn port_range(&self, word: Word<'a>) -> Result<[u16; 2], FilterError> {
        let single = || port(word.text).map(|port| [port; 2]);
        let range = range(word.text).or_else(single);
        range.ok_or_else(|| self.unexpected(word, Kind::PortRange.expected()))
    }

    fn no_address(&self, word: Word<'a>, kind: Kind) -> FilterError {
        let (text, expected) = (word.text, kind.expected());
        if text.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.contains(':') {
            let shown = Shown(text);
            let near = self.near_kind(word);
            let what = format!("`{shown}`: names are not looked up: expected {expected}{near}");
            return self.error(word, &what);
        }
        match dotted(text) {
            _ if kind == Kind::Host && port(text).is_some() => {
                self.unexpected(word, &format!("{expected}, or `port` before {text}"))
            }
            Some(_) => self.unexpected(word, &format!("a whole address, or `net {text}`")),
            None => self.unexpected(word, expected),
        }
    }

    /// A suggestion, if a word follows a direction and may stand for a kind.
    fn near_kind(&self, word: Word<'a>) -> String {
        let before = self.words.iter().rfind(|before| before.at < word.at);
        match before.is_some_and(|before| matches!(before.text, "src" | "dst")) {
            true => did_you_mean(word.text, ["host", "net", "port", "portrange"]),
            false => String::new(),
        }
    }

    fn beyond_mask(&self, word: Word<'a>, net: Net) -> FilterError {
        let what = format!("{} has bits beyond its mask: expected {net}", word.text);
        self.error(word, &what)
    }

    /// The error at a word that begins no term.
    fn no_term(&self, word: Word<'a>) -> FilterError {
        let text = word.text;
        let name = text.split('[').next().unwrap_or(text);
        let unsupported = match text.contains('[') {
            true => Some("tests bytes of packets, which is not supported"),
            false => UNSUPPORTED.contains(&name).then_some("is not supported"),
        };
        let words = WORDS.join(", ");
        if let Some(unsupported) = unsupported {
            let what = format!("`{}` {unsupported}: expected {words}, or (", Shown(text));
            return self.error(word, &what);
        }
        if is_value(text) {
            let expected = match port(text) {
                Some(_) => format!("`port {text}`, `net {text}` or another qualifier before it"),
                None => format!("`host {text}`, `net {text}` or another qualifier before it"),
            };
            return self.unexpected(word, &expected);
        }
        let near = did_you_mean(text, WORDS.iter().copied());
        self.unexpected(word, &format!("{words}, or ({near}"))
    }

    fn unexpected(&self, word: Word<'a>, expected: &str) -> FilterError {
        self.error(word, &format!("`{}`: expected {expected}", Shown(word.text)))
    }

    /// The error at the end of the text.
    fn end(&self, expected: &str) -> FilterError {
        let end = Word { text: "", at: self.text.len() };
        self.error(end, &format!("the filter ends: expected {expected}"))
    }

    fn error(&self, word: Word<'a>, what: &str) -> FilterError {
        FilterError { column: 1 + self.text[..word.at].chars().count(), what: what.into() }
    }
}

impl Term {
    fn test(test: Test) -> Self {
        Self { is_negated: false, operand: Operand::Test(test) }
    }

    /// A chain in parentheses, which a single term does not need.
    fn group(chain: Chain) -> Self {
        match chain.rest.is_empty() {
            true => chain.first,
            false => Self { is_negated: false, operand: Operand::Group(Box::new(chain)) },
        }
    }

    fn negated(self, is_negated: bool) -> Self {
        Self { is_negated: self.is_negated != is_negated, ..self }
    }
}

impl Kind {
    /// The operand that it expects, for errors.
    fn expected(self) -> &'static str {
        match self {
            Self::Host => "an IPv4 or IPv6 address",
            Self::Net => "a network, such as 10.0.0.0/8",
            Self::Port => "a port from 0 to 65535",
            Self::PortRange => "a range of ports, such as 8000-8080",
        }
    }
}

impl Net {
    fn whole_v4(ip: Ipv4Addr) -> Self {
        Self::V4 { address: ip.to_bits(), mask: u32::MAX }
    }

    fn whole_v6(ip: Ipv6Addr) -> Self {
        Self::V6 { address: ip.to_bits(), mask: u128::MAX }
    }
}
