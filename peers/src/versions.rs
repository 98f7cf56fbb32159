//! The versions of the TCP stacks.

/// The packages of this build, as Cargo resolved them.
const LOCK: &str = include_str!("../Cargo.lock");

/// The version of a package in this build; of several, the one that this program uses.
pub fn version_of(package: &str) -> Option<&'static str> {
    let chosen = used_version(package);
    let value = |line: &'static str, key| line.strip_prefix(key)?.strip_suffix('"');
    let mut lines = LOCK.lines();
    while lines.by_ref().any(|line| value(line, "name = \"") == Some(package)) {
        let version = value(lines.next()?, "version = \"")?;
        if chosen.is_none_or(|chosen| chosen == version) {
            return Some(version);
        }
    }
    None
}

/// The version of a dependency of this program, which the lock file names if there are several of the package.
fn used_version(package: &str) -> Option<&'static str> {
    let own = LOCK.split("[[package]]").find(|entry| entry.contains("name = \"recoup-peers\""))?;
    own.lines().find_map(|line| {
        let dependency = line.trim().strip_prefix('"')?.strip_suffix("\",")?;
        dependency.strip_prefix(package)?.strip_prefix(' ')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file() {
        assert_eq!(version_of("recoup-peers"), Some(env!("CARGO_PKG_VERSION")), "the package itself");
        let smoltcp = version_of("smoltcp").unwrap();
        assert!(smoltcp.starts_with("0.14."), "{smoltcp}");
        assert_eq!(version_of("smol"), None, "a part of a name");
        assert_eq!(version_of("no-such-package"), None);
    }
}
