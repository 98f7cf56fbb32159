//! Takes bytes from one end to the other, with back-pressure: nothing is read while the other end takes nothing. An idle
//! connection has no buffer.

use recoup_stack::TcpStream as StackStream;
use rustix::net::{Shutdown, shutdown};
use std::cell::RefCell;
use std::future::Future;
use std::io::{self, ErrorKind};
use tokio::net::TcpStream as HostStream;

/// Bytes read at once.
const CHUNK: usize = 64 << 10;

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; CHUNK]);
}

/// One end of a connection.
pub(crate) trait End {
    fn readable(&self) -> impl Future<Output = io::Result<()>> + Send;
    fn try_read(&self, into: &mut [u8]) -> io::Result<usize>;
    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send;
    fn try_write(&self, bytes: &[u8]) -> io::Result<usize>;
    /// No more is written.
    fn close(&self) -> io::Result<()>;
}

impl End for StackStream {
    async fn readable(&self) -> io::Result<()> {
        Self::readable(self).await
    }

    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        Self::try_read(self, into)
    }

    async fn writable(&self) -> io::Result<()> {
        Self::writable(self).await
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Self::try_write(self, bytes)
    }

    fn close(&self) -> io::Result<()> {
        Self::close(self)
    }
}

impl End for HostStream {
    async fn readable(&self) -> io::Result<()> {
        Self::readable(self).await
    }

    fn try_read(&self, into: &mut [u8]) -> io::Result<usize> {
        Self::try_read(self, into)
    }

    async fn writable(&self) -> io::Result<()> {
        Self::writable(self).await
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        Self::try_write(self, bytes)
    }

    fn close(&self) -> io::Result<()> {
        // Without a connection there is nothing left to close.
        match shutdown(self, Shutdown::Write) {
            Err(rustix::io::Errno::NOTCONN) => Ok(()),
            done => Ok(done?),
        }
    }
}

/// Which end failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Reading,
    Writing,
}

/// What was read at once.
enum Taken {
    /// These bytes were not written.
    Rest(Vec<u8>),
    Nothing,
    End,
}

/// Hears of the bytes that one direction takes.
pub(crate) trait Watch {
    /// Bytes arrived.
    fn read(&self, bytes: usize);
    /// Bytes were handed on.
    fn written(&self, bytes: usize);
    /// Waits until as much may be written as was.
    fn pause(&self) -> impl Future<Output = ()> + Send;
}

/// Takes everything from one end to the other, and closes that.
pub(crate) async fn pump(from: &impl End, to: &impl End, watch: &impl Watch) -> Result<(), Broken> {
    loop {
        from.readable().await.map_err(|_| Broken::Reading)?;
        let rest = match take(from, to, watch)? {
            Taken::Rest(rest) => rest,
            Taken::Nothing => continue,
            Taken::End => return to.close().map_err(|_| Broken::Writing),
        };
        let mut at = 0;
        while at < rest.len() {
            to.writable().await.map_err(|_| Broken::Writing)?;
            at += write(to, &rest[at..], watch)?;
        }
        watch.pause().await;
    }
}

fn take(from: &impl End, to: &impl End, watch: &impl Watch) -> Result<Taken, Broken> {
    BUFFER.with_borrow_mut(|buffer| {
        let count = match from.try_read(buffer) {
            Ok(0) => return Ok(Taken::End),
            Ok(count) => count,
            Err(e) if is_for_later(&e) => return Ok(Taken::Nothing),
            Err(_) => return Err(Broken::Reading),
        };
        watch.read(count);
        let written = write(to, &buffer[..count], watch)?;
        Ok(Taken::Rest(buffer[written..count].to_vec()))
    })
}

fn write(to: &impl End, bytes: &[u8], watch: &impl Watch) -> Result<usize, Broken> {
    match to.try_write(bytes) {
        Ok(written) => {
            watch.written(written);
            Ok(written)
        }
        Err(e) if is_for_later(&e) => Ok(0),
        Err(_) => Err(Broken::Writing),
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
