//! A device that loses, duplicates and delays packets in both directions.

use recoup_net::{
    VnetHeader,
    host::{Device, TunDevice},
};
use recoup_units::SplitMix;
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd},
};

/// The rates of faults, per thousand packets.
#[derive(Clone, Copy)]
pub struct Faults {
    pub seed: u64,
    pub lost: u64,
    pub doubled: u64,
    /// Held back until three others have passed.
    pub late: u64,
}

impl Faults {
    pub const NONE: Self = Self { seed: 0, lost: 0, doubled: 0, late: 0 };
}

/// A packet and its pending fault.
#[derive(Clone)]
struct Frame {
    header: VnetHeader,
    packet: Vec<u8>,
}

/// A packet held back, and the number of packets that must pass first.
type Held = Option<(u32, Frame)>;

pub struct Faulty<'a> {
    device: &'a TunDevice,
    faults: Faults,
    draws: SplitMix,
    held_out: Held,
    held_in: Held,
    ready: VecDeque<Frame>,
    /// The longest packet read, the longest written, and the longest segment it was to be split into, in
    /// bytes.
    pub longest: usize,
    pub longest_out: usize,
    pub cut_to: u16,
}

impl<'a> Faulty<'a> {
    pub fn new(device: &'a TunDevice, faults: Faults) -> Self {
        Self {
            device,
            faults,
            draws: SplitMix(faults.seed << 32),
            held_out: None,
            held_in: None,
            ready: VecDeque::new(),
            longest: 0,
            longest_out: 0,
            cut_to: 0,
        }
    }

    /// The packets that pass when one arrives: none, itself, itself twice, or itself and an earlier one.
    fn pass(&mut self, frame: Frame, inwards: bool) -> Vec<Frame> {
        let held = if inwards { &mut self.held_in } else { &mut self.held_out };
        let mut draw = self.draws.below(1000);
        let mut falls_to = |share: u64| {
            let falls = draw < share;
            draw = if falls { u64::MAX } else { draw - share };
            falls
        };
        let mut passed = Vec::new();
        if falls_to(self.faults.lost) {
        } else if falls_to(self.faults.doubled) {
            passed = vec![frame; 2];
        } else if falls_to(self.faults.late) && held.is_none() {
            *held = Some((3, frame));
        } else {
            passed.push(frame);
        }
        if let Some((left, _)) = held {
            *left -= 1;
            if *left == 0 {
                passed.extend(held.take().map(|(_, frame)| frame));
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
        Ok(self.read_frame(buffer)?.map(|(_, len)| len))
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<()> {
        self.write_frame(&VnetHeader::default(), [packet, &[], &[]])
    }

    fn offloads(&self) -> bool {
        self.device.tun().offloads()
    }

    fn read_frame(&mut self, buffer: &mut [u8]) -> io::Result<Option<(VnetHeader, usize)>> {
        loop {
            if let Some(Frame { header, packet }) = self.ready.pop_front() {
                buffer[..packet.len()].copy_from_slice(&packet);
                return Ok(Some((header, packet.len())));
            }
            let Some((header, len)) = self.device.tun().read_frame(buffer)? else {
                return Ok(None);
            };
            let packet = buffer[..len].to_vec();
            self.longest = self.longest.max(len);
            let passed = self.pass(Frame { header, packet }, true);
            self.ready.extend(passed);
        }
    }

    fn write_frame(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> io::Result<()> {
        let (header, packet) = (*header, packet.concat());
        self.longest_out = self.longest_out.max(packet.len());
        self.cut_to = self.cut_to.max(header.gso_size);
        for Frame { header, packet } in self.pass(Frame { header, packet }, false) {
            self.device.tun().write_frame(&header, [&packet, &[], &[]])?;
        }
        Ok(())
    }
}
