//! What the proxy does, from its command line or its file.

use super::args::Args;
use super::header::Version;
use recoup_recovery::Profile;
use recoup_stack::TcpOptions;
use recoup_support::quantity::parse_duration;
use recoup_tcp::KeepAlive;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// After this long without a packet, a client is asked whether it is still there: it may have gone without a word.
const SILENCE: Duration = Duration::from_secs(300);

/// A name or an address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// As it was written, without brackets.
    pub host: String,
    pub port: u16,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("`{text}`: expected a name or an address, and a port, such as localhost:8080 or [::1]:80");
        let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(expected)?;
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = match inner {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && !host.contains([':', '[', ']', '/', ' ']),
        };
        is_host.then(|| Self { host: inner.unwrap_or(host).to_owned(), port }).ok_or_else(expected)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

pub(crate) fn parse_profile(text: &str) -> Result<Profile, String> {
    let parsed = recoup_support::profile::parse_profile(text);
    parsed.map_err(|why| format!("{why} (`recoup profiles` lists what there is)"))
}

/// Where a connection is taken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Upstream {
    Server(Address),
    /// Where the client wanted to go, from its address.
    Destination,
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(address) => address.fmt(f),
            Self::Destination => f.write_str("where they want to go"),
        }
    }
}

/// What happens with the connections of one listening address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FrontSettings {
    /// `None`: everywhere.
    pub listen: Option<SocketAddr>,
    pub upstream: Upstream,
    /// At least one.
    pub profiles: Vec<Profile>,
    pub proxy_protocol: Option<Version>,
    pub connect_timeout: Duration,
}

impl FrontSettings {
    /// The options of connections, of each profile.
    pub fn options(&self) -> Vec<TcpOptions> {
        let of = |profile: &Profile| {
            let mut options = TcpOptions::new(*profile.mechanisms());
            // The server decides what goes together; the proxy does not hold it back.
            options.endpoint.nagle = false;
            options.keep_alive = Some(KeepAlive { idle: SILENCE, ..KeepAlive::default() });
            options
        };
        self.profiles.iter().map(of).collect()
    }

    /// The names of the profiles, in order.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.profiles.iter().map(|profile| profile.name().into()).collect()
    }
}

impl fmt::Display for FrontSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.listen {
            Some(listen) => write!(f, "{listen}")?,
            None => f.write_str("every address")?,
        }
        write!(f, " to {}, {}", self.upstream, self.names().join(" or "))
    }
}

/// The file `--config` names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    proxy: Vec<FileFront>,
}

/// One table `[[proxy]]` of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileFront {
    listen: SocketAddr,
    upstream: Address,
    #[serde(default)]
    profiles: Vec<String>,
    proxy_protocol: Option<Version>,
    connect_timeout: Option<String>,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    /// The file cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// Something in the file is wrong.
    #[error("{}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What, where, and what was expected.
        why: String,
    },
}

/// What is proxied, as the command line or the file that it names says.
pub(crate) fn fronts(args: &Args) -> Result<Vec<FrontSettings>, SettingsError> {
    if let Some(path) = &args.what.config {
        return read(path);
    }
    let upstream = match &args.front.upstream {
        Some(address) => Upstream::Server(address.clone()),
        None => Upstream::Destination,
    };
    Ok(vec![FrontSettings {
        listen: args.what.listen,
        upstream,
        profiles: args.front.profiles.clone(),
        proxy_protocol: args.front.proxy_protocol,
        connect_timeout: args.front.connect_timeout,
    }])
}

fn read(path: &Path) -> Result<Vec<FrontSettings>, SettingsError> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|why| SettingsError::Unreadable { path: path.to_owned(), why })?;
    parse(&text).map_err(|why| SettingsError::Wrong { path: path.to_owned(), why })
}

fn parse(text: &str) -> Result<Vec<FrontSettings>, String> {
    let file: File = toml::from_str(text).map_err(|why| {
        let line = why.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        format!("line {line}: {}", why.message())
    })?;
    let mut fronts: Vec<FrontSettings> = Vec::new();
    for front in file.proxy {
        let at = front.listen;
        let of = |why: String| format!("proxy at {at}: {why}");
        if fronts.iter().any(|other| other.listen == Some(at)) {
            return Err(of("expected one [[proxy]] for an address and port".into()));
        }
        let names = if front.profiles.is_empty() { vec!["linux-6".to_owned()] } else { front.profiles };
        let profiles = names.iter().map(|name| parse_profile(name)).collect::<Result<_, _>>().map_err(of)?;
        let timeout = front.connect_timeout.as_deref().unwrap_or("10s");
        fronts.push(FrontSettings {
            listen: Some(at),
            upstream: Upstream::Server(front.upstream),
            profiles,
            proxy_protocol: front.proxy_protocol,
            connect_timeout: parse_duration(timeout).map_err(|why| of(format!("connect-timeout: {why}")))?,
        });
    }
    if fronts.is_empty() {
        return Err("expected at least one [[proxy]]".into());
    }
    Ok(fronts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_is_proxied() {
        let text = "[[proxy]]\nlisten = '192.0.2.1:80'\nupstream = 'localhost:8080'\nprofiles = ['linux-6', 'linux-6+tlpr']\n\
                    proxy-protocol = 'v2'\n[[proxy]]\nlisten = '[2001:db8::1]:443'\nupstream = '[::1]:443'\nconnect-timeout = '2s'\n";
        let fronts = parse(text).unwrap();
        assert_eq!(fronts[0].to_string(), "192.0.2.1:80 to localhost:8080, linux-6 or linux-6+tlpr");
        assert_eq!((fronts[0].proxy_protocol, fronts[1].proxy_protocol), (Some(Version::V2), None));
        assert_eq!(fronts[1].to_string(), "[2001:db8::1]:443 to [::1]:443, linux-6");
        assert_eq!(fronts[1].connect_timeout, Duration::from_secs(2));
    }

    #[test]
    fn what_is_wrong_in_a_file_has_its_line() {
        for (text, line) in [
            ("", "line 1: missing field `proxy`"),
            ("proxy = []", "expected at least one [[proxy]]"),
            ("[[proxy]]\nlisten = '192.0.2.1'\nupstream = 'a:1'\n", "line 2: invalid socket address syntax"),
            (
                "[[proxy]]\nlisten = '192.0.2.1:80'\nupstream = 'a'\n",
                "line 3: `a`: expected a name or an address, and a port",
            ),
            ("[[proxy]]\nlisten = '192.0.2.1:80'\nupstream = 'a:1'\nupstrem = 1\n", "line 4: unknown field `upstrem`"),
            ("[[proxy]]\nlisten = '192.0.2.1:80'\nupstream = 'a:1'\nprofiles = ['linx']\n", "proxy at 192.0.2.1:80: "),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.starts_with(line), "{text:?}: {why}");
        }
    }

    #[test]
    fn addresses_are_names_or_numbers_with_a_port() {
        for text in ["localhost:80", "192.0.2.1:80", "[2001:db8::1]:443"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["localhost", ":80", "a:0", "a:70000", "2001:db8::1:80", "[a]:80", "http://a:80", ""] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
