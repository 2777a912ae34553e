//! The message for a name that no class has: it names the classes that the program may have meant.

use crate::element::DType;
use crate::error::shown;
use crate::lua::fault::{Fault, written};

/// Names that are longer are not compared with the classes.
const LONGEST: usize = 52;

/// Says that no class has this name, and which of `dtypes` have names near it. `class_name` is the name of the class of a dtype.
pub fn no_class(name: &[u8], dtypes: impl Iterator<Item = DType> + Clone, class_name: fn(DType) -> &'static str) -> Fault {
    let mut room = [0; LONGEST];
    let nearness = small(name, &mut room).map(stem).and_then(|stem| Some((stem, nearest(dtypes.clone(), stem)?)));
    // A name without capitals, such as `int33`, is meant as the name of a dtype.
    let has_capitals = name.iter().take(LONGEST).any(u8::is_ascii_uppercase);
    let hint = written(|f| {
        let Some((stem, nearness)) = nearness else {
            return write!(f, "a class has a name like '{}' or 'float32';", class_name(DType::Float));
        };
        for (number, dtype) in dtypes.clone().filter(|&dtype| nearness.has(dtype, stem)).enumerate() {
            let name = if has_capitals { class_name(dtype) } else { dtype.dtype_name() };
            write!(f, "{} '{name}'", if number == 0 { "did you mean" } else { " or" })?;
        }
        f.write_str("?")
    });
    Fault::new(format_args!("no class '{}': {hint} docs/numbers.md lists all classes", shown(name)))
}

/// A short name in small letters; `None` for a long one, and for one that is not UTF-8.
fn small<'a>(name: &[u8], room: &'a mut [u8; LONGEST]) -> Option<&'a str> {
    let room = room.get_mut(..name.len())?;
    room.copy_from_slice(name);
    room.make_ascii_lowercase();
    std::str::from_utf8(room).ok()
}

/// What the names of a class of storages, of a class of tensors and of a dtype have in common. The name has small letters.
fn stem(name: &str) -> &str {
    let bare = name.strip_prefix("torch.").unwrap_or(name);
    bare.strip_suffix("storage").or_else(|| bare.strip_suffix("tensor")).unwrap_or(bare)
}

/// How near a name of a dtype is to a stem.
#[derive(Clone, Copy)]
enum Nearness {
    Same,
    Begins,
    /// So many letters differ.
    Changed(usize),
}

impl Nearness {
    /// Whether one of the names of a dtype is so near.
    fn has(self, dtype: DType, stem: &str) -> bool {
        let mut room = [0; LONGEST];
        let names = [small(dtype.element_name().as_bytes(), &mut room), Some(dtype.dtype_name())];
        names.into_iter().flatten().any(|name| match self {
            Self::Same => name == stem,
            Self::Begins => name.starts_with(stem),
            Self::Changed(letters) => changes(name, stem) == letters,
        })
    }
}

/// How near the nearest dtypes are: their name is the stem, or else begins with it, or else has the fewest changed letters.
fn nearest(dtypes: impl Iterator<Item = DType> + Clone, stem: &str) -> Option<Nearness> {
    if stem.len() < 2 {
        return None;
    }
    // More than a third of the letters changed is another word.
    let changed = (1..=stem.len().div_ceil(3)).map(Nearness::Changed);
    [Nearness::Same, Nearness::Begins].into_iter().chain(changed).find(|near| dtypes.clone().any(|dtype| near.has(dtype, stem)))
}

/// How many letters have to be changed, added or removed to make one word of the other: the Levenshtein distance. The second word has
/// at most [`LONGEST`] letters.
fn changes(from: &str, to: &str) -> usize {
    let mut row: [usize; LONGEST + 1] = std::array::from_fn(|letters| letters);
    for (above, letter) in from.bytes().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        for (other, cell) in to.bytes().zip(row.iter_mut().skip(1)) {
            let changed = diagonal + usize::from(letter != other);
            diagonal = *cell;
            left = changed.min(*cell + 1).min(left + 1);
            *cell = left;
        }
    }
    row[to.len().min(LONGEST)]
}
