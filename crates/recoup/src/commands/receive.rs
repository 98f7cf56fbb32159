//! `recoup receive`.

use crate::commands::transfer::{HostArgs, Tally, Transfer};
use crate::output::{OUTPUT, create_file, print};
use crate::{Failure, console};
use recoup_stack::host::{ConnectionId, HostError, Read, describe};
use recoup_support::output_file::{Files, OutputFile};
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

A line for each stream goes to standard output, or to standard error with --output -. With --once or
--output the program ends after one stream, else when interrupted. This stream is the first that
sends a byte: clients that connect and close, such as port scanners, do not count. With --from it is
the first of that client, which may be empty. The bytes of all other streams are discarded. FILE
appears when the stream is whole; if it breaks off, FILE stays as it was, and the exit status is 2.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    host: HostArgs,
    /// TCP port to listen at
    #[arg(long, value_name = "P", default_value_t = 5001, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Write the bytes of one stream to this file; - for standard output [default: discard them]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Stop after one stream
    #[arg(long)]
    once: bool,
    /// With --output or --once: take the stream of the client with this address
    #[arg(long, value_name = "ADDR")]
    from: Option<IpAddr>,
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
    fn open(files: &mut Files, path: Option<&Path>) -> Result<Self, Failure> {
        Ok(match path {
            None => Self::Nowhere,
            Some(path) if path == Path::new("-") => {
                let kind = io::stdout().as_fd().try_clone_to_owned();
                let kind = kind.and_then(|fd| File::from(fd).metadata());
                let regular = kind.is_ok_and(|kind| kind.is_file());
                Self::Stdout { regular }
            }
            Some(path) => Self::File(Box::new(create_file(files, OUTPUT, path)?)),
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
    /// Whether there may be more to read.
    readable: bool,
}

/// What a stream is to the one that is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It is the one.
    Chosen,
    /// It is the one once it brings a byte.
    Candidate,
    Other,
}

struct Receiver {
    transfer: Transfer,
    output: Output,
    streams: HashMap<ConnectionId, Stream>,
    /// Those with something to read, in the order in which it came.
    readable: Vec<ConnectionId>,
    /// Whether one stream is asked for, after which the program ends.
    once: bool,
    /// The address of that stream's client.
    from: Option<IpAddr>,
    /// That stream.
    chosen: Option<ConnectionId>,
    /// Whether it was received, whole.
    is_done: bool,
    chunk: Vec<u8>,
}

/// Receives streams.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let once = args.once || args.output.is_some();
    if args.from.is_some() && !once {
        return Err(Failure::Wrong("--from: expected beside --output or --once".into()));
    }
    let mut files = Files::default();
    let output = Output::open(&mut files, args.output.as_deref())?;
    let mut transfer = args.host.open(&mut files)?;
    let any: [IpAddr; 2] = [[0; 4].into(), [0; 16].into()];
    for address in any {
        transfer.driver.host.listen(SocketAddr::new(address, args.port))?;
    }
    let to: Vec<String> = transfer.addresses.iter().map(|ip| SocketAddr::new(*ip, args.port).to_string()).collect();
    console::status(format_args!("listening on {}", to.join(" and ")));
    let chunk = vec![0; output.chunk()];
    let mut receiver = Receiver {
        transfer,
        output,
        streams: HashMap::new(),
        readable: Vec::new(),
        once,
        from: args.from,
        chosen: None,
        is_done: false,
        chunk,
    };
    while !receiver.is_done {
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
        // Streams are read at once, but for one whose bytes wait for the output.
        let stdout = io::stdout();
        let waits_for = (!self.readable.is_empty()).then(|| (stdout.as_fd(), PollFlags::OUT));
        let mut ready = self.transfer.turn(IDLE, waits_for)?;
        while let Some(event) = self.transfer.driver.host.next_event() {
            let id = event.connection;
            if event.opened {
                let host = &mut self.transfer.driver.host;
                if let Some(listener) = host.listener(id) {
                    // What is returned has been announced.
                    let _ = host.accept(listener);
                }
                let tally = Tally::begin(self.transfer.driver.now(), None);
                self.streams.insert(id, Stream { tally, readable: false });
            }
            let is_new = event.opened || event.readable || event.closed.is_some();
            if let Some(stream) = self.streams.get_mut(&id).filter(|stream| is_new && !stream.readable) {
                stream.readable = true;
                self.readable.push(id);
            }
        }
        for id in std::mem::take(&mut self.readable) {
            let waits = self.output.is_slow() && self.role(id) != Role::Other;
            match waits {
                false => self.read(id, u32::MAX)?,
                // A slow output gets one chunk each time it is ready.
                true if std::mem::take(&mut ready) => self.read(id, 1)?,
                true => {}
            }
            if self.streams.get(&id).is_some_and(|stream| stream.readable) {
                self.readable.push(id);
            }
        }
        Ok(())
    }

    fn role(&self, id: ConnectionId) -> Role {
        let path = self.transfer.driver.host.path(id);
        let is_named = self.from.is_none_or(|from| path.is_some_and(|path| path.dst.ip() == from));
        match self.chosen {
            Some(chosen) if chosen == id => Role::Chosen,
            None if self.once && is_named => Role::Candidate,
            _ => Role::Other,
        }
    }

    /// Reads the data that has arrived, at most `chunks` chunks of it.
    fn read(&mut self, id: ConnectionId, chunks: u32) -> Result<(), Failure> {
        let now = self.transfer.driver.now();
        for _ in 0..chunks {
            let role = self.role(id);
            let Some(stream) = self.streams.get_mut(&id) else {
                return Ok(());
            };
            match self.transfer.driver.host.read(now, id, &mut self.chunk) {
                Ok(Read::Bytes(count)) => {
                    let bytes = &self.chunk[..count];
                    stream.tally.add(bytes);
                    if role != Role::Other {
                        self.chosen = Some(id);
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
        let role = self.role(id);
        let driver = &mut self.transfer.driver;
        let now = driver.now();
        let counters = driver.host.counters(id);
        let peer = driver.host.path(id).map(|path| path.dst.to_string());
        let Some(stream) = self.streams.remove(&id) else {
            return Ok(());
        };
        // Fails if the connection is closed already.
        let _ = driver.host.release(now, id);
        let peer = peer.unwrap_or_default();
        let verb = format!("received from {peer}:");
        let line = stream.tally.report(now, &verb, counters);
        match self.output {
            Output::Stdout { .. } => console::plain(line.trim_end()),
            _ => print(&line)?,
        }
        if let Some(HostError::Ended(how)) = error {
            let line = format!("the stream from {peer} is not whole: {}", describe(how));
            if role == Role::Chosen {
                return Err(Failure::Wrong(line));
            }
            console::note(line);
        } else if role == Role::Chosen || role == Role::Candidate && self.from.is_some() {
            self.is_done = true;
        } else if role == Role::Candidate {
            console::note(format_args!("{peer} sent nothing: still waiting for a stream"));
        }
        Ok(())
    }
}
