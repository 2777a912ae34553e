//! The files that safetensors, NumPy and ml_dtypes wrote.

use torch_storage::formats::{Opened, npy};

use crate::{Outcome, data, read_file, table};

#[test]
fn a_file_has_no_arrays_but_those_of_the_table() -> Outcome {
    let rows = table("arrays.tsv")?;
    for file in ["dtypes.safetensors", "unaligned.safetensors", "shapes.safetensors", "stored.npz"] {
        let path = data(file);
        let opened = if file.ends_with("npz") { Opened::npz(&path, None, false) } else { Opened::safetensors(&path, false) }?;
        assert_eq!(opened.members().len(), rows.iter().filter(|row| row[0] == file).count(), "{file}");
    }
    Ok(())
}

#[test]
fn metadata_is_read() -> Outcome {
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(Opened::safetensors(&data("dtypes.safetensors"), false)?.metadata(), [pair("format", "np")]);
    let expected = [pair("author", "Ünï"), pair("config", r#"{"layers": [1, 2]}"#), pair("step", "1200")];
    assert_eq!(Opened::safetensors(&data("shapes.safetensors"), false)?.metadata(), expected);
    assert_eq!(Opened::safetensors(&data("unaligned.safetensors"), false)?.metadata(), []);
    Ok(())
}

#[test]
fn an_array_in_fortran_order_has_strides_and_no_copy() -> Outcome {
    let array = read_file(&data("fortran.npy"), |source| npy::read(source, None))?;
    assert_eq!((array.layout.sizes(), array.layout.strides(), array.swap), ([2, 3].as_slice(), [1, 2].as_slice(), 1));
    assert_eq!(array.data, 128..176);
    Ok(())
}

#[test]
fn the_refused_reference_files_are_refused() {
    let npy = |name| Opened::npy(&data(name), None, false).map(|_| ());
    let npz = |name| Opened::npz(&data(name), None, false).map(|_| ());
    let safetensors = |name| Opened::safetensors(&data(name), false).map(|_| ());
    for (name, result, says) in [
        ("deflated.npz", npz("deflated.npz"), "is compressed: save it with numpy.savez, not savez_compressed"),
        ("refused_cut.safetensors", safetensors("refused_cut.safetensors"), "the elements expected"),
        ("refused_twice.safetensors", safetensors("refused_twice.safetensors"), "(tensor 'w'): the name 'w' is there twice"),
        ("refused_object.npy", npy("refused_object.npy"), "an array of objects ('|O')"),
        ("refused_shape.npy", npy("refused_shape.npy"), "the elements expected (4000000000000 bytes), but 0 bytes are left"),
        ("bfloat16.npy", npy("bfloat16.npy"), "dtype='bfloat16'"),
    ] {
        let message = result.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains(says) && message.contains(name), "{name}: {message}");
    }
}
