//! Ends connections on which nothing moves: clients that neither read a response nor send a request's body.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream whose reads and writes fail when no byte moved either way for some time.
pub struct Patient<S> {
    stream: S,
    patience: Duration,
    /// When a byte moved last.
    moved: Instant,
    /// Runs out no later than the patience. It is set again only when it has run out, because that is rarer.
    alarm: Pin<Box<Sleep>>,
}

impl<S> Patient<S> {
    pub fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, moved: Instant::now(), alarm: Box::pin(sleep(patience)) }
    }

    /// What became of a read or write, or an error if it has waited too long. `moves`: whether it moved bytes.
    fn check<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
        moves: impl FnOnce(&T) -> bool,
    ) -> Poll<io::Result<T>> {
        match &outcome {
            Poll::Ready(Ok(done)) if moves(done) => self.moved = Instant::now(),
            Poll::Ready(_) => {}
            Poll::Pending => {
                while self.alarm.as_mut().poll(context).is_ready() {
                    let deadline = self.moved + self.patience;
                    if deadline <= Instant::now() {
                        return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                    }
                    self.alarm.as_mut().reset(deadline);
                }
            }
        }
        outcome
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        let outcome = Pin::new(&mut this.stream).poll_read(context, into);
        this.check(context, outcome, |()| into.filled().len() > before)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.check(context, outcome, |written| *written > 0)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_write_vectored(context, parts);
        this.check(context, outcome, |written| *written > 0)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_flush(context);
        this.check(context, outcome, |()| false)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let outcome = Pin::new(&mut this.stream).poll_shutdown(context);
        this.check(context, outcome, |()| false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test);
    }

    #[test]
    fn a_peer_that_sends_nothing_is_given_up() {
        run(async {
            let (ours, _theirs) = duplex(16);
            let mut stream = Patient::new(ours, Duration::from_millis(50));
            let begin = Instant::now();
            let error = stream.read(&mut [0]).await.expect_err("nothing comes");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(begin.elapsed() >= Duration::from_millis(50), "{:?}", begin.elapsed());
        });
    }

    #[test]
    fn a_peer_that_reads_nothing_is_given_up() {
        run(async {
            let (ours, _theirs) = duplex(16);
            let mut stream = Patient::new(ours, Duration::from_millis(50));
            let error = stream.write_all(&[0; 17]).await.expect_err("it does not fit");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }

    #[test]
    fn bytes_either_way_prolong_the_patience() {
        run(async {
            let (ours, mut theirs) = duplex(16);
            let mut stream = Patient::new(ours, Duration::from_millis(100));
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_millis(60)).await;
                stream.write_all(b"x").await.expect("it fits");
                let read = tokio::time::timeout(Duration::from_millis(10), stream.read(&mut [0])).await;
                assert!(read.is_err(), "{read:?}");
            }
            theirs.write_all(b"y").await.expect("it fits");
            assert_eq!(stream.read(&mut [0]).await.expect("a byte"), 1);
        });
    }
}
