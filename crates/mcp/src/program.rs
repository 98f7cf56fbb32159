//! The command line of `recoup mcp`: the program `recoup-mcp`.

use crate::root::Root;
use crate::server::{Limits, Server};
use clap::Parser;
use recoup::program::{OutputArgs, parse};
use recoup::{Failure, console};
use recoup_support::quantity::{parse_duration, parse_size};
use rmcp::ServiceExt;
use rmcp::service::QuitReason;
use rmcp::transport::stdio;
use std::ffi::OsString;
use std::io::{IsTerminal, stdin};
use std::path::PathBuf;
use std::time::Duration;

const HELP: &str = "\
An assistant starts this program and asks it about captures, by JSON-RPC on standard input and
output. Register it with a configuration such as this one, which most clients of the protocol take:

  {
    \"mcpServers\": {
      \"recoup\": {
        \"command\": \"recoup\",
        \"args\": [\"mcp\", \"--root\", \"/home/you/captures\"]
      }
    }
  }

--root is the only folder whose files are read. Captures are named relative to it; a path or a
symbolic link that leads out of it is refused. Nothing is written, and nothing is sent over a
network. What a tool answers goes to the assistant, and so to its provider: addresses, ports, times
and sizes, never payload. `recoup anonymize` makes captures without addresses. docs/mcp.md describes
the tools, with answers.

The program ends when standard input does. Exit status: 0 ended; 2 wrong use.";

/// The smallest answer that holds what cannot be left out.
const LEAST_ANSWER: u64 = 16_000;

/// Let an assistant ask about captures: a server of the Model Context Protocol over standard input and output
#[derive(Parser)]
#[command(name = "recoup mcp", bin_name = "recoup mcp", version, after_help = HELP)]
struct Args {
    /// Read captures in this folder and below it, and nothing else
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Cut a call that takes longer than this
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    timeout: Duration,
    /// The most bytes of an answer's text and document together, from 16kB on; a call says what it left out. A picture may have
    /// 1 MB
    #[arg(long, value_name = "SIZE", default_value = "60kB", value_parser = answer_size)]
    max_answer: usize,
    #[command(flatten)]
    output: OutputArgs,
}

fn timeout(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    let range = Duration::from_millis(1)..=Duration::from_secs(24 * 3600);
    range.contains(&time).then_some(time).ok_or_else(|| "expected a time from 1ms to 24h".into())
}

fn answer_size(text: &str) -> Result<usize, String> {
    let size = parse_size(text)?;
    let range = LEAST_ANSWER..=100_000_000;
    let size = range.contains(&size).then_some(size).ok_or("expected a size from 16kB to 100MB")?;
    usize::try_from(size).map_err(|e| e.to_string())
}

/// Runs the server until standard input ends, and returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Args = match parse(arguments) {
        Ok(args) => args,
        Err(status) => return status,
    };
    args.output.apply();
    serve(&args).map_or_else(Failure::exit, |()| 0)
}

fn serve(args: &Args) -> Result<(), Failure> {
    let root =
        Root::open(&args.root).map_err(|why| Failure::Wrong(format!("--root {}: {why}", args.root.display())))?;
    if stdin().is_terminal() {
        console::note(
            "waiting for an assistant's requests on standard input; `recoup mcp --help` says how to register it",
        );
    }
    let server = Server::new(root, Limits { time: args.timeout, bytes: args.max_answer });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        // An end of input before the first request is no error.
        let Ok(running) = server.serve(stdio()).await else {
            return Ok(());
        };
        match running.waiting().await {
            Ok(QuitReason::JoinError(e)) | Err(e) => Err(Failure::Wrong(format!("the server failed: {e}"))),
            Ok(_) => Ok(()),
        }
    });
    // A call may still be at work, and a read of standard input may still wait.
    runtime.shutdown_background();
    result
}
