//! Tests of numbers as text: compared with the C library's text, and read back.

mod forms;

use std::ffi::c_int;

use proptest::prelude::{ProptestConfig, prop_assert_eq, proptest};

use torch_storage::convert::Number;
use torch_storage::t7::ascii::{LONGEST, f32_at, f64_at, i64_at, put_f32, put_f64, put_i64};

/// The text that `write` appends. It must fit into `LONGEST` bytes.
fn put(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity(LONGEST + 1);
    out.push(b' ');
    let room = (out.as_ptr(), out.capacity());
    write(&mut out);
    assert_eq!((out.as_ptr(), out.capacity()), room, "the number needs more than LONGEST bytes");
    String::from_utf8_lossy(&out[1..]).into_owned()
}

fn put_double(value: f64) -> String {
    put(|out| put_f64(value, out))
}

fn put_float(value: f32) -> String {
    put(|out| put_f32(value, out))
}

/// The text that `printf` writes.
fn printed(digits: c_int, value: f64) -> String {
    let mut text = [0u8; 64];
    // SAFETY: [system] the buffer has the size that is given; the format takes an `int` and a `double`.
    let length = unsafe { libc::snprintf(text.as_mut_ptr().cast(), text.len(), c"%.*g".as_ptr(), digits, value) };
    String::from_utf8_lossy(&text[..usize::try_from(length).unwrap_or(0)]).into_owned()
}

fn bits64(read: Option<(f64, usize)>) -> Option<(u64, usize)> {
    read.map(|(value, used)| (value.to_bits(), used))
}

fn bits32(read: Option<(f32, usize)>) -> Option<(u32, usize)> {
    read.map(|(value, used)| (value.to_bits(), used))
}

fn check_f64(value: f64) {
    let text = put_double(value);
    assert_eq!(text, printed(17, value), "bits {:#x}", value.to_bits());
    let back = bits64(f64_at(text.as_bytes()));
    let kept = if value.is_nan() { f64::NAN.copysign(value) } else { value };
    assert_eq!(back, Some((kept.to_bits(), text.len())), "{text}");
}

fn check_f32(value: f32) {
    let text = put_float(value);
    assert_eq!(text, printed(9, f64::from(value)), "bits {:#x}", value.to_bits());
    let back = bits32(f32_at(text.as_bytes()));
    let kept = if value.is_nan() { f32::NAN.copysign(value) } else { value };
    assert_eq!(back, Some((kept.to_bits(), text.len())), "{text}");
}

/// Checks the number, its two neighbours, and the negative ones.
fn check_around(value: f64) {
    for number in [value.next_down(), value, value.next_up()] {
        check_f64(number);
        check_f64(-number);
    }
}

#[test]
fn common_numbers_have_the_expected_text() {
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (0.1, "0.10000000000000001"),
        (-2.5, "-2.5"),
        (1.0 / 3.0, "0.33333333333333331"),
        (100.0, "100"),
        (1e16, "10000000000000000"),
        (1e17, "1e+17"),
        (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
        (1e300, "1.0000000000000001e+300"),
        (0.0001, "0.0001"),
        (0.00001, "1.0000000000000001e-05"),
        (-1e-310, "-9.9999999999999694e-311"),
        (f64::MAX, "1.7976931348623157e+308"),
        (5e-324, "4.9406564584124654e-324"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
        (f64::NAN.copysign(1.0), "nan"),
        (f64::NAN.copysign(-1.0), "-nan"),
        // The exact value has eighteen digits, the last of which is a 5. It is rounded to the even neighbour.
        (2.0f64.powi(-25), "2.9802322387695312e-08"),
        (3.0 * 2.0f64.powi(-25), "8.9406967163085938e-08"),
    ] {
        assert_eq!(put_double(value), text);
    }
    assert_eq!(put_float(0.1), "0.100000001");
    assert_eq!(put_float(16_777_216.0), "16777216");
    assert_eq!(put_float(1e9), "1e+09");
    assert_eq!(put_float(f32::MAX), "3.40282347e+38");
    assert_eq!(put_float(1e-45), "1.40129846e-45");
    assert_eq!(put_float(-f32::NAN.copysign(1.0)), "-nan");
}

#[test]
fn powers_of_two_and_ten_and_their_neighbours_match_c() {
    for exponent in -1074..1024 {
        let power = if exponent < -1022 { f64::from_bits(1 << (exponent + 1074)) } else { 2.0f64.powi(exponent) };
        check_around(power);
        check_around(power * 1.5);
    }
    for exponent in -150..128 {
        let power = if exponent < -126 { f32::from_bits(1 << (exponent + 149).max(0)) } else { 2.0f32.powi(exponent) };
        for number in [power.next_down(), power, power.next_up(), -power] {
            check_f32(number);
        }
    }
    for exponent in -323..=308 {
        let Ok(power) = format!("1e{exponent}").parse() else { unreachable!("it is a number") };
        check_around(power);
        for digit in 2..10 {
            let Ok(number) = format!("{digit}e{exponent}").parse() else { unreachable!("it is a number") };
            check_around(number);
        }
        let Ok(power) = format!("1e{exponent}").parse::<f32>() else { unreachable!("it is a number") };
        for number in [power.next_down(), power, power.next_up()] {
            check_f32(number);
        }
    }
}

#[test]
fn ties_go_to_the_even_digit() {
    // Odd multiples of 2^-n with eighteen digits, or ten. The last digit, which is rounded away, is a 5.
    for (digits, most) in [(18, 60), (10, 30)] {
        let mut ties = 0;
        for exponent in 1..most {
            for odd in (1..1u32 << 12).step_by(2) {
                let value = f64::from(odd) * 2.0f64.powi(-exponent);
                let exact = format!("{value:.60e}");
                let Some((mantissa, _)) = exact.split_once('e') else { unreachable!("the text has an exponent") };
                let significant = mantissa.trim_end_matches('0').len() - usize::from(mantissa.contains('.'));
                if significant == digits {
                    ties += 1;
                    check_f64(value);
                    assert_eq!(put_float(float_of(value)), printed(9, f64::from(float_of(value))));
                }
            }
        }
        assert!(ties > 100, "{ties} ties of {digits} digits");
    }
}

/// The nearest float.
fn float_of(value: f64) -> f32 {
    Number::convert(value)
}

#[test]
fn whole_numbers_have_the_expected_text() {
    for power in 0..19 {
        let power = 10i64.pow(power);
        for number in [power - 1, power, power + 1, power * 9, -power, 1 - power] {
            assert_eq!(put(|out| put_i64(number, out)), number.to_string());
            check_f64(Number::to_f64(number));
            check_f32(Number::convert(number));
        }
    }
    for number in [i64::MIN, i64::MIN + 1, i64::MAX] {
        assert_eq!(put(|out| put_i64(number, out)), number.to_string());
    }
    for step in -8..=8i32 {
        check_f64(f64::from(step) + 9_007_199_254_740_992.0);
    }
}

/// Random bits, the same in each run: splitmix64.
fn random_bits() -> impl Iterator<Item = u64> {
    (1..).map(|step: u64| {
        let state = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    })
}

#[test]
fn a_million_random_doubles_match_c() {
    for bits in random_bits().take(1_000_000) {
        check_f64(f64::from_bits(bits));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_double_matches_c(bits: u64) {
        check_f64(f64::from_bits(bits));
        // A subnormal number.
        check_f64(f64::from_bits(bits & 0x800f_ffff_ffff_ffff));
    }

    #[test]
    fn any_float_matches_c(bits: u32) {
        check_f32(f32::from_bits(bits));
        check_f32(f32::from_bits(bits & 0x807f_ffff));
    }

    #[test]
    fn any_whole_number_is_read_back(number: i64, shift in 0u32..64) {
        let number = number >> shift;
        prop_assert_eq!(put(|out| put_i64(number, out)), number.to_string());
        prop_assert_eq!(i64_at(number.to_string().as_bytes()), Some((number, number.to_string().len())));
    }
}
