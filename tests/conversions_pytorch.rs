//! Every class to every class next to PyTorch 2.7.1's own conversions: `tests/data/pytorch.tsv` has what it gave
//! (`bench/conversions.py --torch --record` writes it; `-` is where C leaves the result open). A complex number is its two parts.

use std::error::Error;

use torch_storage::convert::{Number, Scalar};
use torch_storage::{DType, Storage};

/// The only results that are others here: 1 + 2^-8 + 2^-30, which PyTorch rounds to a float first, and then once more.
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
fn every_row_is_as_recorded() -> Result<(), Box<dyn Error>> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pytorch.tsv"));
    let class = |name: &str| DType::from_class_name(&format!("{name}Storage")).ok_or_else(|| format!("no class {name}"));
    let mut lines = text.lines();
    let targets = lines.next().ok_or("no head")?.split('\t').skip(2).map(class).collect::<Result<Vec<_>, _>>()?;
    let (mut rows, mut results, mut rounded_twice) = (0, 0, 0);
    for row in lines {
        let mut columns = row.split('\t');
        let (Some(source), Some(value)) = (columns.next(), columns.next()) else { return Err("no element".into()) };
        let value = scalar(value)?;
        // More than a vector, so that kernels and what they leave over are used.
        let elements = Storage::zeroed(class(source)?, 67)?;
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
            let alone = Storage::zeroed(target, 1)?;
            alone.copy_range(0, &elements, 0, 1)?;
            for got in [copy.get_scalar(0), copy.get_scalar(66), alone.get_scalar(0)] {
                let got = parts(got.ok_or("it is there")?);
                let same = got.into_iter().zip(expected).all(|(got, expected)| is_same(got, expected));
                assert!(same, "{source} {value:?} to {target:?}: {got:?}, not {expected:?}");
            }
            results += 1;
        }
        rows += 1;
    }
    assert_eq!((targets.len(), rows, rounded_twice), (16, 838, 4));
    assert!(results > 12_000, "{results}");
    Ok(())
}
