//! One end of a flow: a stack in a namespace.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use recoup_recovery::{Counters, Recovery};
use recoup_tcp::flow::Host;

use super::{
    Stack,
    engine::{self, Engine},
    events::SenderEvents,
    kernel::{self, Listener},
    linux::{self, Counts, Kernel, Options},
    run::FlowRun,
};
use crate::{Clock, Namespace, NetError, netlink::Netlink};

/// Counters and log of a sender in a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct SenderReport {
    pub counters: Counters,
    pub recoveries: Vec<Recovery>,
    pub events: SenderEvents,
}

/// A stack in its namespace.
#[derive(Debug)]
pub(super) enum End {
    Kernel {
        options: Options,
        address: IpAddr,
        /// At the server.
        listener: Option<Listener>,
    },
    Engine(Engine),
}

impl End {
    /// Starts a stack in a namespace. `address` is that of its device to the path.
    pub fn start(stack: &Stack, namespace: &Namespace, address: IpAddr, mtu: u16) -> Result<Self, NetError> {
        Ok(match stack {
            Stack::Recoup(config) => Self::Engine(Engine::start(namespace, **config, mtu)?),
            Stack::Kernel(options) => Self::Kernel { options: options.clone(), address, listener: None },
        })
    }

    /// The stack's address.
    pub const fn address(&self) -> IpAddr {
        match self {
            Self::Kernel { address, .. } => *address,
            Self::Engine(engine) => engine.address,
        }
    }

    /// Prepares the kernel's stack for a peer behind the device with this index.
    pub fn prepare(&self, namespace: &Namespace, peer: IpAddr, index: u32) -> Result<(), NetError> {
        let Self::Kernel { options, .. } = self else {
            return Ok(());
        };
        let options = options.clone();
        namespace.run(move || {
            linux::prepare(&options.switches)?;
            let len = if peer.is_ipv4() { 32 } else { 128 };
            Netlink::open()?.add_route_with(peer, len, index, options.route_metrics())
        })?
    }

    /// Accepts connections from now on. Returns the address to connect to.
    pub fn listen(&mut self, namespace: &Namespace) -> Result<SocketAddr, NetError> {
        match self {
            Self::Engine(engine) => Ok(SocketAddr::new(engine.address, engine::PORT)),
            Self::Kernel { options, address, listener } => {
                let (options, at) = (options.clone(), *address);
                let (open, local) = namespace.run(move || Listener::open(at, &options))??;
                *listener = Some(open);
                Ok(local)
            }
        }
    }

    /// Facts about the kernel's TCP; `None` if the stack is Recoup's.
    pub fn kernel(&self, namespace: &Namespace) -> Result<Option<Kernel>, NetError> {
        let Self::Kernel { options, .. } = self else {
            return Ok(None);
        };
        let name = options.congestion_control.clone();
        namespace.run(move || Kernel::here(&name))?.map(Some)
    }

    /// Takes part in a flow until it is over. [`counts`](Self::counts) returns what the kernel counted.
    pub fn take_part(
        &self,
        host: Host,
        namespace: &Namespace,
        flow: &Arc<FlowRun>,
        clock: Clock,
    ) -> Result<SenderReport, NetError> {
        match self {
            Self::Engine(engine) => return engine.take_part(host, Arc::clone(flow)),
            Self::Kernel { listener: Some(listener), .. } => kernel::serve(listener, flow, clock)?,
            Self::Kernel { options, .. } => {
                let (options, to) = (options.clone(), flow.to.ip());
                let socket = namespace.run(move || kernel::socket(to, &options))??;
                kernel::request(&socket, flow, clock)?;
            }
        }
        Ok(SenderReport::default())
    }

    /// Counters of the kernel so far; `None` if the stack is Recoup's.
    pub fn counts(&self, namespace: &Namespace) -> Result<Option<Counts>, NetError> {
        match self {
            Self::Engine(_) => Ok(None),
            Self::Kernel { .. } => namespace.run(Counts::here)?.map(Some),
        }
    }
}
