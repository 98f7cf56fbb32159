//! Two network namespaces joined through this process.
//!
//! Without the right to make namespaces and devices, the process first becomes the root of a user
//! namespace of its own (user_namespaces(7)). The outside of the path is then another empty network
//! namespace, because an ordinary user may not add devices to the machine's.

use std::{fs, process::Command};

use rustix::{
    process::{getgid, getuid},
    thread::{CapabilitySet, UnshareFlags, capabilities, unshare_unsafe},
};

use crate::{
    Ends, Namespace, NetError, Running, Tun,
    address::{self, Block, INTERFACE},
    netlink::{self, Netlink},
};

/// Two TUN devices: one in the caller's network namespace, one in a new one.
#[derive(Debug)]
pub struct Wire {
    outside: Tun,
    inside: Tun,
    block: Block,
    ipv6: bool,
    forwards: bool,
    apart: bool,
    namespace: Namespace,
}

/// Makes a device of this name.
type CreateTun = fn(&str) -> Result<Tun, NetError>;

impl Wire {
    /// Makes a namespace and the devices, for packets of up to `mtu` bytes. A process without the right to
    /// becomes the root of a new user namespace first, which only a process with a single thread can.
    ///
    /// # Errors
    /// [`NetError::Privilege`] when the process may do neither; system errors; no free addresses.
    pub fn open(mtu: u32) -> Result<Self, NetError> {
        Self::make(mtu, Tun::create)
    }

    /// As [`open`](Self::open), with devices that have offloads: they carry super-packets and incomplete
    /// checksums.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with_offloads(mtu: u32) -> Result<Self, NetError> {
        Self::make(mtu, Tun::create_with_offloads)
    }

    fn make(mtu: u32, create: CreateTun) -> Result<Self, NetError> {
        let name = |end| format!("{INTERFACE}{}{end}", std::process::id());
        let apart = acquire_rights()?;
        let outside = create(&name('o'))?;
        let mut netlink = Netlink::open()?;
        outside.bring_up(&mut netlink, mtu)?;
        let (block, ipv6) = address::take(&mut netlink, outside.index(), None)?;
        // The system counts interfaces up, so that each emulator here has another number.
        let block = block.numbered(outside.index());
        let namespace = Namespace::new()?;
        let set_up = move || set_up_inside(create(&name('i'))?, mtu, block, ipv6);
        let (inside, forwards) = namespace.run(set_up)??;
        Ok(Self { outside, inside, block, ipv6, forwards, apart, namespace })
    }

    /// The addresses of both ends.
    pub const fn block(&self) -> Block {
        self.block
    }

    /// Whether the wire carries IPv6, too.
    pub const fn ipv6(&self) -> bool {
        self.ipv6
    }

    /// Whether the outside is an empty namespace, because the process lacks the right to more.
    pub const fn is_apart(&self) -> bool {
        self.apart
    }

    /// Whether the namespace inside forwards packets, which emulators within it need.
    pub const fn forwards(&self) -> bool {
        self.forwards
    }

    /// The devices, for a [`Relay`](crate::Relay).
    pub const fn ends(&self) -> Ends<'_> {
        Ends { outside: &self.outside, inside: &self.inside, block: self.block }
    }

    /// Runs `job` on a thread in the namespace inside and waits for its result.
    ///
    /// # Errors
    /// When that thread has ended because an earlier job panicked.
    pub fn inside<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, NetError> {
        self.namespace.run(job)
    }

    /// The namespace inside.
    pub(crate) const fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The index of the device inside, in its namespace.
    pub(crate) const fn inside_index(&self) -> u32 {
        self.inside.index()
    }

    /// The index of the device outside, in its namespace.
    pub(crate) const fn outside_index(&self) -> u32 {
        self.outside.index()
    }

    /// Starts a command inside. It is killed, with every process it started, when the returned value is
    /// dropped or this process ends.
    ///
    /// # Errors
    /// [`NetError::Command`] when it cannot be started.
    pub fn run(&self, command: Command) -> Result<Running, NetError> {
        self.inside(move || Running::start(command))?
    }

    /// Packets that the full queues of the devices outside and inside dropped, before the path.
    ///
    /// # Errors
    /// When a system call fails, or the calling thread is not in the namespace the wire was opened in.
    pub fn queue_drops(&self) -> Result<[u64; 2], NetError> {
        let outside = Netlink::open()?.queue_drops(self.outside.index())?;
        Ok([outside, self.queue_drops_inside()?])
    }

    /// Packets that the full queue of the device inside dropped.
    pub(crate) fn queue_drops_inside(&self) -> Result<u64, NetError> {
        let index = self.inside.index();
        self.inside(move || Netlink::open()?.queue_drops(index))?
    }
}

/// Sets up the inner device in the calling thread's namespace. Returns it, and whether the namespace
/// forwards packets.
fn set_up_inside(tun: Tun, mtu: u32, block: Block, ipv6: bool) -> Result<(Tun, bool), NetError> {
    let mut netlink = Netlink::open()?;
    tun.bring_up(&mut netlink, mtu)?;
    let (unspecified_v4, len) = ([0; 4].into(), block.v4().1);
    netlink.add_address(tun.index(), block.ends_v4().inside.into(), len)?;
    netlink.add_route(unspecified_v4, 0, tun.index())?;
    if ipv6 {
        let (unspecified_v6, len) = ([0; 16].into(), block.v6().1);
        netlink.add_address(tun.index(), block.ends_v6().inside.into(), len)?;
        netlink.add_route(unspecified_v6, 0, tun.index())?;
    }
    Ok((tun, forward(ipv6)))
}

/// Turns on forwarding in the calling thread's namespace. Returns whether that worked.
pub(crate) fn forward(ipv6: bool) -> bool {
    let mut forwarding = vec!["/proc/sys/net/ipv4/ip_forward"];
    if ipv6 {
        forwarding.push("/proc/sys/net/ipv6/conf/all/forwarding");
    }
    // These files belong to the namespace of the thread that opens them. Containers may have them
    // read-only.
    forwarding.iter().all(|file| fs::write(file, "1").is_ok())
}

/// Ensures that this process may make namespaces. If it may not, it becomes the root of a user namespace
/// of its own, which only a process with a single thread can. Returns whether it did.
pub(crate) fn acquire_rights() -> Result<bool, NetError> {
    let needed = CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN;
    let own = capabilities(None).map(|sets| sets.effective);
    if own.is_ok_and(|own| own.contains(needed)) { Ok(false) } else { become_root_of_user_namespace().map(|()| true) }
}

/// Moves this process into new user and network namespaces, in which it is root.
fn become_root_of_user_namespace() -> Result<(), NetError> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    // SAFETY: as in `Namespace::new`. CLONE_NEWUSER changes the process's credentials, and fails if it
    // has several threads.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }
        .map_err(|e| NetError::Privilege { source: e.into() })?;
    // Once setgroups is denied, a user may map its own group (user_namespaces(7)).
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ] {
        fs::write(file, text).map_err(|source| NetError::Privilege { source })?;
    }
    netlink::bring_up_loopback()
}
