//! The JSON of a header, compared with the crate `serde_json`: an index has a value of any kind beside the tensors.

use std::path::Path;

use proptest::prelude::*;
use torch_storage::formats::{Source, safetensors};

use crate::safetensors_file;

/// Whether a value is accepted beside the tensors.
fn accepts(value: &str) -> Result<(), String> {
    let text = format!(r#"{{"value": {value}, "weight_map": {{}}}}"#);
    let read = safetensors::Index::read(&Source::of_bytes(Path::new("x"), &text.as_bytes()), Path::new("x"));
    read.map(|_| ()).map_err(|error| error.to_string())
}

/// Both readers accept a value, or neither does.
fn compare(value: &str) -> Result<(), String> {
    let (ours, theirs) = (accepts(value), serde_json::from_str::<serde_json::Value>(value));
    if ours.is_ok() == theirs.is_ok() { Ok(()) } else { Err(format!("{value:?}: {ours:?}, {theirs:?}")) }
}

/// The metadata with this JSON string as its only text.
fn text(json: &str) -> Option<String> {
    let file = safetensors_file(format!(r#"{{"__metadata__":{{"a":{json}}}}}"#).as_bytes(), &[]);
    let header = safetensors::read(&Source::of_bytes(Path::new("x"), &file.as_slice())).ok()?;
    header.metadata.first().map(|(_, text)| text.clone())
}

#[test]
fn values_are_those_of_json() -> Result<(), String> {
    let numbers = [
        "0",
        "-0",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "1.5",
        "-1.5e3",
        "1e",
        "1e+",
        "1E-2",
        "1e999",
        "-1e999",
        "1e-999",
        "0x1",
        "1_0",
        "00",
        "0.0",
        "1.e3",
        "12345678901234567890123",
        "NaN",
        "Infinity",
        "1 2",
    ];
    let others = [
        "null",
        "nul",
        "nulll",
        "true",
        "tru",
        "false",
        "False",
        "[]",
        "[1]",
        "[1,]",
        "[,]",
        "[1 2]",
        "[",
        "]",
        "[}",
        "{}",
        "{",
        "{,}",
        r#"{"a":1}"#,
        r#"{"a":1,}"#,
        r#"{"a" 1}"#,
        r#"{"a":}"#,
        r#"{a:1}"#,
        r#"{1:1}"#,
        r#"{"a":1 "b":2}"#,
        "",
        " ",
        "\u{a0}1",
        "\t[ \n1 ,\r 2 ] ",
        "\u{b}1",
        "[1]]",
        r#""a" "b""#,
        "'a'",
        "// a\n1",
        "é",
        "[é]",
    ];
    for value in numbers.into_iter().chain(others) {
        compare(value)?;
    }
    for levels in [1, 100, 126] {
        compare(&format!("{}{}", "[".repeat(levels), "]".repeat(levels)))?;
    }
    assert!(accepts(&"[".repeat(128)).is_err_and(|message| message.contains("recursion limit")));
    Ok(())
}

#[test]
fn strings_are_those_of_json() -> Result<(), String> {
    for inside in [
        "",
        "a",
        "é😀",
        r"\n\r\t\b\f\/\\",
        r#"\""#,
        r"\u0041",
        r"\u00e9",
        r"\ud83d\ude00",
        r"a\ud83d\ude00b",
        r"\uD83D\uDE00",
        r"\u0000",
        r"\ud83d",
        r"\ude00",
        r"\ud83d\n",
        r"\ud83dx",
        r"\ud83d\u0041",
        r"\ud83d\ud83d",
        r"\u00",
        r"\u+041",
        r"\u00g0",
        r"\x41",
        r"\",
        r"\'",
        "\n",
        "\t",
        "\0",
        "\u{7f}",
        "\u{80}",
        "a\u{1f}",
    ] {
        let json = format!("\"{inside}\"");
        compare(&json)?;
        assert_eq!(text(&json), serde_json::from_str::<String>(&json).ok(), "{json}");
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_text_is_accepted_as_by_serde_json(value in r#"([\[\]{},:"0-9.eE+ -]|"[a\\nu"]{0,3}"|\\|null|true|"a":){0,12}"#) {
        // A key that is there twice, and an end of the index inside the value, are other questions.
        prop_assume!(!value.contains("weight_map"));
        let whole = format!("[{value}]");
        let theirs = serde_json::from_str::<serde_json::Value>(&whole);
        prop_assert_eq!(accepts(&whole).is_ok(), theirs.is_ok(), "{}", whole);
    }

    #[test]
    fn any_string_is_read_as_it_was_written(text_in in any::<String>()) {
        let json = serde_json::to_string(&text_in).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(text(&json), Some(text_in.clone()));
        // What is written is what the reference writes.
        let plan = safetensors::plan(&[], &[("a", text_in.as_str())]).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let header = String::from_utf8_lossy(&plan.header[8..]).into_owned();
        let expected = format!(r#"{{"__metadata__":{{"a":{json}}}}}"#);
        prop_assert_eq!(header.trim_end(), expected);
    }
}
