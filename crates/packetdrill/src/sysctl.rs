//! The settings under `/proc/sys/net/ipv4` that a script may have changed.
//!
//! They are read when a socket is made, as the scripts set them before. What a machine does not have,
//! or does not show, or has in a way there is not here, counts as not set.

use recoup_tcp::sysctl::Sysctls;
use std::path::Path;

/// These settings of the machine's kernel do not describe the profile's: it does not heed `tcp_fack`
/// since 4.15, before 4.4 there was no `tcp_recovery`, before 3.19 no `tcp_max_reordering`.
const NOT_READ: [&str; 3] = ["tcp_fack", "tcp_max_reordering", "tcp_recovery"];

/// Those of the network namespace this process is in.
pub fn of_this_machine() -> Sysctls {
    read(Path::new("/proc/sys/net/ipv4"))
}

/// Those in `directory`, a file each.
fn read(directory: &Path) -> Sysctls {
    let mut sysctls = Sysctls::default();
    for name in Sysctls::NAMES.iter().filter(|name| !NOT_READ.contains(name)) {
        if let Ok(text) = std::fs::read_to_string(directory.join(name)) {
            // A congestion control that is not here leaves the profile's.
            let _ = sysctls.set(name, &text);
        }
    }
    sysctls
}

#[cfg(test)]
mod tests {
    use super::*;
    use recoup_recovery::congestion::Algorithm;

    #[test]
    fn files_are_read_and_missing_ones_are_not_set() {
        let directory = std::env::temp_dir().join(format!("recoup-sysctl-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let files = |files: &[(&str, &str)]| {
            for (name, text) in files {
                std::fs::write(directory.join(name), text).unwrap();
            }
            read(&directory)
        };
        let first = files(&[
            ("tcp_congestion_control", "cubic\n"),
            ("tcp_fack", "0\n"),
            ("tcp_rmem", "4096\t540000\t15728640\n"),
            ("tcp_sack", "1\n"),
            ("tcp_wmem", "4096 oops\n"),
        ]);
        let other = files(&[("tcp_congestion_control", "vegas\n")]);
        std::fs::remove_dir_all(&directory).unwrap();
        let expected = Sysctls {
            congestion_control: Some(Algorithm::Cubic),
            rmem: Some([4096, 540_000, 15_728_640]),
            sack: Some(1),
            ..Sysctls::default()
        };
        assert_eq!(first, expected);
        assert_eq!(other.congestion_control, None);
    }
}
