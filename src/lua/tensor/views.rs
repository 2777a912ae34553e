//! Methods that give another view of the elements of a tensor. Only `reshape` and `contiguous` copy, where no view is possible.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::arguments::at_least;
use super::contents::converted;
use super::making::{Made, make, make_as, make_view, over_this, push_part};
use crate::element::DType;
use crate::fallible::collected;
use crate::lua::args::Call;
use crate::lua::entry::{self, raising};
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::methods::from_table::table_size;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::let_host_interrupt;
use crate::tensor::Reshaped;

pub const METHODS: &[Method] = &[
    (c"chunk", raising(chunk)),
    (c"contiguous", raising(contiguous)),
    (c"expand", raising(expand)),
    (c"expandAs", raising(expand_as)),
    (c"narrow", raising(narrow)),
    (c"permute", raising(permute)),
    (c"reshape", raising(reshape)),
    (c"select", raising(select)),
    (c"split", raising(split)),
    (c"squeeze", raising(squeeze)),
    (c"sub", raising(sub)),
    (c"t", raising(matrix_transpose)),
    (c"transpose", raising(transpose)),
    (c"unfold", raising(unfold)),
    (c"unsqueeze", raising(unsqueeze)),
    (c"view", raising(view)),
    (c"viewAs", raising(view_as)),
];

/// `x:narrow(d, i, n)`: the `n` indices of dimension `d` from `i` on. Torch7. Differs from Torch7: `n` may be 0.
fn narrow(lua: Raising) -> c_int {
    make_view(lua, |call| {
        let (dimension, first, length) = (call.whole(2)?, call.whole(3)?, call.whole(4)?);
        let this = call.this_tensor()?.layout;
        let dimension = this.dimension(dimension)?;
        let range = this.range_of_length(dimension, first, length)?;
        Ok(this.narrow(dimension, range.start, range.len())?)
    })
}

/// `x:sub(a, b [, c, d ...])`: the indices from `a` to `b` of the first dimension, from `c` to `d` of the second, and so on. A
/// negative index counts from the end. Torch7.
fn sub(lua: Raising) -> c_int {
    make_view(lua, |call| {
        let bounds = collected((2..=call.count().max(3)).map(|n| call.whole(n)))?;
        if bounds.len() % 2 == 1 {
            return Err(call.mismatch(call.count() + 1, "number"));
        }
        let mut layout = call.this_tensor()?.layout.try_clone()?;
        for (number, bounds) in (1..).zip(bounds.chunks_exact(2)) {
            let dimension = layout.dimension(number)?;
            let range = layout.range(dimension, bounds[0], bounds[1])?;
            layout = layout.narrow(dimension, range.start, range.len())?;
        }
        Ok(layout)
    })
}

/// `x:select(d, i)`: the elements with index `i` in dimension `d`, without this dimension. On a tensor of one dimension it is an
/// element. Torch7.
fn select(lua: Raising) -> c_int {
    let selected = |call: Call| {
        let (dimension, index) = (call.whole(2)?, call.whole(3)?);
        let this = call.this_tensor()?.layout;
        let dimension = this.dimension(dimension)?;
        let index = this.index(dimension, index)?;
        Ok(Some(this.select(dimension, index)?))
    };
    push_part(lua, selected)
}

/// `x:squeeze([d])`: without the dimensions of size 1, or without dimension `d` if its size is 1. What would have no dimension is
/// an element. Torch7.
fn squeeze(lua: Raising) -> c_int {
    let squeezed = |call: Call| {
        let dimension = if call.is_absent(2) { None } else { Some(call.whole(2)?) };
        let this = call.this_tensor()?.layout;
        Ok(Some(match dimension {
            Some(number) => this.squeeze_dimension(this.dimension(number)?)?,
            None => this.squeeze()?,
        }))
    };
    push_part(lua, squeezed)
}

/// `x:unsqueeze(d)`: with a new dimension of size 1 before dimension `d`; -1 is after the last one. PyTorch.
fn unsqueeze(lua: Raising) -> c_int {
    make_view(lua, |call| {
        let number = call.whole(2)?;
        let this = call.this_tensor()?.layout;
        Ok(this.unsqueeze(this.new_dimension(number)?)?)
    })
}

/// `x:transpose(a, b)`: with dimensions `a` and `b` exchanged. Torch7.
fn transpose(lua: Raising) -> c_int {
    make_view(lua, |call| {
        let (one, other) = (call.whole(2)?, call.whole(3)?);
        let this = call.this_tensor()?.layout;
        Ok(this.transpose(this.dimension(one)?, this.dimension(other)?)?)
    })
}

/// `x:t()`: a matrix with its two dimensions exchanged. Torch7.
fn matrix_transpose(lua: Raising) -> c_int {
    make_view(lua, |call| Ok(call.this_tensor()?.layout.matrix_transpose()?))
}

/// `x:permute(d1, d2, ...)`: with the dimensions in this order. Torch7.
fn permute(lua: Raising) -> c_int {
    make_view(lua, |call| {
        let order = call.only_numbers(2)?;
        let this = call.this_tensor()?.layout;
        let order = collected(order.iter().map(|&number| this.dimension(number)))?;
        Ok(this.permute(&order)?)
    })
}

/// `x:unfold(d, size, step)`: all windows of `size` indices of dimension `d`, one each `step` indices. Dimension `d` counts the
/// windows, and the windows are a new last dimension. Torch7.
fn unfold(lua: Raising) -> c_int {
    make_view(lua, |call| {
        let (dimension, size, step) = (call.whole(2)?, call.whole(3)?, call.whole(4)?);
        let this = call.this_tensor()?.layout;
        let dimension = this.dimension(dimension)?;
        let (size, step) = (at_least(size, 1, "the size of a window")?, at_least(step, 1, "the step between windows")?);
        Ok(this.unfold(dimension, size, step)?)
    })
}

/// `x:expand(sizes)`: with dimensions of size 1 repeated, without a copy. Torch7.
fn expand(lua: Raising) -> c_int {
    make_view(lua, |call| {
        let sizes = call.only_sizes(2)?;
        Ok(call.this_tensor()?.layout.expand(&sizes)?)
    })
}

/// `x:expandAs(y)`: expanded to the sizes of a tensor of any class. Torch7, for tensors of the same class.
fn expand_as(lua: Raising) -> c_int {
    make_view(lua, |call| Ok(call.this_tensor()?.layout.expand(call.tensor(2)?.layout.sizes())?))
}

/// `x:view(sizes)`: the same elements in the same order with other sizes; one of them may be -1. An error if this is not possible
/// without a copy. Without sizes it is a scalar. PyTorch's rule; Torch7 for contiguous tensors.
///
/// `x:view(class)`: the same bytes as elements of another class. If the width changes, the last size changes. PyTorch's
/// `view(dtype)`.
fn view(lua: Raising) -> c_int {
    let call = Call::new(lua);
    if let Some(dtype) = entry::run(lua, call, |call| call.tensor_class_if_named(2)) {
        return view_class(lua, call, dtype);
    }
    make_view(lua, |call| {
        let sizes = call.only_numbers(2)?;
        Ok(call.this_tensor()?.layout.view(&sizes)?)
    })
}

/// `x:viewAs(y)`: a view with the sizes of a tensor of any class. Torch7, for tensors of the same class.
fn view_as(lua: Raising) -> c_int {
    make_view(lua, |call| {
        let sizes = collected::<_, Fault>(call.tensor(2)?.layout.sizes().iter().map(|&size| Ok(size.cast_signed() as i64)))?;
        Ok(call.this_tensor()?.layout.view(&sizes)?)
    })
}

/// `x:reshape(sizes)`: the same elements in the same order with other sizes, as a view where that is possible, and as a copy
/// otherwise. PyTorch. Differs from Torch7, which always copied.
fn reshape(lua: Raising) -> c_int {
    make(lua, |call| {
        let sizes = call.only_numbers(2)?;
        let reshaped = call.this_tensor()?.layout.reshape(&sizes)?;
        match reshaped {
            Reshaped::View(layout) => over_this(call, layout),
            Reshaped::Copy(layout) => Ok(Made { layout, ..converted(call, call.dtype())? }),
        }
    })
}

/// `x:contiguous()`: x itself if its elements lie side by side, and a copy otherwise. Torch7.
fn contiguous(lua: Raising) -> c_int {
    let call = Call::new(lua);
    if entry::run(lua, call, |call| Ok(call.this_tensor()?.layout.is_contiguous())) {
        lua.push_value(1);
        return 1;
    }
    make(lua, |call| converted(call, call.dtype()))
}

/// `x:split(n [, d])`: a table of pieces of `n` indices of dimension `d`, by default the first. The last piece has those that are
/// left. Torch7.
fn split(lua: Raising) -> c_int {
    push_pieces(lua, |number, _| at_least(number, 1, "the size of a piece"))
}

/// `x:chunk(n [, d])`: a table of at most `n` pieces of dimension `d`, by default the first, of which all but the last have the same
/// size. Torch7.
fn chunk(lua: Raising) -> c_int {
    push_pieces(lua, |number, size| Ok(size.div_ceil(at_least(number, 0, "a number of pieces")?.max(1)).max(1)))
}

/// `x:view(class)`.
fn view_class(lua: Raising, call: Call, dtype: DType) -> c_int {
    make_as(lua, call, dtype, |call| {
        call.expect_end(3)?;
        let this = call.this_tensor()?;
        let layout = this.layout.view_dtype(this.dtype(), dtype)?;
        let storage = if dtype == this.dtype() {
            this.storage.share(call.state_id())?
        } else {
            this.storage.reinterpret(dtype, 0, this.storage.nbytes() / dtype.width())?
        };
        Ok(Made { storage, layout, shows_storage: this.shows_storage })
    })
}

/// After how many pieces the host program may end the operation. They take about a millisecond.
const PIECES_IN_STEP: c_int = 4096;

/// Pushes a table of pieces. `size_of_piece` gets argument 2 and the size of the dimension.
fn push_pieces(lua: Raising, size_of_piece: impl Fn(i64, usize) -> Result<usize, Fault>) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    let (dimension, size, count) = entry::run(lua, call, |call| {
        let (number, dimension) = (call.whole(2)?, call.number_or(3, 1)?);
        let this = call.this_tensor()?.layout;
        let dimension = this.dimension(dimension)?;
        let size = size_of_piece(number, this.sizes()[dimension])?;
        let count = this.sizes()[dimension].div_ceil(size).max(1);
        Ok((dimension, size, table_size(count, format_args!("there are {count} pieces"))?))
    });
    let table = lua.push_table(count);
    for (n, first) in (1..=count).zip((0..).step_by(size)) {
        let call = call.with_frame(lua.top());
        if n % PIECES_IN_STEP == 0 {
            entry::run(lua, call, let_host_interrupt);
        }
        make_as(lua, call, call.dtype(), |call| {
            let this = call.this_tensor()?.layout;
            let length = size.min(this.sizes()[dimension] - first);
            over_this(call, this.narrow(dimension, first, length)?)
        });
        lua.raw_set(table, n);
    }
    1
}

impl Call<'_> {
    /// Argument `n` as a class of tensors, if it names one: a string, or a constructor or metatable.
    fn tensor_class_if_named(self, n: c_int) -> Result<Option<DType>, Fault> {
        let is_class = match self.kind(n) {
            ffi::LUA_TSTRING => true,
            ffi::LUA_TTABLE => self.tensor_class_of_table(n).is_some() || self.class_of_table(n).is_some(),
            _ => false,
        };
        if is_class { self.tensor_class(n).map(Some) } else { Ok(None) }
    }
}
