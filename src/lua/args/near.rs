//! The message for a name that no class has: it names the classes that the program may have meant.

use crate::element::DType;

/// Names that are longer are not compared with the classes.
const LONGEST: usize = 40;

/// Says that no class has this name, and which of `dtypes` have names near it. `class_name` is the name of the class of a dtype.
pub fn no_class(name: &str, dtypes: impl Iterator<Item = DType>, class_name: fn(DType) -> &'static str) -> String {
    let dtypes: Vec<_> = dtypes.collect();
    let near = nearest(&dtypes, &stem(name));
    // A name without capitals, such as `int33`, is meant as the name of a dtype.
    let shown = if name.bytes().any(|letter| letter.is_ascii_uppercase()) { class_name } else { DType::dtype_name };
    let hint = if near.is_empty() {
        format!("a class has a name like '{}' or 'float32';", class_name(DType::Float))
    } else {
        let names: Vec<_> = near.into_iter().map(|dtype| format!("'{}'", shown(dtype))).collect();
        format!("did you mean {}?", names.join(" or "))
    };
    format!("no class '{name}': {hint} docs/numbers.md lists all classes")
}

/// What the names of a class of storages, of a class of tensors and of a dtype have in common, in small letters.
fn stem(name: &str) -> String {
    let small = name.to_ascii_lowercase();
    let bare = small.strip_prefix("torch.").unwrap_or(&small);
    bare.strip_suffix("storage").or_else(|| bare.strip_suffix("tensor")).unwrap_or(bare).to_owned()
}

/// The dtypes whose name is the stem, or else those whose names begin with it, or else those with the fewest changed letters.
fn nearest(dtypes: &[DType], stem: &str) -> Vec<DType> {
    if stem.len() < 2 || stem.len() > LONGEST {
        return Vec::new();
    }
    let having = |matches: &dyn Fn(&str) -> bool| -> Vec<DType> {
        let has = |dtype: &DType| matches(&dtype.element_name().to_ascii_lowercase()) || matches(dtype.dtype_name());
        dtypes.iter().copied().filter(has).collect()
    };
    // More than a third of the letters changed is another word.
    let most = stem.len().div_ceil(3);
    let mut found = having(&|name| name == stem);
    if found.is_empty() {
        found = having(&|name| name.starts_with(stem));
    }
    for allowed in 1..=most {
        if found.is_empty() {
            found = having(&|name| changes(name, stem) == allowed);
        }
    }
    found
}

/// How many letters have to be changed, added or removed to make one word of the other: the Levenshtein distance.
fn changes(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
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
    row.last().copied().unwrap_or(0)
}
