//! How packets for addresses and ports come to a group of stacks.
//!
//! | how | for whom | what it needs |
//! | --- | --- | --- |
//! | [`Inlet::open`] with addresses of the host | servers on the host's own address | root, Linux 6.6: programs in the kernel redirect the ports ([`PortRedirect`]) |
//! | [`Inlet::open`] with another address | servers with an address of their own | a route to it, in the network and through this host |
//! | [`Inlet::open`] without addresses | trials on one host | nothing: the stack has free addresses that the host alone reaches |
//! | [`Inlet::open_transparent`] | a proxy for any destination | a policy route, which the user makes |
//!
//! What an inlet changed on the host is undone when it is dropped, or when the process ends, however it ends: the device and
//! the programs are held by descriptors of the process.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use recoup_proxy::inlet::{Inlet, InletOptions};
//! use recoup_stack::TcpListener;
//!
//! let inlet = Inlet::open(&["0.0.0.0:80".parse()?], &InletOptions::default())?;
//! let listeners = inlet.stacks().iter().map(|stack| TcpListener::bind(stack, inlet.places()[0]));
//! let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
//! inlet.start()?; // Clients come from now on.
//! # Ok(()) }
//! ```
//!
//! | module | what it does |
//! | --- | --- |
//! | `host` | the host's addresses and interfaces, and which of them a port is taken at |

mod host;

use host::{HostView, Outside};
use recoup_kernel::{ConnectionTable, KernelError, PortRedirect, PortRedirectCounts};
use recoup_net::{AsyncDevice, NetError, TunDevice, TunOptions};
use recoup_stack::{Config, Stack};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpSocket;

/// The MTU of a device that no interface gives one.
const USUAL_MTU: u16 = 1500;

/// How often it is looked whether the table of connections fills up.
const SWEEP_EVERY: Duration = Duration::from_secs(600);

/// Connections from which on those that are idle for [`IDLE`] are forgotten: three quarters of the table.
const MANY: usize = 3 << 18;

/// Longer than keep-alives are apart by default (RFC 9293 §3.8.4: two hours).
const IDLE: Duration = Duration::from_secs(9000);

/// Why there is no inlet.
#[derive(Debug, Error)]
pub enum InletError {
    /// A device cannot be made, or the host's interfaces not be read.
    #[error("{0}{hint}", hint = if is_denied(.0) { ": expected to be root (CAP_NET_ADMIN)" } else { "" })]
    Net(#[from] NetError),
    /// The kernel does not redirect ports.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A stack cannot be made.
    #[error("cannot make the stack: {0}")]
    Stack(#[source] io::Error),
    /// A port of the host cannot be reserved.
    #[error("cannot reserve a port of {address}: {why}")]
    Reserve {
        /// Where.
        address: IpAddr,
        /// Why not.
        why: io::Error,
    },
    /// The addresses or interfaces do not fit the host. In one line: what, and what was expected.
    #[error("{0}")]
    Unsuitable(String),
}

fn is_denied(error: &NetError) -> bool {
    matches!(error, NetError::System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}

/// Options of an [`Inlet`].
#[derive(Clone, Debug)]
pub struct InletOptions {
    /// Stacks, each over a queue of the device.
    pub queues: usize,
    /// The longest packet, IP header included, in bytes. `None`: the smallest MTU of the interfaces where packets arrive.
    pub mtu: Option<u16>,
    /// Where packets for the host's own addresses arrive. None: at the interfaces that have the addresses.
    pub interfaces: Vec<String>,
    /// Limits of each stack, and options of its sockets. Its addresses do not matter.
    pub config: Config,
}

impl Default for InletOptions {
    /// One stack.
    fn default() -> Self {
        Self { queues: 1, mtu: None, interfaces: Vec::new(), config: Config::new([]) }
    }
}

/// How packets come to a group of stacks. Dropping it undoes what it changed on the host: connections that are left are cut
/// off. Wait for [`Stack::finished`] before.
pub struct Inlet {
    stacks: Vec<Stack>,
    redirect: Option<Mutex<PortRedirect>>,
    places: Vec<SocketAddr>,
    addresses: Vec<IpAddr>,
    changes: Vec<String>,
    device: String,
    /// Ports of the host that its kernel gives to nobody else meanwhile.
    _reserved: Vec<TcpSocket>,
    /// While it lives, the table of connections is swept.
    _table: Option<Arc<Mutex<ConnectionTable>>>,
}

impl Inlet {
    /// An inlet for these addresses and ports. Unspecified addresses (`0.0.0.0`, `::`) are all those of their IP version that
    /// the interfaces have now. Port 0 of the host's own address is a free port, which the host's kernel gives to nobody else: for servers, and for
    /// connections that the stack begins at it.
    ///
    /// Packets come from [`start`](Self::start) on, so that listeners can be bound before. Its stacks' runners are tasks of
    /// the present runtime of tokio.
    ///
    /// # Errors
    /// Without the right to, if an address does not fit the others or the host, and where the kernel lacks what is needed.
    pub fn open(at: &[SocketAddr], options: &InletOptions) -> Result<Self, InletError> {
        let at: Vec<_> = at.iter().map(|at| SocketAddr::new(at.ip().to_canonical(), at.port())).collect();
        let host = HostView::look()?;
        let is_own = |at: &SocketAddr| at.ip().is_unspecified() || host.has(at.ip());
        match at.iter().filter(|at| is_own(at)).count() {
            0 => Self::open_routed(&at, options),
            own if own == at.len() => Self::open_own(&at, &host.outside(&at, &options.interfaces)?, options),
            _ => {
                let [own, other] = [true, false].map(|own| at.iter().find(|at| is_own(at) == own).map(SocketAddr::ip));
                let name = |ip: Option<IpAddr>| ip.map_or_else(String::new, |ip| ip.to_string());
                Err(InletError::Unsuitable(format!(
                    "{} is this host's address, {} is not: expected addresses of the host, or else one other address",
                    name(own),
                    name(other)
                )))
            }
        }
    }

    /// At the host's own addresses.
    fn open_own(at: &[SocketAddr], outside: &Outside, options: &InletOptions) -> Result<Self, InletError> {
        let mtu = options.mtu.unwrap_or(outside.mtu);
        let tun = TunOptions { mtu, ..TunOptions::default() };
        let devices = TunDevice::open_bare(None, &tun, options.queues.max(1))?;
        let first = devices.first().ok_or_else(|| InletError::Unsuitable("no device".into()))?.tun();
        let (name, index) = (first.name().to_owned(), first.index());
        let mut changes = vec![device_made(&name, mtu, devices.len())];
        if let Err(why) = first.forward() {
            changes.push(format!(
                "answers leave through the interface at which their connection's packets arrive, whatever the routes say: {why}"
            ));
        }
        let interfaces: Vec<_> = outside.interfaces.iter().map(String::as_str).collect();
        let (redirect, table) = PortRedirect::attach(&name, index, &interfaces)?;
        let mut reserved = Vec::new();
        let mut places = Vec::new();
        for place in at {
            places.push(match place.port() {
                0 => {
                    let (socket, place) = reserve(place.ip())?;
                    reserved.push(socket);
                    place
                }
                _ => *place,
            });
        }
        let list: Vec<_> = places.iter().map(ToString::to_string).collect();
        changes.push(format!(
            "TCP to {} that arrives at {} goes to this process instead of the kernel (TCX programs, which end with this process); nftables and iptables do not see it",
            list.join(", "),
            interfaces.join(", "),
        ));
        let stacks = group(devices, &outside.addresses, options)?;
        let table = Arc::new(Mutex::new(table));
        sweep(&table);
        Ok(Self {
            stacks,
            redirect: Some(Mutex::new(redirect)),
            places,
            addresses: outside.addresses.clone(),
            changes,
            device: name,
            _reserved: reserved,
            _table: Some(table),
        })
    }

    /// At an address that is not the host's, or at free ones.
    fn open_routed(at: &[SocketAddr], options: &InletOptions) -> Result<Self, InletError> {
        let mut asked: Vec<IpAddr> = at.iter().map(SocketAddr::ip).collect();
        asked.dedup();
        if let [first, second, ..] = asked[..] {
            return Err(InletError::Unsuitable(format!(
                "{first} and {second} are not this host's addresses: expected one such address at most"
            )));
        }
        let mtu = options.mtu.unwrap_or(USUAL_MTU);
        let tun = TunOptions { mtu, address: asked.first().copied(), ..TunOptions::default() };
        let devices = TunDevice::open_queues(&tun, options.queues.max(1))?;
        let first = devices.first().ok_or_else(|| InletError::Unsuitable("no device".into()))?;
        let (name, addresses) = (first.name().to_owned(), first.host_addresses().to_vec());
        let list: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        let mut changes = vec![device_made(&name, mtu, devices.len())];
        changes.push(match asked.first() {
            Some(_) => format!(
                "this host routes {} to {name}; other hosts reach it if they route it to this host, and this host forwards (net.ipv4.ip_forward, net.ipv6.conf.all.forwarding)",
                list.join(", ")
            ),
            None => format!("this host alone reaches {}, through {name}", list.join(" and ")),
        });
        let stacks = group(devices, &addresses, options)?;
        Ok(Self::without_programs(stacks, at, addresses, changes, name))
    }

    fn without_programs(
        stacks: Vec<Stack>,
        at: &[SocketAddr],
        addresses: Vec<IpAddr>,
        changes: Vec<String>,
        device: String,
    ) -> Self {
        let places = at.to_vec();
        Self { stacks, redirect: None, places, addresses, changes, device, _reserved: Vec::new(), _table: None }
    }

    /// An inlet for every destination, to be used with [`Stack::accept_any`]: what the user routes to its device comes to the
    /// stacks. `name`: of the device, at most 15 bytes, or else a free one. [`changes`](Self::changes) has the commands.
    ///
    /// # Errors
    /// Without the right to, and when the name is taken.
    pub fn open_transparent(name: Option<&str>, options: &InletOptions) -> Result<Self, InletError> {
        let mtu = options.mtu.unwrap_or(USUAL_MTU);
        let devices = TunDevice::open_bare(name, &TunOptions { mtu, ..TunOptions::default() }, options.queues.max(1))?;
        let first = devices.first().ok_or_else(|| InletError::Unsuitable("no device".into()))?.tun();
        let name = first.name().to_owned();
        let mut changes = vec![device_made(&name, mtu, devices.len())];
        if let Err(why) = first.forward() {
            changes.push(format!("answers reach clients only if this host forwards what {name} sends: {why}"));
        }
        changes.extend(host::transparent_commands(&name, first.index()));
        let stacks = group(devices, &[], options)?;
        Ok(Self::without_programs(stacks, &[], Vec::new(), changes, name))
    }

    /// Packets for [`places`](Self::places) come to the stacks from now on. Only ports of the host's own addresses wait for
    /// it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn start(&self) -> Result<(), InletError> {
        self.places.iter().try_for_each(|place| self.take(*place))
    }

    /// One stack for each queue.
    pub fn stacks(&self) -> &[Stack] {
        &self.stacks
    }

    /// The addresses and ports, with those that were free for port 0, in the order in which they were asked for.
    pub fn places(&self) -> &[SocketAddr] {
        &self.places
    }

    /// The stacks' addresses. A transparent inlet has none.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The name of its device.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// What was changed on the host, and what is to be done about it: a sentence each, without a full stop.
    pub fn changes(&self) -> &[String] {
        &self.changes
    }

    /// New connections to this place come to the stacks, too. Its address is one of [`addresses`](Self::addresses), or
    /// unspecified for all of its IP version. Otherwise as [`start`](Self::start).
    ///
    /// # Errors
    /// If the address is another, or the kernel refuses.
    pub fn take(&self, at: SocketAddr) -> Result<(), InletError> {
        self.each(at, PortRedirect::take)
    }

    /// New connections to this place go to the host's kernel, or to an older process that has taken it. Those that have come
    /// go on.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn drain(&self, at: SocketAddr) -> Result<(), InletError> {
        self.each(at, PortRedirect::drain)
    }

    /// No packet for this place comes to the stacks any more: connections that are left there are cut off.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn release(&self, at: SocketAddr) -> Result<(), InletError> {
        self.each(at, PortRedirect::release)
    }

    fn each(
        &self,
        at: SocketAddr,
        change: impl Fn(&mut PortRedirect, SocketAddr) -> Result<(), KernelError>,
    ) -> Result<(), InletError> {
        let Some(redirect) = &self.redirect else { return Ok(()) };
        let ip = at.ip().to_canonical();
        let is_meant = |own: &&IpAddr| **own == ip || (ip.is_unspecified() && own.is_ipv4() == ip.is_ipv4());
        let mut meant = self.addresses.iter().filter(is_meant).peekable();
        if meant.peek().is_none() {
            let list: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
            let expected = list.join(" or ");
            return Err(InletError::Unsuitable(format!("no address {ip} of the stack: expected {expected}")));
        }
        let mut redirect = lock(redirect);
        meant.try_for_each(|own| change(&mut redirect, SocketAddr::new(*own, at.port()))).map_err(InletError::Kernel)
    }

    /// What the programs in the kernel have done. `None` if there are none.
    pub fn counts(&self) -> Option<PortRedirectCounts> {
        self.redirect.as_ref().map(|redirect| lock(redirect).counts())
    }
}

fn lock<T>(tables: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves tables that are still tables.
    tables.lock().unwrap_or_else(PoisonError::into_inner)
}

fn device_made(name: &str, mtu: u16, queues: usize) -> String {
    let queues = if queues == 1 { String::new() } else { format!(", {queues} queues") };
    format!("made the TUN device {name} (MTU {mtu}{queues}), which vanishes with this process")
}

/// Stacks over the queues of a device.
fn group(devices: Vec<TunDevice>, addresses: &[IpAddr], options: &InletOptions) -> Result<Vec<Stack>, InletError> {
    let devices = devices.into_iter().map(AsyncDevice::new).collect::<Result<Vec<_>, _>>();
    let config = Config { addresses: addresses.to_vec(), ..options.config.clone() };
    devices.and_then(|devices| Stack::group(devices, &config)).map_err(InletError::Stack)
}

/// A free port, which the kernel gives to nobody else as long as the socket lives.
fn reserve(address: IpAddr) -> Result<(TcpSocket, SocketAddr), InletError> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let reserved = socket.and_then(|socket| {
        socket.bind(SocketAddr::new(address, 0))?;
        let place = socket.local_addr()?;
        Ok((socket, place))
    });
    reserved.map_err(|why| InletError::Reserve { address, why })
}

/// Looks now and then whether hosts that vanished have left too many connections.
fn sweep(table: &Arc<Mutex<ConnectionTable>>) {
    let table = Arc::downgrade(table);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            let Some(table) = table.upgrade() else { return };
            let walk = tokio::task::spawn_blocking(move || {
                let mut table = lock(&table);
                if table.count() >= MANY {
                    // After an error, the next walk removes the rest.
                    let _ = table.forget_idle(IDLE);
                }
            });
            let _ = walk.await;
        }
    });
}

/// The address from which this host reaches another, for a stack that connects: `Inlet::open(&[(address, 0).into()], …)`.
///
/// # Errors
/// If there is no route.
pub fn source_address(to: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    // Connecting a UDP socket sends nothing.
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    Ok(socket.local_addr()?.ip())
}
