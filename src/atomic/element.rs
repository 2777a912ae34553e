//! The types of elements that can be accessed atomically, and one such element.

use std::marker::PhantomData;

use super::machine::Word;
use crate::convert::Bool;
use crate::element::{DType, Element};

/// What [`At::change`] makes of an element and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The sum; of integers, modulo 2 to the power of their bits.
    Add,
    /// The difference, in the same way.
    Sub,
    /// The bits that both have.
    And,
    /// The bits that one of them has.
    Or,
    /// The bits that only one of them has.
    Xor,
    /// The smaller one. NaN is not smaller than anything.
    Min,
    /// The larger one. NaN is not larger than anything.
    Max,
}

impl Change {
    /// Whether elements of a dtype can be changed like this. It is one that [`supports`] atomic access.
    #[must_use]
    pub const fn is_for(self, dtype: DType) -> bool {
        match self {
            Self::Add | Self::Sub | Self::Min | Self::Max => !matches!(dtype, DType::Bool),
            Self::And | Self::Or | Self::Xor => !matches!(dtype, DType::Float | DType::Double),
        }
    }
}

/// A type of elements that can be accessed atomically: an integer, `f32`, `f64` or [`Bool`].
pub trait Atomic: Element {
    /// The bits of an element.
    type Word: Word;
    /// Whether [`Word::add`] adds elements.
    const IS_INTEGER: bool = false;
    fn to_word(self) -> Self::Word;
    fn of_word(word: Self::Word) -> Self;
    /// What a change makes of the element. A change that [is not for](Change::is_for) the dtype makes nothing of it.
    fn changed(self, change: Change, value: Self) -> Self;
}

macro_rules! integer {
    ($($type:ty, $word:ty);*) => {$(
        impl Atomic for $type {
            type Word = $word;
            const IS_INTEGER: bool = true;
            #[inline(always)]
            fn to_word(self) -> $word {
                <$word>::from_ne_bytes(self.to_ne_bytes())
            }
            #[inline(always)]
            fn of_word(word: $word) -> Self {
                Self::from_ne_bytes(word.to_ne_bytes())
            }
            #[inline(always)]
            fn changed(self, change: Change, value: Self) -> Self {
                match change {
                    Change::Add => self.wrapping_add(value),
                    Change::Sub => self.wrapping_sub(value),
                    Change::And => self & value,
                    Change::Or => self | value,
                    Change::Xor => self ^ value,
                    Change::Min => self.min(value),
                    Change::Max => self.max(value),
                }
            }
        }
    )*};
}

integer! { u8, u8; i8, u8; i16, u16; u16, u16; i32, u32; u32, u32; i64, u64; u64, u64 }

macro_rules! float {
    ($($type:ty, $word:ty);*) => {$(
        impl Atomic for $type {
            type Word = $word;
            #[inline(always)]
            fn to_word(self) -> $word {
                self.to_bits()
            }
            #[inline(always)]
            fn of_word(word: $word) -> Self {
                Self::from_bits(word)
            }
            #[inline(always)]
            fn changed(self, change: Change, value: Self) -> Self {
                match change {
                    Change::Add => self + value,
                    Change::Sub => self - value,
                    Change::Min if value < self => value,
                    Change::Max if value > self => value,
                    _ => self,
                }
            }
        }
    )*};
}

float! { f32, u32; f64, u64 }

impl Atomic for Bool {
    type Word = u8;
    #[inline(always)]
    fn to_word(self) -> u8 {
        self.get().into()
    }
    #[inline(always)]
    fn of_word(word: u8) -> Self {
        (word != 0).into()
    }
    #[inline(always)]
    fn changed(self, change: Change, value: Self) -> Self {
        match change {
            Change::And => (self.get() && value.get()).into(),
            Change::Or => (self.get() || value.get()).into(),
            Change::Xor => (self.get() != value.get()).into(),
            _ => self,
        }
    }
}

pub(crate) use crate::element::with_native as with_atomic;

/// Whether elements of a dtype can be accessed atomically.
#[must_use]
pub const fn supports(dtype: DType) -> bool {
    with_atomic!(dtype, T => { let _ = size_of::<T>(); true }, else false)
}

/// Whether a thread can wait for a change of an element of this dtype.
#[must_use]
pub const fn can_be_awaited(dtype: DType) -> bool {
    matches!(dtype, DType::Int | DType::UInt32 | DType::Long | DType::UInt64)
}

/// An element that is accessed atomically.
#[derive(Clone, Copy)]
pub struct At<'a, T: Atomic> {
    at: *mut T::Word,
    memory: PhantomData<&'a ()>,
}

impl<T: Atomic> At<'_, T> {
    /// Element `index` (from 0) of the elements at `data`; `None` if its address is not a multiple of its width.
    ///
    /// # Safety
    /// `[atomic]`: `data` is valid for reads of more than `index` elements as long as this value or a copy of it is used. It is valid for
    /// writes, too, if anything but [`load`](Self::load) is called. Whoever else accesses the elements at the same time does so
    /// atomically, as far as rule `[race]` asks for it.
    #[inline(always)]
    pub unsafe fn new(data: *mut u8, index: usize) -> Option<Self> {
        let at = data.cast::<T::Word>().wrapping_add(index);
        at.is_aligned().then_some(Self { at, memory: PhantomData })
    }

    /// The address.
    #[inline(always)]
    pub fn address(self) -> *mut T::Word {
        self.at
    }

    #[inline(always)]
    pub fn load(self) -> T {
        // SAFETY: [atomic] `new` was promised it.
        T::of_word(unsafe { T::Word::load(self.at) })
    }

    #[inline(always)]
    pub fn store(self, value: T) {
        // SAFETY: [atomic] `new` was promised it.
        unsafe { T::Word::store(self.at, value.to_word()) }
    }

    /// Writes the element, and returns what it was.
    #[inline(always)]
    pub fn exchange(self, value: T) -> T {
        // SAFETY: [atomic] `new` was promised it.
        T::of_word(unsafe { T::Word::exchange(self.at, value.to_word()) })
    }

    /// Writes `new` if the element has the bits of `expected`. Returns what the element was, and whether `new` was written. A [`Bool`] is
    /// compared as it is read, whatever its byte is.
    #[inline(always)]
    pub fn compare_exchange(self, expected: T, new: T) -> (T, bool) {
        let mut word = expected.to_word();
        loop {
            // SAFETY: [atomic] `new` was promised it.
            let found = unsafe { T::Word::compare_exchange(self.at, word, new.to_word()) };
            if found == word {
                return (T::of_word(found), true);
            }
            if T::of_word(found).to_word() != expected.to_word() {
                return (T::of_word(found), false);
            }
            word = found;
        }
    }

    /// Changes the element, and returns what it was. Nothing is written if the change leaves it as it is, except for sums of integers.
    #[inline(always)]
    pub fn change(self, change: Change, value: T) -> T {
        match change {
            // SAFETY: [atomic] `new` was promised it.
            Change::Add if T::IS_INTEGER => T::of_word(unsafe { T::Word::add(self.at, value.to_word()) }),
            // SAFETY: [atomic] `new` was promised it.
            Change::Sub if T::IS_INTEGER => T::of_word(unsafe { T::Word::add(self.at, value.to_word().negated()) }),
            _ => self.change_in_turns(change, value),
        }
    }

    /// The same by comparing and exchanging until nobody else has come in between. It is not inlined, because it would be in more than a
    /// hundred places.
    #[inline(never)]
    fn change_in_turns(self, change: Change, value: T) -> T {
        let mut old = self.load();
        loop {
            let new = old.changed(change, value);
            if new.to_word() == old.to_word() {
                return old;
            }
            match self.compare_exchange(old, new) {
                (old, true) => return old,
                (now, false) => old = now,
            }
        }
    }
}
