//! Views with another dtype, read-only foreign memory, and locked pages.

use torch_storage::convert::Scalar;
use torch_storage::error::MemoryKind;
use torch_storage::storage::{Anchor, StateId, Storage, usage};
use torch_storage::{DType, Error};

/// Every dtype is tried, but by Miri, which takes long, only every fifth.
const STEP: usize = if cfg!(miri) { 5 } else { 1 };

/// The bits of all elements as `f64`, with the same bits for every NaN.
fn elements(storage: &Storage) -> Vec<u64> {
    let bits = |number: f64| if number.is_nan() { u64::MAX } else { number.to_bits() };
    (0..storage.size()).filter_map(|index| storage.get(index)).map(bits).collect()
}

#[test]
fn every_dtype_can_view_the_bytes_of_every_other() -> Result<(), Error> {
    let bytes: Vec<u8> = (1..=96).collect();
    for &from in DType::ALL.iter().step_by(STEP) {
        for &to in DType::ALL.iter().step_by(STEP) {
            let whole = Storage::from_bytes(from, &bytes)?;
            for offset in 0..9 {
                let view = whole.reinterpret(to, offset, 3)?;
                let expected = Storage::from_bytes(to, &bytes[offset..offset + 3 * to.width()])?;
                assert_eq!(elements(&view), elements(&expected), "{from:?} as {to:?} from {offset}");
                assert_eq!(view.data().addr(), whole.data().addr() + offset);
                assert!(view.is_view() && !view.is_resizable());
            }
            assert!(matches!(whole.reinterpret(to, 96, 1), Err(Error::OutOfRange { .. })));
            assert!(matches!(whole.reinterpret(to, usize::MAX, 0), Err(Error::OutOfRange { .. })));
            assert!(whole.reinterpret(to, 1, usize::MAX / to.width()).is_err());
            assert!(whole.reinterpret(to, 1, usize::MAX).is_err());
            assert_eq!(whole.reinterpret(to, 96, 0)?.size(), 0);
        }
    }
    Ok(())
}

#[test]
fn untyped_bytes_convert_as_numbers() -> Result<(), Error> {
    let bytes: Vec<u8> = (0..=255).collect();
    let untyped = Storage::from_bytes(DType::Untyped, &bytes)?;
    for &dtype in DType::ALL.iter().step_by(STEP) {
        // They convert like `u8`. Different numbers of elements use different kernels.
        let numbers = Storage::from_bytes(DType::Byte, &bytes)?.cast(dtype)?;
        assert_eq!(elements(&untyped.cast(dtype)?), elements(&numbers), "{dtype:?}");
        assert_eq!(elements(&untyped.view(7, 9)?.cast(dtype)?), elements(&numbers.view(7, 9)?));
        // A cast to untyped bytes gives the bytes of the elements.
        let bytes = numbers.cast(DType::Untyped)?;
        assert_eq!(
            (bytes.size(), elements(&bytes)),
            (numbers.nbytes(), elements(&numbers.reinterpret(DType::Byte, 0, numbers.nbytes())?))
        );
        let typed = Storage::zeroed(dtype, 256 / dtype.width())?;
        typed.copy_bytes(&untyped)?;
        assert!(typed.reinterpret(DType::Untyped, 0, 256)?.equals(&untyped));
    }
    assert!(!untyped.equals(&Storage::from_bytes(DType::Byte, &bytes)?));
    Ok(())
}

#[test]
fn read_only_memory_is_never_written() -> Result<(), Error> {
    static BYTES: [u8; 64] = [7; 64];
    let anchor = Anchor { state: StateId::new(std::num::NonZeroUsize::MAX), reference: 5 };
    let before = usage().foreign;
    // SAFETY: [live] a static array lives as long as the program.
    let storage = unsafe { Storage::foreign_read_only(DType::Int, BYTES.as_ptr(), 16, Some(anchor)) }?;
    assert_eq!(usage().foreign, before + 64);
    let views = [storage.view(1, 3)?, storage.reinterpret(DType::Untyped, 1, 63)?, storage.reinterpret(DType::Double, 3, 2)?];
    for one in [&storage].into_iter().chain(&views) {
        let refused = |done: Result<(), Error>| matches!(done, Err(Error::ReadOnly { kind: MemoryKind::ReadOnlyForeign }));
        assert!(one.is_read_only());
        assert!(one.write_limit() == 0.0 && one.read_limit() > 0.0);
        assert!(refused(one.fill(Scalar::Float(1.0))));
        assert!(refused(one.set(0, Scalar::Signed(1)).map(|_| ())));
        assert!(refused(one.byteswap(Some(1))));
        assert!(refused(one.copy_bytes(one)));
        assert!(refused(one.copy_from(one)));
        assert!(refused(one.write_bytes(b"x")));
        assert!(
            one.resize(100, StateId::of_this_thread()).is_err() && one.share_memory(None, StateId::of_this_thread()).is_err()
        );
        assert!(!one.cast(one.dtype())?.is_read_only());
    }
    assert_eq!(storage.release(StateId::of_this_thread()), None); // its views still hold the memory
    let mut views = views.into_iter();
    assert_eq!(views.next().and_then(|view| view.release(StateId::of_this_thread())), None);
    assert_eq!(views.next().and_then(|view| view.release(StateId::of_this_thread())), None);
    assert_eq!(views.next().and_then(|view| view.release(StateId::of_this_thread())), Some(anchor));
    assert_eq!(BYTES, [7; 64]);
    Ok(())
}

#[test]
fn a_view_keeps_its_memory_when_its_parent_moves() -> Result<(), Error> {
    let whole = Storage::from_bytes(DType::Int, &[1i16, 0, 2, 0].map(i16::to_ne_bytes).concat())?;
    let view = whole.reinterpret(DType::Short, 2, 2)?;
    let address = view.data();
    for size in [if cfg!(miri) { 1000 } else { 1_000_000 }, 0, 50] {
        whole.resize(size, StateId::of_this_thread())?;
        whole.fill(Scalar::Float(-1.0))?;
        assert_eq!((view.data(), elements(&view)), (address, [0.0_f64, 2.0].map(f64::to_bits).to_vec()));
    }
    // Miri has no shared memory.
    if cfg!(all(target_os = "linux", not(miri))) {
        whole.share_memory(None, StateId::of_this_thread())?;
        assert_eq!(elements(&view), [0.0_f64, 2.0].map(f64::to_bits));
    }
    Ok(())
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no `mlock`")]
fn pages_stay_locked_until_the_last_storage_in_them_is_dropped() -> Result<(), Error> {
    let (one, other) = (Storage::zeroed(DType::Byte, 64)?, Storage::zeroed(DType::Byte, 64)?);
    match one.pin() {
        // If this process may not lock memory, there is nothing to test.
        Err(Error::Pin { .. }) => return Ok(()),
        done => done?,
    }
    other.pin()?;
    assert!(one.is_pinned() && other.is_pinned() && one.view(3, 5)?.is_pinned());
    let view = one.view(0, 64)?;
    one.resize(1 << 20, StateId::of_this_thread())?;
    assert!(!one.is_pinned() && view.is_pinned());
    one.pin()?;
    one.resize(3 << 20, StateId::of_this_thread())?;
    assert!(!one.is_pinned() && other.is_pinned());
    drop(view);
    assert!(other.is_pinned());
    assert!(Storage::zeroed(DType::Int, 0)?.is_pinned());
    Ok(())
}
