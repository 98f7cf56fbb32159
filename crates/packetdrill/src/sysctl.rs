//! The settings under `/proc/sys/net/ipv4` that a script may have changed.
//!
//! They are read when a socket is made, as the scripts set them before. What a machine does not have,
//! or does not show, counts as not set.

use std::path::Path;

/// The settings that mean something to this stack; `None`: not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sysctls {
    /// `tcp_congestion_control`.
    pub congestion_control: Option<String>,
    /// `tcp_early_retrans`: 0 none, 1 and 2 early retransmit, 3 and 4 tail loss probes.
    pub early_retrans: Option<u64>,
    /// `tcp_frto`.
    pub frto: Option<u64>,
    /// `tcp_reordering`: the dupthresh to begin with.
    pub reordering: Option<u64>,
    /// `tcp_sack`.
    pub sack: Option<u64>,
    /// `tcp_timestamps`.
    pub timestamps: Option<u64>,
    /// `tcp_window_scaling`.
    pub window_scaling: Option<u64>,
    /// `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: Option<u64>,
    /// `tcp_ecn`: 1 asks for ECN, 2 agrees to it.
    pub ecn: Option<u64>,
    /// `tcp_min_tso_segs`.
    pub min_tso_segs: Option<u64>,
    /// `tcp_notsent_lowat`, in bytes.
    pub notsent_lowat: Option<u64>,
    /// `tcp_rmem`: smallest, default and largest receive buffer, in bytes.
    pub rmem: Option<[u64; 3]>,
    /// `tcp_wmem`: smallest, default and largest send buffer, in bytes.
    pub wmem: Option<[u64; 3]>,
}

impl Sysctls {
    /// Those of the network namespace this process is in.
    pub fn of_this_machine() -> Self {
        Self::read(Path::new("/proc/sys/net/ipv4"))
    }

    /// Those in `directory`, a file each.
    pub fn read(directory: &Path) -> Self {
        let text = |name: &str| std::fs::read_to_string(directory.join(name)).ok();
        let number = |name: &str| text(name)?.trim().parse().ok();
        let three = |name: &str| {
            let text = text(name)?;
            let mut numbers = text.split_whitespace().map_while(|n| n.parse().ok());
            Some([numbers.next()?, numbers.next()?, numbers.next()?])
        };
        Self {
            congestion_control: text("tcp_congestion_control").map(|name| name.trim().into()),
            early_retrans: number("tcp_early_retrans"),
            frto: number("tcp_frto"),
            reordering: number("tcp_reordering"),
            sack: number("tcp_sack"),
            timestamps: number("tcp_timestamps"),
            window_scaling: number("tcp_window_scaling"),
            slow_start_after_idle: number("tcp_slow_start_after_idle"),
            ecn: number("tcp_ecn"),
            min_tso_segs: number("tcp_min_tso_segs"),
            notsent_lowat: number("tcp_notsent_lowat"),
            rmem: three("tcp_rmem"),
            wmem: three("tcp_wmem"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_missing_ones_are_not_set() {
        let directory = std::env::temp_dir().join(format!("recoup-sysctl-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        for (name, text) in [
            ("tcp_congestion_control", "cubic\n"),
            ("tcp_rmem", "4096\t540000\t15728640\n"),
            ("tcp_sack", "1\n"),
            ("tcp_wmem", "4096 oops\n"),
        ] {
            std::fs::write(directory.join(name), text).unwrap();
        }
        let sysctls = Sysctls::read(&directory);
        std::fs::remove_dir_all(&directory).unwrap();
        let expected = Sysctls {
            congestion_control: Some("cubic".into()),
            rmem: Some([4096, 540_000, 15_728_640]),
            sack: Some(1),
            ..Sysctls::default()
        };
        assert_eq!(sysctls, expected);
    }
}
