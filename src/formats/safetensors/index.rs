//! The index of a model in several safetensors files, its shards: which file has which tensor.

use std::path::{Path, PathBuf};

use serde_core::de::{Error as _, MapAccess};

use super::super::source::{self, Source};
use super::json::{self, Noted, Skip, Target, Texts};
use super::{Header, LONGEST, Tensor, text};
use crate::error::{Error, Flaw, FormatError, Part};

/// What the index of a model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    path: PathBuf,
    shards: Vec<Shard>,
}

/// A shard: the name of the file, which is in the folder of the index, and the names of the tensors that are taken from it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shard {
    file: String,
    tensors: Vec<String>,
}

impl Index {
    /// Reads the index `path`.
    ///
    /// # Errors
    /// As [`open`](super::open).
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = source::open(path)?;
        let source = Source::of_file(path, &file)?;
        Self::read(&source, path)
    }

    /// Does the same as [`open`](Self::open) for a file that is open, or for memory. The shards are in the folder of `path`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn read(source: &Source<'_>, path: &Path) -> Result<Self, Error> {
        let length = source.length();
        if length > LONGEST {
            return Err(source.error(0, None, Flaw::TooLong { what: "the index", bytes: length, most: LONGEST }));
        }
        let text = text(source, "the index", 0, length)?;
        let parsed = json::parse(&text, Map::default()).map_err(|failure| failure.in_file(source, 0))?;
        let fail = |name: &str, flaw| Err(source.error(0, Some(&Part::Tensor(name.to_owned())), flaw));
        let mut entries = parsed.entries;
        entries.sort_unstable();
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return fail(&pair[0].0, Flaw::Twice { name: pair[0].0.clone() });
        }
        entries.sort_unstable_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
        let mut shards: Vec<Shard> = Vec::new();
        for (tensor, file) in entries {
            if !is_plain(&file) {
                return fail(&tensor, Flaw::Shard { name: file });
            }
            match shards.last_mut() {
                Some(shard) if shard.file == file => shard.tensors.push(tensor),
                _ => shards.push(Shard { file, tensors: vec![tensor] }),
            }
        }
        Ok(Self { path: path.to_owned(), shards })
    }

    /// The paths of the shards, in the order of their names.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = PathBuf> {
        self.shards.iter().map(|shard| self.path.with_file_name(&shard.file))
    }

    /// The tensors of a shard (counted from 0) that the index names. Others are left out.
    ///
    /// # Errors
    /// [`Error::Format`], with the name of the index, if the shard does not have one of them.
    pub fn tensors<'a>(&self, shard: usize, header: &'a Header) -> Result<Vec<&'a Tensor>, Error> {
        let Some(shard) = self.shards.get(shard) else { return Ok(Vec::new()) };
        let found = |name: &String| {
            header.tensor(name).ok_or_else(|| {
                let flaw = Flaw::NotInShard { shard: shard.file.clone() };
                let part = Some(Part::Tensor(name.clone()));
                FormatError { path: self.path.clone(), byte: 0, part, flaw }.into()
            })
        };
        shard.tensors.iter().map(found).collect()
    }
}

/// Whether a name is that of a file in the same folder.
fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0'])
}

/// The tensors of an index, and the name of the file for each.
#[derive(Default)]
struct Map {
    entries: Vec<(String, String)>,
    is_there: bool,
    noted: Noted,
}

impl Target for Map {
    fn take<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        const KEY: &str = "weight_map";
        while let Some(key) = entries.next_key::<String>()? {
            if key != KEY {
                entries.next_value_seed(Skip)?;
            } else if std::mem::replace(&mut self.is_there, true) {
                return Err(self.noted.refuse(Flaw::Twice { name: key }));
            } else {
                entries.next_value_seed(Texts { into: &mut self.entries, may_be_null: false })?;
            }
        }
        if self.is_there { Ok(()) } else { Err(A::Error::missing_field(KEY)) }
    }

    fn noted(&mut self) -> &mut Noted {
        &mut self.noted
    }
}
