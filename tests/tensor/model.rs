//! Random layouts and views, compared with a model that lists the elements of a tensor one by one.

use torch_storage::Error;
use torch_storage::tensor::{Layout, Reshaped};

/// Random numbers that are the same in every run (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }

    /// A number from `-limit` to `limit`.
    pub fn around(&mut self, limit: usize) -> isize {
        self.below(2 * limit + 1).cast_signed() - limit.cast_signed()
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Few small sizes, sometimes with 0 among them.
    pub fn sizes(&mut self) -> Vec<usize> {
        let dimensions = self.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4, 5]);
        let with_zero = self.below(12) == 0;
        let sizes: &[usize] = if with_zero { &[0, 1, 2, 3] } else { &[1, 1, 2, 2, 3, 4, 5, 6] };
        (0..dimensions).map(|_| self.pick(sizes)).collect()
    }

    /// A layout with any strides, whose lowest element is one of the first of the storage. Half of the layouts are permuted and cut
    /// out of contiguous ones.
    pub fn layout(&mut self, sizes: &[usize]) -> Layout {
        let mut strides = vec![0; sizes.len()];
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        if self.below(2) == 0 {
            (0..order.len()).for_each(|place| order.swap(place, self.below(sizes.len())));
        }
        let dense = self.below(4) > 0;
        let mut next = 1;
        for &dimension in order.iter().rev() {
            strides[dimension] = if dense { next } else { self.around(30) };
            next *= sizes[dimension].max(1).cast_signed() + self.pick(&[0, 0, 0, 1]);
            if self.below(8) == 0 {
                strides[dimension] = -strides[dimension];
            }
            if self.below(10) == 0 {
                strides[dimension] = 0;
            }
        }
        let below: isize =
            sizes.iter().zip(&strides).map(|(&size, &stride)| (size.cast_signed() - 1).max(0) * stride.min(0)).sum();
        let offset = below.unsigned_abs() + self.below(3);
        Layout::strided(offset, sizes, &strides).unwrap_or_else(|error| panic_with(&error))
    }
}

/// Ends a test at an error that should not be there.
pub fn panic_with(error: &Error) -> ! {
    unreachable!("{error}")
}

/// Calls `visit` with the indices of every element, in row-major order.
pub fn each_index(sizes: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut indices = vec![0; sizes.len()];
    if sizes.contains(&0) {
        return;
    }
    loop {
        visit(&indices);
        let Some(dimension) = (0..sizes.len()).rev().find(|&dimension| indices[dimension] + 1 < sizes[dimension]) else { return };
        indices[dimension] += 1;
        indices[dimension + 1..].fill(0);
    }
}

/// The elements of the storage that a tensor has, in row-major order of the tensor.
pub fn elements(layout: &Layout) -> Vec<isize> {
    let mut elements = Vec::new();
    each_index(layout.sizes(), |indices| {
        let steps = indices.iter().zip(layout.strides()).map(|(&index, &stride)| index.cast_signed() * stride);
        elements.push(layout.offset().cast_signed() + steps.sum::<isize>());
    });
    elements
}

/// The elements of the storage that a model tensor has: `at` gives the indices in `layout` for indices in the result.
fn elements_by(layout: &Layout, sizes: &[usize], at: impl Fn(&[usize]) -> Vec<usize>) -> Vec<isize> {
    let mut elements = Vec::new();
    each_index(sizes, |indices| {
        elements.push(layout.element(&at(indices)).unwrap_or_else(|error| panic_with(&error)).cast_signed());
    });
    elements
}

/// Whether elements at these places can be a tensor of these sizes: whether each dimension has a stride.
fn has_strides(places: &[isize], sizes: &[usize]) -> bool {
    let mut strides = vec![0; sizes.len()];
    let (mut row, Some(&first)) = (1, places.first()) else { return true };
    for (dimension, &size) in sizes.iter().enumerate().rev() {
        if size > 1 {
            strides[dimension] = places[row] - first;
        }
        row *= size;
    }
    let (mut number, mut all) = (0, true);
    each_index(sizes, |indices| {
        let steps: isize = indices.iter().zip(&strides).map(|(&index, &stride)| index.cast_signed() * stride).sum();
        all &= places[number] == first + steps;
        number += 1;
    });
    all
}

/// Sizes with the same product as `sizes`.
pub fn other_sizes(random: &mut Random, sizes: &[usize]) -> Vec<usize> {
    let mut left: usize = sizes.iter().product();
    if left == 0 {
        let mut sizes: Vec<usize> = (0..1 + random.below(4)).map(|_| random.below(4)).collect();
        let zero = random.below(sizes.len());
        sizes[zero] = 0;
        return sizes;
    }
    let mut others = Vec::new();
    while left > 1 || random.below(4) == 0 {
        let divisors: Vec<usize> = (1..=left).filter(|divisor| left.is_multiple_of(*divisor)).collect();
        let size = random.pick(&divisors);
        others.push(size);
        left /= size;
    }
    others
}

fn check_view(random: &mut Random, layout: &Layout) -> Result<(), Error> {
    let sizes = other_sizes(random, layout.sizes());
    let mut wanted: Vec<i64> = sizes.iter().map(|&size| i64::try_from(size).unwrap_or(0)).collect();
    let others =
        |unknown: usize| sizes.iter().enumerate().filter(|(at, _)| *at != unknown).map(|(_, size)| size).product::<usize>();
    if !wanted.is_empty() && random.below(3) == 0 {
        let unknown = random.below(wanted.len());
        if others(unknown) > 0 {
            wanted[unknown] = -1;
        }
    }
    let places = elements(layout);
    let view = layout.view(&wanted).ok();
    assert_eq!(view.is_some(), has_strides(&places, &sizes), "{layout:?} as {wanted:?}");
    if let Some(view) = &view {
        assert_eq!((view.sizes(), &elements(view)), (sizes.as_slice(), &places), "{layout:?} as {wanted:?}");
    }
    match layout.reshape(&wanted)? {
        Reshaped::View(reshaped) => assert_eq!(Some(reshaped), view),
        Reshaped::Copy(copy) => {
            assert!(view.is_none() && copy.is_contiguous() && copy.offset() == 0);
            assert_eq!(copy.sizes(), sizes);
        }
    }
    Ok(())
}

fn check_dimensions(random: &mut Random, layout: &Layout) -> Result<(), Error> {
    let (sizes, dimensions) = (layout.sizes(), layout.dimensions());
    let mut order: Vec<usize> = (0..dimensions).collect();
    (0..dimensions).for_each(|place| order.swap(place, random.below(dimensions)));
    let permuted = layout.permute(&order)?;
    let new: Vec<usize> = order.iter().map(|&dimension| sizes[dimension]).collect();
    let expected = elements_by(layout, &new, |indices| {
        let mut old = vec![0; dimensions];
        order.iter().zip(indices).for_each(|(&dimension, &index)| old[dimension] = index);
        old
    });
    assert_eq!((permuted.sizes(), elements(&permuted)), (new.as_slice(), expected), "{layout:?} in the order {order:?}");
    let new: Vec<usize> = sizes.iter().map(|&size| if size == 1 { random.below(4) } else { size }).collect();
    let expanded = layout.expand(&new)?;
    let at = |indices: &[usize]| indices.iter().zip(sizes).map(|(&index, &size)| if size == 1 { 0 } else { index }).collect();
    assert_eq!((expanded.sizes(), elements(&expanded)), (new.as_slice(), elements_by(layout, &new, at)), "{layout:?} to {new:?}");
    let squeezed = layout.squeeze()?;
    let new: Vec<usize> = sizes.iter().copied().filter(|&size| size != 1).collect();
    assert_eq!((squeezed.sizes(), elements(&squeezed)), (new.as_slice(), elements(layout)), "{layout:?}");
    let at = random.below(dimensions + 1);
    let unsqueezed = layout.unsqueeze(at)?;
    let mut new = sizes.to_vec();
    new.insert(at, 1);
    assert_eq!((unsqueezed.sizes(), elements(&unsqueezed)), (new.as_slice(), elements(layout)), "{layout:?} at {at}");
    assert_eq!(unsqueezed.squeeze_dimension(at)?, *layout);
    Ok(())
}

fn check_parts(random: &mut Random, layout: &Layout) -> Result<(), Error> {
    let (sizes, dimensions) = (layout.sizes(), layout.dimensions());
    if dimensions == 0 {
        return Ok(());
    }
    let dimension = random.below(dimensions);
    let size = sizes[dimension];
    let first = random.below(size + 1);
    let length = random.below(size - first + 1);
    let mut new = sizes.to_vec();
    new[dimension] = length;
    let moved = |indices: &[usize], by: usize| {
        let mut old = indices.to_vec();
        old[dimension] += by;
        old
    };
    let part = layout.narrow(dimension, first, length)?;
    let expected = elements_by(layout, &new, |indices| moved(indices, first));
    assert_eq!((part.sizes(), elements(&part)), (new.as_slice(), expected), "{layout:?}, {dimension}, {first}, {length}");
    let pieces = layout.split(dimension, 1 + random.below(4))?.collect::<Result<Vec<Layout>, _>>()?;
    let mut begin = 0;
    for piece in &pieces {
        new[dimension] = piece.sizes()[dimension];
        let expected = elements_by(layout, &new, |indices| moved(indices, begin));
        assert_eq!((piece.sizes(), elements(piece)), (new.as_slice(), expected), "{layout:?}, {dimension}");
        begin += piece.sizes()[dimension];
    }
    assert_eq!(begin, size);
    if size == 0 {
        return Ok(());
    }
    let index = random.below(size);
    let selected = layout.select(dimension, index)?;
    let mut new = sizes.to_vec();
    new.remove(dimension);
    let expected = elements_by(layout, &new, |indices| {
        let mut old = indices.to_vec();
        old.insert(dimension, index);
        old
    });
    assert_eq!((selected.sizes(), elements(&selected)), (new.as_slice(), expected), "{layout:?}, {dimension}, {index}");
    let (window, step) = (1 + random.below(size), 1 + random.below(4));
    let windows = layout.unfold(dimension, window, step)?;
    let mut new = sizes.to_vec();
    new[dimension] = (size - window) / step + 1;
    new.push(window);
    let expected = elements_by(layout, &new, |indices| {
        let mut old = indices[..dimensions].to_vec();
        old[dimension] = old[dimension] * step + indices[dimensions];
        old
    });
    assert_eq!((windows.sizes(), elements(&windows)), (new.as_slice(), expected), "{layout:?}, {dimension}, {window}, {step}");
    Ok(())
}

#[test]
fn a_hundred_thousand_random_views_have_the_elements_of_the_model() -> Result<(), Error> {
    let mut random = Random(15);
    for _ in 0..100_000 {
        let sizes = random.sizes();
        let layout = random.layout(&sizes);
        let places = elements(&layout);
        let (lowest, highest) = (places.iter().min(), places.iter().max());
        let span = layout.span();
        assert_eq!(
            (lowest, highest).0.map(|&lowest| lowest.unsigned_abs()),
            (!span.is_empty()).then_some(span.start),
            "{layout:?}"
        );
        assert_eq!(highest.map(|&highest| highest.unsigned_abs() + 1), (!span.is_empty()).then_some(span.end), "{layout:?}");
        assert!(layout.span_in(span.end).is_ok() && (span.end == 0 || layout.span_in(span.end - 1).is_err()));
        let in_order =
            places.iter().enumerate().all(|(number, &place)| place == layout.offset().cast_signed() + number.cast_signed());
        assert_eq!(layout.is_contiguous(), in_order, "{layout:?}");
        check_view(&mut random, &layout)?;
        check_dimensions(&mut random, &layout)?;
        check_parts(&mut random, &layout)?;
    }
    Ok(())
}
