//! The conversions between all dtypes give what PyTorch 2.7.1 gave.
//!
//! `bench/conversions.py --torch --record` wrote PyTorch's results to `tests/data/pytorch.tsv`. A `-` marks results that C does
//! not define. A complex number is written as its two parts.

use std::error::Error;

use torch_storage::DType;
use torch_storage::convert::{Number, Scalar};
use torch_storage::storage::Storage;

/// The only number for which our results differ: 1 + 2^-8 + 2^-30. On the way to `bf16`, PyTorch rounds it to a float first, and
/// so it rounds twice.
const ROUNDED_TWICE: f64 = 1.003_906_250_931_322_6;

fn scalar(text: &str) -> Result<Scalar, Box<dyn Error>> {
    Ok(match text.split_once(' ') {
        Some((re, im)) => Scalar::Complex(re.parse()?, im.parse()?),
        None => text.parse().map_or_else(|_| text.parse().map(Scalar::Float), |whole| Ok(Scalar::Signed(whole)))?,
    })
}

/// The real and the imaginary part.
fn parts(number: Scalar) -> [f64; 2] {
    match number {
        Scalar::Complex(re, im) => [re, im],
        number => [f64::from_scalar(number), 0.0],
    }
}

fn is_same(got: f64, expected: f64) -> bool {
    got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan())
}

#[test]
fn every_conversion_is_as_recorded() -> Result<(), Box<dyn Error>> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pytorch.tsv"));
    let dtype = |name: &str| DType::from_class_name(&format!("{name}Storage")).ok_or_else(|| format!("there is no dtype {name}"));
    let mut lines = text.lines();
    let targets = lines.next().ok_or("the table is empty")?.split('\t').skip(2).map(dtype).collect::<Result<Vec<_>, _>>()?;
    let (mut rows, mut results, mut rounded_twice) = (0, 0, 0);
    for row in lines {
        let mut columns = row.split('\t');
        let (Some(source), Some(value)) = (columns.next(), columns.next()) else { return Err("a row is too short".into()) };
        let value = scalar(value)?;
        // 67 elements are several vectors and a remainder, so that both the vector loops and the loops after them run.
        let elements = Storage::zeroed(dtype(source)?, 67)?;
        elements.fill(value)?;
        assert_eq!(columns.clone().count(), targets.len(), "{row}");
        for (&target, result) in targets.iter().zip(columns) {
            if result == "-" {
                continue;
            }
            let mut expected = parts(scalar(result)?);
            if target == DType::BFloat16 && parts(value)[0] == ROUNDED_TWICE {
                assert_eq!(expected[0], 1.0);
                expected[0] = 1.007_812_5;
                rounded_twice += 1;
            }
            let copy = elements.cast(target)?;
            let single = Storage::zeroed(target, 1)?;
            single.copy_range(0, &elements, 0, 1)?;
            for got in [copy.get_scalar(0), copy.get_scalar(66), single.get_scalar(0)] {
                let got = parts(got.ok_or("an element is missing")?);
                let same = got.into_iter().zip(expected).all(|(got, expected)| is_same(got, expected));
                assert!(same, "{source} {value:?} to {target:?}: got {got:?}, expected {expected:?}");
            }
            results += 1;
        }
        rows += 1;
    }
    assert_eq!((targets.len(), rows, rounded_twice), (16, 838, 4));
    assert!(results > 12_000, "{results}");
    Ok(())
}
