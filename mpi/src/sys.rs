//! Calls of MPI. Each is a method of the token [`Mpi`], which says that MPI may be called.
//!
//! Buffers are [`RawBuffer`]s, which `elements` makes of elements that stay where they are while MPI uses them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use mpi_sys as ffi;
pub use mpi_sys::{MPI_Comm, MPI_Datatype, MPI_Message, MPI_Op, MPI_Request};

use crate::failure::{Failure, Outcome};

unsafe extern "C" {
    fn torch_mpi_in_place() -> *mut c_void;
    fn torch_mpi_byte() -> MPI_Datatype;
}

/// A constant of MPI, which is a variable of the C library of `mpi-sys`.
macro_rules! constant {
    ($name:ident) => {{
        // SAFETY: [mpi] the variable is a constant.
        unsafe { mpi_sys::$name }
    }};
}
pub(crate) use constant;

/// Says that MPI may be called: see the rule `[mpi]`.
#[derive(Clone, Copy)]
pub struct Mpi(());

/// A buffer: `count` elements of an MPI type.
#[derive(Clone, Copy)]
pub struct RawBuffer {
    data: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
    /// Whether these are elements, and not a constant in their place.
    is_elements: bool,
}

/// What MPI says about a message.
#[derive(Clone, Copy)]
pub struct Status(ffi::MPI_Status);

impl Status {
    pub const fn source(&self) -> c_int {
        self.0.MPI_SOURCE
    }

    pub const fn tag(&self) -> c_int {
        self.0.MPI_TAG
    }
}

impl RawBuffer {
    /// # Safety
    /// `[live]` `[in-bounds]` `[alias]`: `count` elements of the type are at `data` until MPI does not use the buffer any more, and
    /// may be written if it is a buffer that MPI writes.
    pub const unsafe fn new(data: *mut c_void, count: c_int, datatype: MPI_Datatype) -> Self {
        Self { data, count, datatype, is_elements: true }
    }

    /// The buffer of a collective that works in place.
    pub fn in_place() -> Self {
        // SAFETY: [mpi] the function returns a constant.
        let data = unsafe { torch_mpi_in_place() };
        Self { data, count: 0, datatype: byte(), is_elements: false }
    }

    /// The buffer of a rank that has none.
    pub fn nothing() -> Self {
        Self { data: ptr::null_mut(), count: 0, datatype: byte(), is_elements: false }
    }
}

/// MPI's type of bytes.
pub fn byte() -> MPI_Datatype {
    // SAFETY: [mpi] the function returns a constant.
    unsafe { torch_mpi_byte() }
}

/// The largest buffer of one call, in elements of its type.
pub const MOST: usize = c_int::MAX as usize;

fn error_text(code: c_int) -> String {
    let mut bytes: [c_char; 1024] = [0; 1024];
    let mut length = 0;
    // SAFETY: [mpi] the buffer is longer than `MPI_MAX_ERROR_STRING` of any library. This may be called at any time.
    let done = unsafe { ffi::MPI_Error_string(code, bytes.as_mut_ptr(), &raw mut length) };
    if done != 0 {
        return format!("MPI error {code}");
    }
    // SAFETY: [in-bounds] MPI has ended the text with a zero byte, or it is all zeros.
    let text = unsafe { CStr::from_ptr(bytes.as_ptr()) };
    text.to_string_lossy().trim().to_owned()
}

/// Makes an error code of MPI a failure.
fn check(code: c_int) -> Outcome {
    if code == 0 { Ok(()) } else { Err(failed(code)) }
}

#[cold]
fn failed(code: c_int) -> Failure {
    Failure::new(error_text(code))
}

/// Whether MPI has begun, and whether it has ended, whoever did it.
pub fn phase() -> (bool, bool) {
    let (mut begun, mut ended) = (0, 0);
    // SAFETY: [mpi] this may be called at any time.
    unsafe { ffi::MPI_Initialized(&raw mut begun) };
    // SAFETY: [mpi] this may be called at any time.
    unsafe { ffi::MPI_Finalized(&raw mut ended) };
    (begun != 0, ended != 0)
}

/// The name and the version of the MPI library.
pub fn library() -> String {
    // Longer than `MPI_MAX_LIBRARY_VERSION_STRING` of any library.
    let mut bytes = vec![0u8; 16384];
    let mut length = 0;
    // SAFETY: [mpi] this may be called at any time, and the buffer is long enough.
    unsafe { ffi::MPI_Get_library_version(bytes.as_mut_ptr().cast(), &raw mut length) };
    let text = CStr::from_bytes_until_nul(&bytes).unwrap_or(c"MPI").to_string_lossy().into_owned();
    text.split(['\n', ',']).next().unwrap_or("MPI").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Begins MPI in this thread.
pub fn begin() -> Outcome<Mpi> {
    let mut provided = 0;
    let level = constant!(RSMPI_THREAD_FUNNELED);
    // SAFETY: [mpi] the caller has asked `phase`; MPI allows that there are no arguments.
    check(unsafe { ffi::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), level, &raw mut provided) })?;
    Ok(Mpi(()))
}

/// The token for a program that has begun MPI itself, in this thread.
pub fn begun_by_program() -> Outcome<Mpi> {
    let mut is_main = 0;
    // SAFETY: [mpi] MPI has begun, and any thread may ask this.
    check(unsafe { ffi::MPI_Is_thread_main(&raw mut is_main) })?;
    if is_main == 0 {
        return Err(Failure::new("this program began MPI in another thread: require 'torch.mpi' there"));
    }
    Ok(Mpi(()))
}

impl Mpi {
    /// Ends every rank of the job. Does not return.
    pub fn abort(self, communicator: MPI_Comm, code: c_int) {
        // SAFETY: [mpi] the communicator is one of ours that was not freed; whoever has the token may call MPI.
        unsafe { ffi::MPI_Abort(communicator, code) };
    }

    /// Ends MPI.
    pub fn end(self) -> Outcome {
        // SAFETY: [mpi] nothing of ours calls MPI afterwards.
        check(unsafe { ffi::MPI_Finalize() })
    }

    /// Errors of this communicator are returned, and do not end the job.
    pub fn return_errors(self, communicator: MPI_Comm) -> Outcome {
        let handler = constant!(RSMPI_ERRORS_RETURN);
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and the handler is a constant of MPI.
        check(unsafe { ffi::MPI_Comm_set_errhandler(communicator, handler) })
    }

    pub fn rank(self, communicator: MPI_Comm) -> Outcome<c_int> {
        let mut rank = 0;
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and the result goes into a local variable.
        check(unsafe { ffi::MPI_Comm_rank(communicator, &raw mut rank) })?;
        Ok(rank)
    }

    pub fn size(self, communicator: MPI_Comm) -> Outcome<c_int> {
        let mut size = 0;
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and the result goes into a local variable.
        check(unsafe { ffi::MPI_Comm_size(communicator, &raw mut size) })?;
        Ok(size)
    }

    pub fn duplicate(self, communicator: MPI_Comm) -> Outcome<MPI_Comm> {
        let mut copy = constant!(RSMPI_COMM_NULL);
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and all its ranks make a copy.
        check(unsafe { ffi::MPI_Comm_dup(communicator, &raw mut copy) })?;
        Ok(copy)
    }

    /// The communicator of the ranks with the same colour. A rank without a colour gets none.
    pub fn split(self, communicator: MPI_Comm, color: Option<c_int>, key: c_int) -> Outcome<Option<MPI_Comm>> {
        let mut part = constant!(RSMPI_COMM_NULL);
        let number = color.unwrap_or(constant!(RSMPI_UNDEFINED));
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and all its ranks call this.
        check(unsafe { ffi::MPI_Comm_split(communicator, number, key, &raw mut part) })?;
        Ok(color.map(|_| part))
    }

    pub fn free(self, mut communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] the caller does not use it any more.
        check(unsafe { ffi::MPI_Comm_free(&raw mut communicator) })
    }

    /// The largest tag.
    pub fn largest_tag(self, communicator: MPI_Comm) -> Outcome<c_int> {
        let mut value = ptr::null_mut::<c_int>();
        let mut found = 0;
        let key = c_int::try_from(ffi::MPI_TAG_UB).unwrap_or(c_int::MAX);
        // SAFETY: [mpi] the attribute is an address of an int.
        check(unsafe { ffi::MPI_Comm_get_attr(communicator, key, (&raw mut value).cast(), &raw mut found) })?;
        // The smallest that the standard allows.
        const LEAST: c_int = 32767;
        if found == 0 {
            return Ok(LEAST);
        }
        // SAFETY: [mpi] [live] MPI says that the value is there.
        Ok(unsafe { value.read() })
    }

    // Messages.

    pub fn send(self, buffer: RawBuffer, rank: c_int, tag: c_int, communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Send(buffer.data, buffer.count, buffer.datatype, rank, tag, communicator) })
    }

    pub fn isend(self, buffer: RawBuffer, rank: c_int, tag: c_int, communicator: MPI_Comm) -> Outcome<MPI_Request> {
        let mut request = constant!(RSMPI_REQUEST_NULL);
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Isend(buffer.data, buffer.count, buffer.datatype, rank, tag, communicator, &raw mut request) })?;
        Ok(request)
    }

    /// Begins to receive a message that has the size of the buffer. So the sizes of both sides must be the same: only messages of
    /// this library are received so.
    pub fn irecv(self, buffer: RawBuffer, rank: c_int, tag: c_int, communicator: MPI_Comm) -> Outcome<MPI_Request> {
        let mut request = constant!(RSMPI_REQUEST_NULL);
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Irecv(buffer.data, buffer.count, buffer.datatype, rank, tag, communicator, &raw mut request) })?;
        Ok(request)
    }

    /// Waits for a message and takes it from the queue.
    pub fn probe(self, source: c_int, tag: c_int, communicator: MPI_Comm) -> Outcome<(MPI_Message, Status)> {
        let mut message = constant!(RSMPI_MESSAGE_NULL);
        let mut status = MaybeUninit::zeroed();
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and message and status are local variables.
        check(unsafe { ffi::MPI_Mprobe(source, tag, communicator, &raw mut message, status.as_mut_ptr()) })?;
        // SAFETY: [layout] MPI has filled it, and zeros are a status too.
        Ok((message, Status(unsafe { status.assume_init() })))
    }

    /// Takes a message from the queue, if there is one.
    pub fn try_probe(self, source: c_int, tag: c_int, communicator: MPI_Comm) -> Outcome<Option<(MPI_Message, Status)>> {
        let mut message = constant!(RSMPI_MESSAGE_NULL);
        let mut status = MaybeUninit::zeroed();
        let mut found = 0;
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and the results go into local variables.
        check(unsafe { ffi::MPI_Improbe(source, tag, communicator, &raw mut found, &raw mut message, status.as_mut_ptr()) })?;
        // SAFETY: [layout] MPI has filled it, and zeros are a status too.
        let status = Status(unsafe { status.assume_init() });
        Ok((found != 0).then_some((message, status)))
    }

    /// The number of elements of a type in a message; `None` if it is not whole or larger than an `int`.
    pub fn count(self, status: &Status, datatype: MPI_Datatype) -> Option<usize> {
        let mut count = 0;
        // SAFETY: [mpi] MPI has filled the status, and the type is a constant of MPI or came from `long_type`.
        let done = unsafe { ffi::MPI_Get_count(&raw const status.0, datatype, &raw mut count) };
        if done == 0 { usize::try_from(count).ok() } else { None }
    }

    /// The number of bytes of a message.
    pub fn bytes(self, status: &Status) -> Outcome<usize> {
        let mut count = 0;
        // SAFETY: [mpi] MPI has filled the status, and the type is a constant of MPI.
        check(unsafe { ffi::MPI_Get_elements_x(&raw const status.0, byte(), &raw mut count) })?;
        usize::try_from(count).map_err(|_| Failure::new("MPI does not know how long a message is"))
    }

    /// Receives a message that was taken from the queue. The buffer is as long as the message or longer.
    pub fn receive(self, buffer: RawBuffer, mut message: MPI_Message) -> Outcome {
        let status = constant!(RSMPI_STATUS_IGNORE);
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Mrecv(buffer.data, buffer.count, buffer.datatype, &raw mut message, status) })
    }

    /// Begins to receive a message that was taken from the queue. The buffer is as long as the message or longer.
    pub fn begin_receive(self, buffer: RawBuffer, mut message: MPI_Message) -> Outcome<MPI_Request> {
        let mut request = constant!(RSMPI_REQUEST_NULL);
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Imrecv(buffer.data, buffer.count, buffer.datatype, &raw mut message, &raw mut request) })?;
        Ok(request)
    }

    pub fn wait(self, mut request: MPI_Request) -> Outcome {
        let status = constant!(RSMPI_STATUS_IGNORE);
        // SAFETY: [mpi] the request is not used afterwards.
        check(unsafe { ffi::MPI_Wait(&raw mut request, status) })
    }

    /// Whether the request is complete. It is not used afterwards, if it is or if this fails.
    pub fn test(self, mut request: MPI_Request) -> Outcome<bool> {
        let mut done = 0;
        let status = constant!(RSMPI_STATUS_IGNORE);
        // SAFETY: [mpi] the request came from MPI, and it was not complete when it was tested before.
        check(unsafe { ffi::MPI_Test(&raw mut request, &raw mut done, status) })?;
        Ok(done != 0)
    }

    // Collectives.

    pub fn barrier(self, communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and all its ranks call this.
        check(unsafe { ffi::MPI_Barrier(communicator) })
    }

    pub fn begin_barrier(self, communicator: MPI_Comm) -> Outcome<MPI_Request> {
        let mut request = constant!(RSMPI_REQUEST_NULL);
        // SAFETY: [mpi] the communicator is one of ours that was not freed, and all its ranks call this; the request goes into a
        // local variable.
        check(unsafe { ffi::MPI_Ibarrier(communicator, &raw mut request) })?;
        Ok(request)
    }

    pub fn bcast(self, buffer: RawBuffer, root: c_int, communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Bcast(buffer.data, buffer.count, buffer.datatype, root, communicator) })
    }

    /// The result is in `to`, if this rank has one.
    pub fn reduce(self, from: RawBuffer, to: RawBuffer, operation: MPI_Op, root: c_int, communicator: MPI_Comm) -> Outcome {
        let shape = if to.is_elements { to } else { from };
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Reduce(from.data, to.data, shape.count, shape.datatype, operation, root, communicator) })
    }

    pub fn allreduce(self, from: RawBuffer, to: RawBuffer, operation: MPI_Op, communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Allreduce(from.data, to.data, to.count, to.datatype, operation, communicator) })
    }

    /// `to` is the part of one rank.
    pub fn gather(self, from: RawBuffer, to: RawBuffer, root: c_int, communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe {
            ffi::MPI_Gather(from.data, from.count, from.datatype, to.data, to.count, to.datatype, root, communicator)
        })
    }

    /// `to` is the part of one rank.
    pub fn allgather(self, from: RawBuffer, to: RawBuffer, communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Allgather(from.data, from.count, from.datatype, to.data, to.count, to.datatype, communicator) })
    }

    /// `from` is the part of one rank.
    pub fn scatter(self, from: RawBuffer, to: RawBuffer, root: c_int, communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe {
            ffi::MPI_Scatter(from.data, from.count, from.datatype, to.data, to.count, to.datatype, root, communicator)
        })
    }

    /// Both are the part of one rank.
    pub fn alltoall(self, from: RawBuffer, to: RawBuffer, communicator: MPI_Comm) -> Outcome {
        // SAFETY: [mpi] [live] see `RawBuffer`.
        check(unsafe { ffi::MPI_Alltoall(from.data, from.count, from.datatype, to.data, to.count, to.datatype, communicator) })
    }

    // Types.

    /// A type of `blocks` times 2^`exponent` elements and `rest` more.
    pub fn long_type(
        self,
        element: MPI_Datatype,
        width: usize,
        exponent: u32,
        blocks: c_int,
        rest: c_int,
    ) -> Outcome<MPI_Datatype> {
        let (mut block, mut whole) = (element, element);
        // SAFETY: [mpi] the element type is a constant of MPI, and the new one goes into a local variable.
        check(unsafe { ffi::MPI_Type_contiguous(1 << exponent, element, &raw mut block) })?;
        // At most the bytes of a buffer, which fit.
        let offset = (blocks as isize) * (1isize << exponent) * width.cast_signed();
        // MPI's type of addresses is another one in each library.
        let offset = offset as ffi::MPI_Aint;
        let (lengths, offsets, types) = ([blocks, rest], [0, offset], [block, element]);
        // SAFETY: [mpi] the arrays have two elements each.
        let made =
            check(unsafe { ffi::MPI_Type_create_struct(2, lengths.as_ptr(), offsets.as_ptr(), types.as_ptr(), &raw mut whole) });
        self.free_type(block);
        made?;
        // SAFETY: [mpi] the type was made just above.
        check(unsafe { ffi::MPI_Type_commit(&raw mut whole) })?;
        Ok(whole)
    }

    /// Gives a type back. Messages that use it are completed.
    pub fn free_type(self, mut datatype: MPI_Datatype) {
        // SAFETY: [mpi] [owned] the type was made by `long_type`.
        unsafe { ffi::MPI_Type_free(&raw mut datatype) };
    }
}

/// Seconds since a moment in the past.
pub fn time(_: Mpi) -> f64 {
    // SAFETY: [mpi] whoever has the token may call MPI, and this changes nothing.
    unsafe { ffi::MPI_Wtime() }
}
