//! Runs programs of the operations in [`code`].

use super::{Instruction, LONGEST, code};
use thiserror::Error;

/// Words of the scratch memory (BPF_MEMWORDS in linux/filter.h).
const MEMORY: usize = 16;

/// Why a program is none, in one line. The kernel refuses it as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// It has no instruction, or more than the kernel takes.
    #[error("{0} instructions: expected 1 to {LONGEST}")]
    Length(usize),
    /// An operation that is not in [`code`].
    #[error("instruction {at}: unknown operation {code:#x}")]
    Unknown {
        /// Its index.
        at: usize,
        /// Its operation.
        code: u16,
    },
    /// A word beyond the scratch memory.
    #[error("instruction {at}: expected a word of scratch memory below {MEMORY}")]
    Memory {
        /// Its index.
        at: usize,
    },
    /// Execution left the program.
    #[error("the program ends without a return after instruction {at}")]
    End {
        /// The index of the last instruction.
        at: usize,
    },
}

/// Runs a program on a frame whose EtherType the kernel knows. Returns how many bytes the socket gets; 0 if the
/// frame is dropped.
///
/// # Errors
/// If it is no valid program.
pub fn run(program: &[Instruction], frame: &[u8], ether_type: u16) -> Result<u32, ProgramError> {
    if !(1..=LONGEST).contains(&program.len()) {
        return Err(ProgramError::Length(program.len()));
    }
    let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; MEMORY]);
    let (mut at, mut next) = (0, 0);
    while let Some(&Instruction { code, jt, jf, k }) = program.get(next) {
        at = next;
        next += 1;
        let skip = |holds: bool| usize::from(if holds { jt } else { jf });
        let word = usize::try_from(k).ok().filter(|word| *word < MEMORY);
        let offset = match code {
            code::LOAD_WORD_AT_X | code::LOAD_HALF_AT_X | code::LOAD_BYTE_AT_X => x.wrapping_add(k),
            _ => k,
        };
        let bytes = |count: usize| {
            let start = offset as usize;
            let bytes = frame.get(start..)?.get(..count)?;
            Some(bytes.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte)))
        };
        let loaded = match code {
            code::LOAD_WORD if k == code::ETHER_TYPE => Some(Some(u32::from(ether_type))),
            code::LOAD_WORD | code::LOAD_WORD_AT_X => Some(bytes(4)),
            code::LOAD_HALF | code::LOAD_HALF_AT_X => Some(bytes(2)),
            code::LOAD_BYTE | code::LOAD_BYTE_AT_X => Some(bytes(1)),
            _ => None,
        };
        match loaded {
            Some(Some(bits)) => {
                a = bits;
                continue;
            }
            Some(None) => return Ok(0),
            None => {}
        }
        match code {
            code::SET_X => x = k,
            code::LOAD_X => x = memory[word.ok_or(ProgramError::Memory { at })?],
            code::STORE => memory[word.ok_or(ProgramError::Memory { at })?] = a,
            code::STORE_X => memory[word.ok_or(ProgramError::Memory { at })?] = x,
            code::ADD => a = a.wrapping_add(k),
            code::ADD_X => a = a.wrapping_add(x),
            code::AND => a &= k,
            code::SHIFT_LEFT => a = a.checked_shl(k).unwrap_or(0),
            code::SHIFT_RIGHT => a = a.checked_shr(k).unwrap_or(0),
            code::A_TO_X => x = a,
            code::X_TO_A => a = x,
            code::JUMP => next = next.saturating_add(k as usize),
            code::IF_EQUAL => next += skip(a == k),
            code::IF_GREATER => next += skip(a > k),
            code::IF_AT_LEAST => next += skip(a >= k),
            code::IF_ANY_BIT => next += skip(a & k != 0),
            code::RETURN => return Ok(k),
            _ => return Err(ProgramError::Unknown { at, code }),
        }
    }
    Err(ProgramError::End { at })
}
