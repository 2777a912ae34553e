//! Methods that tell about a storage: sizes, kind of memory, addresses, device; and `pin`, which keeps it out of swap.

use super::Method;
use crate::error::shown;
use crate::lua::addresses::expect_shown;
use crate::lua::args::Call;
use crate::lua::entry::{Answer, function};
use crate::lua::fault::Fault;

pub const METHODS: &[Method] = &[
    (c"elementSize", function(element_size)),
    (c"nbytes", function(nbytes)),
    (c"resizable", function(resizable)),
    (c"isView", function(is_view)),
    (c"data", function(data)),
    (c"dataptr", function(data_pointer)),
    (c"pin", function(pin)),
    (c"isPinned", function(is_pinned)),
    (c"device", function(device)),
    (c"cpu", function(cpu)),
    (c"to", function(to)),
];

/// `tostring(torch.TYPEStorage)`: the name of the class.
pub fn class_text(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Text(call.dtype().class_name()))
}

/// `s:data()`: the address of the first element as a light userdata; `s:data(true)`: as a number. The address does not keep
/// the storage alive. On LuaJIT `lua/torch/pointers.lua` replaces this method by one that gives a pointer of the right type.
fn data(call: Call) -> Result<Answer, Fault> {
    expect_shown(call)?;
    let data = call.this()?.data();
    let as_number = call.flag(2)?;
    Ok(if as_number { Answer::Count(data.expose_provenance()) } else { Answer::Light(data) })
}

/// `s:elementSize()`, `torch.TYPEStorage.elementSize()`: the size of an element in bytes, also for tensors. It ignores its arguments.
/// Torch7.
pub fn element_size(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Count(call.dtype().width()))
}

/// `s:nbytes()`: the length in bytes.
fn nbytes(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Count(call.this()?.nbytes()))
}

/// `s:resizable()`: whether the size can change.
fn resizable(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this()?.is_resizable()))
}

/// `s:isView()`: whether the storage is a view.
fn is_view(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this()?.is_view()))
}

/// `s:dataptr()`: the address of the first element as a number; 0 if there is none. PyTorch's `data_ptr`.
fn data_pointer(call: Call) -> Result<Answer, Fault> {
    expect_shown(call)?;
    Ok(Answer::Count(call.this()?.data().expose_provenance()))
}

/// `s:pin()`: keeps the pages of the elements in memory; returns s.
fn pin(call: Call) -> Result<Answer, Fault> {
    call.this()?.pin()?;
    Ok(Answer::Value(1))
}

/// `s:isPinned()`: whether the pages of the elements are kept in memory.
fn is_pinned(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this()?.is_pinned()))
}

/// `s:device()`: 'cpu'. PyTorch.
fn device(call: Call) -> Result<Answer, Fault> {
    call.this()?;
    Ok(Answer::Text(DEVICE))
}

/// `s:cpu()`: s. PyTorch.
fn cpu(call: Call) -> Result<Answer, Fault> {
    call.this()?;
    Ok(Answer::Value(1))
}

/// `s:to(device)`: s, if the device is 'cpu', the only one. PyTorch.
fn to(call: Call) -> Result<Answer, Fault> {
    call.this()?;
    if let Ok(dtype) = call.class(2) {
        let name = dtype.dtype_name();
        return Err(Fault::argument(2, format_args!("the only device is '{DEVICE}'; s:type('{name}') converts to a class")));
    }
    let name = call.string(2)?;
    if name == DEVICE.as_bytes() {
        return Ok(Answer::Value(1));
    }
    let name = shown(name);
    Err(Fault::argument(2, format_args!("no device '{name}': the only device is '{DEVICE}', this machine's memory")))
}

/// PyTorch's name of the only device.
const DEVICE: &str = "cpu";
