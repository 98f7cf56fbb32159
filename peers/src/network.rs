//! The networks between sender and receiver, each made anew for one measurement.
//!
//! | network | sender through a TUN device | sender in the kernel |
//! | --- | --- | --- |
//! | without delay | the device's other end is in the receiver's namespace | two namespaces, joined by veth devices |
//! | with delay | a namespace with the device, which forwards to the path | the same namespace |
//!
//! The path is Recoup's emulator: two more TUN devices, and a thread of this process that delays packets and loses
//! chosen ones. Random loss is a rule of nftables at the input of the receiver's namespace.

use crate::senders::{Failed, Options, Sender};
use recoup_net::{Namespace, Relay, Wire};
use recoup_path::HopSpec;
use std::{
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr},
    os::{fd::AsFd, unix::net::UnixStream},
    process::Command,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

/// The kernel's addresses on the veth devices.
const VETH: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];

/// The namespaces of a measurement.
#[derive(Debug)]
pub struct Network {
    receiver: Namespace,
    sender: SenderPlace,
    /// The address of the sender if the kernel sends.
    kernel: IpAddr,
}

/// The namespace of the sender.
#[derive(Debug)]
enum SenderPlace {
    /// The receiver's.
    Receiver,
    /// One of its own.
    Apart(Namespace),
    /// The inner end of a path.
    Path(RunningPath),
}

impl Network {
    /// Sender and receiver without delay.
    pub fn direct(sender: Sender, options: Options) -> Result<Self, Failed> {
        let receiver = Namespace::new()?;
        let place = if sender.is_kernel() {
            SenderPlace::Apart(join_by_veth(&receiver, options)?)
        } else {
            SenderPlace::Receiver
        };
        Ok(Self { receiver, sender: place, kernel: VETH[1].into() })
    }

    /// Sender and receiver at the ends of a path with this round-trip time, whose `lossy` hops lead to the receiver.
    pub fn with_path(rtt: Duration, lossy: Vec<HopSpec>) -> Result<Self, Failed> {
        let delay = HopSpec::Delay(rtt / 2);
        let to_receiver = [&lossy[..], std::slice::from_ref(&delay)].concat();
        Self::with_hops(&to_receiver, &[delay], 1)
    }

    /// Sender and receiver at the ends of these hops, whose random choices come from `seed`.
    pub fn with_hops(to_receiver: &[HopSpec], to_sender: &[HopSpec], seed: u64) -> Result<Self, Failed> {
        let receiver = Namespace::new()?;
        let path = RunningPath::start(&receiver, to_receiver, to_sender, seed)?;
        Ok(Self { receiver, kernel: path.wire.block().ends_v4().inside.into(), sender: SenderPlace::Path(path) })
    }

    /// Loses these shares of the TCP packets that reach the receiver, and of the pure ACKs that it sends (%).
    ///
    /// Its requests are not lost: the kernel would know at once, and send them again without a retransmission. Of a
    /// lost pure ACK it takes no notice.
    pub fn lose(&self, arriving: f64, acks: f64) -> Result<(), Failed> {
        let of_a_million = |percent: f64| (percent * 1e4).round();
        let (arriving, acks) = (of_a_million(arriving), of_a_million(acks));
        let rules = format!(
            "add table ip peers\n\
             add chain ip peers input {{ type filter hook input priority 0; }}\n\
             add rule ip peers input ip protocol tcp numgen random mod 1000000 < {arriving} drop\n\
             add chain ip peers output {{ type filter hook output priority 0; }}\n\
             add rule ip peers output tcp flags == ack numgen random mod 1000000 < {acks} drop\n"
        );
        self.receiver.run(move || run("nft", &[&rules]))?
    }

    /// Runs `job` in the namespace of the sender.
    pub fn run_at_sender<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Failed> {
        Ok(match &self.sender {
            SenderPlace::Receiver => self.receiver.run(job),
            SenderPlace::Apart(namespace) => namespace.run(job),
            SenderPlace::Path(path) => path.wire.inside(job),
        }?)
    }

    /// Runs `job` in the namespace of the receiver.
    pub fn run_at_receiver<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Failed> {
        Ok(self.receiver.run(job)?)
    }

    /// The address of a sender in the kernel.
    pub const fn kernel(&self) -> IpAddr {
        self.kernel
    }
}

/// Joins a new namespace to another by veth devices.
fn join_by_veth(receiver: &Namespace, options: Options) -> Result<Namespace, Failed> {
    let sender = Namespace::new()?;
    let thread = sender.run(|| rustix::thread::gettid().as_raw_nonzero().to_string())?;
    let mtu = options.mtu.to_string();
    let [near, far] = VETH;
    let set_up = {
        let mtu = mtu.clone();
        move || {
            let words = ["link", "add", "peers0", "mtu", &mtu, "type", "veth"];
            let peer = ["peer", "name", "peers1", "netns", &thread];
            run("ip", &[&words[..], &peer[..]].concat())?;
            set_up_veth("peers0", near, options.offloads)
        }
    };
    receiver.run(set_up)??;
    sender.run(move || {
        run("ip", &["link", "set", "peers1", "mtu", &mtu])?;
        set_up_veth("peers1", far, options.offloads)
    })??;
    Ok(sender)
}

/// Gives a veth device its address and brings it up. Without offloads the kernel computes checksums and cuts segments
/// before the device, as before a TUN device.
fn set_up_veth(name: &str, address: Ipv4Addr, offloads: bool) -> Result<(), Failed> {
    if !offloads {
        run("ethtool", &["-K", name, "tx", "off", "tso", "off", "gso", "off", "gro", "off"])?;
    }
    run("ip", &["address", "add", &format!("{address}/30"), "dev", name])?;
    run("ip", &["link", "set", name, "up"])
}

/// Runs a program to its end.
fn run(program: &str, arguments: &[&str]) -> Result<(), Failed> {
    let mut command = Command::new(program);
    let output = command.args(arguments).output();
    let output = output.map_err(|e| match e.kind() {
        ErrorKind::NotFound => format!("`{program}` is not installed"),
        _ => format!("cannot run `{program}`: {e}"),
    })?;
    if output.status.success() {
        Ok(())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or_default();
        Err(format!("`{program} {}` failed: {said}", arguments.join(" ")).into())
    }
}

/// A path that carries packets until this is dropped.
#[derive(Debug)]
struct RunningPath {
    wire: Arc<Wire>,
    /// The path stops when this is closed.
    stop: Option<UnixStream>,
    relay: Option<JoinHandle<()>>,
}

impl RunningPath {
    fn start(receiver: &Namespace, to_receiver: &[HopSpec], to_sender: &[HopSpec], seed: u64) -> Result<Self, Failed> {
        let mtu = 1500;
        let wire = Arc::new(receiver.run(move || Wire::open(mtu))??);
        if !wire.forwards() {
            return Err("the namespace of the sender does not forward packets".into());
        }
        let relay = Relay::new(to_receiver, to_sender, seed, mtu)?;
        let (stop, stopped) = UnixStream::pair()?;
        let carried = Arc::clone(&wire);
        let carry = move || {
            // The measurement fails without it.
            let _ = relay.run(carried.ends(), stopped.as_fd());
        };
        let relay = thread::Builder::new().name("path".into()).spawn(carry)?;
        Ok(Self { wire, stop: Some(stop), relay: Some(relay) })
    }
}

impl Drop for RunningPath {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(relay) = self.relay.take() {
            // A panic has been printed.
            let _ = relay.join();
        }
    }
}
