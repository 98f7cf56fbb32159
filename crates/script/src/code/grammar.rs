//! Parses code to statements.

use super::{Comparison, Function, Node, Operator, Statement, Value, What};
use crate::{
    error::{Place, Wrong, wrong},
    lex::{Kind, Language, Token, lex},
};

/// The greatest depth of parentheses, and of signs before a value.
const DEEPEST: usize = 64;
/// The most operators in a statement, because evaluation is recursive.
const MOST_OPERATORS: usize = 500;

/// Parses the code behind a `%{` at `start`.
pub(crate) fn parse(text: &str, start: Place) -> Result<Vec<Statement>, Wrong> {
    let inside = Place { column: start.column + 2, ..start };
    let tokens = lex(text, Language::Code, inside)?.tokens;
    let mut parser = Parser { tokens, at: 0, parentheses: 0, depth: 0, operators: 0 };
    let mut statements = Vec::new();
    while parser.kind() != &Kind::End {
        if parser.take(";") {
            continue;
        }
        statements.push(parser.statement()?);
        if parser.kind() != &Kind::End && !parser.at_line_end() && !parser.take(";") {
            return Err(parser.expected("the end of the statement (a new line or `;`)"));
        }
    }
    Ok(statements)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    parentheses: usize,
    depth: usize,
    operators: usize,
}

/// Operators by precedence, lowest first.
const BINARY: [&[(&str, Operator)]; 6] = [
    &[("|", Operator::Or)],
    &[("^", Operator::Xor)],
    &[("&", Operator::And)],
    &[("<<", Operator::ShiftLeft), (">>", Operator::ShiftRight)],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("//", Operator::DivideWhole), ("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

const COMPARISONS: [(&str, Comparison); 6] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

const FUNCTIONS: [(&str, Function); 4] =
    [("abs", Function::Abs), ("min", Function::Min), ("max", Function::Max), ("len", Function::Len)];

impl Parser {
    fn token(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind(&self) -> &Kind {
        &self.token().kind
    }

    fn place(&self) -> Place {
        self.token().place
    }

    /// Whether the statement's line ends before the next token, outside parentheses.
    fn at_line_end(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        let begins = before.is_none_or(|before| before.end.line < self.place().line);
        self.parentheses == 0 && begins && !self.token().joined
    }

    /// The number of tokens of `sign` if it is next. Its characters must be adjacent, and the next one must
    /// not make it another operator.
    fn sign(&self, sign: &str) -> Option<usize> {
        if self.at > 0 && self.at_line_end() {
            return None;
        }
        let mut end = self.place();
        for (i, c) in sign.chars().enumerate() {
            let token = self.tokens.get(self.at + i)?;
            if token.kind != Kind::Sign(c) || token.place != end {
                return None;
            }
            end = token.end;
        }
        let follows = self.tokens.get(self.at + sign.len()).filter(|t| t.place == end);
        let longer = |c| follows.is_some_and(|t| t.kind == Kind::Sign(c));
        let other = match sign {
            "<" => longer('=') || longer('<'),
            ">" => longer('=') || longer('>'),
            "*" => longer('=') || longer('*'),
            "/" => longer('=') || longer('/'),
            "=" => longer('='),
            "+" | "-" | "%" | "&" | "|" | "^" | "<<" | ">>" | "//" => longer('='),
            _ => false,
        };
        (!other).then_some(sign.len())
    }

    fn take(&mut self, sign: &str) -> bool {
        match self.sign(sign) {
            Some(n) => {
                self.at += n;
                true
            }
            None => false,
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = !(self.at > 0 && self.at_line_end()) && matches!(self.kind(), Kind::Word(w) if w == word);
        self.at += usize::from(is);
        is
    }

    fn expected(&self, what: &str) -> Wrong {
        if self.kind() == &Kind::End || self.at_line_end() {
            let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
            let place = before.map_or(self.place(), |b| b.end);
            return Wrong::new(place, format!("expected {what}, found the end of the code's line"));
        }
        Wrong::new(self.place(), format!("expected {what}, found {}", self.kind()))
    }

    fn statement(&mut self) -> Result<Statement, Wrong> {
        const WHAT: &str = "a statement (`assert …`, `print(…)`, `name = value`)";
        let place = self.place();
        self.operators = 0;
        let Kind::Word(word) = self.kind().clone() else {
            return Err(self.expected(WHAT));
        };
        self.at += 1;
        let what = match word.as_str() {
            "assert" => self.assertion()?,
            "print" => self.print()?,
            "pass" => What::Pass,
            "if" | "for" | "while" | "def" | "import" | "from" | "class" | "with" | "try" | "return" => {
                return wrong(place, format!("`{word}` is not supported, expected {WHAT}"));
            }
            _ => self.assignment(place, word)?,
        };
        Ok(Statement { place, what })
    }

    fn assertion(&mut self) -> Result<What, Wrong> {
        let begin = self.at;
        let test = self.value()?;
        let text = self.text(begin, self.at);
        let message = if self.take(",") { Some(self.value()?) } else { None };
        Ok(What::Assert { test, text, message })
    }

    /// The tokens from `begin` to `end` as text, except for white space.
    fn text(&self, begin: usize, end: usize) -> String {
        let mut text = String::new();
        for i in begin..end {
            let token = &self.tokens[i];
            if i > begin && self.tokens[i - 1].end != token.place {
                text.push(' ');
            }
            match &token.kind {
                Kind::Word(t) | Kind::Number(t) => text += t,
                Kind::Text(t) => text += &format!("'{t}'"),
                Kind::Ellipsis => text += "...",
                Kind::Sign(c) => text.push(*c),
                _ => {}
            }
        }
        text
    }

    fn print(&mut self) -> Result<What, Wrong> {
        if self.kind() == &Kind::End || self.at_line_end() {
            return Ok(What::Print(Vec::new()));
        }
        if !self.take("(") {
            return Ok(What::Print(vec![self.value()?]));
        }
        self.list().map(What::Print)
    }

    /// Values up to the closing parenthesis.
    fn list(&mut self) -> Result<Vec<Value>, Wrong> {
        self.parentheses += 1;
        let mut values = Vec::new();
        while !self.take(")") {
            if !values.is_empty() && !self.take(",") {
                return Err(self.expected("`,` or `)`"));
            }
            if self.take(")") {
                break;
            }
            values.push(self.value()?);
        }
        self.parentheses -= 1;
        Ok(values)
    }

    fn assignment(&mut self, place: Place, name: String) -> Result<What, Wrong> {
        if self.take("=") {
            return Ok(What::Assign(name, None, self.value()?));
        }
        let operators = BINARY.iter().flat_map(|level| level.iter());
        for (sign, operator) in operators {
            if self.take(&format!("{sign}=")) {
                return Ok(What::Assign(name, Some(*operator), self.value()?));
            }
        }
        let statements = ["assert", "print", "pass"];
        let near = crate::error::did_you_mean(&name, statements);
        let message = if near.is_empty() {
            format!("expected `=` after `{name}`: a statement is `assert …`, `print(…)` or `name = value`")
        } else {
            format!("unknown statement `{name}`{near}")
        };
        wrong(place, message)
    }

    fn value(&mut self) -> Result<Value, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return wrong(self.place(), format!("more than {DEEPEST} parentheses within each other"));
        }
        let value = self.or();
        self.depth -= 1;
        value
    }

    fn count_operator(&mut self) -> Result<(), Wrong> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            wrong(self.place(), format!("more than {MOST_OPERATORS} operators in one statement"))
        } else {
            Ok(())
        }
    }

    fn or(&mut self) -> Result<Value, Wrong> {
        self.joined("or", Node::Or, Self::and)
    }

    /// Operands joined by `word`, grouped from the left.
    fn joined(
        &mut self,
        word: &str,
        node: fn(Box<Value>, Box<Value>) -> Node,
        operand: fn(&mut Self) -> Result<Value, Wrong>,
    ) -> Result<Value, Wrong> {
        let mut left = operand(self)?;
        while self.take_word(word) {
            self.count_operator()?;
            let (place, right) = (left.place, operand(self)?);
            left = Value { place, node: node(Box::new(left), Box::new(right)) };
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Value, Wrong> {
        self.joined("and", Node::And, Self::not)
    }

    fn not(&mut self) -> Result<Value, Wrong> {
        let place = self.place();
        let mut negations = 0;
        while self.take_word("not") {
            negations += 1;
        }
        let mut value = self.comparison()?;
        // Only their parity matters, but `not not a` is a boolean, so two are not the same as none.
        let negations = if negations > 2 { 2 - negations % 2 } else { negations };
        for _ in 0..negations {
            let node = Node::Not(Box::new(value));
            value = Value { place, node };
        }
        Ok(value)
    }

    fn comparison(&mut self) -> Result<Value, Wrong> {
        let left = self.binary(0)?;
        let mut others = Vec::new();
        while let Some((sign, comparison)) = COMPARISONS.iter().find(|(s, _)| self.sign(s).is_some()) {
            self.take(sign);
            others.push((*comparison, self.binary(0)?));
        }
        if others.is_empty() {
            return Ok(left);
        }
        let place = left.place;
        let node = Node::Compare(Box::new(left), others);
        Ok(Value { place, node })
    }

    fn binary(&mut self, level: usize) -> Result<Value, Wrong> {
        let Some(operators) = BINARY.get(level) else {
            return self.unary();
        };
        let mut left = self.binary(level + 1)?;
        while let Some((sign, operator)) = operators.iter().find(|(s, _)| self.sign(s).is_some()) {
            self.take(sign);
            self.count_operator()?;
            let (place, right) = (left.place, self.binary(level + 1)?);
            let node = Node::Binary(*operator, Box::new(left), Box::new(right));
            left = Value { place, node };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Value, Wrong> {
        let place = self.place();
        if self.take("+") {
            return self.nested();
        }
        if self.take("-") {
            let node = Node::Negative(Box::new(self.nested()?));
            return Ok(Value { place, node });
        }
        if self.take("~") {
            let node = Node::Inverted(Box::new(self.nested()?));
            return Ok(Value { place, node });
        }
        self.atom(place)
    }

    fn nested(&mut self) -> Result<Value, Wrong> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return wrong(self.place(), format!("more than {DEEPEST} signs in a row"));
        }
        let value = self.unary();
        self.depth -= 1;
        value
    }

    fn atom(&mut self, place: Place) -> Result<Value, Wrong> {
        const WHAT: &str = "a value (a number, a text, a name such as `tcpi_snd_cwnd`)";
        if self.at > 0 && self.at_line_end() {
            return Err(self.expected(WHAT));
        }
        if self.take("(") {
            self.parentheses += 1;
            let value = self.in_parentheses(place);
            self.parentheses -= 1;
            return value;
        }
        let node = match self.kind().clone() {
            Kind::Number(text) => number(&text).ok_or_else(|| self.expected("a number"))?,
            Kind::Text(text) => Node::Text(unescape(&text)),
            Kind::Word(word) => return self.name(place, word),
            _ => return Err(self.expected(WHAT)),
        };
        self.at += 1;
        Ok(Value { place, node })
    }

    fn in_parentheses(&mut self, place: Place) -> Result<Value, Wrong> {
        let first = self.value()?;
        if self.take(")") {
            return Ok(first);
        }
        if !self.take(",") {
            return Err(self.expected("`)`"));
        }
        let mut values = vec![first];
        values.extend(self.list()?);
        Ok(Value { place, node: Node::Tuple(values) })
    }

    fn name(&mut self, place: Place, word: String) -> Result<Value, Wrong> {
        self.at += 1;
        let node = match word.as_str() {
            "True" => Node::Boolean(true),
            "False" => Node::Boolean(false),
            _ if self.take("(") => {
                let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == word) else {
                    let known = FUNCTIONS.iter().map(|(name, _)| *name);
                    return Err(Wrong::unknown(place, "function", &word, known));
                };
                Node::Apply(*function, self.list()?)
            }
            _ => Node::Name(word),
        };
        Ok(Value { place, node })
    }
}

fn number(text: &str) -> Option<Node> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return i128::from_str_radix(hex, 16).ok().map(Node::Integer);
    }
    if text.contains('.') { text.parse().ok().map(Node::Float) } else { text.parse().ok().map(Node::Integer) }
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            _ => out.push(c),
        }
    }
    out
}
