//! Storages and tensors between the program and its scripts.

use mlua::{Function, Lua, Value};
use torch_storage::host::{self, Layout, Tensor};
use torch_storage::{DType, Storage};

use crate::{error_of, safe};

#[test]
fn storages_outlive_the_lua_state() {
    let lua = safe();
    let script = "torch.publish('host.rs', torch.IntStorage{4, 5}) \
                  return torch.IntStorage{1, 2, 3}, torch.ByteStorage{9}:token()";
    let (made, token): (Storage, String) = lua.load(script).eval().unwrap();
    drop(lua);
    assert_eq!(made.to_vec::<i32>().unwrap(), [1, 2, 3]);
    made.resize(4).unwrap();
    assert_eq!(made.to_vec::<i32>().unwrap(), [1, 2, 3, 0]);
    assert_eq!(Storage::unpublish(b"host.rs").unwrap().unwrap().to_vec::<i32>().unwrap(), [4, 5]);
    let other = safe();
    other.globals().set("token", token).unwrap();
    assert_eq!(other.load("return torch.fromToken(token)[1]").eval::<u8>().unwrap(), 9);
}

#[test]
fn two_states_share_a_storage() {
    let (one, two) = (safe(), safe());
    let storage = Storage::zeroed(DType::Double, 3).unwrap();
    one.globals().set("s", &storage).unwrap();
    two.globals().set("s", &storage).unwrap();
    one.load("s[2] = 42").exec().unwrap();
    assert_eq!(two.load("return s[2]").eval::<f64>().unwrap(), 42.0);
    // A handle of the program keeps the size, and so does the other state.
    let message = storage.resize(4).unwrap_err().to_string();
    assert!(message.starts_with("another thread, a Lua state, C code, a token or a publication holds the storage"), "{message}");
    assert!(error_of(&one, "s:resize(4)").contains("C or Rust code of this program holds the storage"));
    drop(storage);
    assert!(error_of(&one, "s:resize(4)").contains("another Lua state"));
    drop(two);
    one.load("s:resize(4)").exec().unwrap();
    let held: Storage = one.globals().get("s").unwrap();
    assert!(error_of(&one, "s:resize(5)").contains("C or Rust code of this program holds the storage"));
    drop(held);
    one.load("s:resize(5)").exec().unwrap();
}

#[test]
fn values_that_are_no_storages_are_refused() {
    let lua = safe();
    let refusal = |script: &str| lua.load(script).eval::<Storage>().unwrap_err().to_string();
    assert_eq!(
        refusal("return 5"),
        "error converting Lua integer to Storage".replace("integer", lua.load("return 5").eval::<Value>().unwrap().type_name())
    );
    assert_eq!(refusal("return {}"), "error converting Lua table to Storage");
    assert_eq!(refusal("return io.stdout"), "error converting Lua userdata to Storage");
    assert_eq!(
        refusal("return torch.FloatTensor(2)"),
        "error converting Lua userdata to Storage (it is a torch.FloatTensor; x:storage() is its storage)"
    );
    assert_eq!(
        refusal("return torch.frombuffer('text')"),
        "error converting Lua userdata to Storage (its memory belongs to a Lua value; clone() returns a copy with memory of its own)"
    );
    assert_eq!(
        refusal("local s = torch.ByteStorage(1) s:free() return s"),
        "error converting Lua userdata to Storage (the storage was freed)"
    );
    assert_eq!(lua.load("return torch.frombuffer('text'):clone()").eval::<Storage>().unwrap().to_vec_of_bytes(), b"text");
    let tensor = lua.load("return torch.ByteStorage(3)").eval::<Tensor>().unwrap_err().to_string();
    assert_eq!(
        tensor,
        "error converting Lua userdata to Tensor (it is a torch.ByteStorage; s:view(-1) is a tensor of its elements)"
    );
}

trait Bytes {
    fn to_vec_of_bytes(&self) -> Vec<u8>;
}

impl Bytes for Storage {
    fn to_vec_of_bytes(&self) -> Vec<u8> {
        self.reinterpret(DType::Byte, 0, self.nbytes()).unwrap().to_vec().unwrap()
    }
}

#[test]
fn a_state_without_torch_says_so() {
    let lua = Lua::new();
    let message = lua.globals().set("s", Storage::from_vec(vec![1u8])).unwrap_err().to_string();
    assert!(message.contains("call torch_storage::host::open first"), "{message}");
}

#[test]
fn tensors_go_both_ways() {
    let lua = safe();
    let tensor = Tensor::new(Storage::from_vec((0..6).collect::<Vec<i32>>()), Layout::contiguous(&[2, 3]).unwrap()).unwrap();
    lua.globals().set("x", &tensor).unwrap();
    let columns: Tensor = lua.load("x[1][1] = 10; return x:t()").eval().unwrap();
    assert_eq!((columns.layout().sizes(), columns.layout().strides()), (&[3usize, 2][..], &[1isize, 3][..]));
    assert!(columns.storage().is_same(tensor.storage()));
    assert_eq!(columns.storage().to_vec::<i32>().unwrap(), [10, 1, 2, 3, 4, 5]);
    lua.globals().set("columns", &columns).unwrap();
    let rows: Storage = lua.load("return columns:clone():storage()").eval().unwrap();
    assert_eq!(rows.to_vec::<i32>().unwrap(), [10, 3, 1, 4, 2, 5]);
    assert!(Tensor::new(Storage::from_vec(vec![1u8]), Layout::contiguous(&[2]).unwrap()).is_err());
    let untyped = Tensor::new(Storage::zeroed(DType::Untyped, 1).unwrap(), Layout::contiguous(&[1]).unwrap()).unwrap();
    assert!(lua.globals().set("y", untyped).unwrap_err().to_string().contains("there are no tensors of bytes without a type"));
}

/// A finalizer runs while a storage goes to Lua, and passes another one by a function of the library that `debug` has found.
#[test]
fn a_finalizer_that_passes_another_storage_makes_none_of_a_wrong_class() {
    // SAFETY: [vouched] the script loads no libraries in C and no compiled chunks.
    let lua = unsafe { Lua::unsafe_new() };
    lua.globals().set("torch", host::open(&lua).unwrap()).unwrap();
    lua.load(
        "local core
         for n = 1, math.huge do
             local name, value = debug.getupvalue(torch.memory, n)
             if name == 'core' or not name then
                 core = value
                 break
             end
         end
         local byte = torch.ByteStorage(1)
         local function again()
             core.toprogram(byte)
             if newproxy then
                 getmetatable(newproxy(true)).__gc = again
             else
                 setmetatable({}, { __gc = again })
             end
         end
         again()
         -- The collector never rests.
         collectgarbage(_VERSION == 'Lua 5.4' and 'incremental' or 'step', 1, 1000, 1)
         function is_right(s)
             return torch.typename(s) == 'torch.ByteStorage' or #s == 4
         end",
    )
    .exec()
    .unwrap();
    let storage = Storage::zeroed(DType::Double, 4).unwrap();
    let is_right: Function = lua.globals().get("is_right").unwrap();
    for _ in 0..100_000 {
        // The library says so if it was disturbed.
        assert!(is_right.call::<bool>(&storage).unwrap_or(true), "a DoubleStorage has the elements of a ByteStorage");
    }
}
