//! What an operator sets on a kernel, and how `--try` names it.

use recoup_tcp::flow::Host;

/// The route to the peer, as `ip` prints it.
macro_rules! route {
    () => {
        "$(ip -4 route show to match $PEER | tail -n 1)"
    };
}
/// A value of a lever.
#[derive(Debug)]
pub struct Setting {
    /// As `--try` takes it.
    pub name: &'static str,
    /// Whether `--try` takes it.
    pub is_tried: bool,
    /// The shell command that sets it. `$PEER` is the other end's address.
    pub command: &'static str,
}

/// Something that an operator can set.
#[derive(Debug)]
pub struct Lever {
    /// The host that it is set on.
    pub at: Host,
    /// Whether it matters only where requests follow pauses.
    pub pauses: bool,
    /// Its values. The first is the kernel's own.
    pub settings: &'static [Setting],
}

pub const LEVERS: &[Lever] = &[
    lever(&[
        setting("congestion-control=cubic", "sysctl -w net.ipv4.tcp_congestion_control=cubic"),
        setting("congestion-control=reno", "sysctl -w net.ipv4.tcp_congestion_control=reno"),
        setting("congestion-control=bbr", "sysctl -w net.ipv4.tcp_congestion_control=bbr"),
    ]),
    lever(&[
        setting("tail-loss-probe=3", "sysctl -w net.ipv4.tcp_early_retrans=3"),
        setting("tail-loss-probe=0", "sysctl -w net.ipv4.tcp_early_retrans=0"),
    ]),
    lever(&[setting("sack=1", "sysctl -w net.ipv4.tcp_sack=1"), setting("sack=0", "sysctl -w net.ipv4.tcp_sack=0")]),
    lever(&[
        setting("initial-window=10", concat!("ip route change ", route!(), " initcwnd 10")),
        setting("initial-window=20", concat!("ip route change ", route!(), " initcwnd 20")),
    ]),
    lever(&[
        setting("rto-min-sysctl=200000", "sysctl -w net.ipv4.tcp_rto_min_us=200000"),
        setting("rto-min-sysctl=50000", "sysctl -w net.ipv4.tcp_rto_min_us=50000"),
    ]),
    Lever {
        pauses: true,
        ..lever(&[
            setting("slow-start-after-idle=1", "sysctl -w net.ipv4.tcp_slow_start_after_idle=1"),
            setting("slow-start-after-idle=0", "sysctl -w net.ipv4.tcp_slow_start_after_idle=0"),
        ])
    },
    Lever {
        at: Host::Client,
        ..lever(&[
            captured("quickack-route=0", concat!("ip route change ", route!(), " quickack 0")),
            setting("quickack-route=1", concat!("ip route change ", route!(), " quickack 1")),
        ])
    },
];

const fn lever(settings: &'static [Setting]) -> Lever {
    Lever { at: Host::Server, pauses: false, settings }
}

const fn setting(name: &'static str, command: &'static str) -> Setting {
    Setting { name, is_tried: true, command }
}

/// A setting that is captured alone: no capture shows how long a receiver that acknowledges at once would wait.
const fn captured(name: &'static str, command: &'static str) -> Setting {
    Setting { is_tried: false, ..setting(name, command) }
}

impl Lever {
    /// The lever that has a setting of this name.
    pub fn of(name: &str) -> &'static Self {
        let has = |lever: &&Self| lever.settings.iter().any(|setting| setting.name == name);
        LEVERS.iter().find(has).expect("a lever")
    }

    /// Whether this is a setting of the kernel's own.
    pub fn is_usual(&self, setting: &Setting) -> bool {
        self.settings[0].name == setting.name
    }
}
