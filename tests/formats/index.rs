//! The index of a model in several files.

use std::path::Path;

use torch_storage::formats::{Source, safetensors};

use crate::{Outcome, data, safetensors_file};

fn read(text: &str) -> Result<safetensors::Index, torch_storage::Error> {
    let bytes = text.as_bytes();
    safetensors::Index::read(&Source::of_bytes(Path::new("folder/x.index.json"), &bytes), Path::new("folder/x.index.json"))
}

#[test]
fn the_shards_are_beside_the_index() -> Outcome {
    let index =
        read(r#"{"metadata": {"total_size": 1.5e3}, "weight_map": {"b": "2", "a": "1", "c": "2"}, "more": [null, true, "x"]}"#)?;
    let shards: Vec<_> = index.shards().collect::<Result<_, _>>()?;
    assert_eq!(shards, [Path::new("folder/1"), Path::new("folder/2")]);
    assert_eq!(read(r#"{"weight_map": {}}"#)?.shards().len(), 0);
    Ok(())
}

#[test]
fn a_tensor_that_the_index_does_not_name_is_left_out() -> Outcome {
    let index = safetensors::Index::open(&data("net.safetensors.index.json"))?;
    let tensor = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let file = safetensors_file(format!(r#"{{"layer.1.w":{tensor},"other":{tensor}}}"#).as_bytes(), &[]);
    let slice = file.as_slice();
    let header = safetensors::read(&Source::of_bytes(Path::new("shard"), &slice))?;
    let named = index.tensors(0, header.tensors.clone())?;
    assert_eq!(named.iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>(), ["layer.1.w"]);
    let message = index.tensors(1, header.tensors).map(|_| ()).map_err(|error| error.to_string()).err().unwrap_or_default();
    assert!(message.contains("net.safetensors.index.json"), "{message}");
    assert!(message.contains("(tensor 'layer.2.b'): the tensor is not in 'net-00002-of-00002.safetensors'"), "{message}");
    Ok(())
}
