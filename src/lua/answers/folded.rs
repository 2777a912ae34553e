//! Goes through all elements in steps, so that the host can interrupt it, or through the lines along a dimension.

use std::cell::RefCell;
use std::ops::Range;

use super::subject::Subject;
use crate::answers::{Fold, fold_lines, fold_range};
use crate::convert::Scalar;
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::steps::{STEP, changed, in_steps, let_host_interrupt};
use crate::lua::tensor::Made;
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

/// Makes a state of all elements of argument 1, and returns what `result` makes of it. The state stays where it is, because copying it
/// would take longer than to go through a few elements.
#[inline]
pub fn fold_all<S: Subject, F: Fold, R>(call: Call, fold: &F, result: impl FnOnce(&F::State) -> R) -> Result<R, Fault> {
    let mut state = fold.start();
    let left = S::with(call, |tensor, layout| {
        let all = tensor.elements()?;
        let elements = layout.elements();
        if elements.saturating_mul(all.dtype().width()) > STEP {
            return Ok(elements);
        }
        fold_range(fold, all, 0..elements, &mut state)?;
        Ok(0)
    })?;
    if left > 0 {
        fold_in_steps::<S, F>(call, fold, left, &mut state)?;
    }
    Ok(result(&state))
}

/// Does the work of [`fold_all`] for more elements than a step has.
#[inline(never)]
fn fold_in_steps<S: Subject, F: Fold>(call: Call, fold: &F, elements: usize, state: &mut F::State) -> Result<(), Fault> {
    let state = RefCell::new(state);
    in_steps(call, elements, S::dtype(call)?.width(), |done, now| {
        S::with(call, |tensor, layout| {
            if layout.elements() != elements {
                return Err(changed());
            }
            let state = &mut **state.borrow_mut();
            if !fold.is_decided(state) {
                fold_range(fold, tensor.elements()?, done..done + now, state)?;
            }
            Ok(())
        })
    })
}

/// The lines of the tensor at argument 1 along a dimension.
pub struct Lines {
    /// The layout of the tensor with that dimension behind all others.
    pub layout: Layout,
    /// The sizes of the tensor, with 1 for that dimension.
    pub result: Layout,
    /// The number of lines.
    pub count: usize,
    /// The number of elements in a line.
    pub length: usize,
}

impl Lines {
    /// The lines along dimension `number`, which counts from 1, or from the last one if it is negative.
    pub fn along(call: Call, number: i64) -> Result<Self, Fault> {
        let this = call.this_tensor()?;
        this.elements().check()?;
        let layout = this.layout;
        let dimension = layout.dimension(number)?;
        let dimensions = layout.dimensions();
        let mut order = crate::fallible::collected::<_, Fault>((0..dimensions).filter(|&d| d != dimension).map(Ok))?;
        crate::fallible::push(&mut order, dimension)?;
        let mut sizes = crate::fallible::copied(layout.sizes())?;
        let length = std::mem::replace(&mut sizes[dimension], 1);
        let result = Layout::contiguous(&sizes)?;
        Ok(Self { layout: layout.permute(&order)?, count: result.elements(), result, length })
    }

    /// Makes a state of each line, and calls `put` with the number of the line, from 0, and its state, in several threads if the work is
    /// large.
    pub fn fold<F: Fold>(&self, call: Call, fold: &F, put: &(dyn Fn(usize, &F::State) + Sync)) -> Result<(), Fault> {
        let line = self.length.max(1).saturating_mul(call.dtype().width());
        if line > STEP {
            return self.fold_long(call, fold, put);
        }
        in_steps(call, self.count, line, |done, now| {
            self.with(call, |tensor| Ok(fold_lines(fold, tensor.elements()?, done..done + now, put)?))
        })
    }

    /// Does the work of [`fold`](Self::fold) for lines that are longer than a step.
    fn fold_long<F: Fold>(&self, call: Call, fold: &F, put: &dyn Fn(usize, &F::State)) -> Result<(), Fault> {
        for line in 0..self.count {
            let state = RefCell::new(fold.start());
            let begin = line * self.length;
            in_steps(call, self.length, call.dtype().width(), |done, now| {
                let range: Range<usize> = begin + done..begin + done + now;
                self.with(call, |tensor| Ok(fold_range(fold, tensor.elements()?, range.clone(), &mut state.borrow_mut())?))
            })?;
            put(line, &state.into_inner());
            let_host_interrupt(call)?;
        }
        Ok(())
    }

    /// Calls `act` with the tensor at argument 1 with its dimensions in the order of the lines.
    pub fn with(&self, call: Call, act: impl FnOnce(&Tensor<'_>) -> Result<(), Fault>) -> Result<(), Fault> {
        let this = call.this_tensor()?;
        if this.layout.elements() != self.count.saturating_mul(self.length) {
            return Err(changed());
        }
        act(&Tensor::new(&this.storage, &self.layout))
    }

    /// A new tensor of a class with a number for each line, which `number` makes of its state.
    pub fn made<F: Fold>(
        &self,
        call: Call,
        fold: &F,
        dtype: DType,
        number: &(dyn Fn(usize, &F::State) -> Scalar + Sync),
    ) -> Result<Made, Fault> {
        let storage = Storage::unset(dtype, self.count)?;
        {
            let target = storage.writable()?;
            self.fold(call, fold, &|line, state| {
                let is_there = target.set(line, number(line, state));
                debug_assert!(is_there, "there is an element for each line");
            })?;
        }
        Ok(Made::new(storage, Layout::contiguous(self.result.sizes())?))
    }
}
