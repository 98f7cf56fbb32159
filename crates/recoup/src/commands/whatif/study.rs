//! `recoup whatif --study`: other parameters of loss detection.

use super::Args;
use crate::commands::captures::{
    CaptureBar, FIGURES, begin, end, publish, report, until_interrupted, write_rows, write_texts,
};
use crate::output::{Format, OUTPUT, Output, check_terminal};
use crate::row_sink::RowSink;
use crate::{Failure, console};
use recoup_captures::analysis::Analyzed;
use recoup_captures::parameters::{
    CHANGES, ChangeRow, EVENTS, EventRow, Grid, ParameterStudy, Request, ResultRow, SenderRow, changes, check_size,
    events, figures, parse_list, results, study_capture, study_text, write_studies,
};
use recoup_captures::study::Model;
use recoup_recovery::parameters::MinimumOf;
use recoup_recovery::rtt::Factor;
use recoup_support::output_file::{Files, create_folder};
use recoup_support::quantity::{parse_minimum, parse_multiple, parse_threshold, parse_weight};
use recoup_table::RowFormat;
use recoup_units::Segments;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The values of k in the figures of the study, beside those of its grid.
const PLOTTED_ALONE: Factor = Factor::whole(3);

/// Rows of senders and instances that a document or a table holds at most. Each takes 400 bytes.
const MOST_ROWS: usize = 1 << 19;

#[derive(clap::Args)]
#[command(next_help_heading = "Other parameters of loss detection")]
pub(crate) struct StudyArgs {
    /// Instead of other mechanisms, try other parameters of the RTO and another number of duplicate ACKs on
    /// each sender, as the 2007 study of loss detection does: each value by itself, and all combinations
    #[arg(long, conflicts_with_all = ["alternatives", "draws", "seed"])]
    pub study: bool,
    /// Values of k, the factor of RTTVAR in the RTO. For this and the next five options, LIST is a list with
    /// commas, or `profile`: each sender keeps its own value [default: 2,4,6,8, and 3 with --figures]
    #[arg(long, value_name = "LIST", requires = "study", allow_hyphen_values = true, value_parser = list(parse_multiple))]
    k: Option<List<Factor>>,
    /// Values of a, the weight of a sample in RTTVAR [default: 1,1/2,1/4,1/8,1/16,1/32]
    #[arg(long, value_name = "LIST", requires = "study", allow_hyphen_values = true, value_parser = list(parse_weight))]
    a: Option<List<Factor>>,
    /// Values of b, the weight of a sample in SRTT [default: 1,1/2,1/4,1/8,1/16,1/32]
    #[arg(long, value_name = "LIST", requires = "study", allow_hyphen_values = true, value_parser = list(parse_weight))]
    b: Option<List<Factor>>,
    /// Values of m, the factor of SRTT in the RTO [default: profile]
    #[arg(long, value_name = "LIST", requires = "study", allow_hyphen_values = true, value_parser = list(parse_multiple))]
    m: Option<List<Factor>>,
    /// Values of the minimum RTO [default: 100ms,200ms,400ms,800ms,1s]
    #[arg(long, value_name = "LIST", requires = "study", allow_hyphen_values = true, value_parser = list(parse_minimum))]
    min_rto: Option<List<Duration>>,
    /// Values of D, the duplicate ACKs that mean a loss [default: profile]
    #[arg(long, value_name = "LIST", requires = "study", allow_hyphen_values = true, value_parser = list(parse_threshold))]
    dupthresh: Option<List<Segments>>,
    /// What --min-rto is a minimum of: the RTO, or on Linux the term k·RTTVAR, as in its kernel. With rto,
    /// this term keeps its own minimum of 200ms, so that --min-rto up to 200ms alone changes nothing there
    #[arg(long, value_name = "rto|rttvar", requires = "study", default_value = "rto")]
    min_rto_of: MinRtoOf,
    /// Try each value by itself, and no combinations: quicker
    #[arg(long, requires = "study")]
    alone: bool,
    /// How text and figures compute what a smaller flight costs. Other formats have both results
    #[arg(long, value_name = "forms|counted", requires = "study", default_value = "forms")]
    model: ModelName,
    /// Write a row for every loss detection that changes to this file (.jsonl, .csv or .parquet)
    #[arg(long, value_name = "FILE", requires = "study")]
    events: Option<PathBuf>,
    /// Draw what each value saves, against what ideal loss detection would save (Figures 4 and 5 of the
    /// study), as SVG files in this folder
    #[arg(long, value_name = "DIR", requires = "study")]
    figures: Option<PathBuf>,
}

/// Values that one argument names.
#[derive(Clone, Debug)]
struct List<T>(Vec<T>);

/// Reads the values of one argument.
fn list<T>(
    read: fn(&str) -> Result<T, String>,
) -> impl Fn(&str) -> Result<List<T>, String> + Clone + Send + Sync + 'static
where
    T: PartialEq + 'static,
{
    move |text| parse_list(text, read).map(List)
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum MinRtoOf {
    /// The RTO
    Rto,
    /// On Linux the term k·RTTVAR, on other systems the RTO
    Rttvar,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ModelName {
    /// The study's equations
    Forms,
    /// Counted segment by segment
    Counted,
}

impl StudyArgs {
    fn request(&self) -> Result<Request, Failure> {
        let usual = Grid::study();
        let mut factors = usual.rttvar_factors;
        if self.figures.is_some() {
            factors.insert(1, PLOTTED_ALONE);
        }
        let grid = Grid {
            rttvar_factors: given(&self.k, factors),
            min_rtos: given(&self.min_rto, usual.min_rtos),
            rttvar_weights: given(&self.a, usual.rttvar_weights),
            srtt_weights: given(&self.b, usual.srtt_weights),
            srtt_factors: given(&self.m, usual.srtt_factors),
            dupthreshs: given(&self.dupthresh, usual.dupthreshs),
            minimum_of: match self.min_rto_of {
                MinRtoOf::Rto => MinimumOf::Rto,
                MinRtoOf::Rttvar => MinimumOf::Rttvar,
            },
            alone: self.alone,
        };
        check_size(&grid).map_err(|why| Failure::Wrong(format!("--study: {why}")))?;
        Ok(Request {
            grid,
            model: match self.model {
                ModelName::Forms => Model::Forms,
                ModelName::Counted => Model::Counted,
            },
            counts_undo: true,
            lists_events: self.events.is_some(),
        })
    }

    fn event_file(&self, files: &mut Files, several: bool) -> Result<Option<RowSink<EventRow>>, Failure> {
        let Some(path) = &self.events else {
            return Ok(None);
        };
        RowSink::create(events(), EVENTS, several, files, ("--events", path)).map(Some)
    }
}

fn given<T: Clone>(list: &Option<List<T>>, usual: Vec<T>) -> Vec<T> {
    list.as_ref().map_or(usual, |list| list.0.clone())
}

/// Where rows of senders and instances go.
enum Rows {
    /// They are not asked for.
    None,
    /// To the output, as they come.
    Written(Box<RowSink<ChangeRow>>),
    /// Into a document or a table: those of each capture.
    Kept(Kept),
}

struct Kept {
    captures: Vec<(String, Vec<ChangeRow>)>,
    /// Of a table, only the instances below this number.
    instances: usize,
    count: usize,
    left_out: u64,
}

impl Rows {
    fn take(&mut self, capture: &str, row: &SenderRow<'_>) {
        match self {
            Self::None => {}
            Self::Written(file) => file.write(capture, row.changes()),
            Self::Kept(kept) => kept.take(capture, row),
        }
    }
}

impl Kept {
    fn take(&mut self, capture: &str, row: &SenderRow<'_>) {
        if self.captures.last().is_none_or(|(name, _)| name != capture) {
            self.captures.push((capture.to_owned(), Vec::new()));
        }
        let Some((_, rows)) = self.captures.last_mut() else {
            return;
        };
        for change in row.changes() {
            match change.instance.number < self.instances {
                true if self.count < MOST_ROWS => {
                    rows.push(change);
                    self.count += 1;
                }
                true => self.left_out += 1,
                false => {}
            }
        }
    }

    /// The rows of each capture that was read.
    fn of(mut self, studies: &[Analyzed<ParameterStudy>]) -> Vec<Vec<ChangeRow>> {
        let of = |study: &Analyzed<ParameterStudy>| {
            let place = self.captures.iter().position(|(name, _)| *name == study.capture);
            place.map_or(Vec::new(), |place| self.captures.remove(place).1)
        };
        studies.iter().map(of).collect()
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let format = args.format()?;
    let request = args.study.request()?;
    let settings = args.analysis.settings()?;
    let input = args.input()?;
    let several = args.count() > 1;
    if args.study.figures.is_some() && several {
        let line = "--figures: expected one capture, or --join";
        return Err(Failure::Wrong(line.into()));
    }
    if args.output == Path::new("-") {
        check_terminal(format)?;
    }
    let mut files = args.files();
    let output = Output::create(&mut files, OUTPUT, &args.output)?;
    let mut event_file = args.study.event_file(&mut files, several)?;
    if let Some(dir) = &args.study.figures {
        create_folder(dir)?;
    }
    let (mut rows, output) = rows_and_output(args, format, &request, several, output)?;
    let bar = CaptureBar::new(several);
    let mut takes = |capture: &str, row: &SenderRow<'_>| {
        rows.take(capture, row);
        if let Some(file) = &mut event_file {
            file.write(capture, row.events());
        }
    };
    let (all, interrupted) = until_interrupted(|| {
        input.each(&bar, |capture| {
            let name = capture.name().to_owned();
            study_capture(capture, &request, &settings, &bar, &mut |row| takes(&name, row))
        })
    });
    report(&all, &args.captures, |study| &study.notes);
    if !all.analyzed.is_empty() {
        event_file.map_or(Ok(()), RowSink::finish)?;
        if let Some(dir) = &args.study.figures {
            all.analyzed.iter().try_for_each(|one| draw(&mut files, dir, one))?;
        }
        print(args, format, &all.analyzed, rows, output)?;
    }
    end(interrupted, !all.failures.is_empty())
}

/// Where rows of senders and instances go, and where the result goes besides them.
fn rows_and_output(
    args: &Args,
    format: Format,
    request: &Request,
    several: bool,
    output: Output,
) -> Result<(Rows, Option<Output>), Failure> {
    if !args.connections {
        return Ok((Rows::None, Some(output)));
    }
    let row_format = match format {
        Format::Csv => RowFormat::Csv,
        Format::Parquet => RowFormat::Parquet,
        other => {
            let kept = Kept {
                captures: Vec::new(),
                instances: match other {
                    Format::Json => usize::MAX,
                    _ => request.grid.instances().singles().len(),
                },
                count: 0,
                left_out: 0,
            };
            return Ok((Rows::Kept(kept), Some(output)));
        }
    };
    let path = &args.output;
    let file = RowSink::new(changes(), CHANGES, row_format, several, path, output)?;
    Ok((Rows::Written(Box::new(file)), None))
}

fn print(
    args: &Args,
    format: Format,
    studies: &[Analyzed<ParameterStudy>],
    rows: Rows,
    output: Option<Output>,
) -> Result<(), Failure> {
    let rows = match rows {
        Rows::None => None,
        Rows::Written(file) => return file.finish(),
        Rows::Kept(kept) => {
            if kept.left_out > 0 {
                console::note(format_args!(
                    "--connections: {} more rows are left out; csv and parquet have all",
                    kept.left_out
                ));
            }
            Some(kept.of(studies))
        }
    };
    let Some(output) = output else {
        return Ok(());
    };
    output.write(|out| match format {
        Format::Json => write_studies(studies, rows.as_deref(), out),
        Format::Csv | Format::Parquet => {
            let all: Vec<Vec<ResultRow>> = studies.iter().map(|one| one.findings.results()).collect();
            let named = studies.iter().zip(&all).map(|(one, rows)| (&*one.capture, &**rows));
            write_rows(format, &results(), args.count(), named, out)
        }
        _ => write_texts(studies, out, |i, analyzed| {
            let rows = rows.as_ref().and_then(|rows| rows.get(i));
            let rows = rows.map(|rows| format!("\n{}\n", changes().to_text(rows, &COLUMNS)));
            study_text(analyzed) + &rows.unwrap_or_default()
        }),
    })
}

/// The columns of a sender and an instance in a table.
const COLUMNS: [&str; 9] = [
    "connection",
    "sender",
    "profile",
    "parameters",
    "mean_rtt_ms",
    "duration_ms",
    "best_case_ms",
    "saved_ms",
    "counted_saved_ms",
];

/// Writes the figures of a capture, each whole before the first has its name.
fn draw(outputs: &mut Files, dir: &Path, analyzed: &Analyzed<ParameterStudy>) -> Result<(), Failure> {
    let (mut files, mut blank) = (Vec::new(), Vec::new());
    for (name, picture) in figures(&analyzed.findings) {
        let Some(picture) = picture else {
            blank.push(name);
            continue;
        };
        files.push(begin(outputs, FIGURES, &dir.join(format!("{name}.svg")), &picture)?);
    }
    if !blank.is_empty() {
        console::note(format_args!("nothing to draw in {}", blank.join(", ")));
    }
    if files.is_empty() && blank.is_empty() {
        console::note(format_args!("no sender was studied: nothing to draw"));
    }
    publish(files)
}
