//! A device that loses, doubles and delays what crosses it, both ways.

use recoup_net::host::Device;
use recoup_net::host::TunDevice;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// What happens to packets, each of a thousand.
#[derive(Clone, Copy)]
pub struct Faults {
    pub seed: u64,
    pub lost: u64,
    pub doubled: u64,
    /// Held back until three others have passed.
    pub late: u64,
}

impl Faults {
    pub const NONE: Self = Self {
        seed: 0,
        lost: 0,
        doubled: 0,
        late: 0,
    };
}

/// Packets held back, with how many others are to pass first.
type Held = Option<(u32, Vec<u8>)>;

pub struct Faulty<'a> {
    device: &'a TunDevice,
    faults: Faults,
    draws: u64,
    held_out: Held,
    held_in: Held,
    ready: VecDeque<Vec<u8>>,
}

impl<'a> Faulty<'a> {
    pub fn new(device: &'a TunDevice, faults: Faults) -> Self {
        Self {
            device,
            faults,
            draws: 0,
            held_out: None,
            held_in: None,
            ready: VecDeque::new(),
        }
    }

    /// What passes when `packet` comes: nothing, it, it twice, or it and one from before.
    fn pass(&mut self, packet: &[u8], inwards: bool) -> Vec<Vec<u8>> {
        let held = match inwards {
            true => &mut self.held_in,
            false => &mut self.held_out,
        };
        self.draws += 1;
        // splitmix64
        let mut z =
            (self.faults.seed << 32).wrapping_add(self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mut draw = (z ^ (z >> 31)) % 1000;
        let mut falls_to = |share: u64| {
            let falls = draw < share;
            draw = if falls { u64::MAX } else { draw - share };
            falls
        };
        let mut passed = Vec::new();
        if falls_to(self.faults.lost) {
        } else if falls_to(self.faults.doubled) {
            passed = vec![packet.to_vec(); 2];
        } else if falls_to(self.faults.late) && held.is_none() {
            *held = Some((3, packet.to_vec()));
        } else {
            passed.push(packet.to_vec());
        }
        if let Some((left, _)) = held {
            *left -= 1;
            if *left == 0 {
                passed.extend(held.take().map(|(_, packet)| packet));
            }
        }
        passed
    }
}

impl AsFd for Faulty<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl Device for Faulty<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            if let Some(packet) = self.ready.pop_front() {
                buffer[..packet.len()].copy_from_slice(&packet);
                return Ok(Some(packet.len()));
            }
            let Some(len) = self.device.receive(buffer)? else {
                return Ok(None);
            };
            let passed = self.pass(&buffer[..len], true);
            self.ready.extend(passed);
        }
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        for packet in self.pass(packet, false) {
            self.device.send(&packet)?;
        }
        Ok(())
    }
}
