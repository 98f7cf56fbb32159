//! Two namespaces joined through this process.
//!
//! Without the right to make namespaces and devices, the process first becomes the root of a user
//! namespace of its own (user_namespaces(7)); what is outside the path is then a further empty
//! namespace, since the real one is not the user's to add devices to.

use std::fs;
use std::process::Command;

use rustix::process::{getgid, getuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::address::{self, Block, INTERFACE};
use crate::netlink::{self, Netlink};
use crate::{Ends, Namespace, NetError, Running, Tun};

/// Two TUN devices: one here, one in a new network namespace.
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

impl Wire {
    /// Makes a namespace and the devices, for packets of up to `mtu` bytes. Where the caller has not
    /// the right to, it becomes the root of a new user namespace, which only a process of a single
    /// thread can.
    ///
    /// # Errors
    /// [`NetError::Privilege`] when neither is possible; what the system refuses; no free addresses.
    pub fn open(mtu: u32) -> Result<Self, NetError> {
        let name = |end| format!("{INTERFACE}{}{end}", std::process::id());
        let (outside, apart) = match Tun::create(&name('o')) {
            Err(e) if e.is_permission() => {
                become_root_of_user_namespace()?;
                (Tun::create(&name('o'))?, true)
            }
            made => (made?, false),
        };
        let mut netlink = Netlink::open()?;
        outside.bring_up(&mut netlink, mtu)?;
        let (block, ipv6) = address::take(&mut netlink, outside.index(), None)?;
        let namespace = Namespace::new()?;
        let set_up = move || set_up_inside(&name('i'), mtu, block, ipv6);
        let (inside, forwards) = namespace.run(set_up)??;
        Ok(Self {
            outside,
            inside,
            block,
            ipv6,
            forwards,
            apart,
            namespace,
        })
    }

    /// The addresses it has.
    pub const fn block(&self) -> Block {
        self.block
    }

    /// Whether IPv6 crosses it, too.
    pub const fn ipv6(&self) -> bool {
        self.ipv6
    }

    /// Whether outside is a namespace with nothing in it, for want of the right to more.
    pub const fn is_apart(&self) -> bool {
        self.apart
    }

    /// Whether the namespace forwards packets of others, as emulators within it need.
    pub const fn forwards(&self) -> bool {
        self.forwards
    }

    /// The devices, for a [`Relay`](crate::Relay).
    pub const fn ends(&self) -> Ends<'_> {
        Ends {
            outside: &self.outside,
            inside: &self.inside,
        }
    }

    /// Does something on a thread in the namespace and waits for it.
    ///
    /// # Errors
    /// When that thread is gone: something it did before panicked.
    pub fn inside<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NetError> {
        self.namespace.run(job)
    }

    /// Starts a command inside. It is killed should this process, or the wire, go first.
    ///
    /// # Errors
    /// [`NetError::Command`] when it cannot be started.
    pub fn run(&self, command: Command) -> Result<Running, NetError> {
        self.inside(move || Running::start(command))?
    }

    /// Packets that did not get as far as the path: the queues of the devices, in the order outside
    /// and inside, were full.
    pub fn queue_drops(&self) -> Result<[u64; 2], NetError> {
        let index = self.inside.index();
        let inside = self.inside(move || Netlink::open()?.queue_drops(index))??;
        let outside = Netlink::open()?.queue_drops(self.outside.index())?;
        Ok([outside, inside])
    }
}

/// Makes the inner device, in the calling thread's namespace. Second: whether it forwards.
fn set_up_inside(name: &str, mtu: u32, block: Block, ipv6: bool) -> Result<(Tun, bool), NetError> {
    let tun = Tun::create(name)?;
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
    let mut forwarding = vec!["/proc/sys/net/ipv4/ip_forward"];
    if ipv6 {
        forwarding.push("/proc/sys/net/ipv6/conf/all/forwarding");
    }
    // These files are of the namespace of who opens them. Containers may have them read-only.
    let forwards = forwarding.iter().all(|file| fs::write(file, "1").is_ok());
    Ok((tun, forwards))
}

/// Moves this process into new user and network namespaces, in which it is root.
fn become_root_of_user_namespace() -> Result<(), NetError> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    // SAFETY: as in `Namespace::new`; CLONE_NEWUSER changes who this process is to the system, and
    // fails where there are several threads.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNET) }
        .map_err(|e| NetError::Privilege { source: e.into() })?;
    // Without the right to change groups a user may map its own (user_namespaces(7)).
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ] {
        fs::write(file, text).map_err(|source| NetError::Privilege { source })?;
    }
    netlink::bring_up_loopback()
}
