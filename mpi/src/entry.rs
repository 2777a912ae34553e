//! How Lua calls the functions of this library: the arguments are read, the body runs as plain Rust, and then its answer is pushed or
//! its failure raised.
//!
//! Functions of Lua are plain Rust functions. The lists of methods in `module` say which kind each is: [`function`] or [`raising`].
//! These make the C function that Lua calls.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::arrival::Envelope;
use crate::communicator::Communicator;
use crate::elements::Operation;
use crate::failure::{About, Failure, Message, Outcome};
use crate::lua::{Function, Raising, State, lua_State, upvalue};
use crate::sys::constant;
use crate::table::{Torch, View, WRITABLE, Wants, dtype};

/// The result of a function. Nothing in it has a destructor.
#[derive(Clone, Copy)]
pub enum Answer {
    Nothing,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    /// What a receive returns: the number of elements, the rank and the tag.
    Received(Envelope),
    /// The same after `true`.
    TrueAndReceived(Envelope),
    /// The value on the top of the stack.
    Top,
}

/// Runs `body`. A panic in it becomes a failure.
fn caught<T>(body: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        let failure = Failure::new(format!("internal error of torch.mpi, please report it: {text}"));
        drop(payload);
        Err(failure)
    })
}

/// A function of Lua: `body` returns what it pushes. It gets no [`Raising`], so it cannot raise.
pub const fn function<F: Fn(Arguments) -> Outcome<Answer> + Copy>(_: F) -> Function {
    fn body<F: Fn(Arguments) -> Outcome<Answer> + Copy>(lua: Raising) -> c_int {
        // SAFETY: [layout] `function` was given this value.
        answer(lua, unsafe { item::<F>() })
    }
    raising(body::<F>)
}

/// A function of Lua that pushes its results itself, and returns their number. `body` has to keep the rule `[no-drop]`: what has a
/// destructor stays inside of [`run`] or [`answer`].
pub const fn raising<F: Fn(Raising) -> c_int + Copy>(_: F) -> Function {
    /// What Lua calls.
    ///
    /// # Safety
    /// `[state]`: Lua calls this with its state.
    unsafe extern "C-unwind" fn called<F: Fn(Raising) -> c_int + Copy>(state: *mut lua_State) -> c_int {
        // SAFETY: [layout] `raising` was given this value.
        let body = unsafe { item::<F>() };
        // SAFETY: [state] Lua calls this with its state. [no-drop] the body keeps the rule.
        body(unsafe { Raising::new(state) })
    }
    called::<F>
}

/// The value of a function's own type, which has no bytes.
///
/// # Safety
/// `[layout]`: there is a value of this type.
unsafe fn item<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "a function without variables") };
    // SAFETY: [layout] a value without bytes is read from any aligned address, and the caller vouches that there is one.
    unsafe { NonNull::dangling().read() }
}

/// Runs `body` and pushes its answer, or raises its failure.
pub fn answer(lua: Raising, body: impl FnOnce(Arguments) -> Outcome<Answer>) -> c_int {
    push(lua, run(lua, body))
}

/// Runs `body` and returns its value, for functions that push their results themselves. Raises its failure.
pub fn run<T: Copy>(lua: Raising, body: impl FnOnce(Arguments) -> Outcome<T>) -> T {
    match caught(|| body(Arguments::new(lua.state())?)) {
        Ok(value) => value,
        Err(failure) => raise(lua, failure),
    }
}

fn push(lua: Raising, answer: Answer) -> c_int {
    match answer {
        Answer::Nothing => return 0,
        Answer::Boolean(value) => lua.push_boolean(value),
        Answer::Integer(value) => lua.push_integer(value),
        Answer::Number(value) => lua.push_number(value),
        Answer::Received(envelope) => return push_envelope(lua, envelope),
        Answer::TrueAndReceived(envelope) => {
            lua.push_boolean(true);
            return 1 + push_envelope(lua, envelope);
        }
        Answer::Top => {}
    }
    1
}

fn push_envelope(lua: Raising, envelope: Envelope) -> c_int {
    lua.push_integer(envelope.count.try_into().unwrap_or(i64::MAX));
    lua.push_integer(envelope.source.into());
    lua.push_integer(envelope.tag.into());
    3
}

/// Raises the failure as a string with position. The caller has nothing else with a destructor.
pub fn raise(lua: Raising, failure: Failure) -> ! {
    let message = Message::new(&failure.text);
    let about = failure.about;
    drop(failure);
    match about {
        About::Call => lua.raise(message.text()),
        About::Argument(n) => lua.raise_argument(n, message.text()),
        About::Elements(n, wants) => {
            if let Some(torch) = Torch::at(lua.state(), upvalue(1)) {
                torch.refuse(lua, n, wants);
            }
            // Another thread has changed the storage since, so that it fits now.
            lua.raise_argument(n, message.text())
        }
    }
}

/// The arguments of a call. Reading them does not raise.
#[derive(Clone, Copy)]
pub struct Arguments {
    pub state: State,
    pub torch: Torch,
}

impl Arguments {
    fn new(state: State) -> Outcome<Self> {
        let torch = Torch::at(state, upvalue(1));
        let why = "upvalue 1 of this function is not the table of torch-storage any more";
        Ok(Self { state, torch: torch.ok_or_else(|| Failure::new(why))? })
    }

    fn wrong(&self, n: c_int, expected: &str) -> Failure {
        Failure::argument(n, format!("{expected} expected, got {}", self.found(n)))
    }

    fn found(&self, n: c_int) -> String {
        if let Some(number) = self.state.number(n) {
            return number.to_string();
        }
        if let Some(text) = self.state.text(n) {
            return format!("'{}'", text.chars().take(40).collect::<String>());
        }
        if self.state.is_absent(n) && n > self.state.top() { "no value" } else { self.state.kind_name(n) }.to_owned()
    }

    /// The communicator at argument 1.
    pub fn communicator(&self) -> Outcome<Communicator> {
        let found = self.state.payload::<Communicator>(1);
        let found = found.ok_or_else(|| self.wrong(1, "a communicator, such as mpi.world,"))?;
        // SAFETY: [layout] [live] the block has this magic word, and is an argument of the running function.
        let communicator = unsafe { found.read() };
        if communicator.was_freed {
            return Err(Failure::argument(1, "this communicator was freed"));
        }
        Ok(communicator)
    }

    /// The elements of the storage or contiguous tensor at argument `n`.
    pub fn elements(&self, n: c_int, flags: c_int) -> Outcome<View> {
        let wants = Wants { dtype: dtype::ANY, flags };
        self.torch.view(self.state, n, wants).ok_or_else(|| Failure::elements(n, wants))
    }

    /// The same elements, but MPI writes them.
    pub fn target(&self, n: c_int, flags: c_int) -> Outcome<View> {
        self.elements(n, flags | WRITABLE)
    }

    /// The same, of the same class as other elements.
    pub fn same_class(&self, n: c_int, other: &View, flags: c_int) -> Outcome<View> {
        let wants = Wants { dtype: other.dtype, flags };
        self.torch.view(self.state, n, wants).ok_or_else(|| Failure::elements(n, wants))
    }

    /// An integer between two bounds.
    pub fn integer(&self, n: c_int, least: c_int, most: c_int, what: &str) -> Outcome<c_int> {
        let found = self.state.number(n).filter(|&number| number.trunc() == number);
        let found = found.filter(|&number| number >= f64::from(least) && number <= f64::from(most));
        // The number was checked just now.
        #[expect(clippy::cast_possible_truncation, reason = "the number is between two numbers of that type")]
        found.map(|number| number as c_int).ok_or_else(|| self.wrong(n, &format!("{what} from {least} to {most}")))
    }

    /// A rank of a communicator.
    pub fn rank(&self, n: c_int, communicator: &Communicator) -> Outcome<c_int> {
        self.integer(n, 0, communicator.size - 1, "a rank")
    }

    /// A rank, or any if there is no argument.
    pub fn source(&self, n: c_int, communicator: &Communicator) -> Outcome<c_int> {
        if self.state.is_absent(n) { Ok(constant!(RSMPI_ANY_SOURCE)) } else { self.rank(n, communicator) }
    }

    /// The root of a collective, by default rank 0.
    pub fn root(&self, n: c_int, communicator: &Communicator) -> Outcome<c_int> {
        if self.state.is_absent(n) { Ok(0) } else { self.rank(n, communicator) }
    }

    /// The tag of a message, by default 0.
    pub fn tag(&self, n: c_int, communicator: &Communicator) -> Outcome<c_int> {
        if self.state.is_absent(n) { Ok(0) } else { self.integer(n, 0, communicator.largest_tag, "a tag") }
    }

    /// The tag of a message to receive, or any if there is no argument.
    pub fn any_tag(&self, n: c_int, communicator: &Communicator) -> Outcome<c_int> {
        if self.state.is_absent(n) { Ok(constant!(RSMPI_ANY_TAG)) } else { self.tag(n, communicator) }
    }

    /// The operation of a reduction.
    pub fn operation(&self, n: c_int) -> Outcome<Operation> {
        let text = self.state.text(n).unwrap_or_default();
        let found = Operation::ALL.iter().find(|row| row.0 == text);
        found.map(|row| row.1).ok_or_else(|| {
            let names = Operation::ALL.map(|row| format!("'{}'", row.0)).join(", ");
            self.wrong(n, &format!("an operation ({names})"))
        })
    }
}
