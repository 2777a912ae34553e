//! The limit of the memory of storages of a Lua state, and giving vectors back to the program.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use mlua::{Function, Lua, Value};
use torch_storage::host::{self, Restrictions, memory_in_use, set_memory_limit};
use torch_storage::{DType, Storage};

use crate::counting::peak;
use crate::{error_of, safe};

const MB: usize = 1 << 20;

/// A state whose storages may have 8 MB.
fn limited() -> Lua {
    let lua = safe();
    assert!(set_memory_limit(&lua, Some(8 * MB)).unwrap());
    lua
}

#[test]
fn a_limit_of_mlua_does_not_count_storages_and_that_of_the_library_does() {
    let lua = safe();
    lua.set_memory_limit(lua.used_memory() + 8 * MB).unwrap();
    lua.load("torch.FloatStorage(4e6):free()").exec().unwrap();
    assert!(set_memory_limit(&lua, Some(8 * MB)).unwrap());
    let most = peak(|| {
        let message = error_of(&lua, "torch.FloatStorage(1e9)");
        let expected = "runtime error: script:1: not enough memory: 4000000000 bytes were requested, \
                        and the host program allows 8388608, of which 0 are in use";
        assert_eq!(message, expected);
    });
    assert!(most < 1_000_000, "{most}");
    assert_eq!(memory_in_use(&lua).unwrap(), 0);
    lua.load("s = torch.FloatStorage(2e6)").exec().unwrap();
    assert_eq!(memory_in_use(&lua).unwrap(), 8_000_000);
}

#[test]
fn memory_that_ends_anywhere_comes_back() {
    let lua = limited();
    let in_use = || memory_in_use(&lua).unwrap();
    lua.load("a, b = torch.ByteStorage(1000), torch.ByteStorage(2 ^ 20) v = b:sub(1, 1)").exec().unwrap();
    assert_eq!(in_use(), 1000 + MB);
    lua.load("a:free() b:free()").exec().unwrap();
    assert_eq!(in_use(), MB);
    lua.load("v, b = nil").exec().unwrap();
    lua.gc_collect().unwrap();
    lua.gc_collect().unwrap();
    assert_eq!(in_use(), 0);

    // The program has the last handle, and drops it here or in another thread.
    let handle: Storage = lua.load("local s = torch.IntStorage(1000) return s").eval().unwrap();
    lua.gc_collect().unwrap();
    lua.gc_collect().unwrap();
    assert_eq!(in_use(), 4000);
    let token = handle.token().unwrap();
    drop(handle);
    assert_eq!(in_use(), 4000);
    thread::spawn(move || drop(Storage::from_token(token).unwrap())).join().unwrap();
    assert_eq!(in_use(), 0);

    // Another state has it. Closing that state gives it back, too.
    let other = safe();
    other.globals().set("s", lua.load("return torch.IntStorage(500)").eval::<Storage>().unwrap()).unwrap();
    lua.gc_collect().unwrap();
    lua.gc_collect().unwrap();
    assert_eq!((in_use(), memory_in_use(&other).unwrap()), (2000, 0));
    drop(other);
    assert_eq!(in_use(), 0);
}

#[test]
fn memory_outlives_the_state_that_paid_for_it() {
    let storages: Vec<Storage> = (0..40)
        .map(|n| {
            let lua = safe();
            set_memory_limit(&lua, Some(1000)).unwrap();
            lua.load(format!("return torch.ByteStorage(1000):fill({n})")).eval().unwrap()
        })
        .collect();
    // The accounts of these states are not those of the ones above.
    for _ in 0..40 {
        let lua = limited();
        lua.load("s = torch.ByteStorage(10)").exec().unwrap();
        assert_eq!(memory_in_use(&lua).unwrap(), 10);
    }
    for (n, storage) in (0u8..).zip(&storages) {
        assert_eq!(storage.get(999), Some(f64::from(n)));
        storage.resize(2000).unwrap(); // the program pays from now on
    }
}

#[test]
fn what_the_program_hands_over_counts_when_a_script_grows_it() {
    let lua = limited();
    let storage = Storage::zeroed(DType::Byte, 20 * MB).unwrap();
    lua.globals().set("s", &storage).unwrap();
    lua.globals().set("v", Storage::from_vec(vec![0u8; 20 * MB])).unwrap();
    assert_eq!(memory_in_use(&lua).unwrap(), 0);
    assert!(error_of(&lua, "s:clone()").contains("20971520 bytes were requested"));
    drop(storage);
    assert!(error_of(&lua, "s:resize(#s + 1)").contains("20971521 bytes were requested"));
    lua.load("s:resize(2 ^ 20)").exec().unwrap();
    assert_eq!(memory_in_use(&lua).unwrap(), 0);
    lua.load("s:resize(2 ^ 21)").exec().unwrap();
    assert_eq!(memory_in_use(&lua).unwrap(), 2 * MB);
    let small = Storage::zeroed(DType::Byte, 10).unwrap();
    lua.globals().set("small", small).unwrap();
    lua.load("small:reserve(100)").exec().unwrap();
    assert_eq!(memory_in_use(&lua).unwrap(), 2 * MB + 100);
}

#[test]
fn what_the_program_makes_during_a_call_of_a_script_is_not_charged() {
    struct Makes(Lua, Vec<u8>);
    impl AsRef<[u8]> for Makes {
        fn as_ref(&self) -> &[u8] {
            &self.1
        }
    }
    // SAFETY: [live] in this test the value stays in one thread.
    unsafe impl Send for Makes {}
    impl Drop for Makes {
        fn drop(&mut self) {
            let made = Storage::zeroed(DType::Byte, 9 * MB).unwrap();
            self.0.globals().set("made", made).unwrap();
            self.0.load("own = torch.ByteStorage(9e6)").exec().unwrap();
        }
    }
    let (lua, other) = (limited(), safe());
    let make = lua.create_function(|_, ()| Ok(Storage::zeroed(DType::Byte, 9 * MB).unwrap())).unwrap();
    lua.globals().set("make", make).unwrap();
    lua.load("a = make()").exec().unwrap();
    assert_eq!(memory_in_use(&lua).unwrap(), 0);
    // The script frees a value of the program, whose destructor uses another Lua state.
    lua.globals().set("s", Storage::from_owner(Makes(other.clone(), vec![1, 2]))).unwrap();
    lua.load("s:free()").exec().unwrap();
    assert_eq!(memory_in_use(&lua).unwrap(), 0);
    assert_eq!(other.load("return #made + #own").eval::<usize>().unwrap(), 9 * MB + 9_000_000);
}

#[test]
fn a_hook_in_the_middle_of_an_operation_is_not_charged_to_it() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let lua = safe();
    lua.load("big = torch.ByteStorage(600e6)").exec().unwrap();
    set_memory_limit(&lua, Some(8 * MB)).unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    lua.set_hook(mlua::HookTriggers::default().on_calls(), move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        Storage::zeroed(DType::Byte, 9 * MB).map(|_| mlua::VmState::Continue).map_err(mlua::Error::external)
    })
    .unwrap();
    // The hook runs for the script, for `fill`, and twice between the three steps of `fill`.
    lua.load("big:fill(1)").exec().unwrap();
    lua.remove_hook();
    assert!(runs.load(Ordering::Relaxed) >= 4, "{runs:?}");
    assert_eq!(memory_in_use(&lua).unwrap(), 0);
}

#[test]
fn a_limit_is_lowered_lifted_and_given_when_the_state_is_opened() {
    let lua = Lua::new();
    let limit = Restrictions { memory: Some(1000), ..Restrictions::default() };
    let torch = host::open_restricted(&lua, &limit).unwrap();
    lua.globals().set("torch", torch).unwrap();
    lua.load("s = torch.ByteStorage(1000)").exec().unwrap();
    assert!(error_of(&lua, "torch.ByteStorage(1)").contains("the host program allows 1000, of which 1000 are in use"));
    assert!(!set_memory_limit(&lua, Some(999)).unwrap());
    lua.load("s:resize(998)").exec().unwrap();
    assert!(set_memory_limit(&lua, Some(999)).unwrap());
    assert!(set_memory_limit(&lua, None).unwrap());
    lua.load("t = torch.ByteStorage(1e8)").exec().unwrap();
    assert_eq!(memory_in_use(&lua).unwrap(), 998 + 100_000_000);
    assert!(!set_memory_limit(&lua, Some(0)).unwrap());
    lua.load("s:free() t:free() torch.ByteStorage(0)").exec().unwrap();
    assert!(set_memory_limit(&lua, Some(0)).unwrap());
    assert!(error_of(&lua, "torch.ByteStorage(1)").contains("the host program allows 0, of which 0 are in use"));
    let closed = memory_in_use(&Lua::new()).unwrap_err().to_string();
    assert!(closed.contains("torch is not open in this Lua state"), "{closed}");
}

#[test]
fn a_state_that_is_opened_with_a_limit_of_nothing_has_none() {
    let lua = Lua::new();
    let nothing = Restrictions { memory: Some(0), ..Restrictions::default() };
    lua.globals().set("torch", host::open_restricted(&lua, &nothing).unwrap()).unwrap();
    assert!(error_of(&lua, "torch.ByteStorage(1)").contains("the host program allows 0, of which 0 are in use"));
    // Opening it again changes nothing.
    assert!(set_memory_limit(&lua, Some(10)).unwrap());
    host::open_restricted(&lua, &nothing).unwrap();
    lua.load("torch.ByteStorage(1)").exec().unwrap();
}

#[test]
fn each_thread_has_the_limit_of_its_state() {
    const THREADS: usize = 4;
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..THREADS).map(|_| channel()).unzip();
    let barrier = Arc::new(Barrier::new(THREADS));
    let threads: Vec<_> = receivers
        .into_iter()
        .enumerate()
        .map(|(n, receiver)| {
            let (next, barrier) = (senders[(n + 1) % THREADS].clone(), Arc::clone(&barrier));
            thread::spawn(move || {
                let lua = safe();
                let limit = (n + 1) * MB;
                set_memory_limit(&lua, Some(limit)).unwrap();
                let make: Function = lua.load("return function(size) return torch.ByteStorage(size) end").eval().unwrap();
                let (mut kept, mut refused) = (Vec::new(), 0);
                for round in 1..300 {
                    match make.call::<Storage>((round * 7919 * (n + 1)) % (MB / 2)) {
                        Ok(storage) => {
                            next.send(storage.token().unwrap()).unwrap();
                            kept.push(storage);
                        }
                        Err(error) => {
                            assert!(error.to_string().contains(&format!("the host program allows {limit}")), "{error}");
                            refused += 1;
                            kept.clear();
                        }
                    }
                    // Another thread frees what this one has made.
                    receiver.try_iter().for_each(|token| drop(Storage::from_token(token).unwrap()));
                    assert!(memory_in_use(&lua).unwrap() <= limit);
                }
                assert!(refused > 0);
                kept.clear();
                drop(next);
                barrier.wait();
                receiver.try_iter().for_each(|token| drop(Storage::from_token(token).unwrap()));
                barrier.wait();
                lua.gc_collect().unwrap();
                lua.gc_collect().unwrap();
                memory_in_use(&lua).unwrap()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), 0);
    }
}

/// With the feature `send` of `mlua`, several threads use one state by turns.
#[cfg(feature = "send")]
#[test]
fn threads_that_use_one_state_share_its_limit() {
    let lua = limited();
    lua.load("kept, refused = {}, 0").exec().unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let script = "local ok, s = pcall(torch.ByteStorage, 2 ^ 20) \
                                  if ok then kept[#kept + 1] = s else refused = refused + 1 end";
                    lua.load(script).exec().unwrap();
                    // What this thread makes itself is not charged.
                    drop(Storage::zeroed(DType::Byte, 9 * MB).unwrap());
                }
            });
        }
    });
    assert_eq!(lua.load("return #kept, refused").eval::<(usize, usize)>().unwrap(), (8, 72));
    assert_eq!(memory_in_use(&lua).unwrap(), 8 * MB);
}

#[test]
fn a_script_that_fails_or_panics_leaves_the_limit_as_it_was() {
    let lua = limited();
    lua.globals()
        .set("panics", lua.create_function(|_, ()| -> mlua::Result<()> { panic!("a panic of the host") }).unwrap())
        .unwrap();
    for script in [
        "torch.class('Panicking'); function Panicking:write() panics() end; torch.serialize(Panicking())",
        "error(torch.ByteStorage(1000))",
        "torch.ByteStorage(1000):resize(-1)",
        "coroutine.wrap(function() local s = torch.ByteStorage(1000) error 'in a coroutine' end)()",
    ] {
        let run = || lua.load(script).exec();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        assert!(result.is_err() || result.unwrap().is_err(), "{script}");
        let own = Storage::zeroed(DType::Byte, 9 * MB).unwrap();
        drop(own);
        lua.gc_collect().unwrap();
        lua.gc_collect().unwrap();
        assert_eq!(memory_in_use(&lua).unwrap(), 0, "{script}");
    }
    assert!(error_of(&lua, "torch.ByteStorage(9e6)").contains("of which 0 are in use"));
}

#[test]
fn a_text_of_many_views_of_one_storage_is_refused() {
    let lua = limited();
    let script = "local s, views = torch.ByteStorage(2 ^ 20), {} \
                  for i = 1, 1000 do views[i] = s:sub(1, -1 - i) end \
                  torch.serialize(views)";
    let most = peak(|| {
        let message = error_of(&lua, script);
        assert!(message.contains("the host program allows 8388608"), "{message}");
    });
    assert!(most < 30_000_000, "{most}");
}

#[test]
fn a_vector_comes_back_from_a_script() {
    let lua = safe();
    lua.load("function frame(samples) for i = 1, #samples do samples[i] = samples[i] + i end end").exec().unwrap();
    let frame: Function = lua.globals().get("frame").unwrap();
    let mut samples = vec![0.5f32; 1000];
    let address = samples.as_ptr();
    for round in 1..=3u8 {
        let storage = Storage::from_vec(samples);
        let value = lua.pack(&storage).unwrap();
        frame.call::<()>(&value).unwrap();
        let storage = storage.try_into_vec::<f32>().unwrap_err(); // the value of the script
        assert!(storage.is_same(&lua.unpack::<Storage>(value.clone()).unwrap()));
        free(&value);
        samples = storage.try_into_vec().unwrap();
        assert_eq!((samples.as_ptr(), samples[999]), (address, 0.5 + 1000.0 * f32::from(round)));
    }
}

/// Ends a script's storage, as `s:free()` does.
fn free(value: &Value) {
    use mlua::ObjectLike;
    value.as_userdata().unwrap().call_method::<()>("free", ()).unwrap();
}
