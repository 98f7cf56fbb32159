//! Columns: one list serves reading, JSON, CSV and Parquet.

use crate::value::Value;
use recoup_units::Instant;
use std::borrow::Cow;

/// Reads a cell off a row; `None` where the value is unknown.
pub type Of<R, T> = Box<dyn Fn(&R) -> Option<T> + Send + Sync>;

/// How a column reads its cell off a row, by type.
pub enum Cell<R> {
    Text(Of<R, Cow<'static, str>>),
    Integer(Of<R, u64>),
    Signed(Of<R, i64>),
    Real(Of<R, f64>),
    Flag(Of<R, bool>),
    /// A moment: epoch seconds with nine decimals; in Parquet a timestamp.
    Time(Of<R, Instant>),
}

/// Name, unit and description of a column.
pub struct Header {
    pub(crate) name: Cow<'static, str>,
    pub(crate) unit: &'static str,
    pub(crate) about: Cow<'static, str>,
}

impl<N: Into<Cow<'static, str>>, A: Into<Cow<'static, str>>> From<(N, &'static str, A)> for Header {
    fn from((name, unit, about): (N, &'static str, A)) -> Self {
        Self { name: name.into(), unit, about: about.into() }
    }
}

/// A column: its header and its cells.
pub(crate) struct Column<R> {
    pub header: Header,
    /// Heading in text tables, without the unit; `None`: the name.
    pub heading: Option<Cow<'static, str>>,
    /// Decimals in a table for reading.
    pub digits: usize,
    /// Whether a table for reading aligns its text to the right.
    pub right: bool,
    /// A table for reading shows the cell's share of this, in percent.
    pub whole: Option<Of<R, u64>>,
    pub cell: Cell<R>,
}

/// A column, or columns under one name.
pub(crate) enum Node<R> {
    Column(Column<R>),
    Interval(Interval<R>),
    Group(Group<R>),
}

/// The two ends of an interval: in JSON a pair, elsewhere two columns.
pub(crate) struct Interval<R> {
    /// In JSON.
    pub name: Cow<'static, str>,
    pub ends: [Column<R>; 2],
}

/// Columns under one name: in JSON an object of its own, elsewhere a prefix.
pub(crate) struct Group<R> {
    pub name: Cow<'static, str>,
    pub is_present: Box<dyn Fn(&R) -> bool + Send + Sync>,
    pub columns: Vec<Node<R>>,
}

/// The typed columns of rows of type `R`, in order.
///
/// Each has a name for programs, a unit ("" where there is none) and a description. Columns of a
/// [`group`](Self::group) nest in JSON; in CSV and Parquet their names are joined by underscores.
///
/// ```
/// use recoup_table::Columns;
///
/// struct Flow { name: &'static str, fct_ms: Option<f64> }
/// let columns = Columns::<Flow>::new()
///     .column("profile", "", "the profile", |f| f.name)
///     .column("fct_ms", "ms", "flow completion time", |f| f.fct_ms);
/// let flows = [Flow { name: "linux-6", fct_ms: Some(402.5) }];
/// assert_eq!(columns.to_csv(&flows), "profile,fct_ms\nlinux-6,402.5\n");
/// ```
pub struct Columns<R>(pub(crate) Vec<Node<R>>);

/// A column by its full name.
pub(crate) struct Leaf<'a, R> {
    /// Names of its groups and its own, joined by underscores.
    pub name: String,
    pub column: &'a Column<R>,
}

/// Documentation of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Names of its groups and its own, joined by dots: its place in JSON.
    pub path: String,
    /// `text`, `integer`, `number`, `true/false` or `time`.
    pub kind: &'static str,
    /// The unit; empty where there is none.
    pub unit: &'static str,
    /// Description of the quantity.
    pub about: String,
}

impl<R: 'static> Default for Columns<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: 'static> Columns<R> {
    /// No columns yet.
    pub fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a column: its name, unit and description, and how to read it off a row. What it reads decides its kind:
    /// text, whole number, real number, truth value or moment. An `Option` is unknown where it is `None`.
    pub fn column<N, A, V>(
        self,
        name: N,
        unit: &'static str,
        about: A,
        of: impl Fn(&R) -> V + Send + Sync + 'static,
    ) -> Self
    where
        N: Into<Cow<'static, str>>,
        A: Into<Cow<'static, str>>,
        V: Value,
    {
        self.with((name, unit, about), V::cell(move |row| Some(of(row))))
    }

    fn with(mut self, header: impl Into<Header>, cell: Cell<R>) -> Self {
        let header = header.into();
        self.0.push(Node::Column(Column { header, heading: None, digits: 3, right: false, whole: None, cell }));
        self
    }

    /// Adds a column of text: (name, unit, description), and how to read it off a row.
    pub fn text(
        self,
        header: impl Into<Header>,
        of: impl Fn(&R) -> Option<Cow<'static, str>> + Send + Sync + 'static,
    ) -> Self {
        self.with(header, Cell::Text(Box::new(of)))
    }

    /// Adds a column of whole numbers from 0.
    pub fn integer(self, header: impl Into<Header>, of: impl Fn(&R) -> Option<u64> + Send + Sync + 'static) -> Self {
        self.with(header, Cell::Integer(Box::new(of)))
    }

    /// Adds a column of whole numbers that may be negative.
    pub fn signed(self, header: impl Into<Header>, of: impl Fn(&R) -> Option<i64> + Send + Sync + 'static) -> Self {
        self.with(header, Cell::Signed(Box::new(of)))
    }

    /// Adds a column of real numbers.
    pub fn real(self, header: impl Into<Header>, of: impl Fn(&R) -> Option<f64> + Send + Sync + 'static) -> Self {
        self.with(header, Cell::Real(Box::new(of)))
    }

    /// Adds a column of truth values.
    pub fn flag(self, header: impl Into<Header>, of: impl Fn(&R) -> bool + Send + Sync + 'static) -> Self {
        self.with(header, Cell::Flag(Box::new(move |row| Some(of(row)))))
    }

    /// Adds a column of moments.
    pub fn time(self, header: impl Into<Header>, of: impl Fn(&R) -> Option<Instant> + Send + Sync + 'static) -> Self {
        self.with(header, Cell::Time(Box::new(of)))
    }

    /// Adds the 95 % interval of the real numbers of `name`, which the description calls `what`. In JSON it is the pair
    /// `name_ci95_unit`, or `null`; elsewhere its ends are the columns `name_ci95_low_unit` and `name_ci95_high_unit`.
    pub fn interval(
        mut self,
        name: &str,
        unit: &'static str,
        what: &str,
        of: impl Fn(&R) -> Option<(f64, f64)> + Copy + Send + Sync + 'static,
    ) -> Self {
        let end = |end: &str, about: &str, cell| Column {
            header: (
                format!("{name}_ci95_{end}_{unit}"),
                unit,
                format!("{about} end of the 95 % interval of the {what}"),
            )
                .into(),
            heading: None,
            digits: 3,
            right: false,
            whole: None,
            cell,
        };
        let low = end("low", "lower", Cell::Real(Box::new(move |row| Some(of(row)?.0))));
        let high = end("high", "upper", Cell::Real(Box::new(move |row| Some(of(row)?.1))));
        let name = format!("{name}_ci95_{unit}").into();
        self.0.push(Node::Interval(Interval { name, ends: [low, high] }));
        self
    }

    /// Changes the column added last; groups are left alone.
    fn last(mut self, change: impl FnOnce(&mut Column<R>)) -> Self {
        if let Some(Node::Column(column)) = self.0.last_mut() {
            change(column);
        }
        self
    }

    /// Names the column added last in tables for reading, without its unit.
    pub fn heading(self, heading: impl Into<Cow<'static, str>>) -> Self {
        self.last(|column| column.heading = Some(heading.into()))
    }

    /// Has tables for reading show the real numbers of the column added last with this many decimals
    /// (3 if not said).
    pub fn digits(self, digits: usize) -> Self {
        self.last(|column| column.digits = digits)
    }

    /// Has tables for reading align the text of the column added last to the right, as they align numbers.
    pub fn right(self) -> Self {
        self.last(|column| column.right = true)
    }

    /// Has tables for reading show the whole numbers of the column added last with their share of
    /// `whole`, in percent.
    pub fn share_of(self, whole: impl Fn(&R) -> u64 + Send + Sync + 'static) -> Self {
        self.last(|column| column.whole = Some(Box::new(move |row| Some(whole(row)))))
    }

    /// Adds the columns of a part of the row, by their own names; all empty where there is no such
    /// part.
    pub fn all_of<P: 'static>(
        mut self,
        columns: Columns<P>,
        part: impl Fn(&R) -> Option<&P> + Copy + Send + Sync + 'static,
    ) -> Self {
        let columns = columns.0.into_iter().map(|node| node.of_part(part));
        self.0.extend(columns);
        self
    }

    /// Adds the columns of a part of the row, `prefix` and an underscore before their names, also in
    /// JSON.
    pub fn prefixed<P: 'static>(
        self,
        prefix: &str,
        mut columns: Columns<P>,
        part: impl Fn(&R) -> Option<&P> + Copy + Send + Sync + 'static,
    ) -> Self {
        let prefixed = |name: &mut Cow<'static, str>| *name = format!("{prefix}_{name}").into();
        for node in &mut columns.0 {
            match node {
                Node::Column(Column { header: Header { name, .. }, .. }) | Node::Group(Group { name, .. }) => {
                    prefixed(name)
                }
                Node::Interval(Interval { name, ends: [low, high] }) => {
                    [name, &mut low.header.name, &mut high.header.name].into_iter().for_each(prefixed);
                }
            }
        }
        self.all_of(columns, part)
    }

    /// Adds the columns of a part of the row under one name: in JSON an object, or `null` where there
    /// is no such part.
    pub fn group<P: 'static>(
        mut self,
        name: impl Into<Cow<'static, str>>,
        columns: Columns<P>,
        part: impl Fn(&R) -> Option<&P> + Copy + Send + Sync + 'static,
    ) -> Self {
        let columns = columns.0.into_iter().map(|node| node.of_part(part));
        self.0.push(Node::Group(Group {
            name: name.into(),
            is_present: Box::new(move |row| part(row).is_some()),
            columns: columns.collect(),
        }));
        self
    }

    /// Reads the column of this name in another way. For a column of [`all_of`](Self::all_of) that has a value where the
    /// part is missing.
    pub fn read_by<V: Value>(mut self, name: &str, of: impl Fn(&R) -> V + Send + Sync + 'static) -> Self {
        let column = self.0.iter_mut().find_map(|node| match node {
            Node::Column(column) if column.header.name == name => Some(column),
            _ => None,
        });
        if let Some(column) = column {
            column.cell = V::cell(move |row| Some(of(row)));
        }
        self
    }

    /// Adds columns behind the column of this name.
    pub fn behind(mut self, name: &str, columns: Self) -> Self {
        let place = self.0.iter().position(|node| match node {
            Node::Column(column) => column.header.name == name,
            Node::Interval(_) | Node::Group(_) => false,
        });
        let place = place.map_or(self.0.len(), |place| place + 1);
        self.0.splice(place..place, columns.0);
        self
    }

    /// The names of the columns as in CSV and Parquet, in order.
    pub fn names(&self) -> Vec<String> {
        self.leaves().into_iter().map(|leaf| leaf.name).collect()
    }

    /// Documentation of the columns, in order.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields = Vec::new();
        walk(&self.0, "", '.', &mut |path, column| {
            fields.push(Field {
                path,
                kind: column.cell.kind(),
                unit: column.header.unit,
                about: column.header.about.clone().into(),
            });
        });
        fields
    }

    /// The columns without their groups.
    pub(crate) fn leaves(&self) -> Vec<Leaf<'_, R>> {
        let mut leaves = Vec::new();
        walk(&self.0, "", '_', &mut |name, column| {
            leaves.push(Leaf { name, column });
        });
        leaves
    }
}

/// Visits all columns with their full names.
fn walk<'a, R>(nodes: &'a [Node<R>], prefix: &str, joint: char, visit: &mut impl FnMut(String, &'a Column<R>)) {
    let full = |name: &str| match prefix {
        "" => name.to_owned(),
        prefix => format!("{prefix}{joint}{name}"),
    };
    for node in nodes {
        match node {
            Node::Column(column) => visit(full(&column.header.name), column),
            Node::Interval(interval) => interval.ends.iter().for_each(|end| visit(full(&end.header.name), end)),
            Node::Group(group) => walk(&group.columns, &full(&group.name), joint, visit),
        }
    }
}

impl<P: 'static> Node<P> {
    /// These columns for rows that have a `P` as a part.
    fn of_part<R: 'static>(self, part: impl Fn(&R) -> Option<&P> + Copy + Send + Sync + 'static) -> Node<R> {
        match self {
            Self::Column(column) => Node::Column(column.of_part(part)),
            Self::Interval(Interval { name, ends }) => {
                Node::Interval(Interval { name, ends: ends.map(|end| end.of_part(part)) })
            }
            Self::Group(group) => {
                let is_present = group.is_present;
                let columns = group.columns.into_iter().map(|node| node.of_part(part));
                Node::Group(Group {
                    name: group.name,
                    is_present: Box::new(move |row| part(row).is_some_and(&is_present)),
                    columns: columns.collect(),
                })
            }
        }
    }
}

impl<P: 'static> Column<P> {
    fn of_part<R: 'static>(self, part: impl Fn(&R) -> Option<&P> + Copy + Send + Sync + 'static) -> Column<R> {
        Column {
            header: self.header,
            heading: self.heading,
            digits: self.digits,
            right: self.right,
            whole: self.whole.map(|of| cell_of_part(of, part)),
            cell: self.cell.of_part(part),
        }
    }
}

fn cell_of_part<R: 'static, P: 'static, T: 'static>(
    of: Of<P, T>,
    part: impl Fn(&R) -> Option<&P> + Copy + Send + Sync + 'static,
) -> Of<R, T> {
    Box::new(move |row| part(row).and_then(&of))
}

impl<P: 'static> Cell<P> {
    fn of_part<R: 'static>(self, part: impl Fn(&R) -> Option<&P> + Copy + Send + Sync + 'static) -> Cell<R> {
        match self {
            Self::Text(of) => Cell::Text(cell_of_part(of, part)),
            Self::Integer(of) => Cell::Integer(cell_of_part(of, part)),
            Self::Signed(of) => Cell::Signed(cell_of_part(of, part)),
            Self::Real(of) => Cell::Real(cell_of_part(of, part)),
            Self::Flag(of) => Cell::Flag(cell_of_part(of, part)),
            Self::Time(of) => Cell::Time(cell_of_part(of, part)),
        }
    }
}

impl<R> Cell<R> {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) | Self::Signed(_) => "integer",
            Self::Real(_) => "number",
            Self::Flag(_) => "true/false",
            Self::Time(_) => "time",
        }
    }
}

/// No count and no time before 2262 is larger than 63 bits hold.
#[cfg(any(feature = "parquet", feature = "arrow"))]
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Seconds since 1970 with nine decimals.
pub(crate) struct EpochSeconds(pub Instant);

impl std::fmt::Display for EpochSeconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nanos = self.0.as_nanos();
        write!(f, "{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}
