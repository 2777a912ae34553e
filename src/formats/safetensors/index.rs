//! The index of a model in several safetensors files, its shards: which file has which tensor.

use std::path::{Path, PathBuf};

use super::super::source::{self, Place, Source};
use super::json::Json;
use super::tensors::{Texts, texts, twice};
use super::{LONGEST, Tensor, text};
use crate::error::{Error, Flaw, FormatError, Part};
use crate::fallible;
use crate::system::{failure, files};

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
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = source::open(path)?;
        let source = Source::of_file(path, &file)?;
        Self::read(&source, path)
    }

    /// Does the same as [`open`](Self::open) for a file that is open, or for memory. The shards are in the folder of `path`.
    pub fn read(source: &Source<'_>, path: &Path) -> Result<Self, Error> {
        let length = source.length();
        if length > LONGEST {
            return Err(source.error(0, None, Flaw::TooLong { what: "the index", bytes: length, most: LONGEST }));
        }
        let text = text(source, "the index", 0, length)?;
        let mut entries = weight_map(Json::new(source, 0, &text))?;
        drop(text);
        let fail = |name: &str, flaw| Err(source.error(0, Some(Place::Tensor(name.as_bytes())), flaw));
        entries.sort_unstable();
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return fail(&pair[0].0, Flaw::Twice { name: (*pair[0].0).into() });
        }
        entries.sort_unstable_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
        let mut shards: Vec<Shard> = Vec::new();
        for (tensor, file) in entries {
            if !is_plain(&file) {
                return fail(&tensor, Flaw::Shard { name: (*file).into() });
            }
            match shards.last_mut() {
                Some(shard) if shard.file == file => fallible::push(&mut shard.tensors, tensor)?,
                _ => {
                    let mut tensors = Vec::new();
                    fallible::push(&mut tensors, tensor)?;
                    fallible::push(&mut shards, Shard { file, tensors })?;
                }
            }
        }
        Ok(Self { path: files::owned(path).map_err(failure("load", path))?, shards })
    }

    /// The paths of the shards, in the order of their names. One that is too long, or for which there is no memory, is an error.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = Result<PathBuf, Error>> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let path = |shard: &Shard| files::in_folder(folder, Path::new(&shard.file));
        self.shards.iter().map(move |shard| path(shard).map_err(failure("load", &self.path)))
    }

    /// Those of the tensors of a shard (counted from 0) that the index names.
    ///
    /// # Errors
    /// [`Error::Format`], with the name of the index, if the shard does not have one of them.
    pub fn tensors(&self, shard: usize, mut tensors: Vec<Tensor>) -> Result<Vec<Tensor>, Error> {
        let Some(shard) = self.shards.get(shard) else { return Ok(Vec::new()) };
        // Both lists are in the order of the names.
        let mut names = shard.tensors.iter().peekable();
        tensors.retain(|tensor| names.next_if(|name| **name == tensor.name).is_some());
        names.next().map_or(Ok(tensors), |name| Err(self.missing(shard, name)))
    }

    /// The error for a tensor that a shard does not have.
    fn missing(&self, shard: &Shard, name: &str) -> Error {
        let flaw = Flaw::NotInShard { shard: (*shard.file).into() };
        let part = Some(Part::Tensor(name.into()));
        FormatError { path: self.path.as_path().into(), byte: 0, part, flaw }.into()
    }
}

/// Reads the entries of an index: the name of each tensor and that of its file.
fn weight_map(mut json: Json<'_>) -> Result<Texts, Error> {
    const KEY: &str = "weight_map";
    let mut map = None;
    json.object("an object", |json, key| {
        if key != KEY {
            json.skip()
        } else if map.replace(texts(json)?).is_some() {
            Err(twice(json, KEY))
        } else {
            Ok(())
        }
    })?;
    let map = map.ok_or_else(|| json.wrong("missing field `weight_map`"));
    json.end()?;
    map
}

/// Whether a name is that of a file in the same folder.
fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0'])
}
