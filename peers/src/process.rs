//! A sender's process.

use crate::{
    network::Network,
    senders::{Failed, Options, Sender},
};
use procfs::process::Process;
use std::{
    io::{BufRead, BufReader, Read},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::mpsc::channel,
    thread,
    time::Duration,
};

/// How long a sender may take to accept connections.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running sender. It is killed when this is dropped.
#[derive(Debug)]
pub struct SenderProcess {
    child: Child,
    /// Where it accepts connections.
    pub address: SocketAddr,
}

impl SenderProcess {
    /// Starts a sender in its namespace and waits until it accepts connections.
    pub fn start(network: &Network, sender: Sender, options: Options) -> Result<Self, Failed> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["send", &sender.name(), "--mtu", &options.mtu.to_string()]);
        command.args(options.offloads.then_some("--offloads"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The system call of `Command::spawn` runs on the namespace's thread.
        let mut child = network.run_at_sender(move || command.spawn())??;
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            unreachable!("both are pipes");
        };
        let (report, reported) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            // Without a reader nobody waits for it.
            let _ = BufReader::new(output).read_line(&mut line);
            let _ = report.send(line);
        });
        let line = reported.recv_timeout(PATIENCE).unwrap_or_default();
        let address = line.trim().strip_prefix("listening ");
        match address.and_then(|address| address.parse().ok()) {
            Some(address) => {
                let address: SocketAddr = address;
                let ip = if address.ip().is_unspecified() { network.kernel() } else { address.ip() };
                let address = SocketAddr::new(ip, address.port());
                Ok(Self { child, address })
            }
            None => {
                let _ = child.kill();
                let _ = child.wait();
                let mut said = String::new();
                let _ = BufReader::new(errors).read_to_string(&mut said);
                let said = said.trim().trim_start_matches("recoup-peers: ");
                Err(match said.is_empty() {
                    true => format!("it accepts no connections within {} s", PATIENCE.as_secs()),
                    false => said.lines().last().unwrap_or(said).to_owned(),
                }
                .into())
            }
        }
    }

    fn process(&self) -> Result<Process, Failed> {
        Ok(Process::new(i32::try_from(self.child.id())?)?)
    }

    /// The processor time that it has taken, with what the kernel did in its system calls (s).
    pub fn processor_time(&self) -> Result<f64, Failed> {
        let stat = self.process()?.stat()?;
        Ok((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
    }

    /// Its memory (bytes, resident).
    pub fn memory(&self) -> Result<u64, Failed> {
        let resident = self.process()?.status()?.vmrss;
        Ok(resident.ok_or("the kernel does not say how much memory the process has")? * 1024)
    }
}

impl Drop for SenderProcess {
    fn drop(&mut self) {
        // It has ended where this fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
