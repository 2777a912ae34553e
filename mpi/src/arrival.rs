//! A message that has come: what it is, whether it fits its receive, and how it is received.

use std::ffi::c_int;

use crate::elements::{Buffer, datatype};
use crate::failure::{Failure, Outcome};
use crate::sys::{MPI_Message, MPI_Request, Mpi, Status};
use crate::table::View;

/// What is known about a message that was received.
#[derive(Clone, Copy)]
pub struct Envelope {
    pub count: usize,
    pub source: c_int,
    pub tag: c_int,
}

/// MPI sends or receives the message.
pub struct Moving {
    pub request: MPI_Request,
    /// `None` for a message that is sent.
    pub envelope: Option<Envelope>,
    /// The message does not fit its storage. It is received here instead, and its receive fails.
    pub instead: Option<(Vec<u8>, Failure)>,
}

/// A message that was taken from MPI's queue, and what it is.
pub struct Found {
    message: MPI_Message,
    pub envelope: Envelope,
    bytes: usize,
    is_whole: bool,
}

impl Found {
    /// Reads the size of a message that is received as elements of `view`.
    pub fn new(mpi: Mpi, (message, status): (MPI_Message, Status), view: &View) -> Outcome<Self> {
        let (datatype, times) = datatype(view);
        let (source, tag) = (status.source(), status.tag());
        let (count, bytes, is_whole) = match mpi.count(&status, datatype).filter(|count| count % times == 0) {
            Some(count) => (count / times, count / times * view.width, true),
            None => {
                let bytes = mpi.bytes(&status)?;
                (bytes / view.width, bytes, bytes % view.width == 0)
            }
        };
        Ok(Self { message, envelope: Envelope { count, source, tag }, bytes, is_whole })
    }

    /// Why the message does not fit, if it does not.
    fn misfit(&self, view: &View) -> Option<Failure> {
        let Envelope { count, source, tag } = self.envelope;
        let class = view.class();
        let from = format_args!("the message from rank {source} with tag {tag}");
        if !self.is_whole {
            let width = view.width;
            let bytes = self.bytes;
            return Some(Failure::new(format!(
                "{from} has {bytes} bytes, which are not whole elements of {class} ({width} bytes): it was dropped"
            )));
        }
        (count > view.size).then(|| {
            let size = view.size;
            Failure::new(format!("{from} has {count} elements, and the {class} for it has {size}: it was dropped"))
        })
    }

    /// Memory for a message that does not fit, and why it does not.
    fn instead(&self, view: &View) -> Outcome<Option<(Vec<u8>, Failure)>> {
        let Some(failure) = self.misfit(view) else { return Ok(None) };
        let mut spare = Vec::new();
        let bytes = self.bytes;
        let lacking = |_| Failure::new(format!("a message of {bytes} bytes was not expected, and there is no memory to drop it"));
        spare.try_reserve_exact(bytes).map_err(lacking)?;
        spare.resize(bytes, 0);
        Ok(Some((spare, failure)))
    }

    /// The elements that get the message: those of the view, or the bytes instead of them.
    fn target(&self, view: &View, instead: &mut Option<(Vec<u8>, Failure)>) -> View {
        match instead {
            Some((spare, _)) => View::over(spare),
            None => view.part(0, self.envelope.count),
        }
    }

    /// Receives the message, and waits for it.
    pub fn receive(self, mpi: Mpi, view: &View) -> Outcome<Envelope> {
        let mut instead = self.instead(view)?;
        // SAFETY: [live] the bytes are our own, or the view is of an argument of the running function, which waits here.
        let buffer = unsafe { Buffer::new(mpi, &self.target(view, &mut instead)) }?;
        mpi.receive(buffer.raw(), self.message)?;
        instead.map_or(Ok(self.envelope), |(_, failure)| Err(failure))
    }

    /// Begins to receive the message. The caller holds the storage of the view, and keeps the result, until the message is complete.
    pub fn begin(self, mpi: Mpi, view: &View) -> Outcome<Moving> {
        let mut instead = self.instead(view)?;
        // SAFETY: [live] the caller keeps the bytes or the storage until the message is complete.
        let buffer = unsafe { Buffer::new(mpi, &self.target(view, &mut instead)) }?;
        let request = mpi.begin_receive(buffer.raw(), self.message)?;
        Ok(Moving { request, envelope: Some(self.envelope), instead })
    }
}
