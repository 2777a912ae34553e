//! Sums of what is calculated from the elements of a tensor and those of another one.

use std::ops::Range;

use super::fold::{Fold, LEVELS};
use super::sums::read_as_floats;
use crate::bulk::Readable;
use crate::bulk::reduce::{Both, PART, Pairs, Term, sum, sum_of_both, sums_of_both, takes_small_floats, whole_product};
use crate::element::DType;

/// The elements of the other one.
#[derive(Clone, Copy, Debug)]
pub struct Others<'a> {
    elements: Readable<'a>,
    /// The number of the element that the first of them is beside.
    origin: usize,
}

impl<'a> Others<'a> {
    /// Elements beside those of a tensor from element `origin` on, from 0.
    #[must_use]
    pub fn beside(origin: usize, elements: Readable<'a>) -> Self {
        Self { elements, origin }
    }

    /// Elements beside those of each line.
    #[must_use]
    pub fn beside_lines(elements: Readable<'a>) -> Self {
        Self { elements, origin: 0 }
    }

    /// Adds up their squares, in the parts in which a tensor has its elements.
    pub fn add_squares(self, squares: &mut Pairs<[f64; 2], LEVELS>) {
        for start in (0..self.elements.size()).step_by(PART) {
            squares.add(sum(self.elements.part(start..self.elements.size().min(start + PART)), Term::Square));
        }
    }

    /// Those for a part whose first element has this number.
    fn of(self, part: Readable<'_>, first: usize) -> Readable<'a> {
        let start = (first - self.origin) % self.elements.size().max(1);
        let range: Range<usize> = start..start + part.size();
        self.elements.part(range)
    }
}

/// Adds up products or squared differences of floats or complex numbers, in double.
#[derive(Clone, Copy, Debug)]
pub struct Products<'a> {
    others: Others<'a>,
    both: Both,
}

impl<'a> Products<'a> {
    /// `others` have the dtype in which the elements are [read](read_as_floats). Beside Floats and smaller ones they may be Doubles, each
    /// of which a Float could hold. Lines are compared with these faster.
    #[must_use]
    pub fn new(others: Others<'a>, both: Both) -> Self {
        Self { others, both }
    }

    /// Calls `act` with the number of each of these lines and its sum. They have real numbers.
    fn for_each_line(&self, line: usize, lines: Readable<'_>, length: usize, mut act: impl FnMut(usize, f64)) {
        let mut sums = [0.0; 16];
        let others = self.others.of(lines.part(0..length), line * length);
        let count = lines.size() / length;
        for start in (0..count).step_by(sums.len()) {
            let sums = &mut sums[..(count - start).min(16)];
            sums_of_both(lines.part(start * length..(start + sums.len()) * length), others, self.both, sums);
            sums.iter().enumerate().for_each(|(number, &sum)| act(line + start + number, sum));
        }
    }
}

impl Fold for Products<'_> {
    type State = Pairs<[f64; 2], LEVELS>;

    fn reads(&self, dtype: DType) -> DType {
        let beside_doubles = self.others.elements.dtype() == DType::Double;
        if beside_doubles && takes_small_floats(dtype) { dtype } else { read_as_floats(dtype) }
    }

    fn start(&self) -> Self::State {
        Pairs::new()
    }

    fn add(&self, total: &mut Self::State, part: Readable<'_>, first: usize) {
        total.add(sum_of_both(part, self.others.of(part, first), self.both));
    }

    fn each_line(&self, line: usize, lines: Readable<'_>, length: usize, put: &dyn Fn(usize, &Self::State)) {
        let mut state = self.start();
        if lines.dtype().is_complex() {
            for number in 0..lines.size() / length {
                state.clear();
                self.add(&mut state, lines.part(number * length..(number + 1) * length), (line + number) * length);
                put(line + number, &state);
            }
            return;
        }
        self.for_each_line(line, lines, length, |line, sum| {
            state.clear();
            state.add([sum, 0.0]);
            put(line, &state);
        });
    }

    fn join(&self, total: &mut Self::State, behind: Self::State) {
        total.append(&behind);
    }

    fn is_decided(&self, _: &Self::State) -> bool {
        false
    }
}

/// Adds up products of integers, modulo 2^64. A Bool counts as 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct WholeProducts<'a>(Others<'a>);

impl<'a> WholeProducts<'a> {
    /// `others` have the dtype of the elements.
    #[must_use]
    pub fn new(others: Others<'a>) -> Self {
        Self(others)
    }
}

impl Fold for WholeProducts<'_> {
    type State = u64;

    fn reads(&self, dtype: DType) -> DType {
        dtype
    }

    fn start(&self) -> u64 {
        0
    }

    fn add(&self, total: &mut u64, part: Readable<'_>, first: usize) {
        *total = total.wrapping_add(whole_product(part, self.0.of(part, first)));
    }

    fn join(&self, total: &mut u64, behind: u64) {
        *total = total.wrapping_add(behind);
    }

    fn is_decided(&self, _: &u64) -> bool {
        false
    }
}

/// Adds up products, and squares of the elements, in one round: for the cosine of the angle between each line and the others.
#[derive(Clone, Copy, Debug)]
pub struct Cosines<'a>(Products<'a>);

impl<'a> Cosines<'a> {
    /// `others` are as those of [`Products`].
    #[must_use]
    pub fn new(others: Others<'a>) -> Self {
        Self(Products::new(others, Both::Product))
    }
}

impl Fold for Cosines<'_> {
    /// The products, and the squares.
    type State = [Pairs<[f64; 2], LEVELS>; 2];

    fn reads(&self, dtype: DType) -> DType {
        self.0.reads(dtype)
    }

    fn start(&self) -> Self::State {
        [self.0.start(); 2]
    }

    fn add(&self, [products, squares]: &mut Self::State, part: Readable<'_>, first: usize) {
        self.0.add(products, part, first);
        squares.add(sum(part, Term::Square));
    }

    fn each_line(&self, line: usize, lines: Readable<'_>, length: usize, put: &dyn Fn(usize, &Self::State)) {
        let mut state = self.start();
        let first = line;
        self.0.for_each_line(line, lines, length, |line, products| {
            let [of_products, of_squares] = &mut state;
            of_products.clear();
            of_products.add([products, 0.0]);
            of_squares.clear();
            of_squares.add(sum(lines.part((line - first) * length..(line - first + 1) * length), Term::Square));
            put(line, &state);
        });
    }

    fn join(&self, state: &mut Self::State, behind: Self::State) {
        state.iter_mut().zip(behind).for_each(|(state, behind)| state.append(&behind));
    }

    fn is_decided(&self, _: &Self::State) -> bool {
        false
    }
}
