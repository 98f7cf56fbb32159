//! Stacks under tokio.

use crate::{
    Config, OwnedReadHalf, OwnedWriteHalf, ReadHalf, Stack, TcpStream, WriteHalf,
    device::Device,
    runner::{Runner, Turn},
};
use std::{
    future::{Future, poll_fn},
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, sleep_until},
};

impl Stack {
    /// Starts a stack over `device`, as a task of the present runtime, whose timers must be enabled. They are exact to 1 ms.
    ///
    /// # Errors
    /// When there is no runtime, when an address or the device's MTU cannot be used, or when the system has no random
    /// numbers.
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn new<D: Device + Send + 'static>(device: D, config: Config) -> io::Result<Self> {
        let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        let (stack, runner) = Self::with_runner(device, config)?;
        runtime.spawn(run(runner));
        Ok(stack)
    }

    /// Starts stacks with the same addresses, each over a queue of one device and as a task of the present runtime; see
    /// [`group_with_runners`](Self::group_with_runners).
    ///
    /// # Errors
    /// As [`new`](Self::new).
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    pub fn group<D: Device + Send + 'static>(devices: Vec<D>, config: &Config) -> io::Result<Vec<Self>> {
        let runtime = tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
        let start = |(stack, runner)| {
            runtime.spawn(run(runner));
            stack
        };
        Ok(Self::group_with_runners(devices, config)?.into_iter().map(start).collect())
    }
}

/// Runs a stack until it is over.
pub async fn run<D: Device>(mut runner: Runner<D>) {
    let mut sleep = Box::pin(sleep_until(Instant::now()));
    poll_fn(|context| {
        loop {
            match runner.turn(context) {
                Turn::Over => return Poll::Ready(()),
                Turn::Again => {
                    // Others have their turn before it goes on.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Turn::Wait(None) => return Poll::Pending,
                Turn::Wait(Some(wait)) => {
                    sleep.as_mut().reset(Instant::now() + wait);
                    if sleep.as_mut().poll(context).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
    })
    .await;
}

fn read(stream: &TcpStream, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
    let read = stream.poll_read(context, buffer.initialize_unfilled());
    read.map_ok(|count| buffer.advance(count))
}

macro_rules! reads {
    ($($name:ty),*) => {$(
        impl AsyncRead for $name {
            fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
                read((*self).as_ref(), context, buffer)
            }
        }
    )*};
}

macro_rules! writes {
    ($($name:ty),*) => {$(
        impl AsyncWrite for $name {
            fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                (*self).as_ref().poll_write(context, bytes)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                slices: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                (*self).as_ref().poll_write_vectored(context, slices)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready((*self).as_ref().close())
            }
        }
    )*};
}

reads!(TcpStream, ReadHalf<'_>, OwnedReadHalf);
writes!(TcpStream, WriteHalf<'_>, OwnedWriteHalf);
