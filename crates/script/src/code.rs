//! The code between `%{` and `}%`: assertions over `tcpi_…`, in the subset of Python that scripts use.
//!
//! ```text
//! statement = assert test [, message] | print(value, …) | name = value | name += value | pass
//! value     = numbers, texts, True, False, names, ( ), abs min max len
//!             or and not  < <= > >= == !=  | ^ & << >> + - * / // % ~
//! ```
//! A statement ends with its line or with `;`. It continues after `\` and within parentheses.
//! Comparisons chain (`5000 <= tcpi_rtt <= 20000`), and `%` formats values (`'srtt=%d' % tcpi_rtt`).
//! Numbers are integers of 128 bits, and overflow is an error. `/` and a decimal point give floats.

mod eval;
mod grammar;
mod names;
mod value;

pub(crate) use eval::{Outcome, Variables, run};
pub(crate) use grammar::parse;
pub(crate) use names::check;

use crate::error::Place;
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub place: Place,
    pub what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// The test, its text, and the message if it fails.
    Assert {
        test: Value,
        text: String,
        message: Option<Value>,
    },
    Print(Vec<Value>),
    /// `name = value`, or `name op= value` with the operator.
    Assign(String, Option<Operator>, Value),
    Pass,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub place: Place,
    pub node: Node,
}

impl Value {
    /// Values directly inside this one, from left to right.
    fn parts(&self) -> Vec<&Self> {
        match &self.node {
            Node::Integer(_) | Node::Float(_) | Node::Text(_) | Node::Boolean(_) | Node::Name(_) => Vec::new(),
            Node::Not(of) | Node::Negative(of) | Node::Inverted(of) => vec![of],
            Node::And(a, b) | Node::Or(a, b) | Node::Binary(_, a, b) => vec![a, b],
            Node::Compare(first, others) => {
                std::iter::once(&**first).chain(others.iter().map(|(_, other)| other)).collect()
            }
            Node::Apply(_, values) | Node::Tuple(values) => values.iter().collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Integer(i128),
    Float(f64),
    Text(String),
    Boolean(bool),
    Name(String),
    Not(Box<Value>),
    Negative(Box<Value>),
    Inverted(Box<Value>),
    And(Box<Value>, Box<Value>),
    Or(Box<Value>, Box<Value>),
    /// `a < b <= c`
    Compare(Box<Value>, Vec<(Comparison, Value)>),
    Binary(Operator, Box<Value>, Box<Value>),
    Apply(Function, Vec<Value>),
    /// `(a, b)`, to the right of a string's `%`
    Tuple(Vec<Value>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    Xor,
    And,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideWhole,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Min,
    Max,
    Len,
}

#[cfg(test)]
mod tests;
