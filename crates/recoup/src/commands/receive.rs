//! `recoup receive`.

use crate::commands::transfer::{HostArgs, Tally, Transfer};
use crate::output::print;
use crate::{Failure, console};
use recoup_net::host::{ConnectionId, HostError, Read, describe};
use recoup_support::output_file::OutputFile;
use rustix::event::PollFlags;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

const HELP: &str = "\
Creates a TUN device in this network namespace (needs root). Recoup's TCP is the host behind the
device: it listens at the address that is printed, and takes part in each connection instead of this
machine's kernel.

A line for each stream goes to standard output, or to standard error with --output -. The program
ends after the first stream with --once or --output, else when interrupted.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    host: HostArgs,
    /// TCP port to listen at
    #[arg(long, value_name = "P", default_value_t = 5001, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Write the bytes of the first stream to this file; - for standard output [default: discard them]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Stop after one stream
    #[arg(long)]
    once: bool,
}

/// The longest time the loop waits for a packet.
const IDLE: Duration = Duration::from_secs(3600);

/// Bytes read from a connection at once.
const CHUNK: usize = 256 << 10;

/// Bytes that a ready pipe takes without blocking the writer (PIPE_BUF, pipe(7)).
const PIPE_CHUNK: usize = 4096;

/// The destination of received bytes.
enum Output {
    Nowhere,
    File(Box<OutputFile>),
    /// Standard output; a pipe or terminal is written to when it is ready.
    Stdout {
        regular: bool,
    },
}

impl Output {
    fn open(path: Option<&Path>) -> Result<Self, Failure> {
        Ok(match path {
            None => Self::Nowhere,
            Some(path) if path == Path::new("-") => {
                let kind = io::stdout().as_fd().try_clone_to_owned();
                let kind = kind.and_then(|fd| File::from(fd).metadata());
                let regular = kind.is_ok_and(|kind| kind.is_file());
                Self::Stdout { regular }
            }
            Some(path) => Self::File(Box::new(OutputFile::create(path)?)),
        })
    }

    /// Bytes to write at once.
    const fn chunk(&self) -> usize {
        match self {
            Self::Stdout { regular: false } => PIPE_CHUNK,
            _ => CHUNK,
        }
    }

    const fn is_slow(&self) -> bool {
        matches!(self, Self::Stdout { regular: false })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match self {
            Self::Nowhere => Ok(()),
            Self::File(file) => file.write_all(bytes),
            Self::Stdout { .. } => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
        };
        written.map_err(|e| Failure::Wrong(format!("cannot write what was received: {e}")))
    }
}

/// A stream being received.
struct Stream {
    tally: Tally,
    /// Whether its bytes go to the output.
    kept: bool,
    /// Whether there may be more to read.
    readable: bool,
}

struct Receiver {
    transfer: Transfer,
    output: Output,
    streams: HashMap<ConnectionId, Stream>,
    /// Streams begun so far.
    begun: u64,
    finished: u64,
    /// Whether the program ends after the first stream.
    once: bool,
    chunk: Vec<u8>,
}

/// Receives streams.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let output = Output::open(args.output.as_deref())?;
    let mut transfer = args.host.open()?;
    let any: [IpAddr; 2] = [[0; 4].into(), [0; 16].into()];
    for address in any {
        transfer.driver.host.listen(SocketAddr::new(address, args.port))?;
    }
    let addresses = transfer.driver.device().host_addresses();
    let to: Vec<String> = addresses.iter().map(|ip| SocketAddr::new(*ip, args.port).to_string()).collect();
    console::status(format_args!("listening on {}", to.join(" and ")));
    let chunk = vec![0; output.chunk()];
    let mut receiver = Receiver {
        transfer,
        output,
        streams: HashMap::new(),
        begun: 0,
        finished: 0,
        once: args.once || args.output.is_some(),
        chunk,
    };
    while !(receiver.once && receiver.finished > 0) {
        receiver.turn()?;
    }
    receiver.transfer.linger(Duration::from_millis(200), |host| host.connections() == 0)?;
    if let Output::File(file) = receiver.output {
        file.publish()?;
    }
    receiver.transfer.finish()
}

impl Receiver {
    fn turn(&mut self) -> Result<(), Failure> {
        let blocked = self.output.is_slow() && self.streams.values().any(|s| s.kept && s.readable);
        let stdout = io::stdout();
        let waits_for = blocked.then(|| (stdout.as_fd(), PollFlags::OUT));
        let mut ready = self.transfer.driver.turn_with(IDLE, waits_for)?;
        while let Some(event) = self.transfer.driver.host.next_event() {
            let id = event.connection;
            if event.opened {
                self.begin(id);
            }
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.readable |= event.readable || event.closed.is_some();
                if !(stream.kept && self.output.is_slow()) {
                    self.read(id, u32::MAX)?;
                }
            }
        }
        // A slow output gets one chunk each time it is ready.
        let mut kept = self.streams.iter().filter(|(_, s)| s.kept && s.readable);
        if self.output.is_slow()
            && let Some((id, _)) = kept.next()
            && std::mem::take(&mut ready)
        {
            let id = *id;
            self.read(id, 1)?;
        }
        Ok(())
    }

    fn begin(&mut self, id: ConnectionId) {
        let now = self.transfer.driver.now();
        let stream = Stream { tally: Tally::begin(now, None), kept: self.begun == 0, readable: true };
        self.begun += 1;
        self.streams.insert(id, stream);
    }

    /// Reads the data that has arrived, at most `chunks` chunks of it.
    fn read(&mut self, id: ConnectionId, chunks: u32) -> Result<(), Failure> {
        let now = self.transfer.driver.now();
        for _ in 0..chunks {
            let Some(stream) = self.streams.get_mut(&id) else {
                return Ok(());
            };
            match self.transfer.driver.host.read(now, id, &mut self.chunk) {
                Ok(Read::Bytes(count)) => {
                    let bytes = &self.chunk[..count];
                    stream.tally.add(bytes);
                    if stream.kept {
                        self.output.write(bytes)?;
                    }
                }
                Ok(Read::Nothing) => {
                    stream.readable = false;
                    return Ok(());
                }
                Ok(Read::End) => return self.end(id, None),
                Err(e) => return self.end(id, Some(e)),
            }
        }
        Ok(())
    }

    /// Reports a stream that is over.
    fn end(&mut self, id: ConnectionId, error: Option<HostError>) -> Result<(), Failure> {
        let driver = &mut self.transfer.driver;
        let now = driver.now();
        let counters = driver.host.counters(id);
        let peer = driver.host.path(id).map(|path| path.dst.to_string());
        let Some(stream) = self.streams.remove(&id) else {
            return Ok(());
        };
        // Fails if the connection is closed already.
        let _ = driver.host.release(now, id);
        self.finished += 1;
        let peer = peer.unwrap_or_default();
        let verb = format!("received from {peer}:");
        let line = stream.tally.report(now, &verb, counters);
        match self.output {
            Output::Stdout { .. } => eprint!("{line}"),
            _ => print(&line)?,
        }
        if let Some(HostError::Ended(how)) = error {
            let line = format!("the stream from {peer} is not whole: {}", describe(how));
            if self.once || (stream.kept && !matches!(self.output, Output::Nowhere)) {
                return Err(Failure::Wrong(line));
            }
            console::note(line);
        }
        Ok(())
    }
}
