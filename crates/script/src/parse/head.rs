//! Parses the head of a script: packetdrill's options, and our settings, which are comments to
//! packetdrill.
//!
//! ```text
//! // profile: linux-3.17+tlp
//! // mss: 1000                what the SYN announces
//! // ack: delayed             or quick, or linux
//! // rfc: 6298 §5.5           what the script checks
//! // level: MUST              or SHOULD, or MAY
//! // says: "The host MUST set RTO <- RTO * 2"
//! // needs: sack, timestamps  of mss, sack, timestamps, wscale: what the stack under test must offer
//! ```
//! Settings have their own lines before the first event. Options and commands may stand before and between
//! them. A comment that looks like a misspelt setting gives a note.

use super::Parser;
use crate::{
    error::{Place, Wrong, did_you_mean, nearest, wrong},
    lex::{Comment, Kind},
    script::{Claim, Level, Need, Note, NoteKind, TimestampClock},
};
use recoup_recovery::Profile;
use recoup_tcp::AckPolicy;

const KEYS: [&str; 7] = ["profile", "mss", "ack", "rfc", "level", "says", "needs"];

/// Options of packetdrill that have no effect here, with the reason.
const WITHOUT_EFFECT: [(&str, &str); 25] = [
    ("bind_port", PORTS),
    ("code_command", "the code is not run by another program"),
    ("code_format", "the code is read as Python"),
    ("code_sockopt", "TCP_INFO is what the code sees"),
    ("connect_port", PORTS),
    ("debug", "see --trace"),
    ("default_gateway", ADDRESSES),
    ("default_gateway_ip", ADDRESSES),
    ("dry_run", "the script is run"),
    ("gateway_ip", ADDRESSES),
    ("init_scripts", "no shell is run"),
    ("ip_version", "packets have no IP header"),
    ("local_ip", ADDRESSES),
    ("local_linux_ip", ADDRESSES),
    ("netmask_ip", ADDRESSES),
    ("non_fatal", "every failure ends the script"),
    ("remote_ip", ADDRESSES),
    ("send_omit_free", "memory does not matter here"),
    ("so_filename", "the stack is built in"),
    ("so_flags", "the stack is built in"),
    ("speed", "there is no device"),
    ("strict_segments", "segments are always compared one by one"),
    ("tcp_ts_ecr_scaled", "echoes are taken by the clock already"),
    ("tolerance_usecs", "the tolerance is zero: time is virtual"),
    ("verbose", "see --trace"),
];
const PORTS: &str = "there is one connection, and its ports do not matter";
const ADDRESSES: &str = "packets have no addresses";

impl Parser {
    /// Applies the settings among the comments.
    pub fn comments(&mut self, comments: &[Comment]) -> Result<(), Wrong> {
        for comment in comments {
            let line = Line::of(comment);
            match line.key {
                "profile" if line.counts => {
                    self.head.profile = Some(profile(comment.place, line.value)?);
                }
                "mss" if line.counts => self.head.mss = Some(mss(comment.place, line.value)?),
                "ack" if line.counts => self.head.ack = Some(ack_policy(comment.place, line.value)?),
                "rfc" if line.counts => self.claim().rfc = rfc(comment.place, line.value)?,
                "level" if line.counts => self.claim().level = level(comment.place, line.value)?,
                "says" if line.counts => self.claim().says = line.value.into(),
                "needs" if line.counts => self.head.needs = needs(comment.place, line.value)?,
                _ => self.notes.extend(line.mistake().map(|text| Note {
                    kind: NoteKind::Mistake,
                    line: comment.place.line,
                    text,
                })),
            }
        }
        Ok(())
    }

    fn claim(&mut self) -> &mut Claim {
        self.head.claim.get_or_insert_default()
    }

    pub fn settings(&mut self) -> Result<(), Wrong> {
        while let Kind::Setting(name, value) = self.kind().clone() {
            let place = self.advance().place;
            match name.as_str() {
                "mss" => self.head.mss = Some(mss(place, &value)?),
                "mtu" => {
                    // A segment's header and the IP header take 40 bytes of IPv4's MTU.
                    let mtu: Option<u16> = value.parse().ok();
                    let mss = mtu.and_then(|mtu| mtu.checked_sub(40)).filter(|&mss| mss >= LEAST_MSS);
                    self.head.mss = Some(mss.ok_or_else(|| {
                        Wrong::new(place, format!("--mtu={value}: expected a number from 128 to 65535"))
                    })?);
                }
                "tcp_ts_tick_usecs" => self.head.clock = clock(place, &value)?,
                "define" => {
                    return wrong(place, "--define is not supported: write the value itself");
                }
                _ => self.setting_without_effect(place, &name)?,
            }
        }
        Ok(())
    }

    fn setting_without_effect(&mut self, place: Place, name: &str) -> Result<(), Wrong> {
        let Some((_, why)) = WITHOUT_EFFECT.iter().find(|(n, _)| *n == name) else {
            let known = WITHOUT_EFFECT.iter().map(|(n, _)| *n);
            let known = known.chain(["mss", "mtu", "tcp_ts_tick_usecs"]);
            return Err(Wrong::unknown(place, "option", name, known));
        };
        self.note(place, format!("--{name} has no effect: {why}"));
        Ok(())
    }
}

/// A comment that may be a setting: `key: value`.
struct Line<'a> {
    key: &'a str,
    /// `:`, or the text in its place.
    separator: &'a str,
    value: &'a str,
    /// Whether it is a setting if its key is known: it is in the head, and has a colon.
    counts: bool,
    in_head: bool,
}

impl<'a> Line<'a> {
    fn of(comment: &'a Comment) -> Self {
        let text = comment.text.as_str();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
        let (key, rest) = text.split_at(end.unwrap_or(text.len()));
        let rest = rest.trim_start();
        let separator = rest.get(..1).filter(|s| [":", "="].contains(s));
        let separator = separator.unwrap_or_default();
        Self {
            key,
            separator,
            value: rest[separator.len()..].trim(),
            counts: comment.in_head && separator == ":",
            in_head: comment.in_head,
        }
    }

    /// The mistake in a comment that looks like a setting but is none.
    fn mistake(&self) -> Option<String> {
        let one_word = !self.value.is_empty() && !self.value.contains(char::is_whitespace);
        let alike = nearest(self.key, KEYS, 0.8).filter(|_| self.counts || (self.separator == ":" && one_word));
        // Many words are similar to a short key, so the value must fit the key as well.
        let fits = || nearest(self.key, KEYS, 0.6).filter(|key| takes(key, self.value));
        let meant = alike.or_else(fits)?;
        let written = match self.separator {
            "=" => format!("{} =", self.key),
            separator => format!("{}{separator}", self.key),
        };
        Some(if self.in_head {
            format!("`{written}` is taken for a comment; `{meant}:` would be a setting")
        } else {
            format!(
                "`{written}` is taken for a comment; the setting `{meant}:` stands on a line of \
                 its own before the first event"
            )
        })
    }
}

/// Whether `key` accepts `value`.
fn takes(key: &str, value: &str) -> bool {
    let place = Place::default();
    match key {
        "profile" => profile(place, value).is_ok(),
        "mss" => mss(place, value).is_ok(),
        "ack" => ack_policy(place, value).is_ok(),
        // `RFC 6298` begins many a comment.
        "level" => level(place, value).is_ok(),
        "needs" => needs(place, value).is_ok(),
        _ => false,
    }
}

/// `6298 §5.5`, or several RFCs with their sections.
fn rfc(place: Place, value: &str) -> Result<String, Wrong> {
    let number = value.split_whitespace().next().is_some_and(|word| word.parse::<u16>().is_ok());
    match number {
        true => Ok(value.into()),
        false => wrong(place, format!("rfc `{value}`: expected a number and a section, as in `6298 §5.5`")),
    }
}

fn level(place: Place, value: &str) -> Result<Level, Wrong> {
    let found = Level::ALL.into_iter().find(|level| level.name() == value);
    found.ok_or_else(|| Wrong::unknown(place, "level", value, Level::ALL.map(Level::name)))
}

fn needs(place: Place, value: &str) -> Result<Vec<Need>, Wrong> {
    let need = |word: &str| {
        let found = Need::ALL.into_iter().find(|need| need.name() == word);
        found.ok_or_else(|| Wrong::unknown(place, "need", word, Need::ALL.map(Need::name)))
    };
    value.split(',').map(str::trim).map(need).collect()
}

fn profile(place: Place, value: &str) -> Result<Profile, Wrong> {
    value.parse().map_err(|e: recoup_recovery::profile::ProfileError| {
        let (word, known) = e.unknown();
        Wrong::new(place, format!("{e}{}", did_you_mean(word, known)))
    })
}

/// The smallest MSS that Linux accepts.
pub(crate) const LEAST_MSS: u16 = 88;

fn mss(place: Place, value: &str) -> Result<u16, Wrong> {
    value
        .parse()
        .ok()
        .filter(|&mss| mss >= LEAST_MSS)
        .ok_or_else(|| Wrong::new(place, format!("mss `{value}`: expected a number from {LEAST_MSS} to 65535")))
}

fn ack_policy(place: Place, value: &str) -> Result<AckPolicy, Wrong> {
    match value {
        "quick" => Ok(AckPolicy::Quick),
        "delayed" => Ok(AckPolicy::Delayed(AckPolicy::LINUX_DELAY)),
        "linux" => Ok(AckPolicy::Linux { quick: AckPolicy::LINUX_QUICK }),
        _ => Err(Wrong::unknown(place, "ack policy", value, ["quick", "delayed", "linux"])),
    }
}

fn clock(place: Place, value: &str) -> Result<TimestampClock, Wrong> {
    match value {
        "0" => Ok(TimestampClock::Names),
        "1000" => Ok(TimestampClock::Exact),
        _ => {
            wrong(place, format!("--tcp_ts_tick_usecs={value}: expected 1000, the clock's tick, or 0: do not compare"))
        }
    }
}
