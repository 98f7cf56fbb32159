//! Analyzes captures in partitions, each step as a process of its own.
//!
//! ```text
//! partitions split FOLDER PARTITIONS CAPTURE…      prints nothing; FOLDER/*.split are the values
//! partitions plan FOLDER                           FOLDER/plan
//! partitions analyze FOLDER NUMBER…                FOLDER/NUMBER.analysis
//! partitions settle FOLDER                         rows as CSV, or the numbers to analyze again
//! ```

use recoup_captures::analysis::{AllRetransmissions, retransmissions_in};
use recoup_captures::partition::{
    CapturePlan, Decision, SplitFile, analyze_partition, from_bytes, plan, settle, split, to_bytes,
};
use recoup_trace::analyze::{ForeignFacts, PartitionAnalysis, Settings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [step, folder, rest @ ..] = &arguments[..] else {
        return Err("expected a step and a folder".into());
    };
    let folder = Path::new(folder);
    let settings = Settings { threads: 0, ..Settings::default() };
    match &**step {
        "split" => {
            let [partitions, captures @ ..] = rest else {
                return Err("expected a number of partitions, and captures".into());
            };
            for capture in captures {
                let file = split(capture.as_ref(), folder, partitions.parse()?, &settings)?;
                write(&file.record.with_extension("split"), &file)?;
            }
        }
        "plan" => {
            let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
            let files: Vec<PathBuf> = files.collect::<std::io::Result<_>>()?;
            let splits = files.iter().filter(|path| path.extension().is_some_and(|e| e == "split"));
            let splits = splits.map(|path| read(path)).collect::<Result<Vec<SplitFile>, _>>()?;
            write(&folder.join("plan"), &plan(&splits, &settings)?)?;
        }
        "analyze" => {
            let plan: CapturePlan = read(&folder.join("plan"))?;
            let facts: ForeignFacts = read(&folder.join("facts")).unwrap_or_default();
            let facts = Arc::new(facts);
            for number in rest {
                let number: usize = number.parse()?;
                let analysis = analyze_partition::<AllRetransmissions>(&plan, number, &facts, &settings)?;
                write(&folder.join(format!("{number}.analysis")), &analysis)?;
            }
        }
        "settle" => {
            let plan: CapturePlan = read(&folder.join("plan"))?;
            let all = (0..plan.partitions).map(|n| read(&folder.join(format!("{n}.analysis"))));
            let all = all.collect::<Result<Vec<PartitionAnalysis<AllRetransmissions>>, _>>()?;
            match settle(&plan, all)? {
                Decision::Final(found) => {
                    let columns = retransmissions_in(&found.analyzed.counts.files);
                    print!("{}", columns.to_csv(&found.analyzed.findings.rows));
                }
                Decision::Again { partitions, facts, .. } => {
                    write(&folder.join("facts"), &facts)?;
                    let numbers: Vec<String> = partitions.iter().map(usize::to_string).collect();
                    eprintln!("analyze again: {}", numbers.join(" "));
                }
            }
        }
        other => return Err(format!("{other}: expected split, plan, analyze or settle").into()),
    }
    Ok(())
}

fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), Box<dyn Error>> {
    Ok(fs::write(path, to_bytes(value)?)?)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, Box<dyn Error>> {
    Ok(from_bytes(&fs::read(path)?)?)
}
