//! Settings of hosts, sockets and applications, as the choices say.

use super::choices::{Choices, Draws};
use recoup_recovery::profile::{BASES, Mechanism};
use recoup_stack::{Config, KeepAlive, TcpOptions};
use recoup_tcp::{AckPolicy, Ecn, MtuProbing, WindowScaling};
use std::{net::IpAddr, time::Duration};

/// Options of a socket.
pub fn options(choices: &mut Choices<'_>) -> TcpOptions {
    let mut mechanisms = match choices.chance(160) {
        false => TcpOptions::default().endpoint.mechanisms,
        true => BASES[choices.below(BASES.len() as u32) as usize].1,
    };
    if choices.chance(60) {
        Mechanism::ALL[choices.below(Mechanism::ALL.len() as u32) as usize].apply(&mut mechanisms);
    }
    let mut options = TcpOptions::new(mechanisms);
    let endpoint = &mut options.endpoint;
    endpoint.sack = !choices.chance(30);
    endpoint.timestamps = !choices.chance(40);
    endpoint.dsack = !choices.chance(30);
    endpoint.ecn = choices.one(&[Ecn::Off, Ecn::Ask, Ecn::Answer]);
    endpoint.nagle = !choices.chance(60);
    let quick = AckPolicy::LINUX_QUICK;
    endpoint.acks = choices.one(&[
        AckPolicy::Linux { quick },
        AckPolicy::Linux { quick: 0 },
        AckPolicy::Quick,
        AckPolicy::Delayed(Duration::from_millis(200)),
    ]);
    endpoint.mtu_probing = choices.one(&[MtuProbing::OnBlackHole, MtuProbing::OnBlackHole, MtuProbing::Always]);
    endpoint.receive_buffer = choices.one(&[4 << 20, 64 << 10, 2000, 300 << 10]);
    if choices.chance(20) {
        endpoint.window_scaling = WindowScaling::Off;
    }
    options.tune_buffers = !choices.chance(60);
    options.send_buffer = choices.one(&[4 << 20, 16 << 10, 1000, 200 << 10]);
    options.unsent = choices.one(&[128 << 10, 128 << 10, 1000]);
    options.backlog = choices.one(&[1024, 1024, 16, 2]);
    if choices.chance(20) {
        options.max_segment = Some(choices.one(&[48, 88, 536, 1000]));
    }
    if choices.chance(30) {
        let (idle, interval) = (Duration::from_secs(1), Duration::from_millis(1500));
        options.keep_alive = Some(KeepAlive { idle, interval, probes: 20 });
    }
    options
}

/// The MTU of a host's link.
pub fn mtu(choices: &mut Choices<'_>) -> u16 {
    choices.one(&[1500, 1500, 9000, 1280, 1400, 65_535])
}

/// A host's settings.
pub fn config(choices: &mut Choices<'_>, addresses: [IpAddr; 2]) -> Config {
    let mut config = Config::new(addresses);
    config.tcp = options(choices);
    config.answer_each = choices.chance(60);
    config.memory = choices.one(&[64 << 20, 256 << 20, 8 << 20, 2 << 20, 512 << 10, 100_000]);
    config.most_connections = choices.one(&[1 << 16, 1 << 16, 1 << 16, 1000, 200, 10]);
    config.most_time_waits = choices.one(&[1 << 16, 1 << 16, 100, 3]);
    config.most_out_of_order = config.memory / choices.one(&[2, 8, 64]);
    config.most_fragments = choices.one(&[1 << 20, 20_000]);
    config
}

/// When an application closes its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// When it has written everything.
    WhenWritten,
    /// When it has also read everything.
    WhenRead,
    /// It lets go of the connection when it has written everything, whatever the peer does.
    Release,
    /// It aborts when it has written everything.
    Abort,
    /// Not before the end of the test.
    AtLast,
}

/// How an application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// All there is.
    Eagerly,
    /// Some bytes at a time.
    Little,
    /// Not before the end of the test.
    AtLast,
}

/// What an application does with a connection.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes that it writes.
    pub bytes: u64,
    /// Bytes of a write.
    pub chunk: usize,
    /// Whether it fills the stack's memory itself.
    pub in_place: bool,
    /// When it closes.
    pub ending: Ending,
    /// How it reads.
    pub reading: Reading,
    /// Whether it keeps the connection until that is over, once it has read and closed.
    pub waits: bool,
}

impl Plan {
    /// The usual one: a short request or answer.
    pub fn any(draws: &mut Draws) -> Self {
        let bytes = match draws.below(64) {
            0..20 => draws.below(200),
            20..53 => draws.below(4000),
            53..62 => draws.below(20_000),
            62 => draws.below(200_000),
            _ => 0,
        };
        let ending = match draws.below(64) {
            0..28 => Ending::WhenWritten,
            28..54 => Ending::WhenRead,
            54..58 => Ending::Release,
            58..62 => Ending::Abort,
            _ => Ending::AtLast,
        };
        let reading = match draws.below(64) {
            0..56 => Reading::Eagerly,
            56..62 => Reading::Little,
            _ => Reading::AtLast,
        };
        let chunk = [100_000, 100_000, 1460, 77][draws.below(4) as usize];
        Self { bytes, chunk, in_place: draws.chance(64), ending, reading, waits: draws.chance(128) }
    }
}
