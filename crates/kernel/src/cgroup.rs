//! Control groups, whose sockets call programs in the kernel (BPF_PROG_TYPE_SOCK_OPS).

use crate::load::{KernelError, Needs, persist};
use aya::Ebpf;
use aya::programs::{CgroupAttachMode, SockOps};
use rustix::fs::fstatfs;
use std::fs::File;
use std::path::Path;

/// linux/magic.h: CGROUP2_SUPER_MAGIC.
const CGROUP2: u64 = 0x6367_7270;

/// The folder of a cgroup of version 2.
pub struct Cgroup(File);

impl Cgroup {
    pub fn open(path: &Path) -> Result<Self, KernelError> {
        let error = |why: String| KernelError::NoCgroup { path: path.to_owned(), why };
        let folder = File::open(path).map_err(|why| error(why.to_string()))?;
        let system = fstatfs(&folder).map_err(|why| error(why.to_string()))?;
        let is_cgroup = u64::try_from(system.f_type).is_ok_and(|kind| kind == CGROUP2);
        match is_cgroup && folder.metadata().is_ok_and(|data| data.is_dir()) {
            true => Ok(Self(folder)),
            false => Err(error("it is none".into())),
        }
    }

    /// Loads the object's program, and attaches it to the cgroup until the object is dropped. It stands beside the
    /// programs of others.
    pub fn attach(self, object: &mut Ebpf, needs: &Needs) -> Result<(), KernelError> {
        let program = object.program_mut(needs.program).ok_or_else(|| needs.refused(&"it is not in the object"))?;
        let program: &mut SockOps = program.try_into().map_err(|why| needs.program_error(&why))?;
        // A link, which others may stand beside: its flags are 0.
        let attached = persist(|| program.load()).and_then(|()| program.attach(self.0, CgroupAttachMode::Single));
        attached.map(drop).map_err(|why| needs.program_error(&why))
    }
}
