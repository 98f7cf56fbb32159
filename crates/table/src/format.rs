//! The forms in which results are written.

use std::path::Path;

recoup_units::named! {
    /// A form of results. Each command has some of them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Format {
        /// Text for reading.
        Table = "table",
        /// For programs.
        Json = "json",
        /// For spreadsheets.
        Csv = "csv",
        /// For data frames and databases.
        Parquet = "parquet",
        /// For browsers.
        Html = "html",
        /// A picture for browsers and for editing.
        Svg = "svg",
        /// A picture of dots.
        Png = "png",
        /// A picture for print.
        Pdf = "pdf",
        /// A time–sequence diagram for xplot and xplot.org.
        Xpl = "xpl",
    }
}

impl Format {
    /// Description in a few words.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Table => "Text tables, for reading",
            Self::Json => "A JSON document, for programs",
            Self::Csv => "Comma-separated rows, for spreadsheets",
            Self::Parquet => "Parquet, for data frames and databases",
            Self::Html => "One page for a browser, with charts and diagrams",
            Self::Svg => "A picture for browsers and for editing",
            Self::Png => "A picture of dots",
            Self::Pdf => "A picture for print",
            Self::Xpl => "A file for xplot and xplot.org",
        }
    }

    /// How the names of files of this format end, without the dot.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Table => "txt",
            other => other.name(),
        }
    }

    /// Whether a terminal cannot show it.
    pub const fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Png | Self::Pdf)
    }

    /// The format that a file's ending names, in upper or lower case.
    pub fn of_file(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        let named = |format: &Self| ending.eq_ignore_ascii_case(format.ending());
        Self::ALL.into_iter().find(named)
    }
}
