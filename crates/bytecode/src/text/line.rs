//! [`LineCursor`]: takes tokens off the front of one line of text.

use crate::instruction::ElementType;
use crate::meaning::Lane;

/// A fault and its byte offset in the line.
pub(super) struct LineError {
    pub(super) at: usize,
    pub(super) what: String,
}

pub(super) type Parsed<T> = Result<T, LineError>;

/// A line and how much of it was taken.
#[derive(Clone)]
pub(super) struct LineCursor<'a> {
    text: &'a str,
    at: usize,
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '=' | '#' | ',' | '"')
}

impl<'a> LineCursor<'a> {
    pub(super) fn new(text: &'a str) -> LineCursor<'a> {
        LineCursor { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Where the next token begins.
    pub(super) fn place(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    /// Whether nothing is left but space and a comment.
    pub(super) fn is_empty(&mut self) -> bool {
        self.skip_space();
        matches!(self.rest().as_bytes().first(), None | Some(b'#'))
    }

    /// The first character of the next token.
    pub(super) fn peek(&mut self) -> Option<char> {
        if self.is_empty() { None } else { self.rest().chars().next() }
    }

    /// Takes `mark` if it is next.
    pub(super) fn take(&mut self, mark: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(mark);
        self.at += if found { mark.len_utf8() } else { 0 };
        found
    }

    /// Takes a word, which is called `name` if it is missing.
    pub(super) fn word(&mut self, name: &str) -> Parsed<&'a str> {
        self.skip_space();
        let rest = self.rest();
        let length = rest.find(ends_word).unwrap_or(rest.len());
        if length == 0 {
            return Err(self.expected(name));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    fn expected(&mut self, name: &str) -> LineError {
        let at = self.place();
        let what = match self.peek() {
            None => format!("{name} is missing at the end of the line"),
            Some(c) => format!("expected {name}, found '{c}'"),
        };
        LineError { at, what }
    }

    /// Takes an integer in decimal or, after `0x`, in hexadecimal.
    pub(super) fn integer(&mut self, name: &str) -> Parsed<Lane> {
        let at = self.place();
        let word = self.word(name)?;
        let (digits, radix) = match word.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (word, 10),
        };
        // The crate's parser also takes separators and its own prefixes; the format does not.
        let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        let value = Lane::from_str_radix(digits, u64::from(radix)).ok().filter(|_| plain);
        value.ok_or_else(|| LineError {
            at,
            what: format!("'{word}' is not {name}: write digits, or 0x and hexadecimal digits"),
        })
    }

    /// Takes an integer below 2^64.
    pub(super) fn number(&mut self, name: &str) -> Parsed<u64> {
        let at = self.place();
        let value = self.integer(name)?;
        u64::try_from(value)
            .map_err(|_| LineError { at, what: format!("{name} is not below 2^64") })
    }

    /// Takes a string as JSON writes it.
    pub(super) fn string(&mut self, name: &str) -> Parsed<String> {
        let at = self.place();
        if self.peek() != Some('"') {
            return Err(LineError {
                at,
                what: format!("{name} is a string: put it between quotation marks"),
            });
        }
        let mut values = serde_json::Deserializer::from_str(self.rest()).into_iter::<String>();
        match values.next() {
            Some(Ok(string)) => {
                self.at += values.byte_offset();
                Ok(string)
            }
            _ => Err(LineError { at, what: format!("{name} is not a string as JSON writes it") }),
        }
    }

    /// Takes `name=`.
    pub(super) fn key(&mut self, name: &str) -> Parsed<()> {
        let mut ahead = self.clone();
        if ahead.word(name).is_ok_and(|word| word == name) && ahead.take('=') {
            *self = ahead;
            return Ok(());
        }
        Err(self.expected(&format!("{name}=")))
    }

    /// Takes `name=` followed by a number.
    pub(super) fn attribute(&mut self, name: &str) -> Parsed<u64> {
        self.key(name)?;
        self.number(name)
    }

    /// Takes `name=0` or `name=1`.
    pub(super) fn flag(&mut self, name: &str) -> Parsed<bool> {
        let at = self.place();
        match self.attribute(name)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(LineError { at, what: format!("{name} is 0 or 1") }),
        }
    }

    /// Takes an element type such as `u32`.
    pub(super) fn element(&mut self) -> Parsed<ElementType> {
        let at = self.place();
        let word = self.word("a type")?;
        word.parse().map_err(|what| LineError { at, what })
    }

    /// Checks that nothing is left.
    pub(super) fn end(&mut self) -> Parsed<()> {
        let at = self.place();
        match self.peek() {
            None => Ok(()),
            Some(_) => {
                let rest = self.rest();
                let what = format!("'{}' is one too many here", shortened(rest));
                Err(LineError { at, what })
            }
        }
    }
}

/// The first word of `text`, at most 40 characters: enough to find it, short enough to print.
pub(super) fn shortened(text: &str) -> String {
    text.split_whitespace().next().unwrap_or("").chars().take(40).collect()
}
