//! Names and texts as errors keep and show them: shortened when they are copied, so that an error takes little memory, whatever
//! a program gives as a name.

use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::path::Path;

use crate::fallible;
use crate::system::texts;

/// A name of up to three times as many characters is shown whole. Of a longer name, this many are shown at each end.
const SHOWN: usize = 200;

/// The most bytes of a text that is not a name.
const LONGEST_TEXT: usize = 1536;

/// A name or a text in an error. The middle of a very long name is left out.
///
/// It is a copy, and only `...` if there was no memory for the copy.
#[derive(PartialEq, Eq)]
pub struct Text(Option<Vec<u8>>);

impl Text {
    /// The bytes that were kept: all of them, or both ends of a long name with `...` between them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or(b"...")
    }

    /// The same as the name of a file.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        texts::of_bytes(self.as_bytes())
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_bytes().is_empty()
    }

    /// A name, with the middle left out if it is long.
    fn of(name: &[u8]) -> Self {
        let (head, tail) = ends(name);
        let mut kept = Vec::new();
        let room = head.len() + tail.map_or(0, |tail| tail.len() + 3);
        if kept.try_reserve_exact(room).is_err() {
            return Self(None);
        }
        kept.extend_from_slice(head);
        if let Some(tail) = tail {
            kept.extend_from_slice(b"...");
            kept.extend_from_slice(tail);
        }
        Self(Some(kept))
    }

    /// What a value displays, cut after 1536 bytes.
    #[must_use]
    pub fn displayed(value: &dyn fmt::Display) -> Self {
        let mut text = Bounded(Vec::new());
        let written = write!(text, "{value}");
        Self((written.is_ok() || !text.0.is_empty()).then_some(text.0))
    }
}

impl Clone for Text {
    fn clone(&self) -> Self {
        Self(self.0.as_deref().and_then(|kept| fallible::copied(kept).ok()))
    }
}

impl From<&[u8]> for Text {
    fn from(name: &[u8]) -> Self {
        Self::of(name)
    }
}

impl From<&str> for Text {
    fn from(name: &str) -> Self {
        Self::of(name.as_bytes())
    }
}

impl From<&OsStr> for Text {
    fn from(name: &OsStr) -> Self {
        Self::of(name.as_encoded_bytes())
    }
}

impl From<&Path> for Text {
    fn from(name: &Path) -> Self {
        Self::of(name.as_os_str().as_encoded_bytes())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_lossy(f, self.as_bytes())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// Collects a text up to [`LONGEST_TEXT`] bytes. What follows is dropped, and so is what there is no memory for.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let most = text.len().min(LONGEST_TEXT.saturating_sub(self.0.len()));
        let end = (0..=most).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        let text = &text[..end];
        fallible::reserve(&mut self.0, text.len()).map_err(|_| fmt::Error)?;
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Shows a name that a program gave, without copying it: see [`shown`].
#[derive(Clone, Copy)]
pub struct Shown<'a>(&'a [u8]);

/// A name as messages show it. The middle of a very long one is left out, and a zero byte is `\0`. Bytes that are not UTF-8 are
/// replaced by U+FFFD.
pub fn shown(name: &[u8]) -> Shown<'_> {
    Shown(name)
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, tail) = ends(self.0);
        write_lossy(f, head)?;
        let Some(tail) = tail else { return Ok(()) };
        f.write_str("...")?;
        write_lossy(f, tail)
    }
}

/// Whether a character begins with this byte, and does not go on with it.
fn begins(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

/// The whole name, or its first and its last characters. Only the bytes of these are looked at.
fn ends(name: &[u8]) -> (&[u8], Option<&[u8]>) {
    // A character has at most four bytes.
    const WIDEST: usize = 4;
    let is_short = name.len() <= 3 * SHOWN * WIDEST && name.iter().filter(|&&byte| begins(byte)).count() <= 3 * SHOWN;
    if is_short {
        return (name, None);
    }
    let window = name.len().min(SHOWN * WIDEST);
    let (first, last) = (&name[..window], &name[name.len() - window..]);
    let mut starts = first.iter().enumerate().filter(|(_, byte)| begins(**byte)).map(|(at, _)| at);
    let end = starts.nth(SHOWN).unwrap_or(window);
    let mut starts = last.iter().enumerate().rev().filter(|(_, byte)| begins(**byte)).map(|(at, _)| at);
    let start = starts.nth(SHOWN - 1).unwrap_or(0);
    (&first[..end], Some(&last[start..]))
}

fn write_lossy(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    for chunk in bytes.utf8_chunks() {
        for (number, part) in chunk.valid().split('\0').enumerate() {
            if number > 0 {
                f.write_str("\\0")?;
            }
            f.write_str(part)?;
        }
        if !chunk.invalid().is_empty() {
            f.write_char(char::REPLACEMENT_CHARACTER)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_TEXT, SHOWN, Text, shown};

    #[test]
    fn both_ends_of_a_long_name_are_shown() {
        for letter in ["x", "é", "語", "🜁"] {
            let whole = letter.repeat(3 * SHOWN);
            assert_eq!(shown(whole.as_bytes()).to_string(), whole);
            let long = format!("{whole}{letter}");
            let expected = format!("{0}...{0}", letter.repeat(SHOWN));
            assert_eq!(shown(long.as_bytes()).to_string(), expected);
            assert_eq!(Text::from(&*long).to_string(), expected);
            assert_eq!(Text::from(&*long).as_bytes(), expected.as_bytes());
        }
    }

    #[test]
    fn bytes_that_are_no_characters_are_shown_too() {
        assert_eq!(shown(b"a\0b\xff\xfec").to_string(), "a\\0b\u{fffd}\u{fffd}c");
        assert_eq!(Text::from(&b"a\0\xff"[..]).to_string(), "a\\0\u{fffd}");
        assert_eq!(shown(&[0x80; 10_000]).to_string().chars().filter(|&letter| letter == '.').count(), 3);
    }

    #[test]
    fn a_text_is_cut_after_whole_characters() {
        let text = Text::displayed(&format_args!("{}{}", "x".repeat(LONGEST_TEXT - 1), "é".repeat(10)));
        assert_eq!(text.as_bytes().len(), LONGEST_TEXT - 1);
        assert_eq!(Text::displayed(&"").as_bytes(), b"");
    }
}
