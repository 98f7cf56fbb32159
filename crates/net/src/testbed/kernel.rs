//! An end of a flow with the kernel's TCP.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use recoup_tcp::flow::Host;
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, accept_with, bind, connect,
        getsockname, listen, recv, send, shutdown, socket_with, sockopt,
    },
};

use super::{
    application::Application,
    linux::Options,
    run::{FlowRun, LOOK},
};
use crate::{Clock, NetError, clock::timespec, set_receive_low_water_mark};

/// A listening socket.
#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

/// A socket in the calling thread's namespace.
pub(super) fn socket(version: IpAddr, options: &Options) -> Result<OwnedFd, NetError> {
    let family = match version {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None).map_err(system("make"))?;
    // The simulated endpoints do not use Nagle's algorithm either.
    sockopt::set_tcp_nodelay(&socket, true).map_err(system("set up"))?;
    let name = &options.congestion_control;
    sockopt::set_tcp_congestion(&socket, name)
        .map_err(NetError::system(format!("use the congestion control {name}")))?;
    if let Some(most) = options.user_timeout {
        let millis = u32::try_from(most.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(&socket, millis).map_err(system("set up"))?;
    }
    if let Some(bytes) = options.receive_buffer {
        // The kernel doubles it, to allow for its own bookkeeping.
        let set = sockopt::set_socket_recv_buffer_size_force(&socket, bytes as usize);
        set.map_err(system("set up"))?;
    }
    Ok(socket)
}

fn system(verb: &str) -> impl FnOnce(Errno) -> NetError {
    NetError::system(format!("{verb} a socket"))
}

impl Listener {
    /// Listens at this address in the calling thread's namespace. Second: the address with its port.
    pub fn open(at: IpAddr, options: &Options) -> Result<(Self, SocketAddr), NetError> {
        let socket = socket(at, options)?;
        bind(&socket, &SocketAddr::new(at, 0)).map_err(system("bind"))?;
        listen(&socket, 16).map_err(system("listen on"))?;
        let local = getsockname(&socket).map_err(system("name"))?;
        let local = SocketAddr::try_from(local).map_err(system("name"))?;
        Ok((Self(socket), local))
    }
}

/// Connects `client` and runs its application.
pub(super) fn request(client: &OwnedFd, flow: &FlowRun, clock: Clock) -> Result<(), NetError> {
    let connected = match connect(client, &flow.to) {
        Ok(()) => Ok(()),
        Err(Errno::INPROGRESS) => {
            wait_until(client, PollFlags::OUT, flow).and_then(|ready| if ready { error_of(client) } else { Ok(()) })
        }
        Err(e) => Err(e),
    };
    match connected {
        // A connection that fails is a result, not an error.
        Err(_) => flow.give_up(),
        Ok(()) if flow.is_over() => {}
        Ok(()) => run_application(client, Host::Client, flow, clock)?,
    }
    abandon(client);
    Ok(())
}

/// Accepts a connection and runs the server's application.
pub(super) fn serve(at: &Listener, flow: &FlowRun, clock: Clock) -> Result<(), NetError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    while wait_until(&at.0, PollFlags::IN, flow).map_err(system("wait for"))? {
        match accept_with(&at.0, flags) {
            Ok(server) => {
                run_application(&server, Host::Server, flow, clock)?;
                abandon(&server);
                return Ok(());
            }
            Err(Errno::AGAIN | Errno::CONNABORTED | Errno::INTR) => {}
            Err(e) => return Err(system("accept")(e)),
        }
    }
    Ok(())
}

/// Waits until the socket is ready for `what`. Returns false if the flow is over first.
fn wait_until(socket: &OwnedFd, what: PollFlags, flow: &FlowRun) -> Result<bool, Errno> {
    while !flow.is_over() {
        if wait(socket.as_fd(), what, LOOK)?.intersects(what | PollFlags::ERR | PollFlags::HUP) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn wait(socket: BorrowedFd<'_>, what: PollFlags, most: Duration) -> Result<PollFlags, Errno> {
    let mut watched = [PollFd::from_borrowed_fd(socket, what)];
    match poll(&mut watched, Some(&timespec(most))) {
        Ok(_) => Ok(watched[0].revents()),
        Err(Errno::INTR) => Ok(PollFlags::empty()),
        Err(e) => Err(e),
    }
}

fn error_of(socket: &OwnedFd) -> Result<(), Errno> {
    sockopt::socket_error(socket)?
}

/// Zeros to write.
static ZEROS: [u8; 256 << 10] = [0; 256 << 10];

/// Runs the application over an open connection until the flow is over.
fn run_application(socket: &OwnedFd, host: Host, flow: &FlowRun, clock: Clock) -> Result<(), NetError> {
    let mut application = Application::new(host, &flow.workload);
    application.opened(clock.now());
    let mut mark = None;
    let mut buffer = vec![0; 256 << 10];
    let (mut finished, mut reads) = (false, true);
    while !flow.is_over() {
        let now = clock.now();
        if application.awaits_acknowledgment() {
            application.unacknowledged(now, unacknowledged(socket)?.into());
        }
        application.advance(now);
        write(socket, &mut application, flow);
        if application.closes() {
            // An error says that the connection has ended.
            let _ = shutdown(socket, Shutdown::Write);
        }
        if !finished && application.is_finished() && unacknowledged(socket)? == 0 {
            finished = true;
            flow.finish(host);
        }
        let expected = application.expected();
        if mark.replace(expected) != Some(expected) {
            // Reading earlier would open the window and send an ACK.
            set_receive_low_water_mark(socket, expected).map_err(NetError::system("set up a socket"))?;
        }
        let mut awaited = PollFlags::empty();
        awaited.set(PollFlags::IN, reads);
        awaited.set(PollFlags::OUT, application.waiting() > 0);
        let due = application.due().map_or(LOOK, |due| due.since(clock.now()).min(LOOK));
        let ready = wait(socket.as_fd(), awaited, due).map_err(system("wait for"))?;
        if reads && !ready.is_empty() {
            reads = read(socket, &mut buffer, &mut application, flow, clock);
        } else if ready.intersects(PollFlags::HUP | PollFlags::ERR) {
            if error_of(socket).is_err() {
                flow.give_up();
            }
            // Both sides have closed: poll(2) would return at once every time.
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Writes as much as the socket takes.
fn write(socket: &OwnedFd, application: &mut Application, flow: &FlowRun) {
    while application.waiting() > 0 {
        let len = application.waiting().min(ZEROS.len() as u64) as usize;
        match send(socket, &ZEROS[..len], SendFlags::NOSIGNAL) {
            Ok(count) => application.wrote(count as u64),
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(_) => return flow.give_up(),
        }
    }
}

/// Reads all there is. Returns whether more may come.
fn read(socket: &OwnedFd, buffer: &mut [u8], application: &mut Application, flow: &FlowRun, clock: Clock) -> bool {
    loop {
        match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => {
                application.ended();
                return false;
            }
            Ok((count, _)) => {
                application.read(clock.now(), count as u64);
            }
            Err(Errno::AGAIN | Errno::INTR) => return true,
            Err(_) => {
                flow.give_up();
                return false;
            }
        }
    }
}

/// Bytes of sequence space written and not acknowledged.
fn unacknowledged(socket: &OwnedFd) -> Result<u32, NetError> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ, which is TIOCOUTQ (tcp(7)), writes an int, which lives until the call returns.
    let asked = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    match asked {
        0 => Ok(bytes.unsigned_abs()),
        _ => Err(NetError::system("ask a socket")(io::Error::last_os_error())),
    }
}

/// Makes the connection end with a reset when its socket is closed, so that it sends nothing more.
fn abandon(socket: &OwnedFd) {
    // If this fails, the connection ends later, and the meter ignores its packets.
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}
