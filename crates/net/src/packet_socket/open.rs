//! Opens packet sockets.

use super::{
    PacketRing, PacketSocketOptions,
    memory::{BLOCK, RingMemory},
    options::{self, ETH_P_ALL, Membership, RingRequest},
};
use crate::{NetError, interface};
use recoup_wire::bpf::{Framing, Instruction, keep_all};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, netdevice::name_to_index, socket_with},
};
use std::{
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

/// A block has frames of about this many bytes. The kernel checks it and ignores it otherwise: in TPACKET_V3 frames are
/// as long as they are.
const FRAME: u32 = 2048;

/// The most blocks of a ring: 4 GiB.
const MOST_BLOCKS: usize = 1 << 14;

/// Opens a ring that receives what `filter` lets pass.
fn open_filtered(
    interface: Option<&str>,
    options: &PacketSocketOptions,
    filter: impl FnOnce(Framing) -> Vec<Instruction>,
) -> Result<PacketRing, NetError> {
    let purpose = match interface {
        Some(name) => format!("capture on {name}"),
        None => "capture on all interfaces".to_owned(),
    };
    // With protocol 0, a socket receives nothing (packet(7)).
    let mut socket = socket(SocketType::RAW, &purpose)?;
    let index = match interface {
        Some(name) => index_of(&socket, name)?,
        None => 0,
    };
    let failed = || NetError::system(purpose.clone());
    options::bind(&socket, index, 0).map_err(failed())?;
    let hardware = options::bound_to(&socket).map_err(failed())?.sll_hatype;
    let framing = if index == 0 { Framing::Network } else { interface::framing(hardware) };
    if framing == Framing::Network {
        socket = self::socket(SocketType::DGRAM, &purpose)?;
    }
    options::attach_filter(&socket, &filter(framing))
        .map_err(NetError::system(format!("{purpose}: attach the filter")))?;
    let blocks = options.ring_bytes.div_ceil(BLOCK).clamp(2, MOST_BLOCKS);
    let memory = ring(&socket, blocks, options.block_timeout).map_err(NetError::system(format!(
        "{purpose}: share a ring of {} MiB with the kernel",
        (blocks * BLOCK) >> 20
    )))?;
    if hardware == libc::ARPHRD_LOOPBACK {
        // Their frames are passed over anyway. Kernels before 4.20 lack the option.
        let _ = options::set(&socket, options::PACKET_IGNORE_OUTGOING, 1);
    }
    if options.promiscuous && index != 0 {
        let kind = options::PACKET_MR_PROMISC;
        let membership = Membership { interface: index as i32, kind, ..Membership::default() };
        options::set(&socket, options::PACKET_ADD_MEMBERSHIP, membership)
            .map_err(NetError::system(format!("{purpose}: take frames for other hosts")))?;
    }
    options::bind(&socket, index, ETH_P_ALL).map_err(failed())?;
    Ok(PacketRing {
        socket,
        memory,
        name: interface.map(ToOwned::to_owned),
        index,
        framing,
        block_timeout: options.block_timeout,
        block: 0,
        left: 0,
        at: 0,
    })
}

/// Opens a ring.
pub(super) fn open(interface: Option<&str>, options: &PacketSocketOptions) -> Result<PacketRing, NetError> {
    open_filtered(interface, options, |framing| options.filter(framing).to_vec())
}

/// Opens rings that share frames. The kernel takes only bound sockets into a group, and a socket has all frames until
/// then. So a filter that drops every frame stays until all sockets are in the group.
pub(super) fn open_group(
    interface: Option<&str>,
    options: &PacketSocketOptions,
    count: usize,
) -> Result<Vec<PacketRing>, NetError> {
    if count <= 1 {
        return Ok(vec![open(interface, options)?]);
    }
    let failed = || NetError::system("share the frames among several rings");
    let method = options::FANOUT_HASH | options::FANOUT_FLAG_DEFRAG;
    let mut group = (method | options::FANOUT_FLAG_UNIQUE_ID) << 16;
    let mut rings = Vec::new();
    for _ in 0..count {
        let ring = open_filtered(interface, options, |_| keep_all(0))?;
        options::set(&ring.socket, options::PACKET_FANOUT, group).map_err(failed())?;
        if rings.is_empty() {
            let chosen: u32 = options::get(&ring.socket, options::PACKET_FANOUT).map_err(failed())?;
            group = method << 16 | chosen & 0xffff;
        }
        rings.push(ring);
    }
    for ring in &rings {
        options::attach_filter(&ring.socket, options.filter(ring.framing)).map_err(failed())?;
    }
    Ok(rings)
}

fn socket(kind: SocketType, purpose: &str) -> Result<OwnedFd, NetError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::PACKET, kind, flags, None).map_err(|e| match e {
        Errno::PERM | Errno::ACCESS => NetError::capture_rights(purpose),
        e => NetError::system(purpose)(e),
    })
}

fn index_of(socket: &OwnedFd, name: &str) -> Result<u32, NetError> {
    name_to_index(socket, name).map_err(|e| match e {
        Errno::NODEV | Errno::INVAL | Errno::NAMETOOLONG => interface::unknown(name),
        e => NetError::system(format!("find the interface {name}"))(e),
    })
}

/// Opens a socket that receives nothing yet, for the interface of this name. Second: the interface's index.
pub(crate) fn open_socket(kind: SocketType, interface: &str, purpose: &str) -> Result<(OwnedFd, u32), NetError> {
    let socket = socket(kind, purpose)?;
    let index = index_of(&socket, interface)?;
    Ok((socket, index))
}

/// Makes the ring of a socket.
fn ring(socket: impl AsFd, blocks: usize, timeout: Duration) -> std::io::Result<RingMemory> {
    options::set(&socket, options::PACKET_VERSION, options::TPACKET_V3)?;
    let frames_per_block = BLOCK as u32 / FRAME;
    let blocks = u32::try_from(blocks).map_err(|_| std::io::ErrorKind::InvalidInput)?;
    let request = RingRequest {
        block_size: BLOCK as u32,
        blocks,
        frame_size: FRAME,
        frames: blocks.saturating_mul(frames_per_block),
        block_timeout: u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX).clamp(1, 10_000),
        ..RingRequest::default()
    };
    options::set(&socket, options::PACKET_RX_RING, request)?;
    RingMemory::map(socket, blocks as usize)
}
