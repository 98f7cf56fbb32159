//! Loads and attaches programs, and says what is missing.

use aya::maps::MapError;
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfError, EbpfLoader};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, ErrorKind};
use thiserror::Error;

/// Why a program does not run in the kernel.
#[derive(Debug, Error)]
pub enum KernelError {
    /// The kernel does not describe its structures.
    #[error(
        "cannot read /sys/kernel/btf/vmlinux: {0}: expected a kernel that describes its structures (CONFIG_DEBUG_INFO_BTF, as in the kernels of distributions since 2021)"
    )]
    NoBtf(String),
    /// The program may not.
    #[error(
        "cannot load programs into the kernel: expected the capabilities CAP_BPF and CAP_PERFMON, and no lockdown of the kernel: run it as root, or grant them once by `sudo setcap cap_net_raw,cap_bpf,cap_perfmon+ep {program}`"
    )]
    NoRight {
        /// This program's file.
        program: String,
    },
    /// The kernel does not report what is asked for.
    #[error("the kernel has no tracepoint {0} with types: expected Linux 5.8 or later")]
    NoTracepoint(&'static str),
    /// The kernel refuses the program, or lacks what it needs.
    #[error("the kernel does not take the program {program}: {why}: expected Linux 5.8 or later")]
    Refused {
        /// The program's name.
        program: &'static str,
        /// The last line of the reason.
        why: String,
    },
}

/// Loads an object, without its programs.
pub(crate) fn object(name: &'static str, bytes: &[u8], btf: &Btf) -> Result<Ebpf, KernelError> {
    // Before Linux 5.11, maps count as locked memory, of which little is permitted. Later kernels need no limit.
    let unlimited = Rlimit { current: None, maximum: None };
    _ = setrlimit(Resource::Memlock, unlimited);
    EbpfLoader::new().btf(Some(btf)).load(bytes).map_err(|why| match io_error(&why) {
        Some(error) if is_denied(error) => no_right(),
        _ => refused(name, &why),
    })
}

/// The kernel's description of its structures.
pub(crate) fn kernel_types() -> Result<Btf, KernelError> {
    Btf::from_sys_fs().map_err(|why| match why {
        BtfError::FileError { error, .. } => KernelError::NoBtf(error.to_string()),
        why => KernelError::NoBtf(why.to_string()),
    })
}

/// Loads one of an object's programs, and attaches it to this tracepoint.
pub(crate) fn attach(
    object: &mut Ebpf,
    program: &'static str,
    tracepoint: &'static str,
    btf: &Btf,
) -> Result<(), KernelError> {
    let found = object.program_mut(program).ok_or_else(|| refused(program, &"it is not in the object"))?;
    let found: &mut BtfTracePoint = found.try_into().map_err(|why| program_error(program, tracepoint, &why))?;
    let attached = found.load(tracepoint, btf).and_then(|()| found.attach());
    attached.map(drop).map_err(|why| program_error(program, tracepoint, &why))
}

fn program_error(program: &'static str, tracepoint: &'static str, why: &ProgramError) -> KernelError {
    match why {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => KernelError::NoTracepoint(tracepoint),
        ProgramError::LoadError { io_error, .. } if is_denied(io_error) => no_right(),
        ProgramError::SyscallError(error) if is_denied(&error.io_error) => no_right(),
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            let reason = log.lines().rfind(|line| is_reason(line)).unwrap_or_default();
            refused(program, &format!("{io_error} ({reason})"))
        }
        _ => refused(program, why),
    }
}

/// Whether a line of the verifier's log is its last word, and not a count of instructions.
fn is_reason(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with("processed ") && !line.starts_with("verification time")
}

pub(crate) fn refused(program: &'static str, why: &impl ToString) -> KernelError {
    // Several lines would not be one error.
    KernelError::Refused { program, why: why.to_string().lines().next_back().unwrap_or_default().to_owned() }
}

fn no_right() -> KernelError {
    let program = std::env::current_exe().map_or_else(|_| "PROGRAM".into(), |path| path.display().to_string());
    KernelError::NoRight { program }
}

fn io_error(why: &EbpfError) -> Option<&io::Error> {
    match why {
        EbpfError::MapError(MapError::CreateError { io_error, .. }) => Some(io_error),
        EbpfError::MapError(MapError::SyscallError(error)) => Some(&error.io_error),
        EbpfError::BtfError(BtfError::LoadError { io_error, .. }) => Some(io_error),
        EbpfError::ProgramError(ProgramError::LoadError { io_error, .. }) => Some(io_error),
        _ => None,
    }
}

fn is_denied(error: &io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied
}
