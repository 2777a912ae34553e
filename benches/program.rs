//! How fast a Rust program accesses the elements of a storage that only it has, and of one that others hold too, next to a `Vec`.
//!
//! `cargo bench --bench program` measures all three in turn, and prints the shortest time of each: nanoseconds for an element of `get` and
//! `set`, microseconds for a call of the others.

#![allow(clippy::cast_precision_loss, reason = "the numbers are small")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use torch_storage::convert::Scalar;
use torch_storage::{DType, Error, Storage};

/// Elements: 1 KB, 64 KB and 8 MB of doubles.
const SIZES: [usize; 3] = [128, 8 << 10, 1 << 20];

/// How often the three are measured in turn.
const ROUNDS: usize = 60;

/// About how many elements one measurement goes through: few enough that other processes seldom interrupt it.
const WORK: usize = 1 << 16;

type Operation<'a> = Box<dyn FnMut() -> Result<(), Error> + 'a>;

/// The shortest time of each operation, which runs `calls` times in a measurement.
fn shortest(calls: usize, operations: &mut [Operation<'_>; 3]) -> Result<[Duration; 3], Error> {
    let mut times = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        for (operation, time) in operations.iter_mut().zip(&mut times) {
            let start = Instant::now();
            for _ in 0..calls {
                operation()?;
            }
            *time = start.elapsed().min(*time);
        }
    }
    Ok(times)
}

/// Measures a `Vec`, a storage that the program has alone, and one that others hold too, and prints a line.
fn compare(name: &str, size: usize, unit: f64, mut operations: [Operation<'_>; 3]) -> Result<(), Error> {
    let calls = (WORK / size).max(1);
    let times = shortest(calls, &mut operations)?;
    let of = |time: Duration| time.as_secs_f64() * unit / calls as f64;
    let [vector, alone, shared] = times.map(of);
    println!("{name:<14} {size:>8} {vector:>10.2} {alone:>10.2} ({:.2}) {shared:>10.2} ({:.2})", alone / vector, shared / vector);
    Ok(())
}

fn main() -> Result<(), Error> {
    println!("{:<14} {:>8} {:>10} {:>10}        {:>10}", "operation", "elements", "Vec", "alone", "shared");
    for size in SIZES {
        let mut vector = vec![1.5f64; size];
        let other_vector = vec![2.5f64; size];
        let floats = vec![1.5f32; size];
        // A view is another user of the memory of a storage.
        let (alone, shared) = (Storage::from_vec(vector.clone()), Storage::from_vec(vector.clone()));
        let (source, shared_source) = (Storage::from_vec(floats.clone()), Storage::from_vec(floats.clone()));
        let other = Storage::from_vec(other_vector.clone());
        let _views = [shared.view(0, 1)?, shared_source.view(0, 1)?];

        let each = |storage: &Storage| {
            let mut sum = 0.0;
            for index in 0..size {
                sum += black_box(storage).get(index).unwrap_or(0.0);
            }
            black_box(sum);
            Ok(())
        };
        let plain = || {
            let mut sum = 0.0;
            for index in 0..size {
                sum += black_box(&other_vector).get(index).copied().unwrap_or(0.0);
            }
            black_box(sum);
            Ok(())
        };
        let per_element = 1e9 / size as f64;
        compare("get", size, per_element, [Box::new(plain), Box::new(|| each(&alone)), Box::new(|| each(&shared))])?;

        let each = |storage: &Storage| {
            for index in 0..size {
                black_box(storage).set(index, Scalar::Float(1.5))?;
            }
            Ok(())
        };
        let plain = || {
            for index in 0..size {
                if let Some(element) = black_box(&mut vector).get_mut(index) {
                    *element = 1.5;
                }
            }
            Ok(())
        };
        compare("set", size, per_element, [Box::new(plain), Box::new(|| each(&alone)), Box::new(|| each(&shared))])?;

        let plain = || {
            black_box(&mut vector).fill(black_box(2.5));
            Ok(())
        };
        let fill = |storage: &Storage| storage.fill(black_box(Scalar::Float(2.5)));
        compare("fill", size, 1e6, [Box::new(plain), Box::new(|| fill(&alone)), Box::new(|| fill(&shared))])?;

        let plain = || {
            black_box(&mut vector).copy_from_slice(black_box(&other_vector));
            Ok(())
        };
        let copy = |storage: &Storage| black_box(storage).copy_from(&other);
        compare("copy", size, 1e6, [Box::new(plain), Box::new(|| copy(&alone)), Box::new(|| copy(&shared))])?;

        let plain = || {
            for (element, &float) in black_box(&mut vector).iter_mut().zip(black_box(&floats)) {
                *element = f64::from(float);
            }
            Ok(())
        };
        compare(
            "copy of floats",
            size,
            1e6,
            [Box::new(plain), Box::new(|| alone.copy_from(&source)), Box::new(|| shared.copy_from(&shared_source))],
        )?;

        let plain = || {
            black_box(black_box(&other_vector).clone());
            Ok(())
        };
        let to_vec = |storage: &Storage| storage.to_vec::<f64>().map(|vector| drop(black_box(vector)));
        compare("to_vec", size, 1e6, [Box::new(plain), Box::new(|| to_vec(&alone)), Box::new(|| to_vec(&shared))])?;

        let plain = || {
            black_box(black_box(&floats).iter().map(|&float| f64::from(float)).collect::<Vec<f64>>());
            Ok(())
        };
        let cast = |storage: &Storage| storage.cast(DType::Double).map(|storage| drop(black_box(storage)));
        compare("cast", size, 1e6, [Box::new(plain), Box::new(|| cast(&source)), Box::new(|| cast(&shared_source))])?;
    }
    Ok(())
}
