//! Operations on elements, compared with a model that goes through the elements one by one.

use torch_storage::bulk::{self, Readable, Writable};
use torch_storage::convert::Scalar;
use torch_storage::storage::{StateId, Storage};
use torch_storage::tensor::{Layout, Tensor};
use torch_storage::{DType, Error};

use super::model::{Random, each_index, elements};

type Outcome = Result<(), Error>;

/// Any bytes.
fn memory(random: &mut Random, bytes: usize) -> Result<Storage, Error> {
    let bytes: Vec<u8> = (0..bytes.div_ceil(8)).flat_map(|_| random.next().to_ne_bytes()).take(bytes).collect();
    Storage::from_bytes(DType::Byte, &bytes)
}

fn bytes(storage: &Storage) -> Vec<u8> {
    let mut bytes = vec![0; storage.nbytes()];
    // SAFETY: [live] [in-bounds] the storage has that many bytes.
    let elements = unsafe { Readable::new(storage.data(), DType::Byte, storage.nbytes()) };
    bulk::copy(Writable::of(&mut bytes, DType::Byte), elements);
    bytes
}

/// A storage of `dtype` over memory, from a byte offset that need not be aligned on. It has all elements of the layout.
fn over(memory: &Storage, random: &mut Random, dtype: DType, layout: &Layout) -> Result<Storage, Error> {
    let needed = layout.span().end;
    let offset = random.below(memory.nbytes() - needed * dtype.width() + 1);
    let offset = if random.below(2) == 0 { offset / 16 * 16 } else { offset };
    memory.reinterpret(dtype, offset, needed)
}

/// The elements of a tensor in a storage of their own, converted one by one.
fn model_elements(storage: &Storage, layout: &Layout, dtype: DType) -> Result<Storage, Error> {
    let places = elements(layout);
    let read = Storage::zeroed(dtype, places.len())?;
    for (index, place) in places.iter().enumerate() {
        read.copy_range(index, storage, place.unsigned_abs(), 1)?;
    }
    Ok(read)
}

/// Writes the elements of `read` to the places of a tensor, one by one.
fn model_write(storage: &Storage, layout: &Layout, read: &Storage) -> Outcome {
    elements(layout).iter().enumerate().try_for_each(|(index, place)| storage.copy_range(place.unsigned_abs(), read, index, 1))
}

/// Copies between two random tensors over one or two memories, and expects what the model makes of them.
fn check_copy(random: &mut Random, sizes: &[usize], others: &[usize], shared: bool) -> Outcome {
    let (to, from) = (random.pick(DType::ALL), random.pick(DType::ALL));
    let to = if random.below(3) == 0 { from } else { to };
    let (target_layout, source_layout) = (random.layout(sizes), random.layout(others));
    let room = 16 * (target_layout.span().end.max(source_layout.span().end) + 3);
    let here = memory(random, room)?;
    let there = if shared { here.view(0, here.size())? } else { memory(random, room)? };
    let (target, source) = (over(&here, random, to, &target_layout)?, over(&there, random, from, &source_layout)?);
    let before = Storage::from_bytes(DType::Byte, &bytes(&here))?;
    let read = model_elements(&source, &source_layout, to)?;
    Tensor::new(&target, &target_layout).copy_from(&Tensor::new(&source, &source_layout))?;
    let offset = target.data().addr() - here.data().addr();
    model_write(&before.reinterpret(to, offset, target.size())?, &target_layout, &read)?;
    assert!(
        bytes(&here) == bytes(&before),
        "{from:?} {source_layout:?} to {to:?} {target_layout:?}, shared: {shared}, at {offset}"
    );
    Ok(())
}

#[test]
fn a_hundred_thousand_random_copies_are_those_of_the_model() -> Outcome {
    let mut random = Random(77);
    for number in 0..100_000 {
        let sizes = random.sizes();
        let others = if random.below(3) == 0 { super::model::other_sizes(&mut random, &sizes) } else { sizes.clone() };
        check_copy(&mut random, &sizes, &others, number % 4 == 0)?;
    }
    Ok(())
}

#[test]
fn copies_with_long_dimensions_are_those_of_the_model() -> Outcome {
    let mut random = Random(78);
    for number in 0..1500 {
        let long = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 130, 300, 700];
        let mut sizes: Vec<usize> = Vec::new();
        while sizes.iter().product::<usize>() < 1500 && sizes.len() < 4 {
            sizes.push(random.pick(&long));
        }
        let others = if random.below(4) == 0 { sizes.iter().rev().copied().collect() } else { sizes.clone() };
        check_copy(&mut random, &sizes, &others, number % 5 == 0)?;
    }
    Ok(())
}

#[test]
fn copies_with_many_dimensions_are_those_of_the_model() -> Outcome {
    let mut random = Random(79);
    for number in 0..100 {
        check_copy(&mut random, &[2; 12], &[2; 12], number % 2 == 0)?;
        check_copy(&mut random, &[2; 12], &[4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2], number % 2 == 0)?;
    }
    Ok(())
}

#[test]
fn fills_and_comparisons_are_those_of_the_model() -> Outcome {
    let mut random = Random(79);
    for number in 0..20_000 {
        let sizes = if number % 20 == 0 { vec![random.below(70), 1 + random.below(90)] } else { random.sizes() };
        let dtype = random.pick(DType::ALL);
        let (layout, other) = (random.layout(&sizes), random.layout(&sizes));
        let room = 16 * (layout.span().end.max(other.span().end) + 3);
        let here = memory(&mut random, room)?;
        let target = over(&here, &mut random, dtype, &layout)?;
        let before = Storage::from_bytes(DType::Byte, &bytes(&here))?;
        let model = before.reinterpret(dtype, target.data().addr() - here.data().addr(), target.size())?;
        let value = random.pick(&[Scalar::Float(-2.5), Scalar::Unsigned(u64::MAX), Scalar::Complex(1.5, 2.0), Scalar::Signed(0)]);
        Tensor::new(&target, &layout).fill(value)?;
        elements(&layout).iter().try_for_each(|place| model.set(place.unsigned_abs(), value).map(|_| ()))?;
        assert!(bytes(&here) == bytes(&before), "{dtype:?} {layout:?} {value:?}");
        // Equal copies, and copies with one element that differs.
        let there = memory(&mut random, room)?;
        let copied = over(&there, &mut random, dtype, &other)?;
        let (left, right) = (Tensor::new(&target, &layout), Tensor::new(&copied, &other));
        right.copy_from(&left)?;
        if number % 2 == 0 && other.elements() > 0 {
            let places = elements(&other);
            copied.set(random.pick(&places).unsigned_abs(), Scalar::Float(7.0))?;
        }
        let expected = model_elements(&target, &layout, dtype)?.equals(&model_elements(&copied, &other, dtype)?);
        assert_eq!(left.equals(&right)?, expected, "{dtype:?} {layout:?} {other:?}");
    }
    Ok(())
}

#[test]
fn a_range_of_the_elements_is_done_alone() -> Outcome {
    let mut random = Random(80);
    for _ in 0..5000 {
        let sizes = random.sizes();
        let (to, from) = (random.layout(&sizes), random.layout(&sizes));
        let size = to.elements();
        let first = random.below(size + 1);
        let range = first..first + random.below(size - first + 1);
        let source = memory(&mut random, from.span().end)?;
        let (target, model) = (Storage::zeroed(DType::Short, to.span().end)?, Storage::zeroed(DType::Short, to.span().end)?);
        let (here, there) = (Tensor::new(&target, &to), Tensor::new(&source, &from));
        let copied = here.copy_range(&there, range.clone());
        let (places, read) = (elements(&to), model_elements(&source, &from, DType::Short)?);
        for index in range.clone() {
            model.copy_range(places[index].unsigned_abs(), &read, index, 1)?;
        }
        copied?;
        assert!(target.equals(&model), "{range:?} of {to:?} from {from:?}");
        here.fill_range(range.clone(), Scalar::Signed(-3))?;
        range.clone().try_for_each(|index| model.set(places[index].unsigned_abs(), Scalar::Signed(-3)).map(|_| ()))?;
        assert!(target.equals(&model), "{range:?} of {to:?}");
        assert!(here.equals_range(&here, range)?);
    }
    Ok(())
}

#[test]
fn a_copy_of_a_tensor_is_contiguous() -> Outcome {
    let mut random = Random(81);
    for _ in 0..2000 {
        let sizes = random.sizes();
        let layout = random.layout(&sizes);
        let (from, to) = (random.pick(DType::ALL), random.pick(DType::ALL));
        let source = Storage::from_bytes(from, &bytes(&memory(&mut random, layout.span().end * from.width())?))?;
        let copy = Tensor::new(&source, &layout).to_storage(to)?;
        assert_eq!(bytes(&copy), bytes(&model_elements(&source, &layout, to)?), "{from:?} {layout:?} to {to:?}");
    }
    let one = Storage::zeroed(DType::Double, 1)?;
    let huge = Layout::strided(0, &[1 << 31, 1 << 31], &[0, 0])?;
    assert!(matches!(Tensor::new(&one, &huge).to_storage(DType::Double), Err(Error::TooLarge { .. })));
    Ok(())
}

#[test]
fn a_contiguous_tensor_is_a_range_of_its_storage() -> Outcome {
    let storage = Storage::zeroed(DType::Int, 12)?;
    let x = Layout::contiguous(&[3, 4])?;
    let range = |layout: &Layout| Tensor::new(&storage, layout).contiguous_range().map_err(|error| error.to_string());
    assert_eq!(range(&x), Ok(0..12));
    assert_eq!(range(&x.narrow(0, 1, 2)?), Ok(4..12));
    assert_eq!(range(&x.narrow(1, 2, 1)?.narrow(0, 2, 1)?), Ok(10..11));
    assert_eq!(range(&x.narrow(0, 1, 0)?.transpose(0, 1)?), Ok(0..0));
    assert_eq!(
        range(&x.transpose(0, 1)?),
        Err("the elements of the tensor of 4 x 3 with strides 1, 4 do not lie side by side; x:contiguous() is a tensor whose elements do"
            .to_owned())
    );
    storage.resize(11, StateId::of_this_thread())?;
    assert_eq!(range(&x.narrow(0, 0, 2)?), Ok(0..8));
    assert_eq!(
        range(&x),
        Err("the tensor of 3 x 4 with strides 4, 1 uses elements 1 to 12 of its storage, which has 11".to_owned())
    );
    Ok(())
}

#[test]
fn nothing_changes_on_an_error() -> Outcome {
    let text = |result: Outcome| result.map_or_else(|error| error.to_string(), |()| "no error".to_owned());
    let storage = Storage::from_bytes(DType::Byte, &[1, 2, 3, 4, 5, 6])?;
    let (layout, fewer) = (Layout::contiguous(&[2, 3])?, Layout::contiguous(&[5])?);
    let x = Tensor::new(&storage, &layout);
    let other = Storage::zeroed(DType::Byte, 6)?;
    assert_eq!(
        text(Tensor::new(&other, &fewer).copy_from(&x)),
        "a copy needs as many elements on both sides: the target of 5 has 5, and the source of 2 x 3 has 6"
    );
    storage.resize(5, StateId::of_this_thread())?;
    let shrank = "the tensor of 2 x 3 with strides 3, 1 uses elements 1 to 6 of its storage, which has 5";
    let there = Tensor::new(&other, &layout);
    assert_eq!(text(x.fill(Scalar::Signed(9))), shrank);
    assert_eq!(text(x.copy_from(&there)), shrank);
    assert_eq!(text(there.copy_from(&x)), shrank);
    assert_eq!(text(x.equals(&there).map(|_| ())), shrank);
    assert_eq!(text(there.equals(&x).map(|_| ())), shrank);
    assert_eq!(text(x.to_storage(DType::Float).map(|_| ())), shrank);
    assert_eq!((bytes(&storage), bytes(&other)), (vec![1, 2, 3, 4, 5], vec![0; 6]));
    let constant = [7_u8; 6];
    // SAFETY: [vouched] the array outlives the storage.
    let read_only = unsafe { Storage::foreign_read_only(DType::Byte, constant.as_ptr(), 6, None) }?;
    let fixed = Tensor::new(&read_only, &layout);
    assert!(matches!(fixed.fill(Scalar::Signed(9)), Err(Error::ReadOnly { .. })));
    assert!(matches!(fixed.copy_from(&there), Err(Error::ReadOnly { .. })));
    there.copy_from(&fixed)?;
    assert!(there.equals(&fixed)?);
    Ok(())
}

#[test]
fn tensors_that_take_turns_are_disjoint() -> Outcome {
    let image = Storage::zeroed(DType::Byte, 300)?;
    let whole = Layout::contiguous(&[10, 10, 3])?;
    let (red, blue) = (whole.select(2, 0)?, whole.select(2, 2)?);
    let disjoint = |one: &Layout, other: &Layout| Tensor::new(&image, one).is_disjoint(&Tensor::new(&image, other));
    assert!(disjoint(&red, &blue) && disjoint(&whole.select(0, 1)?, &whole.select(0, 2)?));
    assert!(!disjoint(&red, &red) && !disjoint(&whole, &red) && !disjoint(&whole.select(0, 0)?, &whole.select(1, 0)?));
    Ok(())
}

/// The number of an element, which is its value.
fn number_at(index: usize) -> f64 {
    f64::from(u32::try_from(index).unwrap_or(0))
}

/// Large enough for several threads, and for stores that go past the caches.
#[test]
fn large_transposes_are_done_by_several_threads() -> Outcome {
    bulk::set_threads(3);
    for (rows, cols) in [(1600, 2048), (2001, 1613)] {
        let numbers: Vec<u8> = (0..rows * cols).flat_map(|number| number_at(number).to_ne_bytes()).collect();
        let source = Storage::from_bytes(DType::Double, &numbers)?;
        let layout = Layout::contiguous(&[rows, cols])?.transpose(0, 1)?;
        for dtype in [DType::Double, DType::Float, DType::Long, DType::ComplexDouble] {
            let turned = Tensor::new(&source, &layout).to_storage(dtype)?;
            let mut number = 0;
            each_index(&[cols, rows], |indices| {
                assert_eq!(turned.get(number), Some(number_at(indices[1] * cols + indices[0])), "{dtype:?} {indices:?}");
                number += 1;
            });
        }
        for first in [1, 3, 7] {
            // The lines of the caches begin at another column of each tensor.
            let (room, dense) = (Storage::zeroed(DType::Double, rows * cols + 7)?, Layout::contiguous(&[cols, rows])?);
            let target = Layout::strided(first, dense.sizes(), dense.strides())?;
            Tensor::new(&room, &target).copy_from(&Tensor::new(&source, &layout))?;
            assert!((0..rows * cols).all(|n| room.get(first + n) == Some(number_at(n % rows * cols + n / rows))), "{first}");
            assert!((0..first).chain(first + rows * cols..room.size()).all(|n| room.get(n) == Some(0.0)));
        }
        let back = Storage::zeroed(DType::Double, rows * cols + 2)?;
        let shifted = Layout::strided(1, layout.sizes(), layout.strides())?;
        Tensor::new(&back, &shifted).copy_from(&Tensor::new(&source, &layout))?;
        assert!(back.view(1, rows * cols)?.equals(&source));
        Tensor::new(&back, &shifted.narrow(0, 0, 700)?).fill(Scalar::Float(-1.0))?;
        assert!((0..rows * cols).all(|n| back.get(n + 1) == Some(if n % cols < 700 { -1.0 } else { number_at(n) })));
    }
    bulk::set_threads(0);
    Ok(())
}
