//! Runs code.

use super::{Function, Node, Statement, Value, What, names, value::Data, value::LONGEST};
use crate::error::{Place, Wrong};
use recoup_tcp::Info;
use std::collections::HashMap;

/// The variables that scripts have assigned.
pub(crate) type Variables = HashMap<String, Data>;

/// The result of running code.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// All assertions held.
    Passed,
    /// An assertion failed: its place and its message.
    Failed(Place, String),
}

/// Runs `statements`; their output goes to `print`.
///
/// # Errors
/// Where Python would raise an error other than an `AssertionError`.
pub(crate) fn run(
    statements: &[Statement],
    info: &Info,
    variables: &mut Variables,
    mut print: impl FnMut(Place, String) -> Result<(), Wrong>,
) -> Result<Outcome, Wrong> {
    for statement in statements {
        match &statement.what {
            What::Assert { test, text, message } => {
                if (Scope { info, variables }).value(test)?.is_true() {
                    continue;
                }
                let scope = Scope { info, variables };
                let mut line = format!("assertion failed: {text}");
                if let Some(message) = message {
                    line += &format!(" ({})", scope.value(message)?);
                }
                let mut seen = Vec::new();
                scope.values_of_names(test, &mut seen);
                if !seen.is_empty() {
                    line += &format!("; {}", seen.join(", "));
                }
                return Ok(Outcome::Failed(statement.place, line));
            }
            What::Print(values) => {
                let scope = Scope { info, variables };
                let mut line = String::new();
                for (i, value) in values.iter().enumerate() {
                    line += if i > 0 { " " } else { "" };
                    line += &scope.value(value)?.to_string();
                    check_size(line.len(), statement.place)?;
                }
                print(statement.place, line)?;
            }
            What::Assign(name, operator, value) => {
                let scope = Scope { info, variables };
                let mut new = scope.value(value)?;
                if let Some(operator) = operator {
                    let old = scope.name(statement.place, name)?;
                    let result = old.binary(*operator, &new);
                    new = result.map_err(|e| Wrong::new(statement.place, e))?;
                }
                check_size(new.size(), statement.place)?;
                if variables.len() >= MOST_VARIABLES && !variables.contains_key(name) {
                    let why = format!("expected at most {MOST_VARIABLES} variables");
                    return Err(Wrong::new(statement.place, why));
                }
                variables.insert(name.clone(), new);
            }
            What::Pass => {}
        }
    }
    Ok(Outcome::Passed)
}

/// The most variables of a script.
const MOST_VARIABLES: usize = 1000;

fn check_size(bytes: usize, place: Place) -> Result<(), Wrong> {
    match bytes > LONGEST {
        true => Err(Wrong::new(place, format!("expected values and lines of at most {LONGEST} bytes"))),
        false => Ok(()),
    }
}

struct Scope<'a> {
    info: &'a Info,
    variables: &'a Variables,
}

impl Scope<'_> {
    fn name(&self, place: Place, name: &str) -> Result<Data, Wrong> {
        let assigned = self.variables.get(name).cloned();
        assigned
            .or_else(|| names::value(name, self.info).map(Data::Integer))
            .ok_or_else(|| Wrong::new(place, format!("`{name}` has no value yet")))
    }

    fn value(&self, value: &Value) -> Result<Data, Wrong> {
        let at = |e: String| Wrong::new(value.place, e);
        Ok(match &value.node {
            Node::Integer(n) => Data::Integer(*n),
            Node::Float(x) => Data::Float(*x),
            Node::Text(text) => Data::Text(text.clone()),
            Node::Boolean(b) => Data::Boolean(*b),
            Node::Name(name) => self.name(value.place, name)?,
            Node::Not(of) => Data::Boolean(!self.value(of)?.is_true()),
            Node::Negative(of) => self.value(of)?.negated().map_err(at)?,
            Node::Inverted(of) => self.value(of)?.inverted().map_err(at)?,
            Node::And(a, b) => match self.value(a)? {
                a if a.is_true() => self.value(b)?,
                a => a,
            },
            Node::Or(a, b) => match self.value(a)? {
                a if a.is_true() => a,
                _ => self.value(b)?,
            },
            Node::Compare(first, others) => {
                let mut left = self.value(first)?;
                for (how, other) in others {
                    let right = self.value(other)?;
                    if !left.compare(*how, &right).map_err(at)? {
                        return Ok(Data::Boolean(false));
                    }
                    left = right;
                }
                Data::Boolean(true)
            }
            Node::Binary(operator, a, b) => {
                let (a, b) = (self.value(a)?, self.value(b)?);
                a.binary(*operator, &b).map_err(at)?
            }
            Node::Apply(function, values) => {
                let values: Result<Vec<_>, _> = values.iter().map(|v| self.value(v)).collect();
                apply(*function, values?).map_err(at)?
            }
            Node::Tuple(values) => {
                let mut size = 0;
                let sized = |v| {
                    let data = self.value(v)?;
                    size += data.size();
                    check_size(size, v.place).map(|()| data)
                };
                Data::Tuple(values.iter().map(sized).collect::<Result<_, _>>()?)
            }
        })
    }

    /// The values of the names in `value`, as in `tcpi_snd_cwnd = 10`.
    fn values_of_names(&self, value: &Value, seen: &mut Vec<String>) {
        match &value.node {
            Node::Name(name) => {
                if let Ok(data) = self.name(value.place, name) {
                    let text = format!("{name} = {data}");
                    if !seen.contains(&text) {
                        seen.push(text);
                    }
                }
            }
            _ => value.parts().into_iter().for_each(|part| self.values_of_names(part, seen)),
        }
    }
}

fn apply(function: Function, values: Vec<Data>) -> Result<Data, String> {
    use super::Comparison::{Greater, Less};
    let extreme = |how| {
        let mut values = values.iter();
        let first = values.next().ok_or("min and max take values")?.clone();
        values.try_fold(first, |best, value| Ok(if value.compare(how, &best)? { value.clone() } else { best }))
    };
    match (function, &values[..]) {
        (Function::Abs, [value]) => value.magnitude(),
        (Function::Len, [Data::Text(text)]) => Ok(Data::Integer(text.chars().count() as i128)),
        (Function::Len, [Data::Tuple(values)]) => Ok(Data::Integer(values.len() as i128)),
        (Function::Min, _) => extreme(Less),
        (Function::Max, _) => extreme(Greater),
        (Function::Abs, _) => Err("abs takes one number".into()),
        (Function::Len, _) => Err("len takes one text".into()),
    }
}
