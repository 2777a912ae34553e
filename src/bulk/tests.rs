//! Compares the kernels, at every level of this processor, with the conversion of single elements.

use half::f16;
use proptest::prelude::{ProptestConfig, any, proptest};

use super::{Level, Readable, Writable, byteswap, cast, copy, equal, fill};
use crate::convert::{Number, Scalar};
use crate::element::{DType, with_element};

/// The value of the bytes around the target, which a kernel must not change.
const UNTOUCHED: u8 = 0xa5;

/// Converts elements one by one.
fn converted(bytes: &[u8], to: DType, from: DType) -> Vec<u8> {
    let source = Readable::of(bytes, from);
    let mut result = vec![0; source.size() * to.width()];
    let target = Writable::of(&mut result, to);
    with_element!(from, S => with_element!(to, D => {
        for index in 0..source.size() {
            target.values::<D>().set(index, source.values::<S>().get(index).convert::<D>());
        }
    }));
    // Between equal dtypes the bytes are copied, so that a NaN keeps its bits.
    if to == from { bytes.to_vec() } else { result }
}

/// Copies elements with a kernel, and checks that the bytes around the target stay as they are. `offsets` are those of the target
/// and of the source, in bytes from the beginning of a cache line.
fn copied(level: Level, bytes: &[u8], to: DType, from: DType, offsets: (usize, usize), streamed: bool) -> Vec<u8> {
    let size = bytes.len() / from.width();
    let length = size * to.width();
    let (mut target, mut source) = (vec![UNTOUCHED; length + 256], vec![UNTOUCHED; bytes.len() + 256]);
    let start = source.as_ptr().align_offset(64) + offsets.1;
    source[start..start + bytes.len()].copy_from_slice(bytes);
    let source = Readable::of(&source[start..start + size * from.width()], from);
    let start = target.as_ptr().align_offset(64) + offsets.0;
    cast::copy(level, Writable::of(&mut target[start..start + length], to), source, streamed);
    let (before, rest) = target.split_at(start);
    let (got, after) = rest.split_at(length);
    assert!(before.iter().chain(after).all(|&byte| byte == UNTOUCHED), "bytes outside the target have changed");
    got.to_vec()
}

/// Every level, with and without streaming.
fn ways() -> impl Iterator<Item = (Level, bool)> {
    Level::available().flat_map(|level| [(level, false), (level, true)])
}

/// Elements before the first cache line of a large target are converted separately.
#[test]
fn a_large_target_may_begin_anywhere() {
    let bytes: Vec<u8> = (0..40_000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0]).collect();
    for (to, from) in
        [(DType::Short, DType::Byte), (DType::Double, DType::Int), (DType::Byte, DType::Short), (DType::Half, DType::Int)]
    {
        let expected = converted(&bytes, to, from);
        for (level, streamed) in ways() {
            for offset in [0, 1, 4, 16, 24, 56, 63] {
                let got = copied(level, &bytes, to, from, (offset, 3), streamed);
                assert!(got == expected, "{from:?} to {to:?}, {}, streamed: {streamed}, offset {offset}", level.name());
            }
        }
    }
}

#[test]
fn a_size_of_zero_takes_a_null_pointer() {
    let null = std::ptr::null_mut();
    // SAFETY: [in-bounds] a block of size 0 has no element that could be read or written.
    let none = |dtype| unsafe { Writable::new(null, dtype, 0) };
    fill(none(DType::Double), Scalar::Float(1.0));
    copy(none(DType::Int), none(DType::Byte).readable());
    copy(none(DType::Char), none(DType::Byte).readable());
    byteswap(none(DType::Byte), 8);
    for dtype in [DType::Half, DType::Int] {
        assert!(equal(none(dtype).readable(), none(dtype).readable()));
    }
}

/// [in-bounds] An index or range outside the block is refused before an address is computed from it.
#[test]
fn an_index_or_range_outside_a_block_is_refused() {
    let outside = |act: fn(Writable<'_>)| std::panic::catch_unwind(|| act(Writable::of(&mut [0; 64], DType::Int))).is_err();
    assert!(!outside(|block| _ = block.part(16..16)));
    assert!(outside(|block| _ = block.part(16..17)));
    #[allow(clippy::reversed_empty_ranges, reason = "the test is that such a range is refused")]
    let reversed: fn(Writable<'_>) = |block| _ = block.part(3..2);
    assert!(outside(reversed));
    assert!(outside(|block| block.values::<i32>().set(16, 1)));
    assert!(outside(|block| _ = block.readable().values::<i64>().get(8)));
    assert!(outside(|block| _ = block.readable().values::<i32>().first(17)));
    assert!(outside(|block| copy(block, block.readable().part(0..15))));
    let block = &mut [0; 64];
    let block = Writable::of(block, DType::Int);
    assert!(
        !block.set(16, Scalar::Float(1.0)) && block.readable().get(16).is_none() && block.readable().get_scalar(16).is_none()
    );
    assert!(block.set(15, Scalar::Float(1.0)) && block.readable().get(15) == Some(1.0));
}

/// All bit patterns of a dtype of one or two bytes.
fn patterns(dtype: DType) -> Vec<u8> {
    match dtype.width() {
        1 => (0..=u8::MAX).cycle().take(5000).collect(),
        _ => (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect(),
    }
}

#[test]
fn every_element_of_one_or_two_bytes_is_converted_by_the_rules() {
    use DType::{BFloat16, Bool, Float8_e4m3fn, Float8_e4m3fnuz, Float8_e5m2, Float8_e5m2fnuz, Half};
    for from in [Half, BFloat16, Bool, Float8_e4m3fn, Float8_e5m2, Float8_e4m3fnuz, Float8_e5m2fnuz] {
        let elements = patterns(from);
        for &to in DType::ALL {
            let expected = converted(&elements, to, from);
            for (level, streamed) in ways() {
                let got = copied(level, &elements, to, from, (0, 2), streamed);
                assert!(got == expected, "{from:?} to {to:?}, {}, streamed: {streamed}", level.name());
            }
        }
    }
    // Compares the rule with the conversion of the `half` crate.
    for half in (0..=u16::MAX).map(f16::from_bits) {
        let expected = if half.is_nan() { 0x7fff_ffff } else { half.to_f32().to_bits() };
        assert_eq!(half.convert::<f32>().to_bits(), expected, "{:#06x}", half.to_bits());
    }
}

#[test]
fn all_bytes_that_mean_true_are_equal() {
    let left: Vec<u8> = (0..3000u16).map(|index| u8::try_from(index % 256).unwrap_or(0)).collect();
    let right: Vec<u8> = left.iter().map(|&byte| byte & 0x10 | u8::from(byte > 0)).collect();
    let wrong: Vec<u8> = left.iter().map(|&byte| byte & 0xfe).collect();
    for level in Level::available() {
        assert!(level.equal(Readable::of(&left, DType::Bool), Readable::of(&right, DType::Bool)));
        assert!(!level.equal(Readable::of(&left, DType::Bool), Readable::of(&wrong, DType::Bool)));
    }
}

/// Checks the conversion of `count` floats whose bits are `first`, `first + step` and so on. The kernels are compared with the
/// rules, and the rule for halves with the conversion of the `half` crate.
fn check_floats(first: u32, step: usize, count: usize) {
    let bits = || (first..=u32::MAX).step_by(step).take(count);
    let floats: Vec<u8> = bits().flat_map(u32::to_ne_bytes).collect();
    for &to in DType::ALL.iter().filter(|&&to| to != DType::Float) {
        let expected = converted(&floats, to, DType::Float);
        for (level, streamed) in ways() {
            let got = copied(level, &floats, to, DType::Float, (0, 4), streamed);
            assert!(got == expected, "to {to:?} from {first:#x} on, {}, streamed: {streamed}", level.name());
        }
    }
    for float in bits().map(f32::from_bits) {
        let expected = if float.is_nan() { 0x7fff } else { f16::from_f32(float).to_bits() };
        assert_eq!(float.convert::<f16>().to_bits(), expected, "{:#010x}", float.to_bits());
    }
}

#[test]
fn floats_of_every_magnitude_are_converted_by_the_rules() {
    // About 65,000 floats over the whole range, then all floats near the borders of subnormal halves, infinity, 65520, 2^31, 2^63
    // and NaN.
    check_floats(0, 65_521, 65_550);
    for border in [0x3300_0000, 0x3880_0000, 0x477f_f000, 0x4f00_0000, 0x5f00_0000, 0x7f80_0000] {
        for sign in [0, 0x8000_0000] {
            check_floats((border | sign) - 500, 1, 1000);
        }
    }
    // All floats near the smallest and the largest numbers of the 8-bit floats, and near the largest bfloat16.
    for border in [1e-45, 9.8e-4, 4.9e-4, 7.6e-6, 3.8e-6, 240.0, 248.0, 448.0, 464.0, 57_344.0, 61_440.0, 3.396e38f32] {
        for sign in [0, 0x8000_0000] {
            check_floats((border.to_bits() | sign).saturating_sub(500), 1, 1000);
        }
    }
}

/// Converting these numbers through a float would round twice.
#[test]
fn doubles_and_integers_are_rounded_once_to_bfloat16() {
    let doubles = (0..1 << 16).map(|index: u64| (index << 48) | (0x8000_0000_0000 + index % 3).wrapping_sub(1));
    let longs = (0..1 << 16).map(|index: u64| (index | 0x100) << (index % 48) | (index % 3));
    let doubles: Vec<u8> = doubles.flat_map(u64::to_ne_bytes).collect();
    let longs: Vec<u8> = longs.flat_map(u64::to_ne_bytes).collect();
    for (from, elements) in [(DType::Double, &doubles), (DType::Long, &longs), (DType::Int, &longs)] {
        let expected = converted(elements, DType::BFloat16, from);
        for (level, streamed) in ways() {
            let got = copied(level, elements, DType::BFloat16, from, (2, 8), streamed);
            assert!(got == expected, "from {from:?}, {}, streamed: {streamed}", level.name());
        }
    }
}

#[test]
#[ignore = "2^32 floats take more than an hour"]
fn all_floats_are_converted_by_the_rules() {
    const COUNT: usize = 1 << 20;
    for first in (0..=u32::MAX).step_by(COUNT) {
        check_floats(first, 1, COUNT);
    }
}

/// Makes elements of any bytes, and replaces about every second one by a number at which a rule changes.
fn elements(dtype: DType, bytes: &[u8]) -> Vec<u8> {
    const BORDERS: [f64; 14] = [
        f64::NAN,
        f64::INFINITY,
        -0.0,
        0.9,
        -1.5,
        255.5,
        464.0,
        61_440.0,
        65_520.0,
        6e-8,
        2_147_483_647.9,
        -2_147_483_649.0,
        9_223_372_036_854_775_808.0,
        -9_223_372_036_854_775_808.0,
    ];
    let mut elements = bytes[..bytes.len() / dtype.width() * dtype.width()].to_vec();
    for (index, element) in elements.chunks_mut(dtype.width()).enumerate() {
        if element[0] & 1 == 0 {
            let border = BORDERS[usize::from(element[0] >> 1) % BORDERS.len()];
            assert!(Writable::of(element, dtype).set(0, Scalar::Float(border + 0.25 * f64::from(u32::from(index == 3)))));
        }
    }
    elements
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2500))]

    #[test]
    fn a_kernel_converts_like_the_rules_for_one_element(
        bytes in proptest::collection::vec(any::<u8>(), 0..9000),
        to in 0..DType::ALL.len(),
        from in 0..DType::ALL.len(),
        target in 0usize..128,
        source in 0usize..128,
    ) {
        let (to, from) = (DType::ALL[to], DType::ALL[from]);
        let bytes = elements(from, &bytes);
        let expected = converted(&bytes, to, from);
        for (level, streamed) in ways() {
            // Elements are streamed only if none lies across two cache lines, so an aligned target is tried too.
            for target in [target, target / 16 * 16] {
                let got = copied(level, &bytes, to, from, (target, source), streamed);
                assert_eq!(got, expected, "{from:?} to {to:?}, {}, streamed: {streamed}", level.name());
            }
        }
    }

    /// Converts between any two dtypes, at any two offsets in one buffer, and expects the result of a copy through a second
    /// buffer.
    #[test]
    fn an_overlapping_copy_gives_the_same_result_as_a_copy_through_a_buffer(
        seed in any::<u64>(),
        to in 0..DType::ALL.len(),
        from in 0..DType::ALL.len(),
        target in 0usize..9000,
        source in 0usize..9000,
        near in -20isize..20,
        size in 0usize..3500,
    ) {
        let (to, from) = (DType::ALL[to], DType::ALL[from]);
        // In one third of the cases the two blocks begin close together, in another third at the same offset if the widths are
        // equal. The blocks may be longer than a chunk.
        let source = match size % 3 {
            0 => target.saturating_add_signed(near),
            1 if to.width() == from.width() => target,
            _ => source,
        };
        let mut state = seed;
        let mut bytes = vec![0u8; 9100 + 3500 * 16];
        for word in bytes.chunks_mut(8) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            word.copy_from_slice(&state.to_ne_bytes()[..word.len()]);
        }
        let mut expected = bytes.clone();
        let moved = converted(&bytes[source..source + size * from.width()], to, from);
        expected[target..target + moved.len()].copy_from_slice(&moved);
        for level in Level::available() {
            let mut got = bytes.clone();
            let base = got.as_mut_ptr();
            // SAFETY: [in-bounds] the block ends inside the buffer.
            let into = unsafe { Writable::new(base.wrapping_add(target), to, size) };
            // SAFETY: [in-bounds] the block ends inside the buffer. [alias] both pointers come from the same mutable pointer.
            level.copy(into, unsafe { Readable::new(base.wrapping_add(source), from, size) });
            assert!(got == expected, "{from:?} at {source} to {to:?} at {target}, {size}, {}", level.name());
        }
    }

    #[test]
    fn a_fill_repeats_one_element(
        parts in any::<(f64, f64)>(),
        dtype in 0..DType::ALL.len(),
        offset in 0usize..70,
        size in 0usize..1500,
    ) {
        let dtype = DType::ALL[dtype];
        let value = if dtype.is_complex() { Scalar::Complex(parts.0, parts.1) } else { Scalar::Float(parts.0) };
        let mut element = vec![0; dtype.width()];
        assert!(Writable::of(&mut element, dtype).set(0, value));
        let length = size * dtype.width();
        for (level, streamed) in ways() {
            let mut got = vec![UNTOUCHED; length + 128];
            let target = Writable::of(&mut got[offset..offset + length], dtype);
            fill::fill(level, target.values(), fill::pattern(dtype, value), streamed);
            let mut expected = vec![UNTOUCHED; length + 128];
            expected[offset..offset + length].copy_from_slice(&element.repeat(size));
            assert_eq!(got, expected, "{dtype:?}, {}, streamed: {streamed}", level.name());
        }
    }

    #[test]
    fn the_bytes_of_each_word_are_reversed(
        bytes in proptest::collection::vec(any::<u8>(), 0..700),
        width in 0usize..3,
        offset in 0usize..9,
    ) {
        let width = 2 << width;
        let offset = offset.min(bytes.len());
        let mut expected = bytes.clone();
        expected[offset..].chunks_exact_mut(width).for_each(<[u8]>::reverse);
        for level in Level::available() {
            let mut got = bytes.clone();
            level.byteswap(Writable::of(&mut got[offset..], DType::Byte), width);
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn blocks_are_equal_if_all_their_values_are(
        bytes in proptest::collection::vec(any::<u8>(), 16..10_000),
        dtype in 0..DType::ALL.len(),
        changed in any::<proptest::sample::Index>(),
        to in any::<u8>(),
    ) {
        let dtype = DType::ALL[dtype];
        let left = elements(dtype, &bytes);
        let mut right = left.clone();
        let changed = changed.index(right.len());
        right[changed] = to;
        let (left, right) = (Readable::of(&left, dtype), Readable::of(&right, dtype));
        let equal = with_element!(dtype, T => {
            (0..left.size()).all(|index| left.values::<T>().get(index) == right.values::<T>().get(index))
        });
        for level in Level::available() {
            assert_eq!(level.equal(left, right), equal, "{dtype:?}, {}", level.name());
        }
    }
}

#[test]
fn complex_numbers_are_equal_if_both_parts_are() {
    for dtype in [DType::ComplexFloat, DType::ComplexDouble] {
        for (other, expected) in
            [((1.5, -2.5), true), ((1.5, 2.5), false), ((-1.5, -2.5), false), ((f64::NAN, -2.5), false), ((1.5, f64::NAN), false)]
        {
            for (size, odd) in [(1, 0), (40, 39), (1500, 1024)] {
                let block = |at_odd| {
                    let mut block = vec![0; size * dtype.width()];
                    for index in 0..size {
                        let (re, im) = if index == odd { at_odd } else { (1.5, -2.5) };
                        assert!(Writable::of(&mut block, dtype).set(index, Scalar::Complex(re, im)));
                    }
                    block
                };
                let (left, right) = (block((1.5, -2.5)), block(other));
                for level in Level::available() {
                    let equal = level.equal(Readable::of(&left, dtype), Readable::of(&right, dtype));
                    assert_eq!(equal, expected, "{dtype:?}, {other:?}, {odd} of {size}, {}", level.name());
                }
            }
        }
    }
}

#[test]
fn a_nan_differs_from_itself_and_zeros_are_equal_at_every_index() {
    let ones = [
        (DType::Half, 0x3c00u64),
        (DType::Float, 0x3f80_0000),
        (DType::Double, 0x3ff0 << 48),
        (DType::BFloat16, 0x3f80),
        (DType::Float8_e4m3fn, 0x38),
        (DType::Float8_e5m2, 0x3c),
    ];
    for (dtype, one) in ones {
        let sign = dtype.width() * 8 - 1;
        for size in [1, 67, 1500] {
            for odd in [0, size / 2, size - 1] {
                // First a NaN in both blocks, then 0 in one and -0 in the other.
                for (left, right, expected) in [(u64::MAX, u64::MAX, false), (0, 1 << sign, true)] {
                    let block = |value: u64| -> Vec<u8> {
                        let bits = |index| if index == odd { value } else { one };
                        (0..size).flat_map(|index| bits(index).to_le_bytes()[..dtype.width()].to_vec()).collect()
                    };
                    let (left, right) = (block(left), block(right));
                    for level in Level::available() {
                        let equal = level.equal(Readable::of(&left, dtype), Readable::of(&right, dtype));
                        assert_eq!(equal, expected, "{dtype:?}, {odd} of {size}, {}", level.name());
                    }
                }
            }
        }
    }
}
