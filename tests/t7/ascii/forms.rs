//! Tests of all forms of numbers that can be read, compared with the C library.

use std::ffi::{CStr, CString, c_char, c_int};

use proptest::prelude::{ProptestConfig, any, proptest};

use torch_storage::t7::ascii::{f32_at, f64_at, i64_at};

use super::{bits32, bits64};

unsafe extern "C" {
    fn strtof(text: *const c_char, end: *mut *mut c_char) -> f32;
}

/// The value that `sscanf` reads and the number of bytes that it uses. The format ends in `%n`.
fn scanned<T>(format: &CStr, text: &[u8], mut value: T) -> Option<(T, usize)> {
    let text = CString::new(text).ok()?;
    let mut used: c_int = 0;
    // SAFETY: [system] both strings end in a zero byte, the format reads a `T`, and `%n` writes an `int`.
    let found = unsafe { libc::sscanf(text.as_ptr(), format.as_ptr(), &raw mut value, &raw mut used) };
    (found == 1).then(|| (value, usize::try_from(used).unwrap_or(0)))
}

/// Whether the GNU library reads more or less of this text than the standard says.
fn is_gnu_corner(text: &[u8]) -> bool {
    let lower = text.to_ascii_lowercase();
    let has_empty_exponent = |letter: u8| {
        lower.iter().enumerate().any(|(offset, &byte)| {
            let after = lower.get(offset + 1..).unwrap_or_default();
            let after = after.strip_prefix(b"-").or(after.strip_prefix(b"+")).unwrap_or(after);
            byte == letter && !after.first().is_some_and(u8::is_ascii_digit)
        })
    };
    let has_no_digits = lower.windows(3).any(|part| part == b"0x.") && f64_at(text).is_none();
    has_empty_exponent(b'e') || has_empty_exponent(b'p') || has_no_digits
}

fn check_text(text: &[u8]) {
    let shown = String::from_utf8_lossy(text);
    let from_c = scanned(c"%ld%n", text, 0);
    assert_eq!(i64_at(text), from_c, "%ld of {shown}");
    let (double, float) = (bits64(f64_at(text)), bits32(f32_at(text)));
    assert_eq!(double.map(|read| read.1), float.map(|read| read.1), "{shown}");
    let hexadecimal = text.iter().any(|byte| byte.eq_ignore_ascii_case(&b'x'));
    if !is_gnu_corner(text) || (hexadecimal && double.is_some() && text.contains(&b'p')) {
        assert_eq!(double, bits64(scanned(c"%lg%n", text, 0.0)), "%lg of {shown}");
        assert_eq!(float, bits32(scanned(c"%g%n", text, 0.0)), "%g of {shown}");
    }
}

#[test]
fn every_form_of_a_number_is_read_as_c_does() {
    for text in [
        "1",
        "+1",
        "-1",
        "1.",
        "1.e5",
        ".5",
        "-.5e-3",
        ".",
        "-.",
        ".e5",
        "1..2",
        "1.5.5",
        "-",
        "+",
        "--1",
        "+-1",
        "",
        "x",
        " 1",
        "1e400",
        "-1e400",
        "1e-400",
        "-1e-400",
        "4.9e-324",
        "2.4e-324",
        "2.5e-324",
        "1,000",
        "1e5e5",
        "1e5.5",
        "00012",
        "0e5",
        "-0",
        "1E5",
        "1e+5",
        "1_0",
        "1p5",
        "5 6",
        "5\n",
        "1e99999999999999999999",
        "1e-99999999999999999999",
        "nan",
        "-nan",
        "+nan",
        "NaN1",
        "na",
        "n",
        "inf",
        "-inf",
        "INF",
        "infi",
        "infix",
        "infinit",
        "infinity",
        "InfinityX",
        "in",
        "i",
        "0x",
        "0xg",
        "0xp3",
        "0x1",
        "0x1.8p3",
        "-0X1.8P+3",
        "0x.8",
        "0x1.",
        "0x1.8p-1074",
        "0x0.8p-1074",
        "0x0.80000000001p-1074",
        "0x1.8e3",
        "0x0p5",
        "0x1p1023",
        "0x1p1024",
        "0x1.fffffffffffff7p1023",
        "0x1.fffffffffffff8p1023",
        "0x1p99999999999999999999",
        "0x1p-99999999999999999999",
        "0x1.00000000000008p0",
        "0x1.00000000000018p0",
        "0x1.000000000000080001p0",
        "0x123456789abcdef0123456789abcdefp-4",
        "0x1.000001p0",
        "0x1.000003p0",
        "0x1.fffffep127",
        "0x1.ffffffp127",
        "0x1p-149",
        "0x1p-150",
        "0x1.8p-150",
        "0x0.00000000000000000000000000000001p130",
        "3.4028235e38",
        "3.4028236e38",
        "1.4e-45",
        "7.0064923e-46",
        "16777217",
        "16777217.0000000000000000000000000000001",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "99999999999999999999",
        "-99999999999999999999",
        "000000000000000000000000000007",
        "9999999999999999999",
    ] {
        if !text.starts_with(' ') {
            check_text(text.as_bytes());
        }
    }
    // The float is rounded only once.
    assert_eq!(f32_at(b"1.00000017881393432617187499"), Some((1.000_000_1, 28)));
}

#[test]
fn the_standard_is_followed_where_the_gnu_library_differs() {
    for text in ["1e", "1e+", "1e-x", "1ex", "0x1p", "0x1p+", "0x1p-x", "0x."] {
        assert_eq!((f64_at(text.as_bytes()), f32_at(text.as_bytes())), (None, None), "{text}");
    }
    let nan = f64::NAN.abs().to_bits();
    for (text, used) in [("nan()", 5), ("-nan(0x12_)x", 11), ("nan(", 3), ("nan(1", 3), ("NAN(a-b)", 3)] {
        let sign = u64::from(text.starts_with('-')) << 63;
        assert_eq!(bits64(f64_at(text.as_bytes())), Some((nan | sign, used)), "{text}");
    }
}

#[test]
fn the_c_library_rounds_floats_once_too() {
    let text = c"1.00000017881393432617187499";
    // SAFETY: [system] the text ends in a zero byte, and a null end pointer is allowed.
    let value = unsafe { strtof(text.as_ptr(), std::ptr::null_mut()) };
    assert_eq!(Some(value), f32_at(text.to_bytes()).map(|read| read.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_like_a_number_is_read_as_c_does(text in "[-+]?(0[xX])?[0-9a-f.]{0,12}([eEpP][-+]?[0-9]{1,4})?[,]?[0-9.enx+-]{0,3}") {
        check_text(text.as_bytes());
    }

    #[test]
    fn any_hexadecimal_number_is_read_as_c_does(mantissa: u64, fraction in "[0-9a-f]{0,20}", exponent in -1200..1200i32) {
        check_text(format!("0x{mantissa:x}.{fraction}p{exponent}").as_bytes());
        // Near the smallest floats.
        check_text(format!("0x{mantissa:x}.{fraction}p{}", exponent / 8 - 64).as_bytes());
    }

    #[test]
    fn many_digits_are_read_as_c_does(digits in "[0-9]{1,40}", fraction in "[0-9]{0,800}", exponent in -400..400i32) {
        check_text(format!("{digits}.{fraction}e{exponent}").as_bytes());
    }

    #[test]
    fn any_bytes_give_no_number_or_one_inside_them(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let (double, float, whole) = (f64_at(&bytes), f32_at(&bytes), i64_at(&bytes));
        for used in [double.map(|read| read.1), float.map(|read| read.1), whole.map(|read| read.1)].into_iter().flatten() {
            assert!((1..=bytes.len()).contains(&used));
        }
    }
}
