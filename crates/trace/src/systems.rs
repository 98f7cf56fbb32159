//! Profiles that senders in captures are compared with, and the systems that retransmit by them.

/// The profiles tried, and the systems that retransmit by these rules; the most widespread today
/// first. Where several explain as much, the first of them names the triggers.
///
/// Linux's rules changed in 3.5 (early retransmit), 3.10 (tail loss probes), 4.12 (RACK's timer takes
/// the place of early retransmit), 4.15 (no FACK) and 4.18 (RACK alone detects losses).
pub(crate) const PROFILES: [(&str, &str); 8] = [
    ("linux-6", "Linux since 4.18"),
    ("linux-6+notlp", "Linux since 4.18, tcp_early_retrans=0"),
    ("linux-3.17+tlp", "Linux 3.10 to 4.11"),
    ("linux-3.17", "Linux 3.5 to 3.9"),
    ("linux-2.4+minrttvar", LINUX_2_4),
    ("windows-xp", "Windows 2000, XP"),
    ("freebsd-5", "FreeBSD 5, Mac OS X"),
    ("solaris-10", "Solaris 10"),
];

const LINUX_2_4: &str = "Linux 2.4";

/// Profiles that describe systems as the 2007 study does. Senders in captures are not compared with them, because the
/// systems behave differently.
const STUDIED: [(&str, &str); 1] = [("linux-2.4", LINUX_2_4)];

/// The systems that retransmit by the rules of a profile, or that the 2007 study describes by it; `None` for other
/// profiles.
pub fn systems_like(profile: &str) -> Option<&'static str> {
    let with_bbr = WITH_BBR.map(|(_, name, systems)| (name, systems));
    let mut known = PROFILES.into_iter().chain(STUDIED).chain(with_bbr);
    known.find(|(name, _)| *name == profile).map(|(_, systems)| systems)
}

/// The profiles that senders are compared with, the most widespread today first.
pub fn identified_profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|(name, _)| *name)
}

/// Profiles of systems on which somebody must have changed a setting, and the profiles without that.
pub(crate) const CHANGED_SETTINGS: [(&str, &str); 1] = [("linux-6+notlp", "linux-6")];

/// Profiles of systems that may run BBR, the same with BBR, and those systems. Linux has it since 4.9.
pub(crate) const WITH_BBR: [(&str, &str, &str); 3] = [
    ("linux-6", "linux-6+bbr1", "Linux since 4.18 with BBR"),
    ("linux-6+notlp", "linux-6+notlp+bbr1", "Linux since 4.18 with BBR, tcp_early_retrans=0"),
    ("linux-3.17+tlp", "linux-3.17+tlp+bbr1", "Linux 4.9 to 4.11 with BBR"),
];
