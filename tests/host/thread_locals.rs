//! Thread-local values with a Lua state, which are dropped when the thread ends.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use mlua::Lua;
use torch_storage::Storage;

use crate::safe;

/// Passes storages to Lua and back when it is dropped, and tells that this is done.
struct Last(Lua, Arc<AtomicBool>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.globals().set("s", Storage::from_vec(vec![1u8, 2, 3])).unwrap();
        let part: Storage = self.0.load("s:sub(2, 3)").eval().unwrap();
        self.1.store(part.to_vec::<u8>().unwrap() == [2, 3], Ordering::SeqCst);
    }
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

#[test]
fn storages_go_to_lua_and_back_while_a_thread_ends() {
    let done = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&done);
    thread::spawn(move || {
        LAST.with(|last| last.replace(Some(Last(safe(), told))));
        // What the library keeps in this thread is used after the value above, so it would be dropped before it.
        LAST.with_borrow(|last| last.as_ref().unwrap().0.globals().set("first", Storage::from_vec(vec![1u8])).unwrap());
    })
    .join()
    .unwrap();
    assert!(done.load(Ordering::SeqCst));
}
