//! Hostile npy files.

use crate::hostile::Case;
use crate::npy_file;

/// The header of an array of floats, with this shape.
fn shaped(shape: &str) -> Vec<u8> {
    npy_file(1, format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}").as_bytes(), &[0; 64])
}

/// The header of two elements of this type.
fn typed(descr: &str) -> Vec<u8> {
    npy_file(1, format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}").as_bytes(), &[0; 64])
}

/// A file with this header.
fn headed(header: &str) -> Vec<u8> {
    npy_file(1, header.as_bytes(), &[0; 64])
}

pub fn cases() -> Vec<Case> {
    let good = shaped("(2, 3)");
    let many = |count: usize| format!("({})", "1, ".repeat(count));
    let mut long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    long.extend([b' '; 100]);
    vec![
        ("empty.npy", Vec::new(), "begins with ''"),
        ("other.npy", b"PK\x03\x04 and so on".to_vec(), "this is not an npy file"),
        ("only_magic.npy", b"\x93NUMPY".to_vec(), "the header expected"),
        ("no_length.npy", b"\x93NUMPY\x01\x00\x10".to_vec(), "the header expected"),
        ("no_length_2.npy", b"\x93NUMPY\x02\x00\x10\x00\x00".to_vec(), "the header expected"),
        ("version_0.npy", b"\x93NUMPY\x00\x00\x10\x00{}".to_vec(), "got 0.0"),
        ("version_4.npy", b"\x93NUMPY\x04\x00\x10\x00{}".to_vec(), "got 4.0"),
        ("version_1_1.npy", b"\x93NUMPY\x01\x01\x10\x00{}".to_vec(), "got 1.1"),
        ("cut_header.npy", good[..40].to_vec(), "the header expected"),
        ("cut_data.npy", good[..good.len() - 50].to_vec(), "the elements expected (24 bytes), but 14 bytes are left"),
        ("long_header.npy", long, "the header has 4294967295 bytes"),
        ("header_of_65536.npy", npy_file(2, &[b' '; 65_536], &[]), "at most 65535"),
        ("spaces.npy", npy_file(2, &[b' '; 65_535], &[]), "'{' expected, but the header ends"),
        ("no_header.npy", headed(""), "'{' expected"),
        ("nul.npy", headed("\0"), r"got '\x00'"),
        ("no_dictionary.npy", headed("('<f4', False, (2,))"), "'{' expected"),
        ("no_keys.npy", headed("{}"), "'descr' is missing"),
        ("no_order.npy", headed("{'descr': '<f4', 'shape': (2,)}"), "'fortran_order' is missing"),
        ("no_shape.npy", headed("{'descr': '<f4', 'fortran_order': False}"), "'shape' is missing"),
        ("other_key.npy", headed("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}"), "the key 'x'"),
        (
            "twice.npy",
            headed("{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}"),
            "'descr' is there twice",
        ),
        ("shape_twice.npy", headed("{'shape': (2,), 'shape': (3,), 'descr': '<f4', 'fortran_order': False}"), "'shape' is there"),
        ("no_colon.npy", headed("{'descr' '<f4'}"), "':' expected"),
        ("no_comma.npy", headed("{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}"), "',' or '}' expected"),
        ("two_commas.npy", headed("{'descr': '<f4',, 'fortran_order': False, 'shape': (2,)}"), "a key or '}' expected"),
        ("open_dictionary.npy", headed("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)"), "',' or '}' expected"),
        ("more_text.npy", headed("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} #"), "the end of the header expected"),
        ("open_string.npy", headed("{'descr"), "the end of the string expected"),
        ("escape.npy", typed(r"'\x3cf4'"), "a plain character"),
        ("line_in_string.npy", typed("'<f\n4'"), "a plain character"),
        ("prefix.npy", typed("u'<f4'"), "a string expected"),
        ("number_as_order.npy", headed("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"), "True or False expected"),
        ("word_as_order.npy", headed("{'descr': '<f4', 'fortran_order': None, 'shape': (2,)}"), "True or False expected"),
        ("long_word.npy", headed("{'descr': '<f4', 'fortran_order': Falsehood, 'shape': (2,)}"), "',' or '}' expected"),
        ("comment.npy", headed("{'descr': '<f4', # x\n'fortran_order': False, 'shape': (2,)}"), "a key or '}' expected"),
        ("nested_22.npy", shaped(&"(".repeat(22)), "a size from 0"),
        ("nested.npy", shaped(&"[".repeat(60_000)), "'(' expected"),
        ("nested_descr.npy", typed(&"[".repeat(60_000)), "an array of structures"),
        ("list.npy", shaped("[2, 3]"), "'(' expected"),
        ("no_tuple.npy", shaped("(2)"), "',' expected"),
        ("number_as_shape.npy", shaped("2"), "'(' expected"),
        ("only_comma.npy", shaped("(,)"), "a size from 0"),
        ("comma_twice.npy", shaped("(2,,3)"), "a size from 0"),
        ("open_shape.npy", shaped("(2, 3"), "a size from 0"),
        ("negative.npy", shaped("(-1,)"), "a size from 0 to 2^63-1 expected, got '-1,)"),
        ("float.npy", shaped("(2.0,)"), "',' expected"),
        ("exponent.npy", shaped("(1e3,)"), "',' expected"),
        ("hexadecimal.npy", shaped("(0x10,)"), "',' expected"),
        ("underscore.npy", shaped("(1_000,)"), "',' expected"),
        ("leading_zero.npy", shaped("(007,)"), "a size from 0"),
        ("product.npy", shaped("(2 * 3,)"), "',' expected"),
        ("above_63_bits.npy", shaped("(9223372036854775808,)"), "a size from 0 to 2^63-1"),
        ("above_64_bits.npy", shaped("(18446744073709551617,)"), "a size from 0 to 2^63-1"),
        ("many_digits.npy", shaped(&format!("({},)", "9".repeat(60_000))), "a size from 0 to 2^63-1"),
        ("overflow.npy", shaped("(4294967296, 4294967296)"), "more elements than a machine can address"),
        ("overflow_to_small.npy", shaped("(9223372036854775807, 2, 2)"), "more elements than a machine"),
        ("bytes_overflow.npy", shaped("(2305843009213693952,)"), "more elements than a machine"),
        ("overflow_beside_0.npy", shaped("(0, 4294967296, 4294967296)"), "more elements than a machine"),
        ("huge.npy", shaped("(1000000000000,)"), "the elements expected (4000000000000 bytes), but 64"),
        ("one_too_many.npy", shaped("(17,)"), "the elements expected (68 bytes), but 64"),
        ("65_dimensions.npy", shaped(&many(65)), "at most 64 dimensions, got 65"),
        ("20000_dimensions.npy", shaped(&many(20_000)), "at most 64 dimensions, got 20000"),
        ("objects.npy", typed("'|O'"), "an array of objects ('|O') cannot be loaded"),
        ("strings.npy", typed("'<U5'"), "an array of strings ('<U5')"),
        ("bytes.npy", typed("'|S5'"), "an array of byte strings ('|S5')"),
        ("times.npy", typed("'<M8[ns]'"), "an array of times ('<M8[ns]')"),
        ("differences.npy", typed("'<m8[s]'"), "an array of time differences"),
        ("structures.npy", typed("[('a', '<i4'), ('b', '<f4')]"), "an array of structures ('[("),
        ("subarray.npy", typed("('<f4', (2,))"), "an array of structures"),
        ("long_double.npy", typed("'<f16'"), "an array of floats of this width ('<f16')"),
        ("int_of_3.npy", typed("'<i3'"), "an array of integers of this width"),
        ("int_of_0.npy", typed("'<i0'"), "an array of integers of this width"),
        ("int_of_08.npy", typed("'<i08'"), "an array of integers of this width"),
        ("int_of_plus_8.npy", typed("'<i+8'"), "an array of integers of this width"),
        ("complex_of_4.npy", typed("'<c4'"), "an array of complex numbers of this width"),
        ("bool_of_8.npy", typed("'<b8'"), "an array of booleans of this width"),
        ("no_byte_order.npy", typed("'|f4'"), "without a byte order"),
        ("native_order.npy", typed("'=f4'"), "an array of elements of an unknown type ('=f4')"),
        ("bare.npy", typed("'f4'"), "('f4') cannot be loaded"),
        ("long_name.npy", typed("'float32'"), "('float32') cannot be loaded"),
        ("empty_type.npy", typed("''"), "an array of elements of an unknown type ('')"),
        ("no_width.npy", typed("'<f'"), "('<f') cannot be loaded"),
        ("void_of_2.npy", typed("'<V2'"), "name it, for example dtype='bfloat16'"),
        ("void_of_1.npy", typed("'|V1'"), "name it, for example dtype='bfloat16'"),
    ]
}
