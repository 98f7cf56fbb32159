//! The values of code, as in Python: integers, floats, strings and booleans.

use super::{Comparison, Operator};
use std::{cmp::Ordering, fmt};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    Integer(i128),
    Float(f64),
    Text(String),
    Boolean(bool),
    Tuple(Vec<Data>),
}

/// The greatest length of a string, and the greatest size of the value of a variable or of a tuple, in bytes.
pub(super) const LONGEST: usize = 10_000;

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x:?}"),
            Self::Text(text) => f.write_str(text),
            Self::Boolean(true) => f.write_str("True"),
            Self::Boolean(false) => f.write_str("False"),
            Self::Tuple(values) => {
                f.write_str("(")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
        }
    }
}

impl Data {
    /// Its size in memory, about, in bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Integer(_) | Self::Float(_) | Self::Boolean(_) => 0,
                Self::Text(text) => text.len(),
                Self::Tuple(values) => values.iter().map(Self::size).sum(),
            }
    }

    pub fn is_true(&self) -> bool {
        match self {
            Self::Integer(n) => *n != 0,
            Self::Float(x) => *x != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Boolean(b) => *b,
            Self::Tuple(values) => !values.is_empty(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::Boolean(_) => "a truth value",
            Self::Tuple(_) => "a tuple",
        }
    }

    /// The value as an integer; booleans are 0 and 1.
    pub fn integer(&self) -> Option<i128> {
        match self {
            Self::Integer(n) => Some(*n),
            Self::Boolean(b) => Some(i128::from(*b)),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Self::Float(x) => Some(*x),
            _ => self.integer().map(|n| n as f64),
        }
    }

    /// The order of two values; `None` if they have none.
    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            _ => match (self.integer(), other.integer()) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                _ => self.float()?.partial_cmp(&other.float()?),
            },
        }
    }

    pub fn compare(&self, how: Comparison, other: &Self) -> Result<bool, String> {
        let order = self.order(other);
        Ok(match how {
            Comparison::Equal => order.map_or(self == other, Ordering::is_eq),
            Comparison::Unequal => order.map_or(self != other, Ordering::is_ne),
            _ => {
                let numbers = self.float().is_some() && other.float().is_some();
                match (how, order) {
                    (_, None) if numbers => false, // not a number
                    (_, None) => {
                        return Err(format!("cannot compare {} with {}", self.kind(), other.kind()));
                    }
                    (Comparison::Less, Some(o)) => o.is_lt(),
                    (Comparison::LessOrEqual, Some(o)) => o.is_le(),
                    (Comparison::Greater, Some(o)) => o.is_gt(),
                    (_, Some(o)) => o.is_ge(),
                }
            }
        })
    }

    pub fn negated(&self) -> Result<Self, String> {
        match self {
            Self::Float(x) => Ok(Self::Float(-x)),
            _ => self
                .integer()
                .and_then(i128::checked_neg)
                .map(Self::Integer)
                .ok_or_else(|| format!("cannot negate {}", self.kind())),
        }
    }

    pub fn inverted(&self) -> Result<Self, String> {
        let n = self.integer().map(|n| Self::Integer(!n));
        n.ok_or_else(|| format!("cannot invert {}", self.kind()))
    }

    pub fn magnitude(&self) -> Result<Self, String> {
        match self.float() {
            Some(x) if x < 0.0 => self.negated(),
            Some(_) => Ok(self.clone()),
            None => Err(format!("abs of {}", self.kind())),
        }
    }

    pub fn binary(&self, operator: Operator, other: &Self) -> Result<Self, String> {
        match (self, operator, other) {
            (Self::Text(a), Operator::Add, Self::Text(b)) if a.len() + b.len() <= LONGEST => {
                Ok(Self::Text(format!("{a}{b}")))
            }
            (Self::Text(a), Operator::Remainder, Self::Tuple(values)) => format(a, values),
            (Self::Text(a), Operator::Remainder, value) => format(a, std::slice::from_ref(value)),
            _ => self.arithmetic(operator, other),
        }
    }

    fn arithmetic(&self, operator: Operator, other: &Self) -> Result<Self, String> {
        if let (Some(a), Some(b)) = (self.integer(), other.integer()) {
            return integers(a, operator, b);
        }
        let (Some(a), Some(b)) = (self.float(), other.float()) else {
            let (a, b) = (self.kind(), other.kind());
            return Err(format!("cannot compute with {a} and {b}"));
        };
        if b == 0.0 && matches!(operator, Operator::Divide | Operator::DivideWhole | Operator::Remainder) {
            return Err("division by zero".into());
        }
        Ok(Self::Float(match operator {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            Operator::DivideWhole => (a / b).floor(),
            Operator::Remainder => a - b * (a / b).floor(),
            _ => return Err("bits are of whole numbers alone".into()),
        }))
    }
}

fn integers(a: i128, operator: Operator, b: i128) -> Result<Data, String> {
    let shift = || u32::try_from(b).ok().filter(|&b| b < 127);
    let floor = |a: i128, b: i128| {
        let quotient = a.checked_div(b)?;
        Some(quotient - i128::from(a % b != 0 && (a < 0) != (b < 0)))
    };
    if b == 0 && matches!(operator, Operator::Divide | Operator::DivideWhole | Operator::Remainder) {
        return Err("division by zero".into());
    }
    let result = match operator {
        Operator::Or => Some(a | b),
        Operator::Xor => Some(a ^ b),
        Operator::And => Some(a & b),
        Operator::ShiftLeft => shift().and_then(|n| a.checked_mul(1_i128 << n)),
        Operator::ShiftRight => shift().map(|n| a >> n),
        Operator::Add => a.checked_add(b),
        Operator::Subtract => a.checked_sub(b),
        Operator::Multiply => a.checked_mul(b),
        Operator::Divide => return Ok(Data::Float(a as f64 / b as f64)),
        Operator::DivideWhole => floor(a, b),
        // In Python, the result has the sign of the divisor.
        Operator::Remainder => floor(a, b).and_then(|q| a.checked_sub(q.checked_mul(b)?)),
    };
    result.map(Data::Integer).ok_or_else(|| "a number beyond 128 bits".into())
}

/// `'%d of %s' % (values)`.
fn format(text: &str, values: &[Data]) -> Result<Data, String> {
    let (mut out, mut values) = (String::new(), values.iter());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let conversion = chars.by_ref().find(|c| !matches!(c, '0'..='9' | '.' | '-' | '+' | ' '));
        match conversion {
            Some('%') => out.push('%'),
            Some('d' | 'i' | 'u' | 's' | 'r' | 'f' | 'g') => {
                let value = values.next().ok_or("fewer values than the text takes")?;
                out += &value.to_string();
            }
            Some('x') => {
                let value = values.next().and_then(Data::integer);
                out += &format!("{:x}", value.ok_or("`%x` takes a whole number")?);
            }
            _ => return Err("expected %d, %s, %f, %x or %% in a text before `%`".into()),
        }
        if out.len() > LONGEST {
            return Err(format!("a text of more than {LONGEST} bytes"));
        }
    }
    match values.next() {
        Some(_) => Err("more values than the text takes".into()),
        None => Ok(Data::Text(out)),
    }
}
