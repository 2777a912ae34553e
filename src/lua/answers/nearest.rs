//! The rows of a matrix that are nearest to a query.

use std::ffi::c_int;

use super::folded::Lines;
use crate::answers::{Both, Cosines, Extreme, Fold, Nearest, Others, Products, Scored, Sum, Term, fold_all_of, read_as_floats};
use crate::convert::{Scalar, count_to_f64};
use crate::element::DType;
use crate::error::shown;
use crate::lua::args::{Call, show};
use crate::lua::entry::{self, Method, raising};
use crate::lua::fault::Fault;
use crate::lua::options::Options;
use crate::lua::state::Raising;
use crate::lua::userdata;
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

pub const METHODS: &[Method] = &[(c"nearest", raising(nearest))];

/// The options of `nearest`.
static OPTIONS: [&str; 2] = ["metric", "filter"];

/// How near a row is to the query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Metric {
    /// The cosine of the angle between the two; the greatest is the nearest.
    Cosine,
    /// The product of the two; the greatest is the nearest.
    Dot,
    /// The Euclidean distance; the least is the nearest.
    Euclid,
}

/// `x:nearest(query, k [, {metric = , filter = }])`: the rows of a matrix that are nearest to a vector, the nearest first: a LongStorage of
/// their numbers, and a DoubleStorage of their scores.
fn nearest(lua: Raising) -> c_int {
    entry::construct_two(lua, Call::new(lua), [DType::Long, DType::Double], find)
}

fn find(call: Call) -> Result<(Storage, Storage), Fault> {
    let wanted = call.scalar(3)?;
    let wanted = call
        .count_of(wanted)
        .filter(|&wanted| wanted > 0)
        .ok_or_else(|| Fault::argument(3, format_args!("a number of rows from 1 on is expected, got {}", show(wanted))))?;
    call.expect_end(5)?;
    if !call.is_absent(4) && call.kind(4) != mlua_sys::LUA_TTABLE {
        return Err(call.mismatch(4, "table of options"));
    }
    let options = Options::read(call, 4, &OPTIONS)?;
    let metric = metric(&options)?;
    let (rows, columns) = sizes(call)?;
    let reads = read_as_floats(call.dtype());
    // A copy, because a hook could free the query.
    let query = query(call, columns, reads)?;
    let filter = filter(call, &options, rows)?;
    let scores = Storage::unset(DType::Double, rows)?;
    score(call, metric, &query, &scores)?;
    let which = if metric == Metric::Euclid { Extreme::Least } else { Extreme::Greatest };
    let mut nearest = Nearest::new(wanted, rows, which)?;
    let scores = scores.readable();
    for row in 0..rows {
        if filter.as_ref().is_none_or(|filter| filter.get(row) != Some(0.0)) {
            nearest.add(Scored { row, score: scores.get(row).unwrap_or(f64::NAN) });
        }
    }
    let best = nearest.best();
    let (numbers, values) = (Storage::unset(DType::Long, best.len())?, Storage::unset(DType::Double, best.len())?);
    for (place, scored) in best.iter().enumerate() {
        numbers.set(place, Scalar::Float(count_to_f64(scored.row + 1)))?;
        values.set(place, Scalar::Float(scored.score))?;
    }
    Ok((numbers, values))
}

fn metric(options: &Options) -> Result<Metric, Fault> {
    match options.string("metric")? {
        None | Some(b"cosine") => Ok(Metric::Cosine),
        Some(b"dot") => Ok(Metric::Dot),
        Some(b"euclid") => Ok(Metric::Euclid),
        Some(other) => Err(options.wrong("metric", format_args!("'cosine', 'dot' or 'euclid' expected, got '{}'", shown(other)))),
    }
}

/// The number of rows and of columns of argument 1, a matrix.
fn sizes(call: Call) -> Result<(usize, usize), Fault> {
    if call.dtype().is_complex() {
        return Err(Fault::new("rows of complex numbers are not compared here"));
    }
    let this = call.this_tensor()?;
    this.elements().check()?;
    let [rows, columns] = *this.layout.sizes() else {
        let got = this.layout.dimensions();
        return Err(Fault::new(format_args!("a matrix of two dimensions expected, got {got}")));
    };
    Ok((rows, columns))
}

/// The elements of argument 2, a storage or tensor of any real class, in a dtype.
fn query(call: Call, columns: usize, reads: DType) -> Result<Storage, Fault> {
    let check = |dtype: DType, got: usize| {
        if dtype.is_complex() {
            return Err(Fault::argument(2, "a query has real numbers"));
        }
        if got != columns {
            return Err(Fault::argument(2, format_args!("a query of {columns} elements expected, as a row has, got {got}")));
        }
        Ok(())
    };
    if userdata::class(call.state(), 2).is_some() {
        let storage = call.storage(2)?;
        check(storage.dtype(), storage.size())?;
        let layout = Layout::contiguous(&[storage.size()])?;
        return Ok(Tensor::new(&storage, &layout).to_storage(reads)?);
    }
    let tensor = call.tensor(2).map_err(|fault| if call.is_absent(2) { call.mismatch(2, "storage or tensor") } else { fault })?;
    check(tensor.dtype(), tensor.layout.elements())?;
    Ok(tensor.elements().to_storage(reads)?)
}

/// A copy of the option `filter`, which says by an element for each row whether it is looked at.
fn filter(call: Call, options: &Options, rows: usize) -> Result<Option<Storage>, Fault> {
    let Some(index) = options.given("filter") else { return Ok(None) };
    // SAFETY: [live] the value stays on the stack, and no Lua code runs while the storage is used.
    let of = |dtype| unsafe { userdata::storage_of(call.state(), index, dtype) };
    let Some(storage) = of(DType::Byte).or_else(|| of(DType::Bool)) else {
        return Err(options.expected("filter", "torch.ByteStorage or torch.BoolStorage"));
    };
    if storage.size() != rows {
        let got = storage.size();
        return Err(options.wrong("filter", format_args!("an element for each of the {rows} rows expected, got {got}")));
    }
    let layout = Layout::contiguous(&[rows])?;
    Ok(Some(Tensor::new(&storage, &layout).to_storage(DType::Byte)?))
}

/// Puts a score for each row of argument 1 into a storage.
fn score(call: Call, metric: Metric, query: &Storage, scores: &Storage) -> Result<(), Fault> {
    let lines = Lines::along(call, 2)?;
    let doubles = (query.dtype() == DType::Float).then(|| as_doubles(query)).transpose()?;
    let others = Others::beside_lines(doubles.as_ref().unwrap_or(query).readable());
    let target = scores.writable()?;
    let put = |row: usize, score: f64| {
        let is_there = target.set(row, Scalar::Float(score));
        debug_assert!(is_there, "there is a score for each row");
    };
    let real = |[even, odd]: [f64; 2]| even + odd;
    match metric {
        Metric::Cosine => {
            let layout = Layout::contiguous(&[query.size()])?;
            let own = real(fold_all_of(&Sum(Term::Square), Tensor::new(query, &layout).elements()?)?.total()).sqrt();
            lines.fold(call, &Cosines::new(others), &|row, [products, squares]: &<Cosines as Fold>::State| {
                put(row, real(products.total()) / (real(squares.total()).sqrt() * own));
            })
        }
        Metric::Dot => lines.fold(call, &Products::new(others, Both::Product), &|row, sum: &<Products as Fold>::State| {
            put(row, real(sum.total()));
        }),
        Metric::Euclid => {
            lines.fold(call, &Products::new(others, Both::SquareOfDistance), &|row, sum: &<Products as Fold>::State| {
                put(row, real(sum.total()).sqrt());
            })
        }
    }
}

/// A copy of floats, so that they are not converted for each row.
fn as_doubles(query: &Storage) -> Result<Storage, Fault> {
    let layout = Layout::contiguous(&[query.size()])?;
    Ok(Tensor::new(query, &layout).to_storage(DType::Double)?)
}
