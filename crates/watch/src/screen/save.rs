//! The dialog that saves the latest frames as pcapng: how many seconds, of what, and into which file.

use super::look::{Look, fit};
use crate::kept::Kept;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::Rect;
use ratatui::widgets::{Block, Clear, Widget};
use recoup_captures::wording::{count, duration};
use recoup_support::output_file::OutputFile;
use recoup_table::utc;
use recoup_units::Instant;
use recoup_wire::Endpoints;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The seconds that are proposed.
const USUAL_SECONDS: &str = "60";

/// The most seconds that make sense: a day.
const MOST_SECONDS: u64 = 86_400;

/// What is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Seconds,
    File,
    /// Whether a file that exists is to be replaced.
    Replace,
}

/// The dialog.
#[derive(Clone, Debug)]
pub struct SaveDialog {
    /// The connection whose frames are saved; `None`: all.
    ends: Option<Endpoints>,
    seconds: String,
    file: String,
    field: Field,
    /// How much time the kept frames cover.
    kept: Duration,
    /// Why the last answer cannot be.
    wrong: Option<String>,
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There is more to ask.
    Goes,
    /// The user wants nothing saved.
    Cancelled,
    /// Frames are to be saved.
    Save,
}

impl SaveDialog {
    /// Asks what to save of the kept frames at this time.
    pub fn new(ends: Option<Endpoints>, kept: &Kept, now: Instant) -> Self {
        let time: String = utc(now).chars().take(19).filter(|letter| !"-:".contains(*letter)).collect();
        let file = format!("recoup-{time}Z.pcapng");
        let kept = kept.since().map_or(Duration::ZERO, |since| now.since(since.min(now)));
        Self { ends, seconds: USUAL_SECONDS.into(), file, field: Field::Seconds, kept, wrong: None }
    }

    pub fn key(&mut self, key: KeyCode) -> Answer {
        if key == KeyCode::Esc {
            return Answer::Cancelled;
        }
        self.wrong = None;
        let text = match self.field {
            Field::Seconds => &mut self.seconds,
            Field::File => &mut self.file,
            Field::Replace => return self.replace_key(key),
        };
        match key {
            KeyCode::Char(letter) => text.push(letter),
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Up | KeyCode::Down => {
                self.field = if self.field == Field::File { Field::Seconds } else { Field::File };
            }
            KeyCode::Enter => return self.enter(),
            _ => {}
        }
        Answer::Goes
    }

    fn replace_key(&mut self, key: KeyCode) -> Answer {
        match key {
            KeyCode::Char('y' | 'Y') => Answer::Save,
            KeyCode::Char('n' | 'N') | KeyCode::Enter => {
                self.field = Field::File;
                Answer::Goes
            }
            _ => Answer::Goes,
        }
    }

    fn enter(&mut self) -> Answer {
        if let Err(why) = self.parsed_seconds() {
            (self.field, self.wrong) = (Field::Seconds, Some(why));
            return Answer::Goes;
        }
        if self.field == Field::Seconds {
            self.field = Field::File;
            return Answer::Goes;
        }
        match std::fs::symlink_metadata(&self.file) {
            _ if self.file.is_empty() => self.wrong = Some("expected the name of a file".into()),
            // What a symbolic link leads to counts; one that leads nowhere is replaced only if the user says so.
            Ok(_) if Path::new(&self.file).exists() && !Path::new(&self.file).is_file() => {
                self.wrong = Some("expected the name of a file: this is something else".into());
            }
            Ok(_) => self.field = Field::Replace,
            Err(_) => return Answer::Save,
        }
        Answer::Goes
    }

    fn parsed_seconds(&self) -> Result<u64, String> {
        let seconds = self.seconds.trim().parse().ok().filter(|seconds| (1..=MOST_SECONDS).contains(seconds));
        seconds.ok_or_else(|| format!("expected a number of seconds from 1 to {MOST_SECONDS}"))
    }

    /// Saves the frames until `now`. Says what was saved, or why not. The file appears when it is complete.
    pub fn save(&self, kept: &Kept, now: Instant) -> String {
        let saved = self.parsed_seconds().and_then(|seconds| {
            let from = Instant::from_nanos(now.as_nanos().saturating_sub(seconds.saturating_mul(1_000_000_000)));
            let mut file = OutputFile::create(Path::new(&self.file)).map_err(|why| why.to_string())?;
            let mut buffered = std::io::BufWriter::new(&mut file);
            let frames = kept.save(from, self.ends, &mut buffered).and_then(|frames| buffered.flush().map(|()| frames));
            drop(buffered);
            let frames = frames.map_err(|why| format!("cannot write `{}`: {why}", self.file))?;
            file.publish().map_err(|why| why.to_string())?;
            Ok(frames)
        });
        match saved {
            Ok(frames) => {
                let path = std::fs::canonicalize(&self.file).unwrap_or_else(|_| PathBuf::from(&self.file));
                format!("Saved {} in {}", count(frames, "frame"), path.display())
            }
            Err(why) => format!("Nothing is saved: {why}"),
        }
    }

    pub fn draw(&self, look: Look, area: Rect, buffer: &mut Buffer) {
        let width = area.width.saturating_sub(4).min(76);
        let height = 7.min(area.height);
        let x = area.x + (area.width - width) / 2;
        let y = area.y + (area.height - height) / 2;
        let area = Rect { x, y, width, height };
        Clear.render(area, buffer);
        let block = Block::bordered().title(" Save frames as pcapng ");
        let inner = block.inner(area);
        block.render(area, buffer);
        let columns = usize::from(inner.width);
        let of = self.ends.map_or("all connections".to_owned(), |ends| ends.to_string());
        let mark = |field| if self.field == field { '>' } else { ' ' };
        let cursor = |field| if self.field == field { "_" } else { "" };
        let kept = match self.kept {
            Duration::ZERO => "no frame is kept yet".into(),
            time => format!("frames of the last {} are kept", duration(time)),
        };
        let name = tail(&self.file, columns.saturating_sub(14));
        let lines = [
            format!("  Of       {of}"),
            format!("{} Seconds  {}{} ({kept})", mark(Field::Seconds), self.seconds, cursor(Field::Seconds)),
            format!("{} File     {name}{}", mark(Field::File), cursor(Field::File)),
        ];
        for (row, line) in inner.rows().zip(&lines) {
            buffer.set_stringn(row.x, row.y, fit(line, columns), columns, look.plain());
        }
        let (last, style) = match (&self.wrong, self.field) {
            (Some(why), _) => (format!("! {why}"), look.alarm()),
            (None, Field::Replace) => ("! The file exists. Replace it? y or n".into(), look.alarm()),
            (None, _) => ("  Enter goes on, Tab changes the field, Esc saves nothing".into(), look.faint()),
        };
        if inner.height >= 5 {
            buffer.set_stringn(inner.x, inner.y + 4, fit(&last, columns), columns, style);
        }
    }
}

/// The end of a text, which a cursor follows.
fn tail(text: &str, width: usize) -> String {
    let skipped = text.chars().count().saturating_sub(width);
    text.chars().skip(skipped).collect()
}
