//! The forms in which results are written.

use std::path::Path;

/// A form of results. Each command has some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text for reading.
    Table,
    /// For programs.
    Json,
    /// For spreadsheets.
    Csv,
    /// For data frames and databases.
    Parquet,
    /// A picture.
    Svg,
    /// A time–sequence diagram for xplot and xplot.org.
    Xpl,
}

impl Format {
    /// All of them, in the order of help texts.
    pub const ALL: [Self; 6] = [
        Self::Table,
        Self::Json,
        Self::Csv,
        Self::Parquet,
        Self::Svg,
        Self::Xpl,
    ];

    /// The name on the command line; of all but `table` also the ending of files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Svg => "svg",
            Self::Xpl => "xpl",
        }
    }

    /// The format that a file's ending names, in upper or lower case; `.txt` is a table.
    pub fn of_file(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match &*ending {
            "txt" => Some(Self::Table),
            "table" => None,
            ending => Self::ALL.into_iter().find(|format| format.name() == ending),
        }
    }
}
