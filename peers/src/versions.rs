//! The versions of the TCP stacks.

/// The packages of this build, as Cargo resolved them.
const LOCK: &str = include_str!("../Cargo.lock");

/// The version of a package in this build; the first one if there are several.
pub fn version_of(package: &str) -> Option<&'static str> {
    let value = |line: &'static str, key| line.strip_prefix(key)?.strip_suffix('"');
    let mut lines = LOCK.lines();
    lines.find(|line| value(line, "name = \"") == Some(package))?;
    value(lines.next()?, "version = \"")
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
