//! Socket options.

use super::*;
use libc::{IPPROTO_TCP, SOL_SOCKET};
use recoup_recovery::congestion::Algorithm;

/// `SO_MEMINFO`, which the libc crate does not name everywhere.
const SO_MEMINFO: i32 = 55;
/// How many numbers `SO_MEMINFO` returns.
const MEMINFO_LEN: usize = 9;
const TCP_INQ: i32 = 36;
/// `TCP_CC_INFO`, and the largest size of its value in bytes.
const TCP_CC_INFO: i32 = 26;
const CC_INFO_LEN: usize = 20;
/// The longest name of a congestion control, with its terminating zero.
const CONGESTION_NAME_LEN: usize = 16;

/// Socket options that are not stored elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    /// Options that are only stored and returned.
    plain: BTreeMap<(i32, i32), i32>,
    /// `SO_LINGER`, in seconds, if on.
    linger: Option<i32>,
    pub inq: bool,
    /// `TCP_CORK`.
    pub corked: bool,
}

impl Options {
    /// Whether `close` resets the connection.
    pub fn lingers_not_at_all(&self) -> bool {
        self.linger == Some(0)
    }
}

impl Sockets {
    /// `setsockopt`.
    pub fn set_option(&mut self, fd: Fd, level: i32, name: i32, value: &[u8]) -> Outcome<()> {
        self.socket_of(fd)?;
        if (level, name) == (IPPROTO_TCP, libc::TCP_CONGESTION) {
            return self.set_congestion(fd, value);
        }
        if (level, name) == (SOL_SOCKET, libc::SO_LINGER) {
            let (on, seconds) = (number(value)?, number(value.get(4..).unwrap_or_default())?);
            self.socket_mut(fd)?.options.linger = (on != 0).then_some(seconds);
            return Ok(());
        }
        let number = number(value)?;
        match level {
            SOL_SOCKET => self.set_socket_option(fd, name, number)?,
            IPPROTO_TCP => self.set_tcp_option(fd, name, number)?,
            _ => {}
        }
        let plain = &mut self.socket_mut(fd)?.options.plain;
        plain.insert((level, name), number);
        self.apply_options(fd)?;
        self.settle();
        Ok(())
    }

    fn set_congestion(&mut self, fd: Fd, value: &[u8]) -> Outcome<()> {
        let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
        let name = std::str::from_utf8(&value[..end]).map_err(|_| Errno::NO_ENTRY)?;
        let socket = self.socket_mut(fd)?;
        let known = Algorithm::named(name);
        socket.tcp.endpoint.mechanisms.congestion = known.ok_or(Errno::NO_ENTRY)?;
        self.apply_options(fd)
    }

    fn set_socket_option(&mut self, fd: Fd, name: i32, number: i32) -> Outcome<()> {
        let bytes = u64::try_from(number).unwrap_or(0);
        let tcp = &mut self.socket_mut(fd)?.tcp;
        match name {
            // The kernel doubles the requested size, to include its own overhead.
            libc::SO_SNDBUF => tcp.send_buffer = (2 * bytes).max(4608),
            libc::SO_RCVBUF => tcp.endpoint.receive_buffer = bytes.max(1152),
            _ => {}
        }
        Ok(())
    }

    fn set_tcp_option(&mut self, fd: Fd, name: i32, number: i32) -> Outcome<()> {
        let unsigned = u64::try_from(number).unwrap_or(u64::from(u32::MAX));
        let (now, on) = (self.now, number != 0);
        let connection = self.connection_of(fd)?;
        let socket = self.socket_mut(fd)?;
        match name {
            libc::TCP_MAXSEG => {
                let mss = u16::try_from(number).ok().filter(|mss| (88..=32_767).contains(mss));
                socket.tcp.max_segment = Some(mss.ok_or(Errno::INVALID)?);
            }
            libc::TCP_CORK => {
                socket.options.corked = on;
                if let Some(id) = connection {
                    self.host.set_cork(now, id, on)?;
                }
            }
            libc::TCP_NODELAY => {
                socket.tcp.endpoint.nagle = !on;
                if let Some(id) = connection.filter(|_| on) {
                    self.host.set_nagle(id, false)?;
                    self.host.push(now, id)?;
                }
            }
            libc::TCP_NOTSENT_LOWAT => socket.tcp.unsent = unsigned,
            libc::TCP_USER_TIMEOUT => {
                let set = (number > 0).then(|| Duration::from_millis(unsigned));
                let timeout = set.unwrap_or(socket.default_user_timeout);
                socket.tcp.endpoint.mechanisms.user_timeout = timeout;
                if let Some(id) = connection {
                    self.host.set_user_timeout(id, timeout)?;
                }
            }
            TCP_INQ => socket.options.inq = on,
            _ => {}
        }
        Ok(())
    }

    /// Has the host heed a socket's options from now on.
    pub(super) fn apply_options(&mut self, fd: Fd) -> Outcome<()> {
        let Socket { role, tcp, .. } = self.socket_of(fd)?;
        let (role, tcp) = (role.clone(), *tcp);
        match role {
            Role::Fresh => {}
            Role::Listener(ids) => ids.iter().try_for_each(|id| self.host.set_listener_options(*id, &tcp))?,
            Role::Connected(id) => {
                self.host.set_limits(id, tcp.send_limits())?;
                self.host.set_nagle(id, tcp.endpoint.nagle)?;
            }
        }
        Ok(())
    }

    /// `getsockopt`: the full value, which the caller may truncate.
    pub fn option(&mut self, fd: Fd, level: i32, name: i32) -> Outcome<Vec<u8>> {
        let now = self.now;
        let number = |n: i32| Ok(n.to_ne_bytes().to_vec());
        match (level, name) {
            (IPPROTO_TCP, libc::TCP_INFO) => {
                let tcp = self.tcp_of(fd)?;
                Ok(tcp.map(|tcp| crate::tcp_info::bytes(&tcp.endpoint().info(now))).unwrap_or_default())
            }
            (IPPROTO_TCP, TCP_CC_INFO) => Ok(vec![0; CC_INFO_LEN]),
            (SOL_SOCKET, SO_MEMINFO) => self.memory(fd),
            (IPPROTO_TCP, libc::TCP_CONGESTION) => {
                let mechanisms = self.socket_of(fd)?.tcp.endpoint.mechanisms;
                let mut bytes = mechanisms.congestion.name().as_bytes().to_vec();
                bytes.resize(CONGESTION_NAME_LEN, 0);
                Ok(bytes)
            }
            (IPPROTO_TCP, libc::TCP_MAXSEG) => {
                let set = self.socket_of(fd)?.options.plain.get(&(level, name));
                let before = set.copied().unwrap_or(536);
                number(match self.tcp_of(fd)? {
                    Some(tcp) => tcp.endpoint().info(now).snd_mss.cast_signed(),
                    None => before,
                })
            }
            (SOL_SOCKET, libc::SO_ERROR) => {
                let error = self.take_error(fd)?;
                number(error.map_or(0, |error| error.0))
            }
            (SOL_SOCKET, libc::SO_SNDBUF) => {
                let bytes = self.socket_of(fd)?.tcp.send_buffer;
                number(i32::try_from(bytes).unwrap_or(i32::MAX))
            }
            (SOL_SOCKET, libc::SO_RCVBUF) => {
                let bytes = 2 * self.socket_of(fd)?.tcp.endpoint.receive_buffer;
                number(i32::try_from(bytes).unwrap_or(i32::MAX))
            }
            (SOL_SOCKET, libc::SO_TYPE) => number(libc::SOCK_STREAM),
            (SOL_SOCKET, libc::SO_LINGER) => {
                let linger = self.socket_of(fd)?.options.linger;
                let pair = [i32::from(linger.is_some()), linger.unwrap_or(0)];
                Ok(pair.iter().flat_map(|n| n.to_ne_bytes()).collect())
            }
            _ => {
                let plain = &self.socket_of(fd)?.options.plain;
                number(plain.get(&(level, name)).copied().unwrap_or(0))
            }
        }
    }

    /// Memory use for `SO_MEMINFO`: receive and send buffer limits; all other numbers are zero.
    fn memory(&self, fd: Fd) -> Outcome<Vec<u8>> {
        let socket = self.socket_of(fd)?;
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut numbers = [0u32; MEMINFO_LEN];
        numbers[1] = narrow(2 * socket.tcp.endpoint.receive_buffer);
        numbers[3] = narrow(socket.tcp.send_buffer);
        Ok(numbers.iter().flat_map(|n| n.to_ne_bytes()).collect())
    }
}

/// The number in an option's value.
fn number(value: &[u8]) -> Outcome<i32> {
    match value {
        [] => Err(Errno::INVALID),
        [byte] => Ok(i32::from(*byte)), // IP options may be single bytes
        _ => {
            let bytes = value.first_chunk::<4>().ok_or(Errno::INVALID)?;
            Ok(i32::from_ne_bytes(*bytes))
        }
    }
}
