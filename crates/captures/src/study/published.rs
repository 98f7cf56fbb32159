//! The numbers that the study prints of its own senders.

use super::saving::Split;
use super::tables::{Classification, Shares};

/// One of the study's four systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// The study's name.
    pub name: &'static str,
    /// The profile of its senders, as the study has them.
    pub profile: &'static str,
    /// The profile by which its senders are identified in captures.
    pub captured: &'static str,
    /// Table IV: needed retransmissions by RTO and by FR/R, then spurious ones by RTO and by FR/R.
    pub retransmissions: [u64; 4],
}

impl System {
    /// In the order of Table IV. The study analyzes Linux 2.4, Windows XP and 2000, Solaris 10, and
    /// FreeBSD 5.2 with MacOS.
    pub const ALL: [Self; 4] = [
        Self {
            name: "Windows",
            profile: "windows-xp",
            captured: "windows-xp",
            retransmissions: [638_969, 117_040, 279_358, 38_730],
        },
        Self {
            name: "Linux",
            profile: "linux-2.4",
            captured: "linux-2.4+minrttvar",
            retransmissions: [175_922, 115_295, 10_759, 8_442],
        },
        Self {
            name: "Solaris",
            profile: "solaris-10",
            captured: "solaris-10",
            retransmissions: [19_170, 5_399, 1_322, 1_214],
        },
        Self { name: "FreeBSD", profile: "freebsd-5", captured: "freebsd-5", retransmissions: [1_308, 166, 733, 105] },
    ];

    /// The system whose senders have this profile.
    pub fn of_profile(profile: &str) -> Option<&'static Self> {
        let mut all = Self::ALL.iter();
        all.find(|system| [system.profile, system.captured].contains(&profile))
    }

    /// Its row of Table IV. The study found no retransmission unknowable.
    pub fn classification(&self) -> Classification {
        let [rto_needed, fast_needed, rto_spurious, fast_spurious] = self.retransmissions;
        let split = |needed, spurious| Split { needed, spurious, unknowable: 0 };
        Classification {
            total: self.retransmissions.iter().sum(),
            rto: split(rto_needed, rto_spurious),
            fast_retransmit: split(fast_needed, fast_spurious),
            ..Classification::default()
        }
    }

    /// Its row of Table IV in %.
    pub fn shares(&self) -> Shares {
        self.classification().shares()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_printed_in_table_iv() {
        for (name, total, printed) in [
            ("Windows", 1_074_097, [59.5, 10.9, 26.0, 3.6]),
            ("Linux", 310_418, [56.7, 37.1, 3.5, 2.7]),
            ("Solaris", 27_105, [70.7, 19.9, 4.9, 4.5]),
            ("FreeBSD", 2312, [56.6, 7.2, 31.7, 4.5]),
        ] {
            let system = System::ALL.iter().find(|s| s.name == name).unwrap();
            assert_eq!(system.classification().total, total);
            let shares = system.shares();
            let found = [
                shares.rto_needed,
                shares.fast_retransmit_needed,
                shares.rto_spurious,
                shares.fast_retransmit_spurious,
            ];
            for (found, printed) in found.into_iter().zip(printed) {
                assert!((found.unwrap() - printed).abs() < 0.05 + 1e-9, "{name}: {found:?} {printed}");
            }
        }
        assert_eq!(System::of_profile("linux-6"), None);
        let linux = |profile| System::of_profile(profile).map(|system| system.name);
        assert_eq!(linux("linux-2.4"), Some("Linux"));
        assert_eq!(linux("linux-2.4+minrttvar"), Some("Linux"));
    }
}
