//! Functions of the module: identity of values, addresses, settings, statistics, and functions for the Lua files.

use std::cell::Cell;
use std::ffi::c_int;

use mlua_sys as ffi;

use super::Method;
use crate::bulk;
use crate::convert::{Scalar, truncate};
use crate::element::DType;
use crate::error::shown;
use crate::lua::addresses::expect_shown;
use crate::lua::args::{Call, Cdata, misspelt, show};
use crate::lua::context::{Context, Shared, keep};
use crate::lua::entry::{self, Answer, function, raising};
use crate::lua::fault::Fault;
use crate::lua::objects;
use crate::lua::state::{CDATA, Raising};
use crate::lua::{tensor, userdata};
use crate::storage::{Storage, usage};

pub const FUNCTIONS: &[Method] = &[
    (c"typename", raising(typename)),
    (c"isStorage", function(is_storage)),
    (c"isequal", function(is_equal)),
    (c"pointer", raising(pointer)),
    (c"pushudata", raising(push_udata)),
    (c"setheaptracking", function(set_heap_tracking)),
    (c"getmetatable", raising(metatable_of_any)),
    (c"setnumthreads", function(set_threads)),
    (c"getnumthreads", function(threads)),
    (c"memory", raising(memory)),
    (c"look", raising(look)),
    (c"classname", function(class_name)),
    (c"missing", function(missing)),
    (c"setclassifier", raising(set_classifier)),
    (c"operator", raising(new_operator)),
    (c"setnames", raising(set_names)),
    (c"setcomplex", raising(set_complex)),
    (c"setintegers", raising(set_integers)),
    (c"settablereader", raising(set_table_reader)),
];

/// `torch.isStorage(v)`: whether a value is a storage. Differs from Torch7, which looked at the name of the value's class.
fn is_storage(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(userdata::class(call.state(), 1).is_some()))
}

/// `torch.isequal(a, b)`: whether both are the same object. Two userdata of one storage are the same object. Torch7.
fn is_equal(call: Call) -> Result<Answer, Fault> {
    // SAFETY: [live] no Lua code runs between the look-up and the address.
    let identity = |n| match unsafe { userdata::payload(call.state(), n) } {
        Some((payload, _)) => Ok(userdata::storage(payload).map(|storage| storage.address())),
        None if tensor::class(call.state(), n).is_some() => Ok(None),
        None if call.kind(n) == ffi::LUA_TUSERDATA && !objects::push_class_name(call, n)? => {
            Err(call.mismatch(n, "Torch object"))
        }
        None => Ok(None),
    };
    Ok(Answer::Boolean(match (identity(1)?, identity(2)?) {
        (Some(a), Some(b)) => a == b,
        _ => call.count() >= 2 && call.state().raw_equal(1, 2),
    }))
}

/// `torch.setheaptracking(on)`: sets whether making storages runs the collector when much of their memory may be garbage. It
/// is on by default. Such a run also restarts a collector that the program has stopped. Torch7.
fn set_heap_tracking(call: Call) -> Result<Answer, Fault> {
    Context::of(call.state()).shared().tracking.set(call.boolean(1)?);
    Ok(Answer::Nothing)
}

/// `torch.setnumthreads(n)`: sets the number of threads that large operations of this process use. 0 means one for each core.
/// Torch7.
fn set_threads(call: Call) -> Result<Answer, Fault> {
    let threads = call.scalar(1)?;
    let whole = Some(threads).filter(|&threads| is_whole(threads)).and_then(|threads| call.count_of(threads));
    bulk::set_threads(whole.ok_or_else(|| {
        let got = show(threads);
        Fault::argument(1, format_args!("a number of threads is a whole number from 1, or 0 for one a core; got {got}"))
    })?);
    Ok(Answer::Nothing)
}

/// `torch.getnumthreads()`: the number of threads that large operations of this process use. Torch7.
fn threads(_: Call) -> Result<Answer, Fault> {
    Ok(Answer::Count(bulk::threads()))
}

/// `torch.typename(v)`: the class name of a storage, of a tensor or of an object of a registered class. No result for other values.
/// Torch7.
///
/// Programs call this very often, so the common cases come first. They run without `catch_unwind`, because nothing in them
/// fails.
fn typename(lua: Raising) -> c_int {
    let call = Call::new(lua);
    if let Some(dtype) = userdata::class(lua.state(), 1) {
        lua.push_text(dtype.class_name());
        return 1;
    }
    if let Some(dtype) = tensor::class(lua.state(), 1) {
        lua.push_text(dtype.tensor_class_name());
        return 1;
    }
    if !matches!(call.kind(1), ffi::LUA_TNONE | CDATA) {
        return objects::push_name_by_metatable(call, 1).into();
    }
    let body = |call: Call| {
        if call.count() == 0 {
            return Err(Fault::argument(1, "value expected"));
        }
        Ok(if objects::push_class_name(call, 1)? { Answer::Value(-1) } else { Answer::Nothing })
    };
    entry::answer(lua, body)
}

/// `torch[name]` for a name that is not there: nil, unless it is a misspelt class. Differs from Torch7, where it is always nil.
fn missing(call: Call) -> Result<Answer, Fault> {
    let name = call.string(2).unwrap_or_default();
    misspelt(name)
        .map_or(Ok(Answer::Nil), |class| Err(Fault::new(format_args!("torch has no '{}': did you mean {class}?", shown(name)))))
}

/// `core.setclassifier(f)`: sets the function that tells what an FFI value is. `f(cdata)` gives five results: the kind (1
/// int64, 2 uint64, 3 pointer, 4 array, any other for the rest); the high and the low 32 bits of the integer or address; the
/// length of an array in bytes; and whether the target of a pointer, or the elements of an array, are constant.
fn set_classifier(lua: Raising) -> c_int {
    set_function(lua, |shared| &shared.classifier)
}

/// `core.operator(find)`: a metamethod that calls the function that `find(a, b)` gives for its first two arguments. If `find` gives nil
/// and a message, it raises that, at the position of the operator. It is a C function, so a traceback shows no file of the library.
fn new_operator(lua: Raising) -> c_int {
    entry::run(lua, Call::new(lua), |call| expect(call, 1, ffi::LUA_TFUNCTION, "function"));
    lua.push_value(1);
    lua.push_function(raising(operator), 1);
    1
}

/// What `core.operator` makes. Its upvalue is `find`.
fn operator(lua: Raising) -> c_int {
    let count = lua.top();
    if !lua.check_stack(count.saturating_add(4)) {
        lua.raise(c"stack overflow");
    }
    lua.push_position();
    lua.push_value(ffi::lua_upvalueindex(1));
    (1..=2).for_each(|n| if n <= count { lua.push_value(n) } else { lua.push_nil() });
    lua.call(2, 2);
    if lua.kind(count + 2) == ffi::LUA_TNIL {
        lua.remove(count + 2);
        lua.concat(2);
        lua.raise_top();
    }
    lua.set_top(count + 2);
    (1..=count).for_each(|n| lua.push_value(n));
    lua.call(count, ffi::LUA_MULTRET);
    lua.top() - count - 1
}

/// `core.setnames(names, cdataname)`: sets how to find the class name of an object that is not a storage. `names` is a table
/// from metatable to name. It is read at every call, so it may grow. `cdataname(cdata)` gives the name for an FFI value, or
/// nil.
fn set_names(lua: Raising) -> c_int {
    let check = |call: Call| {
        expect(call, 1, ffi::LUA_TTABLE, "table")?;
        expect(call, 2, ffi::LUA_TFUNCTION, "function")
    };
    entry::run(lua, Call::new(lua), check);
    let shared = Context::of(lua.state()).shared();
    keep(lua, 1, &shared.names);
    keep(lua, 2, &shared.namer);
    0
}

/// `core.setcomplex(make, read)`: sets the functions that make and read complex numbers. `make(re, im)` gives a complex
/// number. `read(value)` gives the two parts of a complex number, and nothing for another value.
fn set_complex(lua: Raising) -> c_int {
    let check = |call: Call| (1..=2).try_for_each(|n| expect(call, n, ffi::LUA_TFUNCTION, "function"));
    entry::run(lua, Call::new(lua), check);
    let shared = Context::of(lua.state()).shared();
    keep(lua, 1, &shared.complex_maker);
    keep(lua, 2, &shared.complex_reader);
    0
}

/// `core.setintegers(make)`: `make(high, low, is_unsigned)` gives an `int64_t` or `uint64_t` of two words, of which the high one
/// has a sign.
fn set_integers(lua: Raising) -> c_int {
    set_function(lua, |shared| &shared.integers)
}

/// `core.settablereader(read)`: `read(t, first, last, address)` writes the elements of a table to an address, as doubles, as long
/// as they are numbers, and returns how many there were.
fn set_table_reader(lua: Raising) -> c_int {
    set_function(lua, |shared| &shared.table_reader)
}

/// `torch.pointer(v)`: an address that identifies the object. For a storage it is the address of its header, which is the
/// same for all of its userdata. For an FFI pointer or array it is the address that the pointer has, or at which the array
/// begins. For any other FFI value, and for a table, function, thread, string or userdata with a class, it is the value's own
/// address. Torch7.
fn pointer(lua: Raising) -> c_int {
    if lua.kind(1) == ffi::LUA_TNUMBER {
        lua.number_to_string(1);
    }
    let body = |call: Call| {
        expect_shown(call)?;
        let lua = call.state();
        let address = match call.kind(1) {
            ffi::LUA_TUSERDATA if userdata::class(lua, 1).is_some() => call.storage(1)?.address(),
            ffi::LUA_TUSERDATA if tensor::class(lua, 1).is_some() || objects::push_class_name(call, 1)? => lua.address(1).addr(),
            ffi::LUA_TUSERDATA => return Err(call.mismatch(1, "Torch object")),
            // SAFETY: [live] the string is in its slot; its address is only a number.
            ffi::LUA_TSTRING => unsafe { lua.string(1) }.map_or(0, |bytes| bytes.as_ptr().addr()),
            CDATA => match call.cdata(1)? {
                Cdata::Pointer { address, .. } | Cdata::Array { address, .. } => address,
                _ => lua.address(1).addr(),
            },
            ffi::LUA_TTABLE | ffi::LUA_TFUNCTION | ffi::LUA_TTHREAD => lua.address(1).addr(),
            _ => return Err(call.mismatch(1, "Torch object, table, thread, string, cdata or function")),
        };
        Ok(Answer::Count(address))
    };
    entry::answer(lua, body)
}

/// `torch.pushudata(address, class)`: a new userdata for the storage at that address, which takes over one outstanding `retain()`.
/// Address 0 gives nil. Differs from Torch7: an address without an outstanding retain, or of another class, is an error.
fn push_udata(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let (address, dtype) = entry::run(lua, call, |call| {
        expect_shown(call)?;
        Ok((retained_address(call)?, call.class(2)?))
    });
    if address == 0 {
        lua.push_nil();
        return 1;
    }
    let body = |call: Call| Storage::adopt(address, dtype, call.state_id()).map_err(|error| Fault::from(error).at(1));
    entry::construct(lua, call, dtype, body)
}

/// `core.classname(v)`: the name of the storage class that `v` stands for. `v` is the name of a class, PyTorch's name of a
/// dtype, a constructor or a metatable. No result for any other value.
fn class_name(call: Call) -> Result<Answer, Fault> {
    Ok(call.class(1).map_or(Answer::Nothing, |dtype| Answer::Text(dtype.class_name())))
}

/// `core.getmetatable(v)`: the true metatable of a value, whatever its `__metatable` says. For the files of the library in a Lua
/// state without `debug`.
fn metatable_of_any(lua: Raising) -> c_int {
    if Call::new(lua).count() == 0 || lua.push_metatable_of(1).is_none() {
        lua.push_nil();
    }
    1
}

/// `core.memory()`: the numbers of bytes that the storages of this process use, as four results: heap, mapped, shared,
/// foreign.
fn memory(lua: Raising) -> c_int {
    let usage = usage();
    [usage.heap, usage.mapped, usage.shared, usage.foreign].into_iter().for_each(|bytes| lua.push_count(bytes));
    4
}

/// `core.look(v [, class])`: three numbers for a storage: the address of its first element, the address of its header, and
/// the number of its class. `class` is such a number too. Classes are counted from 1.
///
/// For a storage that was freed: nil and a message. If `v` is not a storage, or not of that class: nil, the name of the class
/// that is expected, and the name of the type that was found. `lua/torch` makes errors of these, with the position of its
/// caller.
fn look(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let wanted = lua.scalar(2).and_then(truncate).and_then(|n| usize::try_from(n).ok());
    let wanted = wanted.and_then(|number| DType::ALL.get(number.wrapping_sub(1)).copied());
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the addresses are read.
    match unsafe { userdata::payload(lua.state(), 1) } {
        Some((payload, dtype)) if wanted.is_none_or(|wanted| wanted == dtype) => {
            let found = userdata::storage(payload).map(|storage| (storage.data().expose_provenance(), storage.address()));
            let Some((data, header)) = found else {
                lua.push_nil();
                lua.push_text("storage was freed");
                return 2;
            };
            [data, header, dtype.number() + 1].into_iter().for_each(|number| lua.push_count(number));
        }
        _ => {
            let got = call.type_name(1);
            lua.push_nil();
            lua.push_text(wanted.map_or("torch.*Storage", DType::class_name));
            lua.push_text(got);
        }
    }
    3
}

/// Keeps the function at argument 1 in the registry, and its slot in the data that our functions share.
fn set_function(lua: Raising, cell: fn(&Shared) -> &Cell<Option<c_int>>) -> c_int {
    entry::run(lua, Call::new(lua), |call| expect(call, 1, ffi::LUA_TFUNCTION, "function"));
    keep(lua, 1, cell(Context::of(lua.state()).shared()));
    0
}

/// Checks that argument `n` is of the Lua type `kind`. `name` names that type in the error.
fn expect(call: Call, n: c_int, kind: c_int, name: &str) -> Result<(), Fault> {
    if call.kind(n) == kind { Ok(()) } else { Err(call.mismatch(n, name)) }
}

fn is_whole(number: Scalar) -> bool {
    !matches!(number, Scalar::Float(number) if number.fract() != 0.0)
}

/// Argument 1 of `torch.pushudata` as an address. It is a number, or an FFI integer or pointer.
fn retained_address(call: Call) -> Result<usize, Fault> {
    let address = match call.kind(1) {
        ffi::LUA_TNUMBER => truncate(call.state().raw_scalar(1)).and_then(|n| usize::try_from(n).ok()),
        CDATA => match call.cdata(1)? {
            Cdata::Pointer { address, .. } => Some(address),
            Cdata::Signed(number) => usize::try_from(number).ok(),
            Cdata::Unsigned(number) => usize::try_from(number).ok(),
            _ => None,
        },
        _ => return Err(call.mismatch(1, "number or cdata")),
    };
    address.ok_or_else(|| match call.scalar_at(1).ok().flatten().map(show) {
        Some(number) => Fault::argument(1, format_args!("an address is expected, got {number}")),
        None => Fault::argument(1, format_args!("an address is expected, got {}", call.type_name(1))),
    })
}
