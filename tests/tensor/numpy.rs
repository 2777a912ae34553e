//! Views compared with those of NumPy, which `tests/data/strides.py` has recorded.

use std::env;
use std::error::Error as AnyError;
use std::fmt::Display;
use std::fs;
use std::str::FromStr;

use torch_storage::Error;
use torch_storage::tensor::Layout;

fn numbers<T: FromStr<Err: AnyError + 'static>>(text: &str) -> Result<Vec<T>, Box<dyn AnyError>> {
    if text == "none" {
        return Ok(Vec::new());
    }
    text.split(',').map(|number| Ok(number.parse()?)).collect()
}

fn list(numbers: impl Iterator<Item = impl Display>) -> String {
    let texts: Vec<String> = numbers.map(|number| number.to_string()).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(",") }
}

/// A layout in the form of the table.
fn shown(layout: &Layout) -> String {
    let has_elements = layout.elements() > 0;
    let strides = layout
        .sizes()
        .iter()
        .zip(layout.strides())
        .map(|(&size, stride)| if size != 1 && has_elements { stride.to_string() } else { ".".to_owned() });
    let offset = if has_elements { layout.offset().to_string() } else { ".".to_owned() };
    format!("{}\t{}\t{offset}", list(layout.sizes().iter()), list(strides))
}

#[test]
fn views_are_those_of_numpy() -> Result<(), Box<dyn AnyError>> {
    let mut rows = 0;
    // `make test-numpy` sets this variable to the name of a larger file.
    let table = env::var_os("STRIDES").map_or_else(|| Ok(include_str!("../data/strides.tsv").to_owned()), fs::read_to_string)?;
    for row in table.lines() {
        let fields: Vec<&str> = row.splitn(6, '\t').collect();
        let &[operation, sizes, strides, offset, arguments, expected] = fields.as_slice() else {
            return Err(format!("a row with too few fields: {row}").into());
        };
        let layout = Layout::strided(offset.parse()?, &numbers(sizes)?, &numbers(strides)?)?;
        let given: Vec<i64> = numbers(arguments)?;
        let plain = || -> Vec<usize> { given.iter().filter_map(|&number| usize::try_from(number).ok()).collect() };
        let result: Result<Layout, Error> = match (operation, plain().as_slice()) {
            ("view", _) => layout.view(&given),
            ("permute", order) => layout.permute(order),
            ("expand", sizes) => layout.expand(sizes),
            ("narrow", &[dimension, first, length]) => layout.narrow(dimension, first, length),
            ("select", &[dimension, index]) => layout.select(dimension, index),
            ("unfold", &[dimension, window, step]) => layout.unfold(dimension, window, step),
            ("contiguous", _) => {
                assert_eq!(u8::from(layout.is_contiguous()).to_string(), expected, "{row}");
                rows += 1;
                continue;
            }
            _ => return Err(format!("an unknown row: {row}").into()),
        };
        assert_eq!(result.map_or("-".to_owned(), |result| shown(&result)), expected, "{row}");
        rows += 1;
    }
    assert!(rows > 4000, "the table has {rows} rows");
    Ok(())
}
