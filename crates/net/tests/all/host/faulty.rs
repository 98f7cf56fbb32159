//! A device that loses, duplicates, delays and corrupts packets in both directions.

use recoup_net::VnetHeader;
use recoup_stack::device::{Batch, Device, Properties, Wait};
use recoup_units::SplitMix;
use std::{
    collections::VecDeque,
    io,
    task::{Context, Poll, Waker},
    time::Duration,
};

/// The rates of faults, per thousand packets.
#[derive(Clone, Copy)]
pub struct Faults {
    pub seed: u64,
    pub lost: u64,
    pub doubled: u64,
    /// Held back until three others have passed.
    pub late: u64,
    /// One bit is another one.
    pub corrupted: u64,
}

impl Faults {
    pub const NONE: Self = Self { seed: 0, lost: 0, doubled: 0, late: 0, corrupted: 0 };
}

/// A packet and its pending fault.
#[derive(Clone)]
struct Frame {
    header: VnetHeader,
    packet: Vec<u8>,
}

/// A packet held back, and the number of packets that must pass first.
type Held = Option<(u32, Frame)>;

pub struct Faulty<D> {
    device: D,
    batch: Batch,
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

impl<D: Wait> Faulty<D> {
    pub fn new(device: D, faults: Faults) -> Self {
        Self {
            device,
            batch: Batch::new(),
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
    fn pass(&mut self, mut frame: Frame, inwards: bool) -> Vec<Frame> {
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
            if falls_to(self.faults.corrupted) {
                let bit = self.draws.below(8 * frame.packet.len() as u64) as usize;
                frame.packet[bit / 8] ^= 1 << (bit % 8);
            }
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

impl<D: Wait> Device for Faulty<D> {
    fn properties(&mut self) -> Properties {
        self.device.properties()
    }

    fn receive(&mut self, batch: &mut Batch) -> io::Result<()> {
        let mut arrived = std::mem::take(&mut self.batch);
        arrived.clear();
        self.device.receive(&mut arrived)?;
        for (header, packet) in arrived.iter() {
            self.longest = self.longest.max(packet.len());
            let passed = self.pass(Frame { header: *header, packet: packet.to_vec() }, true);
            self.ready.extend(passed);
        }
        self.batch = arrived;
        while !batch.is_full()
            && let Some(Frame { header, packet }) = self.ready.pop_front()
        {
            batch.push(header, &packet);
        }
        Ok(())
    }

    fn send(&mut self, header: &VnetHeader, packet: [&[u8]; 3]) -> u64 {
        let (header, packet) = (*header, packet.concat());
        self.longest_out = self.longest_out.max(packet.len());
        self.cut_to = self.cut_to.max(header.gso_size);
        let passed = self.pass(Frame { header, packet }, false);
        passed.iter().map(|Frame { header, packet }| self.device.send(header, [packet, &[], &[]])).sum()
    }

    fn flush(&mut self) -> u64 {
        self.device.flush()
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.device.poll_ready(context)
    }
}

impl<D: Wait> Wait for Faulty<D> {
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.device.wait(timeout)
    }

    fn waker(&self) -> Waker {
        self.device.waker()
    }
}
