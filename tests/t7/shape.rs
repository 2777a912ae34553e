//! The sizes, strides and offset of a tensor in a file.

use torch_storage::output::Output;
use torch_storage::t7::{Encoding, Reader, Writer, layout};
use torch_storage::tensor::Layout;

use crate::{B32, Outcome};

fn written(layout: &Layout, encoding: Encoding) -> Result<Vec<u8>, torch_storage::Error> {
    let mut writer = Writer::new(Output::to_memory(), encoding);
    writer.layout(layout)?;
    writer.finish()?;
    Ok(writer.memory().to_vec())
}

#[test]
fn a_layout_is_written_as_torch7_writes_it() -> Outcome {
    for (layout, text) in [
        (Layout::strided(3, &[3, 2], &[1, -3])?, "2\n3 2\n1 -3\n4\n"),
        (Layout::contiguous(&[])?, "1\n1\n1\n1\n"),
        (Layout::contiguous(&[0])?, "0\n1\n"),
        (Layout::strided(4, &[0], &[7])?, "0\n5\n"),
        (Layout::contiguous(&[2, 0])?, "2\n2 0\n1 1\n1\n"),
    ] {
        assert_eq!(String::from_utf8(written(&layout, Encoding::Ascii)?)?, text);
    }
    Ok(())
}

#[test]
fn a_layout_is_read_as_it_was_written() -> Outcome {
    for (before, after) in [
        (Layout::strided(3, &[3, 2], &[1, -3])?, None),
        (Layout::contiguous(&[])?, Some(Layout::contiguous(&[1])?)),
        (Layout::contiguous(&[0])?, None),
        (Layout::strided(4, &[0], &[7])?, Some(Layout::strided(4, &[0], &[1])?)),
        (Layout::strided(9, &[2, 0, 5], &[-4, 0, 1])?, None),
        (Layout::contiguous(&[1; 64])?, None),
    ] {
        for encoding in [Encoding::NATIVE, B32, Encoding::Ascii] {
            let mut reader = Reader::new(written(&before, encoding)?.into(), encoding, true);
            assert_eq!(&reader.layout()?, after.as_ref().unwrap_or(&before));
            assert!(reader.is_at_end()?);
        }
    }
    Ok(())
}

#[test]
fn a_number_that_needs_8_bytes_is_not_written_in_4() -> Outcome {
    for (layout, number) in [
        (Layout::strided(0, &[1 << 31], &[0])?, "2147483648"),
        (Layout::strided(0, &[2, 0], &[-(1 << 32), 1])?, "-4294967296"),
        (Layout::strided(i32::MAX.unsigned_abs() as usize, &[0], &[1])?, "2147483648"),
    ] {
        assert!(written(&layout, B32).is_err_and(|error| error.to_string().contains(number)), "{layout:?}");
        assert!(written(&layout, Encoding::NATIVE).is_ok());
    }
    Ok(())
}

#[test]
fn numbers_that_are_no_layout_are_refused() {
    for (sizes, strides, offset, why) in [
        (&[2_i64][..], &[1_i64][..], 0, "the offset of a tensor is 1 or more, got 0"),
        (&[], &[], i64::MIN, "the offset of a tensor is 1 or more"),
        (&[0, -1], &[1, 1], 1, "size -1 is not allowed"),
        (&[2], &[1, 1], 1, "there is a stride for each size"),
        (&[2], &[-1], 1, "uses elements 0 to 1"),
        (&[2], &[i64::MIN], 1, "uses elements"),
        (&[2], &[1], i64::MAX, "uses elements"),
        (&[i64::MAX, 3], &[0, 0], 1, "more elements than a machine can address"),
        (&[3, 3], &[1 << 62, 1 << 62], 1, "uses elements"),
        (&[1; 65], &[1; 65], 1, "at most 64 dimensions"),
    ] {
        assert!(
            layout(sizes, strides, offset).is_err_and(|error| error.to_string().contains(why)),
            "{sizes:?} {strides:?} {offset}"
        );
    }
}
