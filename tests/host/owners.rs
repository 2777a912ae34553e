//! The owner of memory that scripts use: it is dropped once, whatever happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mlua::{Lua, Value};
use torch_storage::Storage;

use crate::{Counted, error_of, safe, with_addresses};

#[test]
fn a_script_writes_the_vector_of_the_program() {
    for lua in [safe(), with_addresses()] {
        let (storage, drops) = Counted::storage(vec![0.0; 1000]);
        lua.globals().set("samples", &storage).unwrap();
        lua.load("for i = 1, #samples do samples[i] = i / 2 end").exec().unwrap();
        let expected: Vec<f32> = (1..=1000u16).map(|i| f32::from(i) / 2.0).collect();
        assert_eq!(storage.to_vec::<f32>().unwrap(), expected);
        let back: Storage = lua.globals().get("samples").unwrap();
        assert!(back.data() == storage.data() && back.is_same(&storage));
        drop((storage, back));
        assert_eq!(drops(), 0);
        drop(lua);
        assert_eq!(drops(), 1);
    }
}

#[test]
fn the_owner_is_dropped_once_in_whatever_order_things_end() {
    // All orders of: the state, the handle, a view that the program got from a script.
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (storage, drops) = Counted::storage(vec![1.0, 2.0, 3.0]);
        let lua = safe();
        lua.globals().set("s", &storage).unwrap();
        let view: Storage = lua.load("kept = s:sub(2); return s:sub(2, 3)").eval().unwrap();
        let (mut lua, mut storage, mut view) = (Some(lua), Some(storage), Some(view));
        for (n, what) in order.into_iter().enumerate() {
            assert_eq!(drops(), 0, "{order:?} {n}");
            match what {
                0 => drop(lua.take()),
                1 => drop(storage.take()),
                _ => {
                    assert_eq!(view.as_ref().unwrap().to_vec::<f32>().unwrap(), [2.0, 3.0]);
                    view = None;
                }
            }
        }
        assert_eq!(drops(), 1, "{order:?}");
    }
}

#[test]
fn a_collected_storage_drops_its_owner() {
    let lua = safe();
    let (storage, drops) = Counted::storage(vec![0.0; 10]);
    lua.globals().set("s", storage).unwrap();
    lua.gc_collect().unwrap();
    assert_eq!(drops(), 0);
    lua.load("s:free()").exec().unwrap();
    assert_eq!(drops(), 1);
    assert!(lua.globals().get::<Storage>("s").unwrap_err().to_string().contains("the storage was freed"));

    let (storage, drops) = Counted::storage(vec![0.0; 10]);
    lua.globals().set("s", storage).unwrap();
    lua.load("s = nil").exec().unwrap();
    lua.gc_collect().unwrap();
    lua.gc_collect().unwrap();
    assert_eq!(drops(), 1);
}

#[test]
fn many_vectors_that_are_garbage_do_not_pile_up() {
    const BYTES: usize = 16 << 20;
    let lua = safe();
    let make = lua.create_function(|_, ()| Ok(Storage::from_vec(vec![0u8; BYTES]))).unwrap();
    lua.globals().set("make", make).unwrap();
    let most: f64 = lua
        .load("local most = 0 for _ = 1, 100 do make() most = math.max(most, torch.memory().foreign) end return most")
        .eval()
        .unwrap();
    // Tests that run at the same time have little memory.
    assert!(most < 5e8, "{most}");
}

#[test]
fn an_owner_that_panics_when_it_is_dropped_does_not_end_the_process() {
    struct Panics(Arc<AtomicUsize>);
    impl AsRef<[u8]> for Panics {
        fn as_ref(&self) -> &[u8] {
            &[1, 2, 3]
        }
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("the owner panics");
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let lua = safe();
    lua.globals().set("s", Storage::from_owner(Panics(Arc::clone(&drops)))).unwrap();
    let message = error_of(&lua, "s:free()");
    assert!(message.contains("the owner panics"), "{message}");
    lua.globals().set("s", Storage::from_owner(Panics(Arc::clone(&drops)))).unwrap();
    lua.globals().set("s", Value::Nil).unwrap();
    let _ = lua.gc_collect();
    let _ = lua.gc_collect();
    assert_eq!(drops.load(Ordering::SeqCst), 2);
    lua.globals().set("s", Storage::from_owner(Panics(Arc::clone(&drops)))).unwrap();
    drop(lua);
    assert_eq!(drops.load(Ordering::SeqCst), 3);
}

#[test]
fn an_owner_may_use_lua_while_it_is_dropped() {
    struct Uses(Lua, Arc<AtomicUsize>);
    impl AsRef<[u8]> for Uses {
        fn as_ref(&self) -> &[u8] {
            &[1, 2, 3]
        }
    }
    // SAFETY: in this test the value stays in one thread.
    unsafe impl Send for Uses {}
    impl Drop for Uses {
        fn drop(&mut self) {
            self.0.globals().set("late", Storage::from_vec(vec![5u8])).unwrap();
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Arc::new(AtomicUsize::new(0));
    let lua = safe();
    lua.globals().set("s", Storage::from_owner(Uses(lua.clone(), Arc::clone(&drops)))).unwrap();
    lua.load("s:free() assert(late[1] == 5)").exec().unwrap();
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

/// LuaJIT has a defect of its own here: if memory runs out while the upvalues of a function are made, it later gives the function back
/// as a block that is 8 bytes shorter for each upvalue. Then it fails its own assertion when the state is closed. The C API alone shows
/// it, with an allocator that has a limit, and `local t = {} for i = 1, 4000 do local a, b = 1, i t[i] = function() return a, b end end`.
#[cfg(not(feature = "luajit"))]
#[test]
fn a_memory_limit_of_lua_is_kept() {
    use torch_storage::host;

    for limit in (50..1000).step_by(25) {
        let lua = Lua::new();
        let used = lua.used_memory();
        lua.set_memory_limit(used + limit * 1024).unwrap();
        let opened = host::open(&lua);
        if let Ok(torch) = opened {
            let (storage, drops) = Counted::storage(vec![0.0; 100]);
            let mut failed = lua.globals().set("torch", torch).is_err();
            failed |= lua.globals().set("s", storage).is_err();
            failed |= lua.load("local t = {} for i = 1, 1e5 do t[i] = s:sub(1, 2) end").exec().is_err();
            lua.set_memory_limit(0).unwrap();
            lua.gc_collect().unwrap();
            assert!(failed || limit > 500);
            drop(lua);
            assert_eq!(drops(), 1);
        } else {
            // Opening it again succeeds when there is memory.
            lua.set_memory_limit(0).unwrap();
            let torch = host::open(&lua).unwrap();
            lua.globals().set("torch", torch).unwrap();
            assert_eq!(lua.load("return torch.FloatStorage{1, 2}[2]").eval::<f64>().unwrap(), 2.0);
        }
    }
}

/// With the feature `send` of `mlua`, a state goes from thread to thread with its storages.
#[cfg(feature = "send")]
#[test]
fn a_state_moves_to_another_thread() {
    let (storage, drops) = Counted::storage(vec![1.0, 2.0]);
    let lua = safe();
    lua.globals().set("s", storage).unwrap();
    std::thread::spawn(move || {
        assert_eq!(lua.load("s[1] = 8 return s[1] + s[2]").eval::<f64>().unwrap(), 10.0);
    })
    .join()
    .unwrap();
    assert_eq!(drops(), 1);
}
