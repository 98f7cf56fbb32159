//! Classic BPF: programs that the kernel runs on every frame, before a socket gets it (SO_ATTACH_FILTER, socket(7);
//! linux/filter.h and linux/bpf_common.h; the kernel's documentation, networking/filter).
//!
//! A program returns how many bytes of the frame the socket gets; 0 drops the frame. A load beyond the end of the
//! frame also drops it.
//!
//! | module | contents |
//! | --- | --- |
//! | `assembler` | builds programs: conditions and jumps to labels at any distance |
//! | `interpreter` | runs programs, for tests of what builds them |

mod assembler;
mod interpreter;

pub use assembler::{Assembler, Label};
pub use interpreter::{ProgramError, run};

/// The most instructions that the kernel takes (BPF_MAXINSNS in linux/bpf_common.h).
pub const LONGEST: usize = 4096;

/// An instruction (`struct sock_filter` in linux/filter.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Instruction {
    /// The operation; see [`code`].
    pub code: u16,
    /// How many instructions a jump skips if its condition holds.
    pub jt: u8,
    /// How many instructions a jump skips if its condition does not hold.
    pub jf: u8,
    /// The operand: a constant, an offset in the frame or a distance.
    pub k: u32,
}

/// Where the frames of a socket begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// At their Ethernet header.
    Ethernet,
    /// At their network header (packet(7), SOCK_DGRAM). Their EtherType is not in the frame: the kernel reports it
    /// beside the frame.
    Network,
}

/// The program that keeps the first `bytes` of every frame.
pub fn keep_all(bytes: u32) -> Vec<Instruction> {
    vec![Instruction { code: code::RETURN, jt: 0, jf: 0, k: bytes }]
}

/// Operations (linux/bpf_common.h). A is the accumulator, X the index register, M the scratch memory, k the operand.
pub mod code {
    /// A = 32 bits at k.
    pub const LOAD_WORD: u16 = 0x20;
    /// A = 16 bits at k.
    pub const LOAD_HALF: u16 = 0x28;
    /// A = 8 bits at k.
    pub const LOAD_BYTE: u16 = 0x30;
    /// A = 32 bits at X + k.
    pub const LOAD_WORD_AT_X: u16 = 0x40;
    /// A = 16 bits at X + k.
    pub const LOAD_HALF_AT_X: u16 = 0x48;
    /// A = 8 bits at X + k.
    pub const LOAD_BYTE_AT_X: u16 = 0x50;
    /// X = k.
    pub const SET_X: u16 = 0x01;
    /// X = M\[k\].
    pub const LOAD_X: u16 = 0x61;
    /// M\[k\] = A.
    pub const STORE: u16 = 0x02;
    /// M\[k\] = X.
    pub const STORE_X: u16 = 0x03;
    /// A += k.
    pub const ADD: u16 = 0x04;
    /// A += X.
    pub const ADD_X: u16 = 0x0c;
    /// A &= k.
    pub const AND: u16 = 0x54;
    /// A <<= k.
    pub const SHIFT_LEFT: u16 = 0x64;
    /// A >>= k.
    pub const SHIFT_RIGHT: u16 = 0x74;
    /// X = A.
    pub const A_TO_X: u16 = 0x07;
    /// A = X.
    pub const X_TO_A: u16 = 0x87;
    /// Skip k instructions.
    pub const JUMP: u16 = 0x05;
    /// Whether A = k.
    pub const IF_EQUAL: u16 = 0x15;
    /// Whether A > k.
    pub const IF_GREATER: u16 = 0x25;
    /// Whether A >= k.
    pub const IF_AT_LEAST: u16 = 0x35;
    /// Whether A & k is not 0.
    pub const IF_ANY_BIT: u16 = 0x45;
    /// End: keep k bytes.
    pub const RETURN: u16 = 0x06;

    /// With [`LOAD_WORD`]: A = the frame's EtherType (SKF_AD_OFF + SKF_AD_PROTOCOL in linux/filter.h).
    pub const ETHER_TYPE: u32 = 0xffff_f000;
}

#[cfg(test)]
mod tests;
