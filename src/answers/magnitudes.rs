//! Complex numbers by their magnitudes.

use super::fold::Fold;
use crate::bulk::reduce::PART;
use crate::bulk::{Buffer, Readable};
use crate::convert::Scalar;
use crate::element::DType;

/// Gives the magnitudes of complex numbers to another fold, as doubles.
#[derive(Clone, Copy, Debug)]
pub struct OfMagnitudes<'a, F>(pub &'a F);

impl<F: Fold> Fold for OfMagnitudes<'_, F> {
    type State = F::State;

    fn reads(&self, dtype: DType) -> DType {
        dtype
    }

    fn start(&self) -> F::State {
        self.0.start()
    }

    fn add(&self, state: &mut F::State, part: Readable<'_>, first: usize) {
        let mut buffer = Buffer::<PART>::new();
        let magnitudes = buffer.elements(DType::Double, part.size(), |target| {
            for index in 0..part.size() {
                let (re, im) = part.get_scalar(index).map_or((f64::NAN, 0.0), Scalar::parts);
                let magnitude = re.hypot(im);
                let is_there = target.set(index, Scalar::Float(magnitude));
                debug_assert!(is_there, "the buffer has room for a part");
            }
            Ok::<_, std::convert::Infallible>(())
        });
        let Ok(magnitudes) = magnitudes;
        self.0.add(state, magnitudes, first);
    }

    fn join(&self, state: &mut F::State, behind: F::State) {
        self.0.join(state, behind);
    }

    fn is_decided(&self, state: &F::State) -> bool {
        self.0.is_decided(state)
    }
}
