//! `recoup receive`.

use crate::commands::transfer::{HostArgs, Tally, end_of, lock};
use crate::output::{OUTPUT, create_file, print};
use crate::{Failure, console};
use recoup_stack::blocking::{TcpListener, TcpStream};
use recoup_stack::host::describe;
use recoup_support::output_file::{Files, OutputFile};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const HELP: &str = "\
Creates a TUN device in this network namespace (needs root). Recoup's TCP is the host behind the
device: it listens at the address that is printed, and takes part in each connection instead of this
machine's kernel. `recoup send` on the same machine reaches it: the device forwards by itself. What
is set for this is printed, and ends with the program.

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

/// Bytes read from a connection at once.
const CHUNK: usize = 256 << 10;

/// The stack of a thread that reads a stream, in bytes.
const THREAD: usize = 512 << 10;

/// How long late segments are answered in the end: twice the least RTO.
const LINGER: Duration = Duration::from_millis(400);

/// The destination of received bytes.
enum Output {
    Nowhere,
    File(Box<OutputFile>),
    Stdout,
}

impl Output {
    fn open(files: &mut Files, path: Option<&Path>) -> Result<Self, Failure> {
        Ok(match path {
            None => Self::Nowhere,
            Some(path) if path == Path::new("-") => Self::Stdout,
            Some(path) => Self::File(Box::new(create_file(files, OUTPUT, path)?)),
        })
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = match self {
            Self::Nowhere => Ok(()),
            Self::File(file) => file.write_all(bytes),
            Self::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
        };
        written.map_err(|e| Failure::Wrong(format!("cannot write what was received: {e}")))
    }
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

/// The stream that is asked for, once it is known.
#[derive(Default)]
struct Choice {
    /// The address of its client.
    chosen: Option<SocketAddr>,
    /// Whether it is over, so that nothing more is reported.
    is_over: bool,
}

/// What the threads share, each of which reads a stream.
struct Receiver {
    /// Held while the chosen stream waits for the output.
    output: Mutex<Output>,
    /// Whether reports go to standard error, because the bytes go to standard output.
    reports_beside: bool,
    /// Whether one stream is asked for, after which the program ends.
    once: bool,
    /// The address of that stream's client.
    from: Option<IpAddr>,
    choice: Mutex<Choice>,
    /// Ends the program.
    over: mpsc::Sender<Result<(), Failure>>,
}

/// Receives streams.
pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let once = args.once || args.output.is_some();
    if args.from.is_some() && !once {
        return Err(Failure::Wrong("--from: expected beside --output or --once".into()));
    }
    let mut files = Files::default();
    let output = Output::open(&mut files, args.output.as_deref())?;
    let transfer = args.host.open(&mut files)?;
    let (over, ends) = mpsc::channel();
    let receiver = Arc::new(Receiver {
        reports_beside: matches!(output, Output::Stdout),
        output: Mutex::new(output),
        once,
        from: args.from,
        choice: Mutex::default(),
        over,
    });
    let any: [IpAddr; 2] = [[0; 4].into(), [0; 16].into()];
    for address in any {
        let listener = TcpListener::bind(&transfer.stack, SocketAddr::new(address, args.port))?;
        let receiver = Arc::clone(&receiver);
        thread::Builder::new().name("accept".into()).spawn(move || receiver.accept(&listener))?;
    }
    let to: Vec<String> = transfer.addresses.iter().map(|ip| SocketAddr::new(*ip, args.port).to_string()).collect();
    transfer.begin(&format!("listening on {}", to.join(" and ")));
    // The receiver has a sender, so that there is an end.
    ends.recv().unwrap_or(Ok(()))?;
    transfer.stack.finish(LINGER);
    let output = std::mem::replace(&mut *lock(&receiver.output), Output::Nowhere);
    if let Output::File(file) = output {
        file.publish()?;
    }
    transfer.finish()
}

impl Receiver {
    /// Reads every stream that comes, each in a thread.
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        loop {
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(e) => return self.end_program(Err(e.into())),
            };
            let receiver = Arc::clone(&self);
            let read = move || {
                if let Err(failure) = receiver.read(stream, peer) {
                    receiver.end_program(Err(failure));
                }
            };
            let thread = thread::Builder::new().name("receive".into()).stack_size(THREAD);
            if let Err(e) = thread.spawn(read) {
                console::note(format_args!("the stream from {peer} was refused: cannot start a thread: {e}"));
            }
        }
    }

    fn end_program(&self, result: Result<(), Failure>) {
        // Only the first end counts.
        let _ = self.over.send(result);
    }

    fn role(&self, choice: &Choice, peer: SocketAddr) -> Role {
        let is_named = self.from.is_none_or(|from| peer.ip() == from);
        match choice.chosen {
            Some(chosen) if chosen == peer => Role::Chosen,
            None if self.once && is_named => Role::Candidate,
            _ => Role::Other,
        }
    }

    /// Reads a stream to its end, and reports it.
    fn read(&self, mut stream: TcpStream, peer: SocketAddr) -> Result<(), Failure> {
        let mut tally = Tally::begin(None);
        let mut chunk = vec![0; CHUNK];
        let error = loop {
            let bytes = match stream.read(&mut chunk) {
                Ok(0) => break None,
                Ok(count) => &chunk[..count],
                Err(e) => break Some(e),
            };
            tally.add(bytes);
            let mut choice = lock(&self.choice);
            if self.role(&choice, peer) != Role::Other {
                choice.chosen = Some(peer);
                drop(choice);
                lock(&self.output).write(bytes)?;
            }
        };
        let counters = stream.get_ref().counters().ok();
        drop(stream);
        let mut choice = lock(&self.choice);
        if choice.is_over {
            return Ok(());
        }
        let role = self.role(&choice, peer);
        let line = tally.report(&format!("received from {peer}:"), counters);
        match self.reports_beside {
            true => console::plain(line.trim_end()),
            false => print(&line)?,
        }
        if let Some(error) = error {
            let why = end_of(&error).map_or_else(|| error.to_string(), |how| describe(how).to_owned());
            let line = format!("the stream from {peer} is not whole: {why}");
            if role == Role::Chosen {
                return Err(Failure::Wrong(line));
            }
            console::note(line);
        } else if role == Role::Chosen || role == Role::Candidate && self.from.is_some() {
            choice.chosen = Some(peer);
            choice.is_over = true;
            self.end_program(Ok(()));
        } else if role == Role::Candidate {
            console::note(format_args!("{peer} sent nothing: still waiting for a stream"));
        }
        Ok(())
    }
}
