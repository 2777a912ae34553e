//! Lua states whose scripts are not trusted: they have a part of the library, and nothing in Lua makes it larger.
//!
//! A host says before the library is opened what it allows, in a table that it puts into the registry. [`Options::read`] reads it when
//! `torch.core` is opened. In a restricted state each function that `restricted.txt` does not allow is registered as one that raises an
//! error, so the real function is nowhere in the state. Functions that have several uses, such as the constructors, ask
//! [`expect_free`].
//!
//! The objects of a class have a metatable that no script sees. With it a script could take their finalizer away. `getmetatable` shows the
//! table of the methods in its place, as elsewhere. The Lua files of the library have the metamethods copied from there to the real one:
//! [`seal`].

use std::ffi::c_int;
use std::fmt::Display;
use std::sync::OnceLock;

use super::args::Call;
use super::context::{Context, Place};
use super::entry::{Answer, Method, function, raising};
use super::fault::{Fault, raise};
use super::state::{Name, REGISTRY, Raising, Table};
use crate::convert::Scalar;
use crate::element::DType;
use crate::error::shown;
use crate::fallible;

/// Which functions are allowed and refused.
const LIST: &str = include_str!("restricted.txt");

/// Where the registry has the options until the library is opened.
pub const OPTIONS: Name = c"torch_storage.options";

/// The functions of the module that the Lua files call.
pub const FUNCTIONS: &[Method] = &[(c"allows", function(allows_argument)), (c"seal", raising(seal))];

/// What a host allows the scripts of a Lua state. Nothing in it has a destructor, so it may be alive while Lua raises an error.
#[derive(Clone, Copy, Default)]
pub struct Options {
    /// Whether the scripts have only the functions of the list.
    pub is_restricted: bool,
    /// Whether functions neither take nor give addresses.
    pub hides_addresses: bool,
    /// How many bytes the storages may have; 0 for no limit, and `None` if nobody counts them.
    pub memory: Option<usize>,
    /// The number of threads of large operations, if the host sets it.
    pub threads: Option<usize>,
    /// The registry slot of a table whose keys are the names of publications that scripts may look up.
    pub publications: Option<c_int>,
}

impl Options {
    /// Reads the options in the registry. There are none if the host has put none there.
    pub fn read(lua: Raising) -> Self {
        let top = lua.top();
        lua.push_field(REGISTRY, OPTIONS);
        let Some(table) = lua.table(-1) else {
            lua.set_top(top);
            return Self::default();
        };
        let is_restricted = flag(lua, table, c"restricted");
        let hides_addresses = is_restricted || flag(lua, table, c"hides_addresses");
        let (memory, threads) = (count(lua, table, c"memory"), count(lua, table, c"threads").filter(|&threads| threads > 0));
        lua.push_field(table, c"publications");
        let publications = lua.table(-1).map(|_| lua.reference());
        lua.set_top(top);
        Self { is_restricted, hides_addresses, memory, threads, publications }
    }

    /// Takes the options out of the registry.
    pub fn forget(lua: Raising) {
        lua.push_nil();
        lua.set_field(REGISTRY, OPTIONS);
    }
}

fn flag(lua: Raising, options: Table, name: Name) -> bool {
    lua.push_field(options, name);
    let value = lua.boolean(-1);
    lua.set_top(lua.top() - 1);
    value
}

/// A number of bytes or threads. One that is not a whole number from 0 is an error of the host. `SIZE_MAX` of C is 2^64 here, and it and
/// larger ones are the largest number.
fn count(lua: Raising, options: Table, name: Name) -> Option<usize> {
    const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;
    lua.push_field(options, name);
    let number = lua.scalar(-1);
    lua.set_top(lua.top() - 1);
    number.map(|number| match super::args::whole(number) {
        Some(count) => count,
        None if matches!(number, Scalar::Float(number) if number >= TOO_LARGE) => usize::MAX,
        None => {
            let name = shown(name.to_bytes());
            raise(lua, Fault::new(format_args!("option '{name}' of the host program is not a whole number from 0")))
        }
    })
}

/// Whether the list allows a function. `before` is what stands before its name, such as `Storage:`.
pub fn allows(before: &str, name: &str) -> bool {
    let order = |&(place, one): &(&str, &str)| place.bytes().chain(one.bytes()).cmp(before.bytes().chain(name.bytes()));
    name.starts_with("__")
        || match allowed() {
            Some(sorted) => sorted.binary_search_by(order).is_ok(),
            None => lines("allowed").any(|(place, mut names)| names.any(|one| order(&(place, one)).is_eq())),
        }
}

/// What the list allows, in the order of the whole names. `None` if there is no memory for it.
fn allowed() -> Option<&'static [(&'static str, &'static str)]> {
    static ALLOWED: OnceLock<Vec<(&str, &str)>> = OnceLock::new();
    if ALLOWED.get().is_none() {
        let mut all = Vec::new();
        for (place, names) in lines("allowed") {
            for name in names {
                fallible::push(&mut all, (place, name)).ok()?;
            }
        }
        all.sort_unstable_by(|(a, b), (c, d)| a.bytes().chain(b.bytes()).cmp(c.bytes().chain(d.bytes())));
        // Another thread may have set the same list meanwhile.
        let _ = ALLOWED.set(all);
    }
    ALLOWED.get().map(Vec::as_slice)
}

/// The lines of the list that begin with a word: what stands before the names, and the names.
fn lines(word: &'static str) -> impl Iterator<Item = (&'static str, impl Iterator<Item = &'static str>)> {
    LIST.lines().filter_map(move |line| {
        let (names, _) = line.split_once('|').unwrap_or((line, ""));
        let mut words = names.split_whitespace();
        (words.next() == Some(word)).then(|| (words.next().unwrap_or_default(), words))
    })
}

/// What a function is that the list does not allow.
pub const REFUSED: super::entry::Function = raising(refuse);

fn refuse(lua: Raising) -> c_int {
    let name = Context::of(lua.state()).name();
    raise(lua, refusal(format_args!("'{name}'")))
}

/// The fault for a function, or for one of its uses.
fn refusal(what: impl Display) -> Fault {
    Fault::new(format_args!("{what} is not available: the host program restricts this Lua state"))
}

/// It is a fault if the scripts of this state are restricted. Functions that also do what restricted states may not call this; `what`
/// is the use that is refused.
pub fn expect_free(call: Call, what: &str) -> Result<(), Fault> {
    if is_restricted(call) { Err(refusal(what)) } else { Ok(()) }
}

/// Whether the scripts of this state are restricted.
pub fn is_restricted(call: Call) -> bool {
    call.shared().is_restricted.get()
}

/// It is a fault if the host has not listed the publication at argument 1 for the scripts of a restricted state.
pub fn expect_listed(call: Call) -> Result<(), Fault> {
    if !is_restricted(call) {
        return Ok(());
    }
    let state = call.state();
    let name = call.string(1)?;
    let top = state.top();
    let mut is_listed = false;
    if let Some(slot) = call.shared().publications.get() {
        state.push_referenced(slot);
        if let Some(list) = state.table(-1) {
            state.push_value(1);
            state.raw_get_top(list);
            is_listed = state.boolean(-1);
        }
    }
    state.set_top(top);
    if is_listed { Ok(()) } else { Err(refusal("this publication").and(format_args!(" (got '{}')", shown(name))).at(1)) }
}

/// `core.allows(before, name)`: whether scripts of this state may call a function that is written in Lua.
fn allows_argument(call: Call) -> Result<Answer, Fault> {
    let text = |n| call.string(n).map(|text| std::str::from_utf8(text).unwrap_or_default());
    Ok(Answer::Boolean(!is_restricted(call) || allows(text(1)?, text(2)?)))
}

/// Pushes a metatable for the objects of a class. `shown` is the table with the methods, which scripts see.
pub fn push_metatable_of_objects(lua: Raising, shown: Table) {
    let own = lua.push_table(0);
    for name in KEPT {
        lua.push_field(shown, name);
        lua.set_field(own, name);
    }
    copy_metamethods(lua, shown, own);
}

/// What scripts do not change in the metatable of objects: their finalizer, and which table `getmetatable` shows.
const KEPT: [Name; 2] = [c"__gc", c"__metatable"];

/// `core.seal(methods, from)`: gives the objects of the class with this table of methods the metamethods in another table. Without
/// arguments the objects of every class get those in the table of their methods. Does nothing if the state is not restricted.
fn seal(lua: Raising) -> c_int {
    let (top, wanted, from) = (lua.top(), lua.table(1), lua.table(2));
    if !Context::of(lua.state()).shared().is_restricted.get() {
        return 0;
    }
    for &dtype in DType::ALL {
        for (shown, own) in
            [(Place::metatable(dtype), Place::of_storages(dtype)), (Place::tensor_metatable(dtype), Place::of_tensors(dtype))]
        {
            let tables = (Context::push_table(lua.state(), shown), Context::push_table(lua.state(), own));
            if let (Some(shown), Some(own)) = tables
                && wanted.is_none_or(|wanted| lua.raw_equal(wanted.index(), shown.index()))
            {
                copy_metamethods(lua, from.unwrap_or(shown), own);
            }
            lua.set_top(top);
        }
    }
    0
}

/// Copies all fields of a table whose names begin with `__` to another one, except those that are [`KEPT`].
fn copy_metamethods(lua: Raising, from: Table, to: Table) {
    lua.push_nil();
    // SAFETY: [no-drop] the key is nil or the one that was given last, and nothing is added to this table.
    while unsafe { lua.next(from) } {
        let key = lua.top() - 1;
        // SAFETY: [live] the name is on the stack while it is compared.
        let name = unsafe { lua.string(key) }.unwrap_or_default();
        if name.starts_with(b"__") && !KEPT.iter().any(|kept| kept.to_bytes() == name) {
            lua.push_value(key);
            lua.push_value(key + 1);
            lua.raw_set_top(to);
        }
        lua.set_top(key);
    }
}

#[cfg(test)]
mod tests {
    use super::{LIST, allows, lines};

    #[test]
    fn a_function_is_allowed_or_refused_but_not_both() {
        let of = |word| lines(word).flat_map(|(place, names)| names.map(move |name| (place, name))).collect::<Vec<_>>();
        let (allowed, refused) = (of("allowed"), of("refused"));
        assert!(allowed.len() > 250 && refused.len() > 40);
        for one in &refused {
            assert!(!allowed.contains(one), "{one:?} is allowed and refused");
        }
        assert!(allowed.iter().enumerate().all(|(n, one)| !allowed[..n].contains(one)), "a function is allowed twice");
    }

    #[test]
    fn each_line_says_what_it_is() {
        for line in LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let has_reason = line.contains(" | ");
            assert!(line.starts_with("allowed ") && !has_reason || line.starts_with("refused ") && has_reason, "{line}");
        }
    }

    #[test]
    fn what_is_in_no_line_is_refused() {
        assert!(allows("torch.", "zeros") && allows("Storage:", "fill") && allows("Tensor:", "__index"));
        assert!(!allows("torch.", "load") && !allows("torch.", "newer") && !allows("Tensor:", "retain") && !allows("", "zeros"));
    }
}
