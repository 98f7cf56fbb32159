//! An end of a flow with Recoup's stack: a host on a TUN device in the end's namespace, and a thread that
//! runs it.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, SyncSender, channel, sync_channel},
    },
    thread,
    time::Duration,
};

use recoup_tcp::{Config, State, flow::Host as Side};

use super::{
    application::Application,
    end::SenderReport,
    events::SenderEvents,
    run::{FlowRun, LOOK},
};
use crate::{
    Namespace, NetError, TunDevice, TunOptions,
    clock::{be_punctual, monotonic},
};
use recoup_stack::{
    Driver, TcpOptions,
    host::{ConnectionId, Host, Read, Secret},
};

/// The port on which a Recoup server listens.
pub(super) const PORT: u16 = 5001;

/// Bytes that may wait for an ACK: more than a flow has in flight.
const SEND_BUFFER: u64 = 64 << 20;

/// A flow to take part in, and where the report goes.
struct Task {
    side: Side,
    flow: Arc<FlowRun>,
    report: SyncSender<Result<SenderReport, NetError>>,
}

/// A Recoup host in a namespace.
#[derive(Debug)]
pub(super) struct Engine {
    pub address: IpAddr,
    tasks: Sender<Task>,
}

impl Engine {
    /// Starts a host whose endpoints have this configuration.
    pub fn start(namespace: &Namespace, config: Config, mtu: u16) -> Result<Self, NetError> {
        // The kernel forwards the packets to the path, where they are measured one by one.
        let options = TunOptions { mtu, offloads: false, ..TunOptions::default() };
        let device = namespace.run(move || TunDevice::open_with(&options))??;
        let addresses = device.host_addresses().to_vec();
        let address = addresses.first().copied();
        let address = address.unwrap_or_else(|| unreachable!("a device has addresses"));
        let tcp =
            TcpOptions { endpoint: config, send_buffer: SEND_BUFFER, unsent: SEND_BUFFER, ..TcpOptions::default() };
        let config = recoup_stack::Config { tcp, answer_each: true, ..recoup_stack::Config::new(addresses) };
        let secret = Secret::draw().map_err(NetError::system("draw random numbers"))?;
        let (tasks, to_do) = channel();
        let main = move || run(Driver::new(Host::new(config, mtu, secret), device), &to_do);
        thread::Builder::new().name("engine".into()).spawn(main).map_err(NetError::system("start a thread"))?;
        Ok(Self { address, tasks })
    }

    /// Takes part in a flow until it is over.
    pub fn take_part(&self, side: Side, flow: Arc<FlowRun>) -> Result<SenderReport, NetError> {
        let (report, reported) = sync_channel(1);
        let gone = || NetError::system("run a stack")(std::io::ErrorKind::BrokenPipe);
        let task = Task { side, flow, report };
        self.tasks.send(task).map_err(|_| gone())?;
        reported.recv().map_err(|_| gone())?
    }
}

fn run(mut driver: Driver<TunDevice>, tasks: &Receiver<Task>) {
    // Like the kernel's TCP, the host must not wait for other programs.
    be_punctual();
    while let Ok(task) = tasks.recv() {
        let report = match task.side {
            Side::Client => request(&mut driver, &task.flow),
            Side::Server => serve(&mut driver, &task.flow),
        };
        // The caller waits for it.
        let _ = task.report.send(report);
    }
}

/// Runs the host until it has events, for `most` at the longest.
fn turn(driver: &mut Driver<TunDevice>, most: Duration) -> Result<(), NetError> {
    driver.turn(most).map_err(NetError::system("run a stack"))
}

/// Connects, and takes the client's part.
fn request(driver: &mut Driver<TunDevice>, flow: &FlowRun) -> Result<SenderReport, NetError> {
    let now = driver.now();
    let id = driver.host.connect(now, flow.to)?;
    run_application(driver, id, Side::Client, flow)
}

/// Takes a connection, and the server's part.
fn serve(driver: &mut Driver<TunDevice>, flow: &FlowRun) -> Result<SenderReport, NetError> {
    // An error says that it listens already, since an earlier flow.
    let _ = driver.host.listen(SocketAddr::new([0; 4].into(), PORT));
    while !flow.is_over() {
        turn(driver, LOOK)?;
        while let Some(event) = driver.host.next_event() {
            if let Some(listener) = driver.host.listener(event.connection).filter(|_| event.opened) {
                // What is returned has been announced.
                let _ = driver.host.accept(listener);
                return run_application(driver, event.connection, Side::Server, flow);
            }
        }
    }
    Ok(SenderReport::default())
}

/// Runs the application over a connection until the flow is over.
fn run_application(
    driver: &mut Driver<TunDevice>,
    id: ConnectionId,
    side: Side,
    flow: &FlowRun,
) -> Result<SenderReport, NetError> {
    let mut application = Application::new(side, &flow.workload);
    let (mut open, mut finished) = (side == Side::Server, false);
    if open {
        application.opened(driver.now());
    }
    let mut buffer = vec![0; 256 << 10];
    while !flow.is_over() {
        while let Some(event) = driver.host.next_event() {
            if event.connection == id && event.opened && !open {
                open = true;
                application.opened(driver.now());
            }
        }
        if open {
            read(driver, id, &mut application, &mut buffer);
            write(driver, id, &mut application, &buffer);
        }
        let state = driver.host.state(id);
        let settled = driver.host.unacknowledged(id).is_none_or(|bytes| bytes == 0)
            && !matches!(state, Some(State::FinWait1 | State::LastAck | State::Closing));
        if open && !finished && application.is_finished() && settled {
            finished = true;
            flow.finish(side);
        }
        let over = matches!(state, None | Some(State::Closed(_)));
        if over && !finished {
            flow.give_up();
        }
        let due = application.due();
        let wait = due.map_or(LOOK, |due| due.since(driver.now()).min(LOOK));
        turn(driver, wait)?;
    }
    let events = SenderEvents {
        started_at: monotonic().saturating_sub(driver.now().as_nanos()),
        events: driver.host.take_events(id),
    };
    let sender = driver.host.sender(id);
    let report = sender.map(|sender| SenderReport {
        counters: sender.counters(),
        recoveries: sender.recoveries().copied().collect(),
        events,
    });
    // An error says that the connection has ended already.
    let _ = driver.host.abort(id);
    turn(driver, Duration::ZERO)?;
    Ok(report.unwrap_or_default())
}

fn read(driver: &mut Driver<TunDevice>, id: ConnectionId, application: &mut Application, buffer: &mut [u8]) {
    loop {
        let now = driver.now();
        match driver.host.read(now, id, buffer) {
            Ok(Read::Bytes(count)) => application.read(now, count as u64),
            Ok(Read::End) => return application.ended(),
            Ok(Read::Nothing) | Err(_) => return,
        }
    }
}

/// Writes as many bytes as the application wants. Their values do not matter.
fn write(driver: &mut Driver<TunDevice>, id: ConnectionId, application: &mut Application, bytes: &[u8]) {
    let now = driver.now();
    if application.awaits_acknowledgment()
        && let Some(bytes) = driver.host.unacknowledged(id)
    {
        application.unacknowledged(now, bytes as u64);
    }
    application.advance(now);
    while application.waiting() > 0 {
        let len = application.waiting().min(bytes.len() as u64) as usize;
        match driver.host.write(now, id, &bytes[..len]) {
            Ok(0) | Err(_) => break,
            Ok(count) => application.wrote(count as u64),
        }
    }
    if application.closes() {
        // An error says that the connection has ended already.
        let _ = driver.host.close(now, id);
    }
}
