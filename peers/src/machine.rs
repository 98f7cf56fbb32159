//! The machine on which the measurements were made.

use procfs::{CpuInfo, Current};
use std::fs;

/// Kernel, processor and date, in one line.
pub fn describe() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease");
    let kernel = kernel.unwrap_or_else(|_| "unknown".into());
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let model = CpuInfo::current().ok();
    let model = model.as_ref().and_then(|info| info.model_name(0)).unwrap_or("unknown processor");
    format!("Linux {}, {processors} × {model}", kernel.trim())
}
