//! The memory of the elements of a tensor: its address, its bytes as a string, and what `torch.frombuffer` needs of it.

use std::ffi::c_int;
use std::ops::Range;
use std::ptr;

use super::arguments::BorrowedTensor;
use super::payload::class;
use crate::convert::truncate;
use crate::element::DType;
use crate::lua::addresses::expect_shown;
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer, function, raising};
use crate::lua::fault::{self, Fault};
use crate::lua::methods::Method;
use crate::lua::methods::references::give_back_anchor;
use crate::lua::methods::transfer::push_bytes_of;
use crate::lua::state::Raising;
use crate::lua::userdata::Borrowed;

pub const METHODS: &[Method] = &[(c"data", function(data)), (c"dataptr", function(data_pointer)), (c"string", raising(string))];

/// `x:data()`: the address of the first element as a light userdata; `x:data(true)`: as a number. It is null, or 0, if there are
/// no elements. The address does not keep the storage alive. On LuaJIT `lua/torch/pointers.lua` replaces this method by one that
/// gives a pointer of the right type. Torch7, with FFI pointers only.
fn data(call: Call) -> Result<Answer, Fault> {
    expect_shown(call)?;
    let first = first_element(&call.this_tensor()?)?;
    let as_number = call.flag(2)?;
    Ok(if as_number { Answer::Count(first.expose_provenance()) } else { Answer::Light(first) })
}

/// `x:dataptr()`: the address of the first element as a number; 0 if there is none. PyTorch's `data_ptr`.
fn data_pointer(call: Call) -> Result<Answer, Fault> {
    expect_shown(call)?;
    Ok(Answer::Count(first_element(&call.this_tensor()?)?.expose_provenance()))
}

/// `x:string()`: the bytes of the elements of a contiguous tensor as a Lua string.
fn string(lua: Raising) -> c_int {
    // Finalizers may free or resize the storage while the string is made. So a view that no Lua code can reach holds the memory
    // until then.
    let body = |call: Call, push: &dyn Fn(*const [u8]) -> bool| {
        let this = call.this_tensor()?;
        call.expect_end(2)?;
        let elements = this.elements().contiguous_range()?;
        let view = this.storage.view(elements.start, elements.len())?;
        let done = push(ptr::slice_from_raw_parts(view.data().cast_const(), view.nbytes()));
        give_back_anchor(call.state(), view.release(call.state_id()));
        Ok(done)
    };
    push_bytes_of(lua, Call::new(lua), body)
}

/// `core.looktensor(v [, class [, whole]])`: three numbers for a tensor: the address of its first element, the address of the header
/// of its storage, and the number of its class. `class` is such a number too. If `whole` is true, the tensor has to be contiguous.
///
/// If the storage does not have its elements, for example: nil and a message. If `v` is not a tensor, or not of that class: nil,
/// the name of the class that is expected, and the name of the type that was found. `core.look` does the same for storages.
pub fn look(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let wanted = lua.scalar(2).and_then(truncate).and_then(|n| usize::try_from(n).ok());
    let wanted = wanted.and_then(|number| DType::ALL.get(number.wrapping_sub(1)).copied());
    let is_right = |class| wanted.is_none_or(|wanted| wanted == class);
    let Some(class) = class(lua.state(), 1).filter(|&class| is_right(class)) else {
        lua.push_nil();
        lua.push_text(wanted.map_or("torch.*Tensor", DType::tensor_class_name));
        lua.push_text(call.type_name(1));
        return 3;
    };
    let found = entry::attempt(lua, call, &|call: Call| {
        let this = call.tensor(1)?;
        if call.flag(3)? {
            this.elements().contiguous_range()?;
        }
        Ok((first_element(&this)?.expose_provenance(), this.storage.address()))
    });
    match found {
        Ok((first, header)) => {
            [first, header, class.number() + 1].into_iter().for_each(|number| lua.push_count(number));
            3
        }
        Err(fault) => {
            lua.push_nil();
            fault::push(lua, fault);
            2
        }
    }
}

/// The address of the first element of a tensor; null if it has no elements.
fn first_element(this: &BorrowedTensor<'_>) -> Result<*mut u8, Fault> {
    this.elements().check()?;
    if this.layout.elements() == 0 {
        return Ok(ptr::null_mut());
    }
    Ok(this.storage.data().wrapping_add(this.layout.offset() * this.dtype().width()))
}

/// The storage of the contiguous tensor at argument `n`, and its elements as a range of bytes; `None` if the argument is not a tensor.
pub fn bytes_of_tensor(call: Call<'_>, n: c_int) -> Result<Option<(Borrowed<'_>, Range<usize>)>, Fault> {
    if n > call.count() || class(call.state(), n).is_none() {
        return Ok(None);
    }
    let this = call.tensor(n)?;
    let (elements, width) = (this.elements().contiguous_range().map_err(|error| Fault::from(error).at(n))?, this.dtype().width());
    Ok(Some((this.storage, elements.start * width..elements.end * width)))
}
