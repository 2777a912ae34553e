//! The classes that Torch7 does not have, next to others: PyTorch 2.7.1's own conversions and, of floats of 8 bits, those of
//! ml_dtypes 0.6.0, which rounds as PyTorch does. `tests/data/pytorch.tsv` has what they gave.

use std::error::Error;

use torch_storage::convert::Scalar;
use torch_storage::{DType, Storage};

/// The only row with another result here: 1 + 2^-8 + 2^-30, which PyTorch rounds to a float first, and then once more.
const ROUNDED_TWICE: &str = "torch\tDouble\t1.0039062509313226\tBFloat16\t1.0";

#[test]
fn every_row_is_as_recorded() -> Result<(), Box<dyn Error>> {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pytorch.tsv"));
    let mut rows = 0;
    for row in text.lines().skip(1) {
        let [_, source, value, target, result] = row.split('\t').collect::<Vec<_>>()[..] else {
            return Err(format!("not 5 columns: {row}").into());
        };
        let class = |name: &str| DType::from_class_name(&format!("{name}Storage")).ok_or_else(|| format!("no class {name}"));
        let (source, target) = (class(source)?, class(target)?);
        let scalar = value.parse().map_or_else(|_| value.parse().map(Scalar::Float), |whole| Ok(Scalar::Signed(whole)))?;
        // More than a vector, so that kernels and what they leave over are used.
        let elements = Storage::zeroed(source, 67)?;
        elements.fill(scalar)?;
        let mut expected: f64 = result.parse()?;
        if row == ROUNDED_TWICE {
            assert_eq!(expected, 1.0);
            expected = 1.0078125;
        }
        let copy = elements.cast(target)?;
        let alone = Storage::zeroed(target, 1)?;
        alone.copy_range(0, &elements, 0, 1)?;
        for got in [copy.get(0), copy.get(66), alone.get(0)] {
            let got = got.ok_or("it is there")?;
            let same = got.to_bits() == expected.to_bits() || (got.is_nan() && expected.is_nan());
            assert!(same || (got == 0.0 && target.is_integer() && expected == 0.0), "{row}: {got}");
        }
        rows += 1;
    }
    assert_eq!(rows, 859);
    Ok(())
}
