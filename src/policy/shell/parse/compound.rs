//! Commands: which kind stands here, and the compound kinds.

use std::rc::Rc;

use super::list::Closer;
use super::{Parse, Parser, is_meta};
use crate::policy::facts::Why;
use crate::policy::shell::ast::{Arm, Command, Compound, Function, Redirection, Script, Word};

/// Words that open, divide or close a compound command.
const RESERVED: [&str; 18] = [
    "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "for", "select", "case",
    "esac", "function", "{", "}", "[[", "coproc",
];

impl Parser<'_> {
    pub(super) fn command(&mut self) -> Parse<Command> {
        self.enter()?;
        self.blanks();
        let command = match self.keyword() {
            "function" => self.function()?,
            "coproc" => self.coproc()?,
            word if self.peek(0) == b'(' || RESERVED.contains(&word) => {
                let compound = self.compound()?;
                Command::Compound(Box::new(compound), self.redirections()?)
            }
            _ => self.simple()?,
        };
        self.leave();
        Ok(command)
    }

    /// The body of a function whose head was just read.
    pub(super) fn body(&mut self, name: &str) -> Parse<Command> {
        self.newlines()?;
        let body = self.compound()?;
        let redirections = self.redirections()?;
        Ok(Command::Function(name.to_owned(), Rc::new(Function { body, redirections })))
    }

    fn redirections(&mut self) -> Parse<Vec<Redirection>> {
        let mut all = Vec::new();
        loop {
            self.blanks();
            match self.redirection()? {
                Some(redirection) => all.push(redirection),
                None => return Ok(all),
            }
        }
    }

    fn function(&mut self) -> Parse<Command> {
        self.at += "function".len();
        self.blanks();
        let name = self.word()?.ok_or(Why::Syntax)?;
        let name = name.as_bare().filter(|n| *n != "{").ok_or(Why::Syntax)?.to_owned();
        self.blanks();
        if self.peek(0) == b'(' && self.rest().trim_start_matches(['(', ' ', '\t']).starts_with(')')
        {
            self.at += 1;
            self.spaces();
            self.expect_byte(b')')?;
        }
        self.body(&name)
    }

    fn coproc(&mut self) -> Parse<Command> {
        self.at += "coproc".len();
        self.blanks();
        let length = self.name();
        let start = self.at;
        if length > 0 && !RESERVED.contains(&self.slice(start, start + length)) {
            self.at += length;
            self.blanks();
            let named = self.peek(0) == b'(' || RESERVED.contains(&self.keyword());
            if !named {
                self.at = start;
            }
        }
        Ok(Command::Coproc(Box::new(self.command()?)))
    }

    fn compound(&mut self) -> Parse<Compound> {
        if self.peek(0) == b'(' {
            return self.paren();
        }
        let word = self.keyword();
        self.at += word.len();
        match word {
            "{" => {
                let body = self.block(Closer::Words(&["}"]))?;
                self.expect("}")?;
                Ok(Compound::Group(body))
            }
            "if" => self.conditional(),
            "while" | "until" => {
                let test = self.block(Closer::Words(&["do"]))?;
                Ok(Compound::Loop { test, body: self.turn()? })
            }
            "for" | "select" => self.each(),
            "case" => self.case(),
            "[[" => self.test(),
            _ => Err(self.missing()),
        }
    }

    /// `( … )`, or `(( … ))` where the text allows it.
    fn paren(&mut self) -> Parse<Compound> {
        if self.peek(1) == b'(' {
            let start = self.at;
            self.at += 2;
            if let Some(expression) = self.arithmetic_or_not(start, "))")? {
                return Ok(Compound::Arithmetic(expression));
            }
        }
        self.at += 1;
        let body = self.block(Closer::Paren)?;
        self.expect_byte(b')')?;
        Ok(Compound::Subshell(body))
    }

    fn conditional(&mut self) -> Parse<Compound> {
        let mut arms = Vec::new();
        loop {
            let test = self.block(Closer::Words(&["then"]))?;
            self.expect("then")?;
            arms.push((test, self.block(Closer::Words(&["elif", "else", "fi"]))?));
            self.newlines()?;
            match self.keyword() {
                "elif" => self.at += 4,
                "else" => {
                    self.at += 4;
                    let otherwise = self.block(Closer::Words(&["fi"]))?;
                    self.expect("fi")?;
                    return Ok(Compound::If(arms, Some(otherwise)));
                }
                _ => {
                    self.expect("fi")?;
                    return Ok(Compound::If(arms, None));
                }
            }
        }
    }

    /// A loop's body: `do … done`, or the braces bash also accepts.
    fn turn(&mut self) -> Parse<Script> {
        self.newlines()?;
        let (open, close): (_, &'static [&'static str]) =
            if self.keyword() == "{" { ("{", &["}"]) } else { ("do", &["done"]) };
        self.expect(open)?;
        let body = self.block(Closer::Words(close))?;
        self.expect(close.first().copied().unwrap_or_default())?;
        Ok(body)
    }

    fn each(&mut self) -> Parse<Compound> {
        self.blanks();
        if self.take("((") {
            let header = self.arithmetic("))")?;
            self.blanks();
            self.take(";");
            return Ok(Compound::Count { header, body: self.turn()? });
        }
        let length = self.name();
        let name = self.slice(self.at, self.at + length).to_owned();
        self.at += length;
        if length == 0 || !(self.at_end() || is_meta(self.peek(0))) {
            return Err(self.missing());
        }
        self.newlines()?;
        let words = if self.keyword() == "in" {
            self.at += 2;
            let words = self.words()?;
            if !matches!(self.peek(0), b';' | b'\n') {
                return Err(self.missing());
            }
            Some(words)
        } else {
            None
        };
        self.take(";");
        Ok(Compound::Each { name, words, body: self.turn()? })
    }

    fn words(&mut self) -> Parse<Vec<Word>> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            match self.word()? {
                Some(word) => words.push(word),
                None => return Ok(words),
            }
        }
    }

    fn case(&mut self) -> Parse<Compound> {
        self.blanks();
        let subject = self.word()?.ok_or_else(|| self.missing())?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.keyword() == "esac" {
                self.at += 4;
                return Ok(Compound::Case { subject, arms });
            }
            self.take("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.word()?.ok_or_else(|| self.missing())?);
                self.blanks();
                if !self.take("|") {
                    break;
                }
            }
            self.expect_byte(b')')?;
            let mut items = Vec::new();
            self.list(Closer::Arm, &mut items)?;
            arms.push(Arm { patterns, body: Script { items } });
            self.newlines()?;
            let more = self.take(";;&") || self.take(";;") || self.take(";&");
            if !more && self.keyword() != "esac" {
                return Err(self.missing());
            }
        }
    }

    fn test(&mut self) -> Parse<Compound> {
        let mut words = Vec::new();
        let mut open = 0_usize;
        let mut dangling = true;
        loop {
            self.tick()?;
            self.newlines()?;
            if self.at_end() {
                return Err(Why::Unterminated);
            }
            match (self.peek(0), self.peek(1)) {
                (b'(', _) => {
                    open += 1;
                    dangling = true;
                    self.at += 1;
                }
                (b')', _) => {
                    open = open.checked_sub(1).ok_or(Why::Syntax)?;
                    dangling = false;
                    self.at += 1;
                }
                (b'&', b'&') | (b'|', b'|') => {
                    dangling = true;
                    self.at += 2;
                }
                (b'<' | b'>', next) if next != b'(' => {
                    dangling = true;
                    self.at += 1;
                }
                (b';' | b'&' | b'|', _) => return Err(Why::Syntax),
                _ => match self.keyword() {
                    "]]" if dangling || open > 0 => return Err(Why::Syntax),
                    "]]" => {
                        self.at += 2;
                        return Ok(Compound::Test(words));
                    }
                    "=~" => {
                        self.at += 2;
                        self.spaces();
                        words.push(self.regex()?);
                    }
                    keyword => {
                        dangling = keyword == "!";
                        words.push(self.word()?.ok_or(Why::Syntax)?);
                    }
                },
            }
        }
    }
}
