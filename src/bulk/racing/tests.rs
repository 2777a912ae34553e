//! Where other threads may access the memory, the results are those of the plain kernels.

use super::*;

/// Few elements in Miri, and more than a chunk elsewhere.
const SIZES: &[usize] = if cfg!(miri) { &[0, 1, 5] } else { &[0, 1, 5, 1000, 1024, 3000] };

fn all(bytes: &mut [u8], dtype: DType) -> Target<'_> {
    // SAFETY: [race] no other thread has the bytes.
    unsafe { Target::new(Writable::of(bytes, dtype), true) }
}

impl<'a> Target<'a> {
    fn source(self) -> Source<'a> {
        Source { elements: self.elements.readable(), races: self.races }
    }
}

fn numbered(size: usize, dtype: DType) -> Vec<u8> {
    let mut bytes = vec![0; size * dtype.width()];
    for index in 0..size {
        let number = i64::try_from(index % 251).unwrap_or(0) - 100;
        assert!(Writable::of(&mut bytes, dtype).set(index, Scalar::Signed(number)));
    }
    bytes
}

/// Miri is slow, so it tries a dtype of each width.
const DTYPES: &[DType] =
    if cfg!(miri) { &[DType::Byte, DType::Short, DType::Float, DType::Double, DType::ComplexDouble] } else { DType::ALL };

#[test]
fn a_copy_converts_as_the_kernels_do() {
    for (&from, &to) in DTYPES.iter().flat_map(|from| DTYPES.iter().map(move |to| (from, to))) {
        for &size in SIZES {
            let source = numbered(size, from);
            let (mut expected, mut got) = (vec![0; size * to.width()], vec![0; size * to.width()]);
            super::super::copy(Writable::of(&mut expected, to), Readable::of(&source, from));
            for (to_races, from_races) in [(true, true), (true, false), (false, true)] {
                got.fill(0x77);
                // SAFETY: [race] no other thread has the bytes.
                let source = unsafe { Source::new(Readable::of(&source, from), from_races) };
                // SAFETY: [race] no other thread has the bytes.
                let target = unsafe { Target::new(Writable::of(&mut got, to), to_races) };
                copy(target, source);
                assert!(got == expected, "{size} of {from:?} to {to:?}");
            }
        }
    }
}

#[test]
fn an_overlapping_copy_gives_the_same_result_as_a_copy_through_a_buffer() {
    let kinds = [DType::Byte, DType::Short, DType::Float, DType::Double, DType::ComplexDouble];
    let distances: &[usize] = if cfg!(miri) { &[0, 3] } else { &[0, 1, 7, 16, 100, 4000, 9000] };
    let size = if cfg!(miri) { 6 } else { 2500 };
    for (from, to) in kinds.iter().flat_map(|&from| kinds.iter().map(move |&to| (from, to))) {
        for (there, here) in distances.iter().flat_map(|&there| distances.iter().map(move |&here| (there, here))) {
            let mut bytes: Vec<u8> = (0..16 * size + 10_000).map(|byte| u8::try_from(byte % 127).unwrap_or(0)).collect();
            let (here, there) = (here..here + size * to.width(), there..there + size * from.width());
            let source = bytes[there.clone()].to_vec();
            let mut expected = bytes.clone();
            super::super::copy(Writable::of(&mut expected[here.clone()], to), Readable::of(&source, from));
            let whole = all(&mut bytes, DType::Byte);
            let (target, source) = (whole.part(here.clone()), whole.source().part(there.clone()));
            let target = Target { elements: target.elements.retyped(to), ..target };
            copy(target, Source { elements: source.elements.retyped(from), ..source });
            assert!(bytes == expected, "{from:?} at {there:?} to {to:?} at {here:?}");
        }
    }
}

#[test]
fn elements_are_filled_compared_swapped_and_accessed_as_by_the_kernels() {
    for (&dtype, &size) in DTYPES.iter().flat_map(|dtype| SIZES.iter().map(move |size| (dtype, size))) {
        let (mut plain, mut racing) = (numbered(size, dtype), numbered(size, dtype));
        for width in [1, 2, 4, 8] {
            super::super::byteswap(Writable::of(&mut plain, dtype), width);
            all(&mut racing, dtype).byteswap(width);
            assert!(plain == racing, "{size} words of {width} bytes");
        }
        super::super::fill(Writable::of(&mut plain, dtype), Scalar::Float(2.5));
        all(&mut racing, dtype).fill(Scalar::Float(2.5));
        assert!(plain == racing, "{size} of {dtype:?}");
        let other = all(&mut plain, dtype);
        let elements = all(&mut racing, dtype);
        assert!(
            equal(elements.source(), other.source())
                && equal(elements.source(), Source::of(&numbered(0, dtype), dtype)) == (size == 0)
        );
        assert_eq!((elements.set(size, Scalar::Signed(1)), elements.source().get(size)), (false, None));
        assert_eq!((elements.source().get(usize::MAX), elements.source().get_scalar(usize::MAX)), (None, None));
        if size > 0 {
            assert!(elements.set(size - 1, Scalar::Signed(0)));
            assert_eq!((elements.source().get(size - 1), elements.source().get_scalar(size)), (Some(0.0), None));
            assert_eq!(elements.source().get_scalar(0), elements.elements.readable().get_scalar(0));
            assert!(!equal(elements.source(), other.source()), "{size} of {dtype:?}");
        }
    }
}
