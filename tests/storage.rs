//! Random sequences of operations on storages, compared with a model that is made of plain vectors.
//!
//! The memory of the model is a shared vector of bytes. When a storage is resized while views share its memory, the storage moves
//! to new memory, and the views keep the old memory.

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::Index;

use torch_storage::bulk::{self, Readable, Writable};
use torch_storage::convert::Scalar;
use torch_storage::storage::usage;
use torch_storage::storage::{StateId, Storage};
use torch_storage::{DType, Error};

#[derive(Debug)]
struct Memory {
    bytes: Vec<u8>,
    /// The number of bytes that `reserve` requested.
    reserved: usize,
}

/// The expected state of a storage. Several handles may share it.
#[derive(Debug)]
struct Model {
    dtype: DType,
    memory: Rc<RefCell<Memory>>,
    /// In bytes.
    offset: usize,
    /// In elements.
    size: usize,
    is_view: bool,
    retained: usize,
}

struct Handle {
    storage: Storage,
    model: Rc<RefCell<Model>>,
}

#[derive(Clone, Debug)]
enum Step {
    Create(DType, usize),
    FromBytes(DType, Vec<u8>),
    View(Index, Index, Index),
    Resize(Index, usize),
    Reserve(Index, usize),
    Fill(Index, f64),
    Zero(Index),
    Set(Index, Index, i64),
    CopyTo(Index, Index),
    Cast(Index, DType),
    Clone(Index),
    Retain(Index),
    ReleaseRetained(Index),
    Adopt(Index),
    Drop(Index),
}

fn dtype() -> impl Strategy<Value = DType> {
    (0..DType::ALL.len()).prop_map(|number| DType::ALL[number])
}

/// Mostly few elements; sometimes enough to reach the sizes from which the heap works differently.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0usize..9, 4 => 0usize..100, 1 => 10_000usize..70_000]
}

fn step() -> impl Strategy<Value = Step> {
    let handle = any::<Index>;
    prop_oneof![
        3 => (dtype(), size()).prop_map(|(dtype, size)| Step::Create(dtype, size)),
        1 => (dtype(), proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(dtype, bytes)| Step::FromBytes(dtype, bytes)),
        4 => (handle(), handle(), handle()).prop_map(|(of, offset, size)| Step::View(of, offset, size)),
        6 => (handle(), size()).prop_map(|(of, size)| Step::Resize(of, size)),
        2 => (handle(), size()).prop_map(|(of, size)| Step::Reserve(of, size)),
        4 => (handle(), prop_oneof![Just(-1.5), Just(77.0), Just(f64::NAN), any::<f64>()]).prop_map(|(of, v)| Step::Fill(of, v)),
        1 => handle().prop_map(Step::Zero),
        3 => (handle(), handle(), any::<i64>()).prop_map(|(of, index, value)| Step::Set(of, index, value)),
        5 => (handle(), handle()).prop_map(|(to, from)| Step::CopyTo(to, from)),
        1 => (handle(), dtype()).prop_map(|(of, dtype)| Step::Cast(of, dtype)),
        1 => handle().prop_map(Step::Clone),
        2 => handle().prop_map(Step::Retain),
        1 => handle().prop_map(Step::ReleaseRetained),
        2 => handle().prop_map(Step::Adopt),
        4 => handle().prop_map(Step::Drop),
    ]
}

/// The bytes of a storage's elements.
fn bytes_of(storage: &Storage) -> Vec<u8> {
    let mut bytes = vec![0; storage.nbytes()];
    if !bytes.is_empty() {
        // SAFETY: [live] [in-bounds] the storage is borrowed, and the vector has as many bytes as the storage.
        unsafe { std::ptr::copy_nonoverlapping(storage.data().cast_const(), bytes.as_mut_ptr(), bytes.len()) };
    }
    bytes
}

/// The bytes of the element that `value` becomes.
fn element(dtype: DType, value: Scalar) -> Vec<u8> {
    let mut bytes = vec![0; dtype.width()];
    assert!(Writable::of(&mut bytes, dtype).set(0, value));
    bytes
}

/// Converts elements to another dtype, one by one.
fn converted(bytes: &[u8], from: DType, to: DType) -> Vec<u8> {
    let one = |element: &[u8]| {
        let mut result = vec![0; to.width()];
        bulk::copy(Writable::of(&mut result, to), Readable::of(element, from));
        result
    };
    bytes.chunks(from.width()).flat_map(one).collect()
}

impl Model {
    fn new(dtype: DType, bytes: Vec<u8>) -> Self {
        let size = bytes.len() / dtype.width();
        let memory = Rc::new(RefCell::new(Memory { bytes, reserved: 0 }));
        Self { dtype, memory, offset: 0, size, is_view: false, retained: 0 }
    }

    fn nbytes(&self) -> usize {
        self.size * self.dtype.width()
    }

    fn bytes(&self) -> Vec<u8> {
        self.memory.borrow().bytes[self.offset..self.offset + self.nbytes()].to_vec()
    }

    fn write(&self, from: usize, bytes: &[u8]) {
        let start = self.offset + from;
        self.memory.borrow_mut().bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn move_if_shared(&mut self) {
        if Rc::strong_count(&self.memory) > 1 {
            let reserved = self.memory.borrow().reserved;
            self.memory = Rc::new(RefCell::new(Memory { bytes: self.bytes(), reserved }));
        }
    }
}

/// The handles of a run. No step drops the only handle, so there is always one to act on.
struct Run(Vec<Handle>);

impl Run {
    fn add(&mut self, storage: Storage, model: Model) {
        self.0.push(Handle { storage, model: Rc::new(RefCell::new(model)) });
    }

    fn pick(&self, which: Index) -> &Handle {
        which.get(&self.0)
    }

    /// Applies a step to the storages and to the model.
    fn take(&mut self, step: Step) -> Result<(), Error> {
        match step {
            Step::Create(dtype, size) => {
                self.add(Storage::zeroed(dtype, size)?, Model::new(dtype, vec![0; size * dtype.width()]));
            }
            Step::FromBytes(dtype, bytes) => {
                let whole = bytes.len() / dtype.width() * dtype.width();
                self.add(Storage::from_bytes(dtype, &bytes)?, Model::new(dtype, bytes[..whole].to_vec()));
            }
            Step::View(of, offset, size) => self.view(of, offset, size)?,
            Step::Resize(of, size) => self.resize(of, size)?,
            Step::Reserve(of, size) => self.reserve(of, size)?,
            Step::Fill(of, value) => {
                let (Handle { storage, model }, value) = (self.pick(of), Scalar::Float(value));
                storage.fill(value)?;
                let model = model.borrow();
                model.write(0, &element(model.dtype, value).repeat(model.size));
            }
            Step::Zero(of) => {
                let Handle { storage, model } = self.pick(of);
                storage.fill(Scalar::Signed(0))?;
                let model = model.borrow();
                model.write(0, &vec![0; model.nbytes()]);
            }
            Step::Set(of, index, value) => {
                let (Handle { storage, model }, value) = (self.pick(of), Scalar::Signed(value));
                let model = model.borrow();
                let index = index.index(model.size + 2);
                assert_eq!(storage.set(index, value)?, index < model.size);
                if index < model.size {
                    model.write(index * model.dtype.width(), &element(model.dtype, value));
                }
            }
            Step::CopyTo(to, from) => self.copy(to, from),
            Step::Cast(of, dtype) => {
                let Handle { storage, model } = self.pick(of);
                let (bytes, from) = (model.borrow().bytes(), storage.dtype());
                let bytes = if dtype.is_untyped() { bytes } else { converted(&bytes, from, dtype) };
                self.add(storage.cast(dtype)?, Model::new(dtype, bytes));
            }
            Step::Clone(of) => {
                let Handle { storage, model } = self.pick(of);
                let storage = storage.cast(storage.dtype())?;
                let model = Model::new(storage.dtype(), model.borrow().bytes());
                self.add(storage, model);
            }
            Step::Retain(of) => {
                let Handle { storage, model } = self.pick(of);
                storage.retain(StateId::of_this_thread())?;
                model.borrow_mut().retained += 1;
            }
            Step::ReleaseRetained(of) => {
                let Handle { storage, model } = self.pick(of);
                let mut model = model.borrow_mut();
                assert_eq!(storage.release_retained(StateId::of_this_thread()), model.retained > 0);
                model.retained = model.retained.saturating_sub(1);
            }
            Step::Adopt(of) => self.adopt(of),
            Step::Drop(of) => {
                let index = of.index(self.0.len());
                // A retained storage without a handle could not be adopted again, because its address would be lost.
                let last_handle = Rc::strong_count(&self.0[index].model) == 1;
                if self.0.len() > 1 && !(last_handle && self.0[index].model.borrow().retained > 0) {
                    self.0.swap_remove(index);
                }
            }
        }
        Ok(())
    }

    fn view(&mut self, of: Index, offset: Index, size: Index) -> Result<(), Error> {
        let Handle { storage, model } = self.pick(of);
        let model = model.borrow();
        let (offset, size) = (offset.index(model.size + 2), size.index(model.size + 2));
        let result = storage.view(offset, size);
        if offset + size > model.size {
            assert!(matches!(result, Err(Error::OutOfRange { .. })));
            return Ok(());
        }
        let view = Model {
            dtype: model.dtype,
            memory: Rc::clone(&model.memory),
            offset: model.offset + offset * model.dtype.width(),
            size,
            is_view: true,
            retained: 0,
        };
        drop(model);
        self.add(result?, view);
        Ok(())
    }

    fn resize(&mut self, of: Index, size: usize) -> Result<(), Error> {
        let Handle { storage, model } = self.pick(of);
        let mut model = model.borrow_mut();
        let result = storage.resize(size, StateId::of_this_thread());
        if model.is_view {
            assert!(matches!(result, Err(Error::NotResizable { .. })));
            return Ok(());
        }
        if size != model.size {
            model.move_if_shared();
        }
        model.size = size;
        let bytes = model.nbytes();
        model.memory.borrow_mut().bytes.resize(bytes, 0);
        result
    }

    fn reserve(&mut self, of: Index, size: usize) -> Result<(), Error> {
        let Handle { storage, model } = self.pick(of);
        let mut model = model.borrow_mut();
        let result = storage.reserve(size, StateId::of_this_thread());
        if model.is_view {
            assert!(matches!(result, Err(Error::NotResizable { .. })));
            return Ok(());
        }
        model.move_if_shared();
        model.memory.borrow_mut().reserved = size * model.dtype.width();
        result?;
        // Resizing within the reserved capacity moves nothing. Elements that a resize cuts off are gone.
        let (reserved, shrinks) = (storage.data(), size < model.size);
        for within in [size, size / 2, model.size.min(size)] {
            storage.resize(within, StateId::of_this_thread())?;
            assert!(shrinks || size == 0 || storage.data() == reserved, "a resize within the capacity moved the memory");
            model.size = within;
            let bytes = model.nbytes();
            model.memory.borrow_mut().bytes.resize(bytes, 0);
        }
        Ok(())
    }

    fn copy(&mut self, to: Index, from: Index) {
        let (target, source) = (self.pick(to), self.pick(from));
        let result = target.storage.copy_from(&source.storage);
        let (to, from) = (target.model.borrow(), source.model.borrow());
        if to.dtype.is_untyped() != from.dtype.is_untyped() {
            // A copy from or to an untyped storage copies the bytes and does not convert them.
            let (wanted, found) = (to.bytes().len(), from.bytes().len());
            if wanted == found {
                assert!(result.is_ok());
                to.write(0, &from.bytes());
            } else {
                assert!(matches!(result, Err(Error::LengthMismatch { expected, got }) if expected == wanted && got == found));
            }
        } else if to.size == from.size {
            assert!(result.is_ok());
            to.write(0, &converted(&from.bytes(), from.dtype, to.dtype));
        } else {
            let (wanted, found) = (to.size, from.size);
            assert!(matches!(result, Err(Error::SizeMismatch { expected, got }) if expected == wanted && got == found));
        }
    }

    fn adopt(&mut self, of: Index) {
        let Handle { storage, model } = self.pick(of);
        let (address, dtype, model) = (storage.address(), storage.dtype(), Rc::clone(model));
        let adopted = Storage::adopt(address, dtype, StateId::of_this_thread());
        if model.borrow().retained == 0 {
            assert!(matches!(adopted, Err(Error::NotRetained { .. })));
        } else if let Ok(storage) = adopted {
            model.borrow_mut().retained -= 1;
            self.0.push(Handle { storage, model });
        } else {
            assert!(adopted.is_ok());
        }
    }

    fn check(&self) {
        for Handle { storage, model } in &self.0 {
            let handles = self.0.iter().filter(|other| Rc::ptr_eq(&other.model, model)).count();
            let model = model.borrow();
            assert_eq!(storage.dtype(), model.dtype);
            assert_eq!(storage.size(), model.size);
            assert_eq!(storage.is_view(), model.is_view);
            assert_eq!(usize::try_from(storage.references()), Ok(handles + model.retained));
            assert!(bytes_of(storage) == model.bytes(), "the bytes of {1} elements of {0:?} differ", model.dtype, model.size);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_sequence_of_operations_agrees_with_the_model(steps in proptest::collection::vec(step(), 1..60)) {
        let before = usage();
        let mut run = Run(Vec::new());
        run.add(Storage::zeroed(DType::Int, 3)?, Model::new(DType::Int, vec![0; 12]));
        for step in steps {
            run.take(step)?;
            run.check();
        }
        for Handle { storage, model } in &run.0 {
            while storage.release_retained(StateId::of_this_thread()) {
                model.borrow_mut().retained -= 1;
            }
        }
        run.check();
        drop(run);
        // This file has no other test, so no other thread holds storages.
        assert_eq!(usage(), before);
    }
}
