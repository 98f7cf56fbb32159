//! Prints and writes the results of `recoup paper`.

use super::Output;
use crate::experiment::Experiment;
use crate::run::{Finished, Run, report};
use crate::{Sheet, claims};
use recoup::output::{Format, print};
use recoup::{Failure, console};
use recoup_support::output_file::{OutputFile, create_folder};
use std::fs;
use std::io::Write;
use std::iter::once;
use std::path::{Path, PathBuf};

/// The folder for results. Folders that were created for it vanish with this value if they are still empty.
pub struct ResultFolder {
    /// The innermost first.
    created: Vec<PathBuf>,
}

impl ResultFolder {
    /// Creates the folder, and checks that files can be written there, before any work is done.
    pub fn create(dir: &Path) -> Result<Self, Failure> {
        let created = dir.ancestors().take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
        create_folder(dir)?;
        let folder = Self { created };
        // An output file that is dropped leaves nothing.
        drop(OutputFile::create(&dir.join("ledger.json"))?);
        Ok(folder)
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        for folder in &self.created {
            // This fails, as it should, where results are.
            if fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }
}

/// Writes and prints finished experiments.
pub fn deliver(finished: &Finished, output: &Output<'_>) -> Result<(), Failure> {
    if finished.runs.is_empty() {
        return Ok(());
    }
    let text =
        if output.is_whole { ledger_text(finished, output) } else { figures_text(&finished.runs, output.format)? };
    if let Some(dir) = output.out {
        write_files(dir, finished, output)?;
    }
    print(&text)
}

/// The ledger of all papers: JSON, or a table per experiment.
fn ledger_text(finished: &Finished, output: &Output<'_>) -> String {
    if output.format == Format::Json {
        return finished.ledger(output.effort).to_json();
    }
    let of = |run: &Run| {
        let table = claims::to_table(&run.sheet.claims);
        format!("{} ({})\n\n{table}\n", run.experiment.title(), run.experiment.about)
    };
    finished.runs.iter().map(of).collect()
}

fn figures_text(runs: &[Run], format: Format) -> Result<String, Failure> {
    let sheets: Vec<Sheet> = runs.iter().map(|run| run.sheet.clone()).collect();
    Ok(match format {
        Format::Json => Sheet::to_json(&sheets),
        Format::Csv => Sheet::to_csv(&sheets).ok_or_else(|| {
            let line =
                "--format csv: the figures have different columns: name those to print, or use --out for a file each";
            Failure::Wrong(line.into())
        })?,
        Format::Svg => sheets.iter().map(|sheet| sheet.picture.to_svg()).collect(),
        _ => sheets.iter().map(Sheet::to_text).collect(),
    })
}

/// Says what an interrupt kept from being finished.
pub fn note_missing(missing: &[&'static Experiment]) {
    let Some((begun, others)) = missing.split_first() else {
        return;
    };
    let begun = begun.title();
    if others.is_empty() {
        console::note(format_args!("interrupted: {begun} is not finished"));
        return;
    }
    let others: Vec<String> = others.iter().map(|one| one.title()).collect();
    let others = others.join(", ");
    console::note(format_args!("interrupted: {begun} is not finished; did not begin: {others}"));
}

/// Writes the files of all experiments. Each is whole before the first gets its name.
fn write_files(dir: &Path, finished: &Finished, output: &Output<'_>) -> Result<(), Failure> {
    let failed = |path: &Path, e| Failure::Wrong(format!("cannot write `{}`: {e}", path.display()));
    let drawn = |e: recoup_draw::render::RenderError| Failure::Wrong(e.to_string());
    let mut files = vec![];
    let mut add = |name: String, content: &[u8]| -> Result<(), Failure> {
        let path = dir.join(name);
        let mut file = OutputFile::create(&path)?;
        file.write_all(content).map_err(|e| failed(&path, e))?;
        files.push(file);
        Ok(())
    };
    for Run { sheet, .. } in &finished.runs {
        let name = format!("{}-{}", sheet.paper, sheet.figure);
        let json = Sheet::to_json(std::slice::from_ref(sheet));
        add(format!("{name}.json"), json.as_bytes())?;
        add(format!("{name}.csv"), sheet.csv.as_bytes())?;
        let further = sheet.further.iter().map(|(more, picture)| (format!("{name}-{more}"), picture));
        for (name, picture) in once((name.clone(), &sheet.picture)).chain(further) {
            add(format!("{name}.svg"), picture.to_svg().as_bytes())?;
            add(format!("{name}.pdf"), &picture.to_pdf().map_err(drawn)?)?;
            add(format!("{name}.png"), &picture.to_png().map_err(drawn)?)?;
        }
        for (panel, text) in sheet.picture.to_xplot() {
            add(format!("{name}-{}.xpl", file_name(&panel)), text.as_bytes())?;
        }
    }
    if output.is_whole {
        let page = report::to_html(finished, output.effort);
        add("report.html".into(), page.as_bytes())?;
    }
    let ledger = finished.ledger(output.effort).to_json();
    add("ledger.json".into(), ledger.as_bytes())?;
    for file in files {
        let path = file.target().to_path_buf();
        file.publish()?;
        console::status(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// A panel's name as part of a file name.
fn file_name(panel: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_lowercase(),
        _ => '-',
    };
    panel.chars().map(plain).collect()
}

/// Fails when a claim's verdict is not the expected one.
pub fn check_claims(runs: &[Run]) -> Result<(), Failure> {
    let of = |run: &Run| {
        let title = run.experiment.title();
        let changed: Vec<String> = run
            .sheet
            .claims
            .iter()
            .filter(|claim| claim.changed())
            .map(|claim| format!("{title} {}", claim.id))
            .collect();
        changed
    };
    let changed: Vec<String> = runs.iter().flat_map(of).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let changed = changed.join(", ");
    console::error(&format!("claims with another verdict than the expected one: {changed}"));
    Err(Failure::CheckFailed)
}
