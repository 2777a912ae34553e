//! Compares strided operations, at every level of this processor and with and without streaming, with a loop over the elements.

use super::super::access::{Readable, Writable};
use super::super::level::Level;
use super::plan::Plan;
use super::{Axis, copy, copy_strided, equal_strided, fill_strided};
use crate::convert::Scalar;
use crate::element::DType;

/// The places of all elements in the target and in the source, in row-major order.
fn places(firsts: (usize, usize), axes: &[Axis]) -> Vec<(usize, usize)> {
    let mut all = vec![firsts];
    for axis in axes {
        let step = |&(to, from): &(usize, usize), index: isize| {
            (to.wrapping_add_signed(axis.target * index), from.wrapping_add_signed(axis.source * index))
        };
        all = all.iter().flat_map(|place| (0..axis.size.cast_signed()).map(move |index| step(place, index))).collect();
    }
    all
}

/// Copies at every level, and compares all bytes of the target with those of a loop.
fn check(to: DType, from: DType, offset: usize, firsts: (usize, usize), axes: &[Axis]) {
    let places = places(firsts, axes);
    let (targets, sources) = places.iter().fold((0, 0), |size, place| (size.0.max(place.0 + 1), size.1.max(place.1 + 1)));
    let bytes: Vec<u8> =
        (0..=u8::MAX).map(|byte| byte.wrapping_mul(77)).cycle().skip(offset).take(sources * from.width()).collect();
    let source = Readable::of(&bytes, from);
    let mut expected = vec![0xa5; targets * to.width() + 64];
    for &(place, index) in &places {
        let width = to.width();
        super::super::copy(Writable::of(&mut expected[offset + place * width..][..width], to), source.part(index..index + 1));
    }
    let Some(plan) = Plan::new(firsts, axes) else { return };
    for level in Level::available() {
        for streamed in [false, true] {
            let mut got = vec![0xa5; targets * to.width() + 64];
            copy(level, Writable::of(&mut got[offset..], to), source, &plan, streamed);
            assert!(got == expected, "{from:?} to {to:?} at {offset}, {axes:?}, {}, streamed: {streamed}", level.name());
        }
    }
}

fn axis(size: usize, target: isize, source: isize) -> Axis {
    Axis { size, target, source }
}

#[test]
fn every_level_copies_what_a_loop_copies() {
    use DType::{Byte, ComplexDouble, Double, Float, Half, Short};
    let pairs = [(Byte, Byte), (Short, Half), (Half, Half), (Float, Float), (Double, Double), (ComplexDouble, ComplexDouble)];
    let converted =
        [(Float, Byte), (Byte, Float), (Float, Double), (Double, Half), (ComplexDouble, Float), (Half, ComplexDouble)];
    for (to, from) in pairs.into_iter().chain(converted) {
        for offset in [0, 3, 16] {
            for (rows, cols) in [(4_usize, 4_usize), (8, 700), (65, 64), (3, 129), (130, 5), (64, 192), (520, 33)] {
                let (tall, wide) = (rows.cast_signed(), cols.cast_signed());
                // A transpose, one into longer rows, one with rows of whole cache lines, and the inverse of it.
                check(to, from, offset, (0, 0), &[axis(rows, wide, 1), axis(cols, 1, tall)]);
                check(to, from, offset, (2, 1), &[axis(rows, wide + 3, 1), axis(cols, 1, tall + 1)]);
                check(to, from, offset, (1, 0), &[axis(rows, (wide + 63) / 64 * 64, 1), axis(cols, 1, tall)]);
                check(to, from, offset, (0, 0), &[axis(rows, 1, wide), axis(cols, tall, 1)]);
                // Parts of rows, every second and third element, backwards, one repeated element.
                check(to, from, offset, (0, 5), &[axis(rows, wide, wide + 9), axis(cols, 1, 1)]);
                check(to, from, offset, (0, 0), &[axis(rows, wide, 3 * wide), axis(cols, 1, 3)]);
                check(to, from, offset, (0, 0), &[axis(rows, 2 * wide, wide), axis(cols, 2, 1)]);
                check(to, from, offset, (0, rows * cols - 1), &[axis(rows, wide, -wide), axis(cols, 1, -1)]);
                check(to, from, offset, (0, 0), &[axis(rows, wide, 1), axis(cols, 1, 0)]);
                // Positions that share an element of the target: the last is kept.
                check(to, from, offset, (0, 0), &[axis(rows, 1, wide), axis(cols, 1, 1)]);
                check(to, from, offset, (0, 0), &[axis(rows, 0, wide), axis(cols, 2, 1)]);
            }
            check(to, from, offset, (0, 0), &[axis(30, 6, 6), axis(3, 2, 1), axis(2, 1, 3)]);
            check(to, from, offset, (0, 0), &[axis(5, 300, 1), axis(20, 15, 75), axis(15, 1, 5)]);
            (1..40).for_each(|run| check(to, from, offset, (0, 0), &[axis(9, run, run + 1), axis(run.unsigned_abs(), 1, 1)]));
        }
    }
}

#[test]
fn elements_outside_a_block_are_refused() {
    let refused = |act: fn(Writable<'_>)| std::panic::catch_unwind(|| act(Writable::of(&mut [0; 64], DType::Int))).is_err();
    let copied = |firsts, axes: &[Axis]| {
        let mut target = [0; 64];
        let axes = axes.to_vec();
        std::panic::catch_unwind(move || {
            copy_strided(Writable::of(&mut target, DType::Int), Readable::of(&[0; 32], DType::Int), firsts, &axes);
        })
        .is_ok()
    };
    assert!(copied((0, 0), &[axis(4, 4, 2), axis(2, 1, 1)]) && copied((15, 7), &[axis(4, -5, -2)]));
    assert!(!copied((1, 0), &[axis(4, 5, 2)]) && !copied((14, 7), &[axis(4, -5, -2)]));
    assert!(!copied((0, 1), &[axis(4, 5, 2), axis(2, 1, 1)]) && !copied((15, 5), &[axis(4, -5, -2)]));
    assert!(!copied((0, 0), &[axis(3, isize::MAX, 1)]) && !copied((0, 0), &[axis(usize::MAX, isize::MIN, isize::MAX)]));
    assert!(copied((99, 99), &[axis(0, 5, 2)]), "without elements nothing is outside");
    assert!(refused(|block| fill_strided(block, Scalar::Signed(1), 1, &[axis(4, 5, 0)])));
    assert!(refused(|block| _ = equal_strided(block.readable(), block.readable(), (0, 1), &[axis(4, 5, 5)])));
}
