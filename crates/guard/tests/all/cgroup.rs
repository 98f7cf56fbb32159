//! A control group for processes of a test.

use std::fs;
use std::io::{self, Error};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A cgroup of version 2, below that of this process.
pub struct Cgroup(pub PathBuf);

impl Cgroup {
    /// `name`: of the test.
    pub fn new(name: &str) -> io::Result<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let mount = mounts.find(|fields| fields.get(2) == Some(&"cgroup2"));
        let mount = mount.ok_or_else(|| Error::other("no cgroups of version 2 are mounted"))?;
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let path = Path::new(mount[1]).join(own).join(format!("recoup-guard-{name}-{}", std::process::id()));
        fs::create_dir(&path).map_err(|why| Error::other(format!("cannot create {}: {why}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The process in it ends soon.
        for _ in 0..200 {
            match fs::remove_dir(&self.0) {
                Err(why) if why.kind() == io::ErrorKind::ResourceBusy => thread::sleep(Duration::from_millis(10)),
                _ => return,
            }
        }
    }
}
