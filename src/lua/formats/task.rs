//! What a call has to do that loads or opens a file.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::options::Options;

/// The format of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Safetensors,
    Npy,
    Npz,
}

impl Format {
    /// The options of its `load`.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Safetensors => &["mmap", "names", "progress"],
            Self::Npy => &["mmap", "dtype", "progress"],
            Self::Npz => &["mmap", "dtype", "names", "progress"],
        }
    }
}

/// The arguments of one call.
#[derive(Clone, Copy)]
pub(super) struct Task {
    pub(super) format: Format,
    /// Whether the tensors are views of a map.
    pub(super) maps: bool,
    /// The dtype of elements whose type the file does not say.
    pub(super) dtype: Option<DType>,
    /// The stack index of the list of names, if there is one.
    pub(super) names: Option<c_int>,
    /// The stack index of the progress function, if there is one.
    pub(super) progress: Option<c_int>,
}

impl Task {
    /// A task without options.
    pub(super) fn new(format: Format) -> Self {
        Self { format, maps: true, dtype: None, names: None, progress: None }
    }

    /// Reads argument 1, a path, and argument 2, which is a table of options or missing. The values of the options stay on the
    /// stack.
    pub(super) fn read(call: Call, format: Format) -> Result<Self, Fault> {
        check_path(call)?;
        if !call.is_absent(2) && call.kind(2) != ffi::LUA_TTABLE {
            return Err(call.mismatch(2, "table of options"));
        }
        let options = Options::read(call, 2, format.options())?;
        let (names, progress) = (options.given("names"), options.function("progress")?);
        if let Some(index) = names {
            check_names(call, &options, index)?;
        }
        let dtype =
            options.given("dtype").map(|index| call.tensor_class_at(index).map_err(|wrong| options.wrong("dtype", wrong)));
        Ok(Self { format, maps: options.flag_or("mmap", true)?, dtype: dtype.transpose()?, names, progress })
    }
}

/// Checks that argument 1 is a path.
pub(super) fn check_path(call: Call) -> Result<(), Fault> {
    call.string(1).map(|_| ()).map_err(|_| call.mismatch(1, "file name"))
}

/// Checks that the option `names`, at a stack index, is a list of strings.
fn check_names(call: Call, options: &Options, index: c_int) -> Result<(), Fault> {
    let lua = call.state();
    let Some(table) = lua.table(index) else { return Err(options.expected("names", "list of names")) };
    let top = lua.top();
    let mut left = lua.length(index);
    lua.push_nil();
    // SAFETY: [no-drop] the key is nil or comes from this loop, in which no Lua code runs.
    while unsafe { lua.next(table) } {
        if lua.kind(-2) != ffi::LUA_TNUMBER {
            return Err(options.wrong("names", format_args!("list of names expected, got a key that is a {}", call.name_of(-2))));
        }
        if lua.kind(-1) != ffi::LUA_TSTRING {
            return Err(options.wrong("names", format_args!("a name is a string, got {}", call.name_of(-1))));
        }
        left = left.wrapping_sub(1);
        lua.set_top(lua.top() - 1);
    }
    lua.set_top(top);
    if left == 0 { Ok(()) } else { Err(options.wrong("names", "list of names expected, got a table with holes")) }
}
