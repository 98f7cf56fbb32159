//! Forwarding of what a stack sends to other hosts behind this machine's kernel.
//!
//! The kernel forwards a packet if the interface that it comes in by forwards: another host of Recoup's on the same machine is
//! reached if both devices do. Where the machine as a whole does not forward, a device has a setting of its own, which ends with
//! it, and which lets nothing pass that comes in by another interface:
//!
//! - IPv4: `net.ipv4.conf.NAME.forwarding` (Linux `Documentation/networking/ip-sysctl.rst`; `ip_route_input_slow` asks the
//!   incoming interface alone).
//! - IPv6: `net.ipv6.conf.NAME.force_forwarding`, since Linux 6.17. Older kernels ask `net.ipv6.conf.all.forwarding` alone
//!   (`ip6_forward`). That is a setting of the whole machine, which then ignores router advertisements: it is left to its owner.
//!
//! Reverse path filters, also strict ones, let these packets pass: the way back to a stack's address is its device.

use super::TunDevice;
use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    net::IpAddr,
    path::{Path, PathBuf},
};

/// What [`TunDevice::forward`] changed, and what only the machine's owner can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarding {
    /// Settings that were made, as sysctl(8) names them: `net.ipv4.conf.NAME.forwarding=1`. They end with the device.
    pub made: Vec<String>,
    /// Settings that could not be made, and without which packets of an IP version reach this machine alone.
    pub lacking: Vec<String>,
}

impl TunDevice {
    /// Lets the kernel forward what this device's stack sends, in the calling thread's namespace, which must be the device's.
    ///
    /// Two hosts of Recoup's in one namespace reach each other if each of their devices forwards.
    pub fn forward(&self) -> Forwarding {
        forward(Path::new("/proc/sys"), self.name(), &self.host)
    }
}

fn forward(root: &Path, name: &str, hosts: &[IpAddr]) -> Forwarding {
    let mut done = Forwarding::default();
    let versions: BTreeSet<bool> = hosts.iter().map(IpAddr::is_ipv6).collect();
    for ipv6 in versions {
        let (all, own) = match ipv6 {
            false => ("net.ipv4.ip_forward", format!("net.ipv4.conf.{name}.forwarding")),
            true => ("net.ipv6.conf.all.forwarding", format!("net.ipv6.conf.{name}.force_forwarding")),
        };
        // On a machine that forwards, IPv4 devices begin with forwarding on. For IPv6, the machine's setting suffices.
        if is_on(root, &own) || ipv6 && is_on(root, all) {
            continue;
        }
        match set(root, &own) {
            Ok(()) => done.made.push(format!("{own}=1")),
            Err(_) => done.lacking.push(format!("{all}=1")),
        }
    }
    done
}

/// The file of a setting. Names of interfaces may have dots in other programs; those of these devices have none.
fn file(root: &Path, setting: &str) -> PathBuf {
    setting.split('.').fold(root.to_path_buf(), |path, part| path.join(part))
}

fn is_on(root: &Path, setting: &str) -> bool {
    fs::read_to_string(file(root, setting)).is_ok_and(|value| value.trim() == "1")
}

/// Never creates a file: outside /proc a missing setting would come into being.
fn set(root: &Path, setting: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(file(root, setting))?.write_all(b"1")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings of a machine, of which some are missing.
    fn machine(settings: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (setting, value) in settings {
            let file = file(root.path(), setting);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, value).unwrap();
        }
        root
    }

    fn found(settings: &[(&str, &str)]) -> (Forwarding, Forwarding) {
        let root = machine(settings);
        let hosts = ["100.64.0.2".parse().unwrap(), "fd00::2".parse().unwrap()];
        let run = || forward(root.path(), "recoup7h", &hosts);
        (run(), run())
    }

    const V4: &str = "net.ipv4.conf.recoup7h.forwarding";
    const V6: &str = "net.ipv6.conf.recoup7h.force_forwarding";
    const OFF: [(&str, &str); 4] =
        [("net.ipv4.ip_forward", "0\n"), ("net.ipv6.conf.all.forwarding", "0\n"), (V4, "0\n"), (V6, "0\n")];

    #[test]
    fn a_device_forwards_by_itself_where_the_machine_does_not() {
        let (first, again) = found(&OFF);
        assert_eq!(first.made, [format!("{V4}=1"), format!("{V6}=1")]);
        assert_eq!(first.lacking, [""; 0]);
        assert_eq!(again, Forwarding::default());
    }

    #[test]
    fn a_machine_that_forwards_is_left_alone() {
        let mut settings = OFF;
        settings[..3].iter_mut().for_each(|(_, value)| *value = "1\n");
        assert_eq!(found(&settings).0, Forwarding::default());
    }

    #[test]
    fn an_older_kernel_lacks_the_setting_of_the_machine() {
        let (first, again) = found(&OFF[..3]);
        assert_eq!(first.made, [format!("{V4}=1")]);
        assert_eq!(first.lacking, ["net.ipv6.conf.all.forwarding=1"]);
        assert_eq!(again.lacking, first.lacking);
    }
}
