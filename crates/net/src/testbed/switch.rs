//! The sysctls below `net.ipv4` that switch parts of Linux's loss recovery on and off (Linux's
//! `Documentation/networking/ip-sysctl.rst`).

/// A part of the kernel's loss recovery that can be switched in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Tail loss probes (`tcp_early_retrans`).
    Tlp,
    /// RACK (`tcp_recovery`).
    Rack,
    /// Selective acknowledgments, offered and taken (`tcp_sack`).
    Sack,
    /// Reports of duplicates (`tcp_dsack`).
    Dsack,
    /// Timestamps, offered and taken (`tcp_timestamps`).
    Timestamps,
    /// F-RTO (`tcp_frto`).
    Frto,
}

impl Switch {
    /// All of them, in the order of [`Switches`].
    pub const ALL: [Self; 6] = [Self::Tlp, Self::Rack, Self::Sack, Self::Dsack, Self::Timestamps, Self::Frto];

    /// The sysctl, below `net.ipv4`.
    pub const fn sysctl(self) -> &'static str {
        match self {
            Self::Tlp => "tcp_early_retrans",
            Self::Rack => "tcp_recovery",
            Self::Sack => "tcp_sack",
            Self::Dsack => "tcp_dsack",
            Self::Timestamps => "tcp_timestamps",
            Self::Frto => "tcp_frto",
        }
    }

    /// The sysctl's value for on or off.
    pub const fn value(self, on: bool) -> &'static str {
        match (self, on) {
            (_, false) => "0",
            (Self::Tlp, true) => "3",
            (Self::Frto, true) => "2",
            (_, true) => "1",
        }
    }
}

/// Which parts are switched on or off; the other parts stay as the kernel has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches([Option<bool>; Switch::ALL.len()]);

impl Switches {
    /// The value a switch is set to; `None`: the kernel's own.
    pub const fn get(&self, switch: Switch) -> Option<bool> {
        self.0[switch as usize]
    }

    /// Switches a part, or leaves it to the kernel.
    pub const fn set(&mut self, switch: Switch, on: Option<bool>) {
        self.0[switch as usize] = on;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_switched_alone() {
        for switch in Switch::ALL {
            let mut switches = Switches::default();
            switches.set(switch, Some(false));
            let set: Vec<_> = Switch::ALL.map(|s| switches.get(s)).to_vec();
            assert_eq!(set.iter().flatten().count(), 1, "{switch:?}");
            assert_eq!(switches.get(switch), Some(false));
            switches.set(switch, None);
            assert_eq!(switches, Switches::default());
        }
    }
}
