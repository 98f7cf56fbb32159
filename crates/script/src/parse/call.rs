//! System calls: `...0.2 connect(3, ..., ...) = -1 ETIMEDOUT (Connection timed out)`.

use super::{Parser, integer};
use crate::{
    error::{Wrong, wrong},
    lex::Kind,
    script::{Argument, Call, Expression, Time},
};
use std::time::Duration;

/// The system calls that scripts may name.
pub(crate) const CALLS: [&str; 30] = [
    "accept",
    "bind",
    "close",
    "connect",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "fcntl",
    "getsockopt",
    "ioctl",
    "listen",
    "pause",
    "pipe",
    "poll",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendfile",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "socket",
    "splice",
    "write",
    "writev",
];

/// System calls that are errors, because no packet depends on them alone.
const REFUSED: [&str; 4] = ["pause", "pipe", "sendfile", "splice"];

/// The errors that scripts may name.
const ERRORS: [&str; 22] = [
    "EADDRINUSE",
    "EAGAIN",
    "EALREADY",
    "EBADF",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EDESTADDRREQ",
    "EHOSTUNREACH",
    "EINPROGRESS",
    "EINTR",
    "EINVAL",
    "EISCONN",
    "EMSGSIZE",
    "ENETUNREACH",
    "ENOPROTOOPT",
    "ENOTCONN",
    "EOPNOTSUPP",
    "EPIPE",
    "ETIMEDOUT",
    "EWOULDBLOCK",
    "ENOTSOCK",
];

/// The greatest depth of nested structures and calls.
const DEEPEST: usize = 16;

impl Parser {
    pub fn call(&mut self, time: Time) -> Result<Call, Wrong> {
        let place = self.place();
        let until = if self.kind() == &Kind::Ellipsis {
            self.at += 1;
            Some(self.call_end(time)?)
        } else {
            None
        };
        let Kind::Word(name) = self.kind().clone() else {
            return Err(self.expected("a system call after the time it ends"));
        };
        let name_place = self.place();
        if !CALLS.contains(&name.as_str()) {
            return Err(Wrong::unknown(name_place, "system call", &name, CALLS));
        }
        if REFUSED.contains(&name.as_str()) {
            return wrong(name_place, format!("the system call `{name}` is not supported"));
        }
        if until.is_some() && matches!(time, Time::Any | Time::Between(..) | Time::AfterBetween(..)) {
            return wrong(place, "a call that blocks must begin at one time");
        }
        self.at += 1;
        self.expect('(', "the system call's name")?;
        let mut arguments = Vec::new();
        if !self.take(')') {
            loop {
                let place = self.place();
                let value = self.expression(0)?;
                arguments.push(Argument { place, value });
                if self.take(')') {
                    break;
                }
                if !self.take(',') {
                    return Err(self.expected("`,` or `)` after an argument"));
                }
            }
        }
        self.expect('=', "the arguments")?;
        let result = self.expression(0)?;
        let error = self.errno()?;
        Ok(Call { name, arguments, until, result, error })
    }

    fn call_end(&mut self, time: Time) -> Result<Duration, Wrong> {
        let place = self.place();
        self.take('+'); // some write it, and it says nothing: the end counts like the beginning
        let end = self.duration("the time the call ends")?;
        match time {
            Time::At(begin) | Time::After(begin) if end < begin => wrong(place, "the call ends before it begins"),
            _ => Ok(end),
        }
    }

    /// `ECONNRESET (Connection reset by peer)`, or nothing.
    fn errno(&mut self) -> Result<Option<String>, Wrong> {
        let Kind::Word(word) = self.kind().clone() else {
            return self.remark().map(|()| None);
        };
        if !ERRORS.contains(&word.as_str()) {
            return Err(Wrong::unknown(self.place(), "error", &word, ERRORS));
        }
        self.at += 1;
        self.remark()?;
        Ok(Some(word))
    }

    /// A remark in parentheses, which has no meaning.
    fn remark(&mut self) -> Result<(), Wrong> {
        let open = self.place();
        if !self.take('(') {
            return Ok(());
        }
        while !self.take(')') {
            if self.kind() == &Kind::End || self.place().line != open.line {
                return wrong(open, "a remark begins here, expected its `)` on the same line");
            }
            self.at += 1;
        }
        Ok(())
    }

    fn expression(&mut self, depth: usize) -> Result<Expression, Wrong> {
        if depth > DEEPEST {
            return wrong(self.place(), format!("more than {DEEPEST} structures within each other"));
        }
        let mut value = self.primary(depth)?;
        if self.kind() == &Kind::Sign('|') {
            let mut parts = vec![value];
            while self.take('|') {
                parts.push(self.primary(depth)?);
            }
            value = Expression::Or(parts);
        }
        let name = match &value {
            Expression::Word(name) | Expression::Apply(name, _) => name.clone(),
            _ => return Ok(value),
        };
        // Only within a structure, because `=` after a call's arguments begins the result.
        if depth > 0 && self.take('=') {
            let field = self.expression(depth + 1)?;
            return Ok(Expression::Field(name, Box::new(field)));
        }
        Ok(value)
    }

    fn primary(&mut self, depth: usize) -> Result<Expression, Wrong> {
        match self.kind().clone() {
            Kind::Ellipsis => {
                self.at += 1;
                Ok(Expression::Any)
            }
            Kind::Sign('-') => {
                self.at += 1;
                let n = self.number("a number after `-`", i64::MAX as u64)?;
                Ok(Expression::Integer(-(n as i64)))
            }
            Kind::Number(text) => match integer(&text) {
                Some(n) => {
                    self.at += 1;
                    Ok(Expression::Integer(n))
                }
                None => Err(self.expected("a whole number")),
            },
            Kind::Text(_) => Ok(self.texts()),
            Kind::Word(word) => {
                self.at += 1;
                if self.take('(') {
                    self.list(')', depth).map(|list| Expression::Apply(word, list))
                } else {
                    Ok(Expression::Word(word))
                }
            }
            Kind::Sign('[') => {
                self.at += 1;
                self.list(']', depth).map(Expression::List)
            }
            Kind::Sign('{') => {
                self.at += 1;
                self.list('}', depth).map(Expression::Struct)
            }
            _ => Err(self.expected("a value (a number, a name, `...`, \"text\", `[list]`, `{structure}`)")),
        }
    }

    /// Adjacent strings, which are joined; `...` after them stands for the rest.
    fn texts(&mut self) -> Expression {
        let mut all = String::new();
        while let Kind::Text(text) = self.kind() {
            all += text;
            self.at += 1;
        }
        if self.kind() == &Kind::Ellipsis {
            self.at += 1;
            return Expression::Any;
        }
        Expression::Text(all)
    }

    fn list(&mut self, close: char, depth: usize) -> Result<Vec<Expression>, Wrong> {
        let mut list = Vec::new();
        if self.take(close) {
            return Ok(list);
        }
        loop {
            list.push(self.expression(depth + 1)?);
            if self.take(close) {
                return Ok(list);
            }
            if !self.take(',') {
                return Err(self.expected(&format!("`,` or `{close}`")));
            }
        }
    }
}
