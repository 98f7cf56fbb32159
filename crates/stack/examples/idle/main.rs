//! The memory of idle connections: `cargo run --release -p recoup-stack --example idle [CONNECTIONS]`.
//!
//! Each case opens many connections, which exchange a request of 100 and an answer of 200 bytes or nothing, and rest. What a
//! connection takes is the growth of the process's resident memory (VmRSS), or, where the system does not tell, of what was
//! allocated. Each case runs in a process of its own, because memory that was freed stays with a process.

mod cases;
mod peer;

use cap::Cap;
use std::{alloc::System, env, error::Error, process::Command};

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

/// Resident memory in bytes.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: usize = line.trim().trim_end_matches("kB").trim_end().parse().ok()?;
    Some(kib << 10)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let connections: u32 = arguments.next().map_or(Ok(100_000), |count| count.parse())?;
    if let Some(name) = arguments.next() {
        let case = cases::ALL.iter().find(|case| case.name == name).ok_or("no such case")?;
        let (allocated, before) = (ALLOCATED.allocated(), resident());
        let kept = (case.open)(connections)?;
        let each = |bytes: usize| bytes as f64 / f64::from(connections);
        let memory = resident().zip(before).map(|(after, before)| each(after.saturating_sub(before)));
        let resident = memory.map_or("unknown".into(), |bytes| format!("{bytes:.0}"));
        println!("{name:<36} {resident:>8} {:>9.0}", each(ALLOCATED.allocated() - allocated));
        drop(kept);
        return Ok(());
    }
    println!("bytes per connection of {connections:<11} resident allocated");
    for case in cases::ALL {
        let status = Command::new(env::current_exe()?).args([&connections.to_string(), case.name]).status()?;
        if !status.success() {
            return Err(case.name.into());
        }
    }
    Ok(())
}
