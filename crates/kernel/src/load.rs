//! Loads and attaches programs, and says what is missing.

use aya::maps::{Map, MapError};
use aya::programs::{BtfTracePoint, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfError, EbpfLoader};
use recoup_wire::Endpoints;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

use crate::Network;

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
        "cannot load programs into the kernel: expected the capabilities {capabilities}, and no lockdown of the kernel: run it as root, or grant them once by `sudo setcap {granted}+ep {program}`"
    )]
    NoRight {
        /// The capabilities in words.
        capabilities: &'static str,
        /// The capabilities as setcap(8) reads them.
        granted: &'static str,
        /// This program's file.
        program: String,
    },
    /// The kernel does not report what is asked for.
    #[error("the kernel has no tracepoint {0} with types: expected Linux 5.8 or later")]
    NoTracepoint(&'static str),
    /// The kernel refuses the program, or lacks what it needs.
    #[error("the kernel does not take the program {program}: {why}: expected Linux {linux} or later")]
    Refused {
        /// The program's name.
        program: &'static str,
        /// The last line of the reason.
        why: String,
        /// The first version with all that the program needs.
        linux: &'static str,
    },
    /// Timers are set for the sockets of a cgroup.
    #[error("no cgroup of version 2: {path}: {why}: expected a folder like /sys/fs/cgroup/system.slice (`stat -f -c %T` says cgroup2fs)", path = path.display())]
    NoCgroup {
        /// What was named.
        path: PathBuf,
        /// Why it is none.
        why: String,
    },
    /// Packets of an interface are to be changed.
    #[error("no interface {interface}: {why}: expected one of those that `ip link` lists")]
    NoInterface {
        /// What was named.
        interface: String,
        /// Why there is none.
        why: String,
    },
    /// No packet has such ends.
    #[error("no connection: {0}: expected two addresses of IPv4 or two of IPv6")]
    TwoVersions(Endpoints),
    /// The kernel has no such timer, or it would be longer than the kernel's own.
    #[error(
        "the {what} of {network} is {time:?}: expected {least:?} (two ticks of the kernel's clock) to {most:?} (the kernel's own)"
    )]
    Timer {
        /// The network it is for.
        network: Network,
        /// The timer's name.
        what: &'static str,
        /// What was asked for.
        time: Duration,
        /// The shortest.
        least: Duration,
        /// The longest.
        most: Duration,
    },
}

/// What a program needs of the kernel.
pub(crate) struct Needs {
    /// The program's name.
    pub program: &'static str,
    /// The capabilities in words.
    pub capabilities: &'static str,
    /// The capabilities as setcap(8) reads them, with those of the program's users.
    pub granted: &'static str,
    /// The first version with all that it needs.
    pub linux: &'static str,
}

impl Needs {
    pub fn refused(&self, why: &impl ToString) -> KernelError {
        // Several lines would not be one error.
        let why = why.to_string().lines().next_back().unwrap_or_default().to_owned();
        KernelError::Refused { program: self.program, why, linux: self.linux }
    }

    fn no_right(&self) -> KernelError {
        let program = std::env::current_exe().map_or_else(|_| "PROGRAM".into(), |path| path.display().to_string());
        KernelError::NoRight { capabilities: self.capabilities, granted: self.granted, program }
    }

    pub fn program_error(&self, why: &ProgramError) -> KernelError {
        match why {
            // The verifier's refusal is EACCES, too. It has a log, and says `!root` of what needs CAP_PERFMON.
            ProgramError::LoadError { io_error, verifier_log }
                if is_denied(io_error) && is_about_rights(&verifier_log.to_string()) =>
            {
                self.no_right()
            }
            ProgramError::SyscallError(error) if is_denied(&error.io_error) => self.no_right(),
            ProgramError::SyscallError(error) => self.refused(&format!("{}: {}", error.call, error.io_error)),
            ProgramError::LoadError { io_error, verifier_log } => {
                let log = verifier_log.to_string();
                let reason = log.lines().rfind(|line| is_reason(line)).unwrap_or_default();
                self.refused(&format!("{io_error} ({reason})"))
            }
            _ => self.refused(why),
        }
    }
}

/// Loads an object, without its programs. `btf`: the kernel's structures, if the programs read them.
pub(crate) fn object(needs: &Needs, bytes: &[u8], btf: Option<&Btf>) -> Result<Ebpf, KernelError> {
    // Before Linux 5.11, maps count as locked memory, of which little is permitted. Later kernels need no limit.
    let unlimited = Rlimit { current: None, maximum: None };
    _ = setrlimit(Resource::Memlock, unlimited);
    EbpfLoader::new().btf(btf).load(bytes).map_err(|why| match io_error(&why) {
        Some(error) if is_denied(error) => needs.no_right(),
        _ => needs.refused(&why),
    })
}

/// Takes a map out of an object.
pub(crate) fn map(object: &mut Ebpf, needs: &Needs, name: &str) -> Result<Map, KernelError> {
    object.take_map(name).ok_or_else(|| needs.refused(&format!("it has no map {name}")))
}

/// A map of this type.
pub(crate) fn typed<T: TryFrom<Map, Error: ToString>>(needs: &Needs, map: Map) -> Result<T, KernelError> {
    T::try_from(map).map_err(|why| needs.refused(&why))
}

/// The kernel's description of its structures.
pub(crate) fn kernel_types() -> Result<Btf, KernelError> {
    Btf::from_sys_fs().map_err(|why| match why {
        BtfError::FileError { error, .. } => KernelError::NoBtf(error.to_string()),
        why => KernelError::NoBtf(why.to_string()),
    })
}

/// How often libbpf tries to load a program (PROG_LOAD_ATTEMPTS).
const ATTEMPTS: usize = 5;

/// Loads a program by `load`, again if a signal interrupted the kernel while it checked the program (EAGAIN).
pub(crate) fn persist(load: impl FnMut() -> Result<(), ProgramError>) -> Result<(), ProgramError> {
    repeat(load, |why| match why {
        ProgramError::LoadError { io_error, .. } => io_error.kind() == ErrorKind::WouldBlock,
        _ => false,
    })
}

fn repeat<E>(mut attempt: impl FnMut() -> Result<(), E>, is_interrupted: impl Fn(&E) -> bool) -> Result<(), E> {
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(why) if is_interrupted(&why) => {}
            result => return result,
        }
    }
    attempt()
}

/// Loads one of an object's programs, and attaches it to this tracepoint.
pub(crate) fn attach(object: &mut Ebpf, needs: &Needs, tracepoint: &'static str, btf: &Btf) -> Result<(), KernelError> {
    let found = object.program_mut(needs.program).ok_or_else(|| needs.refused(&"it is not in the object"))?;
    let found: &mut BtfTracePoint = found.try_into().map_err(|why| needs.program_error(&why))?;
    let attached = persist(|| found.load(tracepoint, btf)).and_then(|()| found.attach());
    attached.map(drop).map_err(|why| match why {
        ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => KernelError::NoTracepoint(tracepoint),
        why => needs.program_error(&why),
    })
}

fn is_about_rights(verifier_log: &str) -> bool {
    verifier_log.trim().is_empty() || verifier_log.contains("!root")
}

/// Whether a line of the verifier's log is its last word, and not what it counted.
fn is_reason(line: &str) -> bool {
    let counts = ["processed ", "verification time", "stack depth"];
    !line.trim().is_empty() && !counts.iter().any(|count| line.starts_with(count))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts that end so, one after the other: how many are made, and the last result.
    fn attempts(results: &[Result<(), &'static str>]) -> (usize, Result<(), &'static str>) {
        let mut made = 0;
        let attempt = || {
            made += 1;
            results[made - 1]
        };
        let result = repeat(attempt, |why| *why == "interrupted");
        (made, result)
    }

    #[test]
    fn what_a_signal_interrupts_is_tried_again_but_not_for_ever() {
        let interrupted = Err("interrupted");
        assert_eq!(attempts(&[interrupted, interrupted, Ok(())]), (3, Ok(())));
        assert_eq!(attempts(&[interrupted, Err("refused"), Ok(())]), (2, Err("refused")));
        assert_eq!(attempts(&[interrupted; ATTEMPTS]), (ATTEMPTS, interrupted));
    }
}
