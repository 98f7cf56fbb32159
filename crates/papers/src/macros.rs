//! Short forms of claims and columns.

/// The result of a claim, by its id, with our result as text: `claim!("three-kinds", "{other} of {all} have another")`.
macro_rules! claim {
    ($id:expr, $($ours:tt)+) => { $crate::claims::claim($id).shows(format!($($ours)+)) };
}

/// Adds columns, a line each, to those given. `$row` is the name of a row in the cells.
///
/// A line has name, unit and description, then a heading for text if it is not the name, and behind `=>` the cell if it is
/// not the field of the column's name. Columns for text alone have a heading and a cell.
macro_rules! columns {
    ($columns:expr, $row:ident; $($name:ident, $unit:expr, $about:expr $(, $heading:literal)? $(=> $cell:expr)?;)+) => {
        $columns$(
            .column(stringify!($name), $unit, $about, columns!(@cell $row $name $($cell)?))$(.heading($heading))?
        )+
    };
    ($columns:expr, $row:ident; $($heading:literal => $cell:expr;)+) => {
        $columns$(.shown($heading, move |$row| $cell))+
    };
    (@cell $row:ident $name:ident) => { |$row| $row.$name };
    (@cell $row:ident $name:ident $cell:expr) => { move |$row| $cell };
}

/// An enumeration whose values have a name in reports: `ALL` has them in order.
macro_rules! choices {
    ($(#[$about:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $vis enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All, in order.
            #[allow(dead_code, reason = "tests alone iterate some enumerations")]
            $vis const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The name in reports.
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}
