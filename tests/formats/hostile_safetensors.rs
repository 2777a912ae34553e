//! Hostile safetensors files, and hostile indexes.

use crate::hostile::Case;
use crate::safetensors_file;

/// A file with this header and 16 bytes of elements.
fn headed(header: &str) -> Vec<u8> {
    safetensors_file(header.as_bytes(), &[0; 16])
}

/// A file with one tensor `w` of this dtype, shape and range, and 16 bytes of elements.
fn one(dtype: &str, shape: &str, range: &str) -> Vec<u8> {
    headed(&format!(r#"{{"w":{{"dtype":{dtype},"shape":{shape},"data_offsets":{range}}}}}"#))
}

/// A file with tensors `a`, `b` and so on of bytes, which have these ranges, and 16 bytes of elements.
fn ranges(ranges: &[(u64, u64)]) -> Vec<u8> {
    let tensors: Vec<String> = ranges
        .iter()
        .zip('a'..)
        .map(|((begin, end), name)| {
            let size = end.saturating_sub(*begin);
            format!(r#""{name}":{{"dtype":"U8","shape":[{size}],"data_offsets":[{begin},{end}]}}"#)
        })
        .collect();
    headed(&format!("{{{}}}", tensors.join(",")))
}

/// An index of these entries.
fn index(map: &str) -> Vec<u8> {
    format!(r#"{{"weight_map":{map}}}"#).into_bytes()
}

pub fn cases() -> Vec<Case> {
    let tensor = r#"{"dtype":"U8","shape":[8],"data_offsets":[0,8]}"#;
    let second = r#"{"dtype":"U8","shape":[8],"data_offsets":[8,16]}"#;
    let good = headed(&format!(r#"{{"a":{tensor},"b":{second}}}"#));
    let mut long = 100_000_001_u64.to_le_bytes().to_vec();
    long.extend(b"{}");
    let mut negative = u64::MAX.to_le_bytes().to_vec();
    negative.extend(b"{}");
    let sizes = |count: usize| format!("[{}1]", "1,".repeat(count - 1));
    let mut not_utf8 = headed(r#"{"a?":1}"#);
    not_utf8[11] = 0xff;
    let mut not_utf8_inside = headed(&format!(r#"{{"a":{tensor},"b":{{"x":"?","dtype":"U8"}}}}"#));
    let at = not_utf8_inside.iter().position(|&byte| byte == b'?').unwrap_or(0);
    not_utf8_inside[at] = 0xc0;
    vec![
        ("empty.safetensors", Vec::new(), "the length of the header expected (8 bytes), but 0 bytes are left"),
        ("short.safetensors", vec![2, 0, 0, 0, 0, 0, 0], "but 7 bytes are left"),
        ("only_length.safetensors", vec![2, 0, 0, 0, 0, 0, 0, 0], "the header expected (2 bytes), but 0"),
        ("cut_header.safetensors", good[..40].to_vec(), "the header expected"),
        ("cut_data.safetensors", good[..good.len() - 1].to_vec(), "(tensor 'b'): the elements expected (8 bytes), but 7"),
        ("long_header.safetensors", long, "the header has 100000001 bytes, and at most 100000000"),
        ("length_of_2_64.safetensors", negative, "the header has 18446744073709551615 bytes"),
        ("no_header.safetensors", vec![0; 8], "EOF while parsing a value"),
        ("no_json.safetensors", headed("hello"), "expected value"),
        ("array.safetensors", headed("[]"), "expected an object"),
        ("null.safetensors", headed("null"), "expected an object"),
        ("open.safetensors", headed(r#"{"a":"#), "EOF while parsing"),
        ("more.safetensors", headed("{} {}"), "trailing characters"),
        ("nul_padding.safetensors", headed("{}\0\0"), "trailing characters"),
        ("comma.safetensors", headed(&format!(r#"{{"a":{tensor},}}"#)), "trailing comma"),
        ("single_quotes.safetensors", headed("{'a':1}"), "key must be a string"),
        ("byte_order_mark.safetensors", headed("\u{feff}{}"), "expected value"),
        ("not_utf8.safetensors", not_utf8, "at byte 11: the text is not UTF-8"),
        ("not_utf8_inside.safetensors", not_utf8_inside, "the text is not UTF-8"),
        ("surrogate.safetensors", headed(&format!(r#"{{"\ud800":{tensor}}}"#)), "surrogate"),
        ("control.safetensors", headed("{\"a\nb\":1}"), "control character"),
        ("number_as_tensor.safetensors", headed(r#"{"a":3}"#), "(tensor 'a'): invalid type: integer `3`"),
        ("null_as_tensor.safetensors", headed(r#"{"a":null}"#), "(tensor 'a'): invalid type: null"),
        ("array_as_tensor.safetensors", headed(r#"{"a":["U8",[16],[0,16]]}"#), "(tensor 'a'): invalid type: sequence"),
        ("no_fields.safetensors", headed(r#"{"a":{}}"#), "(tensor 'a'): 'dtype' is missing"),
        ("no_shape.safetensors", headed(r#"{"a":{"dtype":"U8","data_offsets":[0,16]}}"#), "(tensor 'a'): 'shape' is missing"),
        ("no_range.safetensors", headed(r#"{"a":{"dtype":"U8","shape":[16]}}"#), "'data_offsets' is missing"),
        (
            "dtype_twice.safetensors",
            headed(r#"{"a":{"dtype":"U8","dtype":"I8"}}"#),
            "(tensor 'a'): the name 'dtype' is there twice",
        ),
        ("shape_twice.safetensors", headed(r#"{"a":{"shape":[],"shape":[]}}"#), "the name 'shape' is there twice"),
        ("twice.safetensors", headed(&format!(r#"{{"a":{tensor},"a":{second}}}"#)), "(tensor 'a'): the name 'a' is there twice"),
        ("escaped_twice.safetensors", headed(&format!(r#"{{"conv":{tensor},"con\u0076":{second}}}"#)), "'conv' is there twice"),
        ("same_range_twice.safetensors", headed(&format!(r#"{{"a":{tensor},"a":{tensor}}}"#)), "the name 'a' is there twice"),
        ("metadata_twice.safetensors", headed(r#"{"__metadata__":{},"__metadata__":{}}"#), "'__metadata__' is there twice"),
        ("key_twice.safetensors", headed(r#"{"__metadata__":{"a":"1","a":"2"}}"#), "the name 'a' is there twice"),
        ("number_in_metadata.safetensors", headed(r#"{"__metadata__":{"a":1}}"#), "expected a string"),
        ("array_as_metadata.safetensors", headed(r#"{"__metadata__":[]}"#), "an object whose values are strings"),
        ("dtype.safetensors", one(r#""F31""#, "[4]", "[0,16]"), "(tensor 'w'): the dtype 'F31' does not exist"),
        ("small_dtype.safetensors", one(r#""f32""#, "[4]", "[0,16]"), "the dtype 'f32' does not exist"),
        ("number_as_dtype.safetensors", one("32", "[4]", "[0,16]"), "(tensor 'w'): invalid type: integer `32`"),
        ("negative_size.safetensors", one(r#""F32""#, "[-4]", "[0,16]"), "(tensor 'w'): invalid value: integer `-4`"),
        ("float_size.safetensors", one(r#""F32""#, "[4.0]", "[0,16]"), "(tensor 'w'): invalid type: floating point"),
        ("string_size.safetensors", one(r#""F32""#, r#"["4"]"#, "[0,16]"), "(tensor 'w'): invalid type: string"),
        ("number_as_shape.safetensors", one(r#""F32""#, "4", "[0,16]"), "expected an array of sizes"),
        ("size_of_2_63.safetensors", one(r#""U8""#, "[9223372036854775808]", "[0,16]"), "a number from 0 to 2^63-1"),
        ("size_of_2_64.safetensors", one(r#""U8""#, "[18446744073709551616]", "[0,16]"), "(tensor 'w'): invalid value"),
        ("overflow.safetensors", one(r#""U8""#, "[4294967296,4294967296]", "[0,0]"), "more elements than a machine"),
        ("bytes_overflow.safetensors", one(r#""F64""#, "[2305843009213693952]", "[0,0]"), "more elements than a machine"),
        ("beside_0.safetensors", one(r#""U8""#, "[0,4294967296,4294967296]", "[0,0]"), "more elements than a machine"),
        ("65_dimensions.safetensors", one(r#""U8""#, &sizes(65), "[0,1]"), "at most 64 dimensions, got 65"),
        ("million_dimensions.safetensors", one(r#""U8""#, &sizes(1_000_000), "[0,1]"), "got 1000000"),
        (
            "too_few_bytes.safetensors",
            one(r#""F32""#, "[5]", "[0,16]"),
            "F32 elements of 5 need 20 bytes, and the range from 0 to 16",
        ),
        ("too_many_bytes.safetensors", one(r#""F32""#, "[3]", "[0,16]"), "F32 elements of 3 need 12 bytes"),
        ("reversed.safetensors", one(r#""F32""#, "[4]", "[16,0]"), "the range from 16 to 0"),
        ("half_byte.safetensors", one(r#""F4""#, "[31]", "[0,16]"), "31 elements of F4 do not fill whole bytes"),
        ("three_offsets.safetensors", one(r#""F32""#, "[4]", "[0,16,32]"), "two offsets"),
        ("one_offset.safetensors", one(r#""F32""#, "[4]", "[16]"), "two offsets"),
        ("negative_offset.safetensors", one(r#""F32""#, "[4]", "[-16,0]"), "invalid value"),
        ("range_at_2_63.safetensors", one(r#""U8""#, "[16]", "[9223372036854775791,9223372036854775807]"), "leaves a gap"),
        ("range_at_2_64.safetensors", one(r#""U8""#, "[16]", "[18446744073709551600,18446744073709551615]"), "2^63-1"),
        ("gap_before.safetensors", ranges(&[(8, 16)]), "(tensor 'a'): its range begins at 8 and not at 0, so it leaves a gap"),
        ("gap.safetensors", ranges(&[(0, 7), (8, 16)]), "(tensor 'b'): its range begins at 8 and not at 7"),
        ("overlap.safetensors", ranges(&[(0, 9), (8, 16)]), "(tensor 'b'): its range begins at 8 and not at 9, so it overlaps"),
        ("same.safetensors", ranges(&[(0, 16), (0, 16)]), "overlaps the tensor before it"),
        ("inside.safetensors", ranges(&[(0, 16), (4, 8)]), "(tensor 'b'): its range begins at 4 and not at 16"),
        ("beyond.safetensors", ranges(&[(0, 16), (16, 1_000_000_000_000)]), "(tensor 'b'): the elements expected"),
        ("behind.safetensors", ranges(&[(0, 8)]), "8 bytes follow the last tensor"),
        ("one_behind.safetensors", ranges(&[(0, 15)]), "1 byte follows the last tensor"),
        ("data_without_tensors.safetensors", headed("{}"), "16 bytes follow the last tensor"),
        ("empty_in_the_middle.safetensors", ranges(&[(0, 16), (4, 4)]), "(tensor 'b'): its range begins at 4 and not at 16"),
        ("deep.safetensors", headed(&format!(r#"{{"a":{{"x":{}"#, "[".repeat(1_000_000))), "(tensor 'a'): recursion limit"),
        ("deep_objects.safetensors", headed(&format!(r#"{{"a":{{"x":{}"#, r#"{"y":"#.repeat(1_000_000))), "recursion limit"),
        ("deep_brackets.safetensors", headed(&"[".repeat(1_000_000)), "expected an object"),
        ("deep_metadata.safetensors", headed(&format!(r#"{{"__metadata__":{}"#, r#"{"a":"#.repeat(1_000))), "expected a string"),
        ("many_values.safetensors", headed(&format!(r#"{{"a":{{"x":[{}0]}}}}"#, "0,".repeat(1_000_000))), "'dtype' is missing"),
        ("huge_number.safetensors", headed(r#"{"a":{"x":1e999}}"#), "number out of range"),
        ("empty.safetensors.index.json", Vec::new(), "EOF while parsing"),
        ("no_map.safetensors.index.json", b"{\"metadata\": {}}".to_vec(), "weight_map"),
        ("array.safetensors.index.json", index("[]"), "an object whose values are strings"),
        ("null.safetensors.index.json", index("null"), "an object whose values are strings"),
        ("number.safetensors.index.json", index(r#"{"a": 1}"#), "expected a string"),
        ("map_twice.safetensors.index.json", b"{\"weight_map\": {}, \"weight_map\": {}}".to_vec(), "'weight_map' is there twice"),
        ("name_twice.safetensors.index.json", index(r#"{"a": "x", "a": "y"}"#), "(tensor 'a'): the name 'a' is there twice"),
        ("empty_name.safetensors.index.json", index(r#"{"a": ""}"#), "(tensor 'a'): a shard has a plain file name, got ''"),
        ("parent.safetensors.index.json", index(r#"{"a": ".."}"#), "a shard has a plain file name, got '..'"),
        ("same.safetensors.index.json", index(r#"{"a": "."}"#), "a shard has a plain file name"),
        ("up.safetensors.index.json", index(r#"{"a": "../../etc/passwd"}"#), "a shard has a plain file name"),
        ("absolute.safetensors.index.json", index(r#"{"a": "/etc/passwd"}"#), "a shard has a plain file name"),
        ("folder.safetensors.index.json", index(r#"{"a": "b/c"}"#), "a shard has a plain file name"),
        ("nul.safetensors.index.json", index(r#"{"a": "b\u0000c"}"#), "a shard has a plain file name"),
        ("deep.safetensors.index.json", format!("{{\"x\":{}", "[".repeat(1_000_000)).into_bytes(), "recursion limit"),
        ("not_utf8.safetensors.index.json", b"{\"\xff\": 1}".to_vec(), "at byte 2: the text is not UTF-8"),
    ]
}
