---@meta _
-- Types and documentation of tensors, for editors (LuaCATS). docs/api-tensors.md is made from this file by tools/api.lua, and the
-- rest of the interface is in meta.lua. The file holds declarations only: the library never loads it.
-- luacheck: ignore 212 241

---@class torch
local torch = {}

-- Tensors -------------------------------------------------------------------------------------------------------------

-- [dtypes: tensor class names] written by tools/dtypes.lua from the list of dtypes

---The name of one of the classes of tensors.
---@alias torch.tensorclassname
---| 'torch.ByteTensor' # Tensors over a `torch.ByteStorage`.
---| 'torch.CharTensor' # Tensors over a `torch.CharStorage`.
---| 'torch.ShortTensor' # Tensors over a `torch.ShortStorage`.
---| 'torch.IntTensor' # Tensors over a `torch.IntStorage`.
---| 'torch.LongTensor' # Tensors over a `torch.LongStorage`.
---| 'torch.HalfTensor' # Tensors over a `torch.HalfStorage`.
---| 'torch.FloatTensor' # Tensors over a `torch.FloatStorage`.
---| 'torch.DoubleTensor' # Tensors over a `torch.DoubleStorage`.
---| 'torch.UInt16Tensor' # Tensors over a `torch.UInt16Storage`.
---| 'torch.UInt32Tensor' # Tensors over a `torch.UInt32Storage`.
---| 'torch.UInt64Tensor' # Tensors over a `torch.UInt64Storage`.
---| 'torch.BFloat16Tensor' # Tensors over a `torch.BFloat16Storage`.
---| 'torch.BoolTensor' # Tensors over a `torch.BoolStorage`.
---| 'torch.Float8_e4m3fnTensor' # Tensors over a `torch.Float8_e4m3fnStorage`.
---| 'torch.Float8_e5m2Tensor' # Tensors over a `torch.Float8_e5m2Storage`.
---| 'torch.Float8_e4m3fnuzTensor' # Tensors over a `torch.Float8_e4m3fnuzStorage`.
---| 'torch.Float8_e5m2fnuzTensor' # Tensors over a `torch.Float8_e5m2fnuzStorage`.
---| 'torch.ComplexFloatTensor' # Tensors over a `torch.ComplexFloatStorage`.
---| 'torch.ComplexDoubleTensor' # Tensors over a `torch.ComplexDoubleStorage`.

-- [end dtypes: tensor class names]

---A class of tensors, wherever a method of a tensor takes one: its name, with or without `torch.`; the name of the storage
---class with the same elements; PyTorch's name of the element type, such as `'float32'`; or the class itself, such as
---`torch.FloatTensor`.
---@alias torch.tensorclass torch.tensorclassname|torch.Tensor|torch.class

---Sizes, one for each dimension, wherever a method takes them: as so many numbers, as one table, or as one LongStorage. At
---most 64 dimensions. 0 is a size like any other. Numbers are truncated toward zero. Differs from Torch7: a size of 0 cut
---off the dimensions behind it, and tables were refused.
---@alias torch.sizes torch.number|torch.list

---Numbers in a table or a LongStorage.
---@alias torch.list torch.number[]|torch.LongStorage

---The constructors, methods and operators that all classes of tensors share. A tensor is a storage with a shape: it has an
---offset in the storage, and for each dimension a size and a stride. docs/tensors.md explains it with pictures. Its sums and
---searches are on a page of their own: docs/api-answers.md.
---
---Sizes, strides and offsets count elements. Indices and dimensions count from 1. A dimension may also be negative: -1 is
---the last one. A stride is the distance in the storage from one index of a dimension to the next. It may be 0 or negative.
---
---A tensor holds its storage, so the storage lives as long as the tensor. Every access checks that the storage still has
---the element: if the storage was made smaller, an access to an element that it lost is an error.
---
---`x[i]` is the view of index `i` of the first dimension, or the element if there is only one dimension. `x[{...}]` has an
---entry for each of the first dimensions: a number selects an index, so that the dimension is not in the result; `{a, b}`
---is the range from `a` to `b`; `{a}` is the range of one index; `{}` is all of them. Dimensions without an entry are kept.
---If every dimension has a number, the result is the element. `x[torch.LongStorage{i, j}]` is an element too. In all three
---forms a negative index counts from the end. On the left of `=` the same keys set the elements to a number, or copy those
---of a tensor with as many elements. A key that selects one element by a table or a LongStorage takes only a number. Any
---other key is the name of a method, or nil, and cannot be written. Errors: an index that is out of range; a range that
---ends before it begins; more entries than dimensions. Differs from Torch7: there an entry that is neither a number nor a
---range was taken for `{}`, and a third number in a range was ignored.
---
---`#x` gives the sizes, as a LongStorage. `a == b` says whether both are the same object, `isSetTo` whether they show the same
---elements of one storage, and `equal` whether their elements agree. `tostring(x)` and `print(x)` give the text of Torch7;
---above the `threshold` of `torch.setprintoptions` they show the edges of each dimension. Arithmetic is an error.
---
---Every class of tensors is called in the same ways to make a tensor:
---
---`()`: one dimension of size 0, without a storage to show.
---
---`(sizes)`: zeros of these sizes in a new storage; see `torch.sizes`. A LongTensor takes a single LongStorage as its
---elements, not as sizes. In Torch7 new elements were not initialised.
---
---`(sizes, strides)`: zeros with these strides, in a new storage that is as large as they need. The sizes are a
---LongStorage; the strides are a LongStorage or a table.
---
---`(rows)`: the numbers of a nested table. Each level is a dimension. It is an error if rows have different sizes, or if
---anything is not a number, and the error gives its position. A complex number is an FFI complex value or a table `{re=,
---im=}`, because `{a, b}` is a row.
---
---`(storage, offset, sizes, strides)`: a tensor over a storage of the same class. Its first element is element `offset` of
---the storage (default 1). Sizes and strides are tables or LongStorages. Without sizes it has one dimension, to the end of
---the storage. Without strides its elements follow each other. It is an error if the storage does not have an element; in
---Torch7 the storage grew. In Torch7 a negative stride stood for the contiguous one, and without sizes there was no
---dimension.
---
---`(storage, offset, size1, stride1, size2, stride2, ...)`: the same, with a stride after each size. After the last size it
---may be left out: it is 1 then.
---
---`(tensor)`: another tensor of the same class that shows the same elements.
---
---`s:view(sizes)` of a storage makes a tensor over all its elements, too.
---```lua
---local zeros, rows = torch.IntTensor(2, 3), torch.IntTensor { { 1, 2 }, { 3, 4 } }
---local s = torch.IntStorage { 10, 20, 30, 40, 50, 60 }
---local part = torch.IntTensor(s, 2, { 2, 2 }) -- 20 and 30, 40 and 50
---local turned = torch.IntTensor(s, 1, { 3, 2 }, { 1, 3 }) -- 10 and 40, 20 and 50, 30 and 60
---print(zeros:nElement(), rows:get(2, 1), part:get(2, 2), turned:get(3, 2)) --> 6	3	50	60
---```
---Indexing:
---```lua
---local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
---print(x:size(1), x:size(2), x[{ 2, 3 }]) --> 2	3	6
---local column = x[{ {}, 2 }]
---column[1] = 20 -- a view: x has changed too
---print(x:get(1, 2), column:stride(1)) --> 20	3
---```
---@class torch.Tensor
---@field [integer] number|torch.Tensor
---@operator len: torch.LongStorage
local Tensor = {}

-- Sizes and strides ---------------------------------------------------------------------------------------------------

---The number of dimensions. A scalar has 0. Origin: Torch7. Differs from Torch7: there `torch.FloatTensor()` had no
---dimension, and there were no scalars.
---```lua
---local x = torch.FloatTensor(2, 3)
---print(x:dim(), x[1]:dim(), torch.FloatTensor({ 7 }):view():dim()) --> 2	1	0
---```
---@return integer
function Tensor:dim() end

---The same as `dim`. Origin: Torch7.
---```lua
---print(torch.ByteTensor(480, 640, 3):nDimension()) --> 3
---```
---@return integer
function Tensor:nDimension() end

---The size of dimension `d`, or the sizes of all dimensions as a new LongStorage, the same as `#x`. Errors: a dimension
---that is out of range. Origin: Torch7, without negative dimensions.
---```lua
---local x = torch.FloatTensor(2, 3)
---print(x:size(1), x:size(-1), x:size():unpack()) --> 2	3	2	3
---```
---@param d? torch.number dimension, from 1, or from -1 for the last one
---@return torch.LongStorage | integer elements
function Tensor:size(d) end

---The stride of dimension `d`, or the strides of all dimensions as a new LongStorage. Errors: those of `size`. Origin:
---Torch7, without negative dimensions.
---```lua
---local x = torch.FloatTensor(2, 3)
---print(x:stride():unpack()) --> 3	1
---print(x:t():stride():unpack()) --> 1	3
---```
---@param d? torch.number dimension, as for `size`
---@return torch.LongStorage | integer elements
function Tensor:stride(d) end

---The number of elements: the product of the sizes. Origin: Torch7.
---```lua
---print(torch.FloatTensor(2, 3):nElement(), torch.FloatTensor(2, 0):nElement())
-----> 6	0
---```
---@return integer elements
function Tensor:nElement() end

---The same as `nElement`. Origin: PyTorch.
---```lua
---local x = torch.FloatTensor(4, 5)
---print(x:narrow(1, 2, 2):numel(), #x:storage()) --> 10	20
---```
---@return integer elements
function Tensor:numel() end

---The width of an element in bytes. It is a function of the class too: `torch.FloatTensor.elementSize()`. Origin: Torch7.
---```lua
---local x = torch.FloatTensor(4, 5)
---print(x:elementSize(), torch.HalfTensor.elementSize()) --> 4	2
---print(x:stride(1) * x:elementSize()) --> 20
---```
---@return integer bytes
function Tensor.elementSize() end

---The number of bytes that the elements need side by side: `nElement() * elementSize()`. The storage may have fewer, as
---under an expanded tensor, or more. Origin: PyTorch.
---```lua
---local x = torch.FloatTensor(1, 3):expand(100, 3) -- elements of 4 bytes
---print(x:nbytes(), x:storage():nbytes()) --> 1200	12
---```
---@return integer bytes
function Tensor:nbytes() end

---Whether the elements follow each other in the storage in row-major order, with the last index the fastest. The strides of
---dimensions of size 1 do not matter. A tensor without elements is contiguous. Origin: Torch7.
---```lua
---local x = torch.IntTensor(2, 3)
---print(x:isContiguous(), x:t():isContiguous(), x[2]:isContiguous())
-----> true	false	true
---```
---@return boolean
function Tensor:isContiguous() end

---Whether these are the sizes. Origin: Torch7, for a LongStorage.
---```lua
---local x = torch.IntTensor(2, 3)
---print(x:isSize(2, 3), x:isSize { 3, 2 }, x:isSize(x:size())) --> true	false	true
---```
---@param ... torch.sizes
---@return boolean
function Tensor:isSize(...) end

---Whether another tensor, of any class, has the same sizes. Errors: not a tensor. Origin: Torch7, for tensors of the same
---class.
---```lua
---local x = torch.IntTensor(2, 3)
---print(x:isSameSizeAs(torch.FloatTensor(2, 3)), x:isSameSizeAs(x:t())) --> true	false
---```
---@param other torch.Tensor
---@return boolean
function Tensor:isSameSizeAs(other) end

---Whether both tensors show the same elements of the same storage with the same sizes and strides. Errors: not a tensor.
---Origin: Torch7.
---```lua
---local x = torch.IntTensor(2, 3)
---print(x:isSetTo(x:t():t()), x:isSetTo(x:clone())) --> true	false
---```
---@param other torch.Tensor
---@return boolean
function Tensor:isSetTo(other) end

-- Elements ------------------------------------------------------------------------------------------------------------

---The element with these indices, one for each dimension. For a complex class, its real and its imaginary part as two
---numbers, so that nothing is allocated. LuaJIT compiles it up to 4 dimensions. Indices count from 1; negative ones are out
---of range. Errors: an index that is out of range; another number of indices than dimensions; an element that the storage
---does not have any more. Origin: this library.
---```lua
---local x = torch.ShortTensor { { 1, 2 }, { 3, 4 } }
---print(x:get(2, 1), x:view(4):get(2)) --> 3	2
---```
---@param ... torch.number
---@return number element or its real part
---@return number? imaginary
function Tensor:get(...) end

---Sets the element with these indices to the value that follows them, which is converted as in `s[i] = value`. For a
---complex class it also takes both parts. Errors: those of `get`; those of `s[i] = value`; read-only memory. Origin: this
---library. Differs from Torch7: there `x:set(storage, ...)` made the tensor show another storage. Here a constructor makes
---a new tensor, and `set` with a tensor or a storage is an error that says so.
---```lua
---local x = torch.ShortTensor(2, 2):set(1, 2, 7)
---print(x:get(1, 2)) --> 7
---```
---@param ... torch.number|boolean|torch.complex the indices, and then the value
---@return self
function Tensor:set(...) end

---The element with these indices, with all its bits, as `s:exact(i)` of storages gives it. Errors: those of `get`; a
---complex class. Origin: this library.
---```lua
---local ids = torch.LongTensor(2, 2):fill '9007199254740993'
---local copy = torch.LongTensor(2, 2):set(1, 1, ids:exact(2, 2))
---print(copy:decimal(1, 1)) --> 9007199254740993
---```
---@param ... torch.number
---@return number | string | ffi.cdata*
function Tensor:exact(...) end

---The element with these indices as decimal text, as `s:decimal(i)` of storages gives it. Errors: those of `exact`. Origin:
---this library.
---```lua
---print(torch.UInt64Tensor(2, 2):fill(-1):decimal(2, 2)) --> 18446744073709551615
---```
---@param ... torch.number
---@return string
function Tensor:decimal(...) end

-- Views ---------------------------------------------------------------------------------------------------------------
-- None of these copies anything: a change of an element is seen in every tensor on the storage. A read-only storage has read-only
-- tensors. `reshape` and `contiguous` make a copy where no view is possible.

---The same elements in the same row-major order with other sizes. One size may be -1: it is calculated from the others.
---Without sizes it is a scalar, if there is one element. A tensor that is not contiguous has a view too if its elements are
---at constant distances in the new shape; docs/tensors.md has the rule. Errors: a product of sizes that is not the number
---of elements; several sizes of -1, or one that is not determined; a shape that would need a copy. Origin: PyTorch. Differs
---from Torch7: there the tensor had to be contiguous, and a wrong size could let the storage grow.
---
---With a class, the same bytes as elements of that class. Without a change of width this is always possible. Otherwise the
---last size changes: the tensor needs a dimension, and its last stride must be 1. If elements become wider, the last size,
---the number of elements before the first one in the storage and all other strides must be multiples of the ratio. Errors:
---a condition that does not hold. Origin: PyTorch's `view(dtype)`.
---```lua
---local x = torch.FloatTensor(3, 4)
---print(x:view(2, -1):size(2), x:view(-1):size(1), x:view('int16'):size(2))
-----> 6	12	8
---```
---@overload fun(self: torch.Tensor, class: torch.tensorclass): torch.Tensor
---@param ... torch.sizes
---@return self view
function Tensor:view(...) end

---The view with the sizes of another tensor, of any class. Errors: those of `view`; not a tensor. Origin: Torch7, for
---tensors of the same class.
---```lua
---local flat = torch.IntTensor { 1, 2, 3, 4, 5, 6 }
---print(flat:viewAs(torch.FloatTensor(2, 3)):get(2, 1)) --> 4
---```
---@param other torch.Tensor
---@return self view
function Tensor:viewAs(other) end

---The `n` indices of dimension `d` from `i` on. Errors: a range that is not inside; a dimension that is out of range.
---Origin: Torch7. Differs from Torch7: `n` may be 0, and `i` is then at most the size plus 1.
---```lua
---local x = torch.IntTensor { 10, 20, 30, 40 }
---x:narrow(1, 2, 2):fill(0) -- indices 2 and 3
---print(x:storage():unpack()) --> 10	0	0	40
---```
---@param d torch.number dimension
---@param i torch.number first index
---@param n torch.number number of indices
---@return self view
function Tensor:narrow(d, i, n) end

---The indices from `a` to `b` of the first dimension, from `c` to `d` of the second, and so on. A negative index counts
---from the end. Errors: an index that is out of range; a range that ends before it begins; more ranges than dimensions; a
---first index without a last one. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
---print(x:sub(1, 2, 2, -1):size(2)) --> 2
---```
---@param a torch.number
---@param b torch.number
---@param ... torch.number
---@return self view
function Tensor:sub(a, b, ...) end

---Index `i` of dimension `d`, without this dimension. Of a tensor of one dimension, it is the element. Errors: an index or
---a dimension that is out of range. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
---local column = x:select(2, 3)
---print(column:size(1), column:get(2), column:select(1, 1)) --> 2	6	3
---```
---@param d torch.number dimension
---@param i torch.number index
---@return self | number view
function Tensor:select(d, i) end

---Two dimensions exchanged. Errors: a dimension that is out of range. Origin: Torch7.
---```lua
---local x = torch.IntTensor(2, 3, 4)
---print(x:transpose(1, -1):size():unpack()) --> 4	3	2
---```
---@param a torch.number dimension
---@param b torch.number dimension
---@return self view
function Tensor:transpose(a, b) end

---A matrix with its rows and columns exchanged: `transpose(1, 2)`. Errors: not 2 dimensions. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
---print(x:t():size(1), x:t():get(3, 1), x:get(1, 3)) --> 3	3	3
---```
---@return self view
function Tensor:t() end

---The dimensions in another order: dimension `n` of the result is the dimension that is argument `n`. Errors: anything but
---each dimension once. Origin: Torch7.
---```lua
---local image = torch.ByteTensor(480, 640, 3) -- rows, columns, channels
---print(image:permute(3, 1, 2):size():unpack()) --> 3	480	640
---```
---@param ... torch.sizes the dimensions
---@return self view
function Tensor:permute(...) end

---All windows of `size` indices of dimension `d`, one each `step` indices. Dimension `d` counts the windows, of which there
---are `floor((n - size) / step) + 1`, and the indices within a window are a new last dimension. Windows may overlap.
---Errors: a size that is larger than the dimension, or less than 1; a step that is less than 1. Origin: Torch7.
---```lua
---local x = torch.IntStorage({ 1, 2, 3, 4, 5 }):view(5):unfold(1, 3, 1)
---print(x:size(1), x:size(2), x:get(2, 1), x:get(2, 3)) --> 3	3	2	4
---```
---@param d torch.number dimension
---@param size torch.number
---@param step torch.number
---@return self view
function Tensor:unfold(d, size, step) end

---Dimensions of size 1 repeated up to these sizes, without a copy: their stride becomes 0. So a change of an element shows
---in each repetition. Errors: another number of sizes than dimensions; a dimension that has another size and whose size is
---not 1. Origin: Torch7.
---```lua
---local x = torch.IntTensor({ { 1, 2, 3 } }):expand(1000, 3)
---print(x:get(1000, 3), x:stride(1), #x:storage()) --> 3	0	3
---```
---@param ... torch.sizes
---@return self view
function Tensor:expand(...) end

---Expanded to the sizes of another tensor, of any class. Errors: those of `expand`; not a tensor. Origin: Torch7, for
---tensors of the same class.
---```lua
---local column, x = torch.IntTensor { { 1 }, { 2 } }, torch.FloatTensor(2, 4)
---print(column:expandAs(x):get(2, 4)) --> 2
---```
---@param other torch.Tensor
---@return self view
function Tensor:expandAs(other) end

---Without the dimensions of size 1, or without dimension `d` if its size is 1. Where no dimension would be left, it is the
---element. Errors: a dimension that is out of range. Origin: Torch7.
---```lua
---local x = torch.IntTensor(1, 3, 1)
---print(x:squeeze():dim(), x:squeeze(3):dim()) --> 1	2
---print(x:narrow(2, 1, 1):squeeze()) --> 0
---```
---@param d? torch.number dimension
---@return self | number view
function Tensor:squeeze(d) end

---With a new dimension of size 1 before dimension `d`; -1 puts it after the last one. Errors: a dimension that is out of
---range. Origin: PyTorch.
---```lua
---local image = torch.ByteTensor(480, 640)
---print(image:unsqueeze(1):size():unpack()) --> 1	480	640
---print(image:unsqueeze(-1):size():unpack()) --> 480	640	1
---```
---@param d torch.number dimension
---@return self view
function Tensor:unsqueeze(d) end

---A table of views, each with `n` indices of dimension `d`; the last one has those that are left. Errors: an `n` that is
---less than 1; a dimension that is out of range. Origin: Torch7.
---```lua
---for _, batch in ipairs(torch.FloatTensor(10, 4):split(4)) do print(batch:size():unpack()) end
-----> 4	4
-----> 4	4
-----> 2	4
---```
---@param n torch.number indices
---@param d? torch.number dimension; default 1
---@return torch.Tensor[] views
function Tensor:split(n, d) end

---A table of at most `n` views, of which all but the last have the same number of indices of dimension `d`:
---`split(ceil(size / n))`. Errors: a negative `n`; a dimension that is out of range. Origin: Torch7.
---```lua
---local parts = torch.FloatTensor(2, 10):chunk(3, 2)
---print(#parts, parts[1]:size(2), parts[3]:size(2)) --> 3	4	2
---```
---@param n torch.number views
---@param d? torch.number dimension; default 1
---@return torch.Tensor[] views
function Tensor:chunk(n, d) end

---The tensor itself if it is contiguous, otherwise a contiguous copy in a new storage. Errors: a copy of elements that the
---storage does not have any more, or of more elements than a storage may have. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 1, 2 }, { 3, 4 } }
---print(x:t():contiguous():storage():unpack()) --> 1	3	2	4
---print(x:contiguous() == x) --> true
---```
---@return self contiguous
function Tensor:contiguous() end

---The same elements in the same row-major order with other sizes: a view where `view` is possible, otherwise a copy.
---Errors: those of `view`, without a shape that would need a copy. Origin: PyTorch. Differs from Torch7: it always copied,
---so writing to the result never changed the source. `x:clone():view(...)` does the same.
---```lua
---local x = torch.IntTensor(2, 3)
---print(x:reshape(6):storage() == x:storage(), x:t():reshape(6):storage() == x:storage())
-----> true	false
---```
---@param ... torch.sizes
---@return self reshaped
function Tensor:reshape(...) end

-- Contents ------------------------------------------------------------------------------------------------------------

---Sets every element to `value`, which is converted once, as in an assignment. Errors: a value that is not a number;
---read-only memory. Origin: Torch7.
---```lua
---local image = torch.ByteTensor(4, 4)
---image[{ { 2, 3 }, { 2, 3 } }]:fill(255) -- a square of 2 by 2 pixels
---print(image:get(1, 2), image:get(2, 2)) --> 0	255
---```
---@param value torch.number|boolean|torch.complex|number[] a boolean only for a BoolTensor
---@return self
function Tensor:fill(value) end

---Sets every element to zero, like `fill(0)`. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 1, 2 }, { 3, 4 } }
---x[1]:zero()
---print(x:storage():unpack()) --> 0	0	3	4
---```
---@return self
function Tensor:zero() end

---Copies the elements of another tensor, of any class, sizes and strides, converted, in row-major order of both. Where both
---share memory, the elements are copied as they were before. Errors: another number of elements; not a tensor; read-only
---memory. Origin: Torch7. Differs from Torch7: overlapping elements were copied twice there.
---```lua
---local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
---local y = torch.ShortTensor(3, 2):copy(x:t())
---print(y:storage():unpack()) --> 1	4	2	5	3	6
---```
---@param other torch.Tensor
---@return self
function Tensor:copy(other) end

---A contiguous tensor of the same class and sizes with the same elements, in a new storage. Errors: more elements than a
---storage may have, as in a large expanded tensor. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 1, 2 }, { 3, 4 } }
---local row = x[2]:clone():fill(0)
---print(x:get(2, 1), #row:storage()) --> 3	2
---```
---@return self copy
function Tensor:clone() end

---Whether class, sizes and every element agree. NaN is not equal to itself, and -0 is equal to 0. Errors: `other` is not a
---tensor. Origin: Torch7. Differs from Torch7: tensors of different classes are not equal; there they were an error.
---```lua
---local x = torch.IntTensor { { 1, 2 }, { 3, 4 } }
---print(x:t():equal(torch.IntTensor { { 1, 3 }, { 2, 4 } }), x:equal(x:float()))
-----> true	false
---```
---@param other torch.Tensor
---@return boolean
function Tensor:equal(other) end

---The elements as nested tables, one level for each dimension. A scalar gives its number. Origin: Torch7.
---```lua
---local rows = torch.IntStorage({ 1, 2, 3, 4, 5, 6 }):view(2, 3):totable()
---print(rows[2][3]) --> 6
---```
---@return table | number
function Tensor:totable() end

---Without an argument, the name of the class. With a class, the tensor itself if it has that class already, otherwise a
---contiguous converted copy. Errors: an unknown class. Origin: Torch7.
---```lua
---local x = torch.DoubleTensor { { 1.75, -1 } }
---print(x:type(), x:type('torch.ByteTensor'):get(1, 2), x:type('float32'):type())
-----> torch.DoubleTensor	255	torch.FloatTensor
---```
---@overload fun(self: torch.Tensor): torch.tensorclassname
---@param class torch.tensorclass
---@return torch.Tensor
function Tensor:type(class) end

---Converted to the class of another tensor, like `x:type(other:type())`. Errors: not a tensor. Origin: Torch7.
---```lua
---local x, mask = torch.FloatTensor { 0.5, 1.5 }, torch.ByteTensor(2)
---print(x:typeAs(mask):storage():unpack()) --> 0	1
---```
---@param other torch.Tensor
---@return torch.Tensor
function Tensor:typeAs(other) end

---The bytes of the elements as a string. Errors: a tensor that is not contiguous. Origin: this library, as for storages.
---```lua
---local x = torch.ByteTensor { { 76, 117 }, { 97, 33 } }
---print(x:string(), x[2]:string()) --> Lua!	a!
---```
---@return string
function Tensor:string() end

-- Conversions ---------------------------------------------------------------------------------------------------------
-- There is a method for every class: the elements converted to that class as a contiguous tensor, or the tensor itself if it is
-- one already. docs/numbers.md has the rules. The methods come from Torch7 and PyTorch.

-- [dtypes: tensor conversions] written by tools/dtypes.lua from the list of dtypes

---The same as `x:type('torch.ByteTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:byte():storage():unpack()) --> 2	255	200
---```
---@return torch.ByteTensor
function Tensor:byte() end

---The same as `x:type('torch.CharTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:char():storage():unpack()) --> 2	-1	-56
---```
---@return torch.CharTensor
function Tensor:char() end

---The same as `x:type('torch.ShortTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:short():storage():unpack()) --> 2	-1	200
---```
---@return torch.ShortTensor
function Tensor:short() end

---The same as `x:type('torch.IntTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:int():storage():unpack()) --> 2	-1	200
---```
---@return torch.IntTensor
function Tensor:int() end

---The same as `x:type('torch.LongTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:long():storage():unpack()) --> 2	-1	200
---```
---@return torch.LongTensor
function Tensor:long() end

---The same as `x:type('torch.HalfTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:half():storage():unpack()) --> 2.75	-1.5	200
---```
---@return torch.HalfTensor
function Tensor:half() end

---The same as `x:type('torch.FloatTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:float():storage():unpack()) --> 2.75	-1.5	200
---```
---@return torch.FloatTensor
function Tensor:float() end

---The same as `x:type('torch.DoubleTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:double():storage():unpack()) --> 2.75	-1.5	200
---```
---@return torch.DoubleTensor
function Tensor:double() end

---The same as `x:type('torch.UInt16Tensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:uint16():storage():unpack()) --> 2	65535	200
---```
---@return torch.UInt16Tensor
function Tensor:uint16() end

---The same as `x:type('torch.UInt32Tensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:uint32():storage():unpack()) --> 2	4294967295	200
---```
---@return torch.UInt32Tensor
function Tensor:uint32() end

---The same as `x:type('torch.UInt64Tensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:uint64():decimal(1, 2)) --> 18446744073709551615
---```
---@return torch.UInt64Tensor
function Tensor:uint64() end

---The same as `x:type('torch.BFloat16Tensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:bfloat16():storage():unpack()) --> 2.75	-1.5	200
---```
---@return torch.BFloat16Tensor
function Tensor:bfloat16() end

---The same as `x:type('torch.BoolTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:bool():storage():unpack()) --> 1	1	1
---```
---@return torch.BoolTensor
function Tensor:bool() end

---The same as `x:type('torch.Float8_e4m3fnTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:float8_e4m3fn():storage():unpack()) --> 2.75	-1.5	192
---```
---@return torch.Float8_e4m3fnTensor
function Tensor:float8_e4m3fn() end

---The same as `x:type('torch.Float8_e5m2Tensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:float8_e5m2():storage():unpack()) --> 3	-1.5	192
---```
---@return torch.Float8_e5m2Tensor
function Tensor:float8_e5m2() end

---The same as `x:type('torch.Float8_e4m3fnuzTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:float8_e4m3fnuz():storage():unpack()) --> 2.75	-1.5	192
---```
---@return torch.Float8_e4m3fnuzTensor
function Tensor:float8_e4m3fnuz() end

---The same as `x:type('torch.Float8_e5m2fnuzTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:float8_e5m2fnuz():storage():unpack()) --> 3	-1.5	192
---```
---@return torch.Float8_e5m2fnuzTensor
function Tensor:float8_e5m2fnuz() end

---The same as `x:type('torch.ComplexFloatTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:complex_float():get(1, 2)) --> -1.5	0
---```
---@return torch.ComplexFloatTensor
function Tensor:complex_float() end

---The same as `x:type('torch.ComplexDoubleTensor')`.
---```lua
---local x = torch.DoubleTensor { { 2.75, -1.5, 200 } }
---print(x:complex_double():get(1, 2)) --> -1.5	0
---```
---@return torch.ComplexDoubleTensor
function Tensor:complex_double() end

-- [end dtypes: tensor conversions]

-- Storage and memory --------------------------------------------------------------------------------------------------

---The storage, which is the same object for every tensor on it. Methods of memory are methods of the storage: `resize`,
---`pin`, `flush`, `shareMemory`, `filename`. nil for a tensor without elements that was made without a storage. Origin:
---Torch7.
---```lua
---local x = torch.IntTensor(2, 3)
---x:storage()[4] = 7
---print(x:get(2, 1), x[2]:storage() == x:storage()) --> 7	true
---```
---@return torch.Storage?
function Tensor:storage() end

---The index in the storage of the first element, from 1. Origin: Torch7.
---```lua
---local x = torch.IntTensor(3, 4)
---print(x:storageOffset(), x[3]:storageOffset()) --> 1	9
---```
---@return integer
function Tensor:storageOffset() end

---A pointer to the first element, as `s:data()` gives one for storages. The strides say where the others are. Errors: elements
---that the storage does not have any more. Origin: Torch7.
---```lua (LuaJIT)
---local x = torch.FloatTensor { { 0.5, 1.5 }, { 2.5, 3.5 } }
---local row = x[2]:data() -- a float *, indexed from 0
---print(row[0], row[1]) --> 2.5	3.5
---```
---@param asnumber? boolean true: the address as a number
---@return ffi.cdata*|lightuserdata|number
function Tensor:data(asnumber) end

---The address of the first element as a number, or 0 if there are no elements. It does not keep the storage alive. Errors:
---elements that the storage does not have any more. Origin: PyTorch's `data_ptr`.
---```lua
---local x = torch.FloatTensor(3, 4) -- rows of 4 elements of 4 bytes
---print(x[2]:dataptr() - x:dataptr()) --> 16
---```
---@return integer
function Tensor:dataptr() end

---The bytes of the whole storage, as a view without a type: `x:storage():untyped()`. Origin: PyTorch's `untyped_storage`.
---```lua
---local x = torch.ShortTensor(2, 3) -- 6 elements of 2 bytes
---print(#x[2]:untyped()) --> 12
---```
---@return torch.UntypedStorage
function Tensor:untyped() end

---A string that stands for the tensor, its shape and one reference to its storage. `torch.fromToken` takes it, once, in any
---Lua state of this process. Errors: those of `s:token()`; elements that the storage does not have any more. Origin: this
---library.
---```lua
---local token = torch.IntTensor({ { 1, 2 }, { 3, 4 } }):t():token()
---print(torch.fromToken(token):get(1, 2)) --> 3
---```
---@return string token
function Tensor:token() end

---Calls the constructor with the same arguments: `x.new(2, 3)` is a new tensor of the same class. It is called with a
---point. Errors: those of the constructor. Origin: Torch7.
---```lua
---local x = torch.ShortTensor(2, 3)
---print(x.new(4):type(), x.new(x:size()):isSameSizeAs(x)) --> torch.ShortTensor	true
---```
---@param ... any as for the constructor
---@return self new
function Tensor.new(...) end

-- Making, joining and picking -----------------------------------------------------------------------------------------
-- `torch.zeros`, `ones`, `range` and `linspace` make tensors of the default class, which `torch.setdefaulttensortype` sets. The
-- functions of a class, such as `torch.FloatTensor.zeros`, make tensors of that class. Torch7 also resized a tensor that was the
-- first argument, and put the result into it; here that is an error.

---A tensor of zeros of the default class. Errors: no sizes, or wrong ones. Origin: Torch7. Differs from Torch7: 0 is a
---size, and a negative size is an error.
---```lua
---local x = torch.zeros(2, 3)
---print(x:type(), x:size(1), x:size(2), x:get(2, 3)) --> torch.DoubleTensor	2	3	0
---```
---@param ... torch.sizes
---@return torch.Tensor
function torch.zeros(...) end

---The same as `torch.zeros` for this class. It is called with a point.
---```lua
---print(torch.ShortTensor.zeros(2, 3):type()) --> torch.ShortTensor
---```
---@param ... torch.sizes
---@return self
function Tensor.zeros(...) end

---A tensor of ones of the default class. Errors: those of `torch.zeros`. Origin: Torch7.
---```lua
---print(torch.ones(2, 3):get(2, 3)) --> 1
---```
---@param ... torch.sizes
---@return torch.Tensor
function torch.ones(...) end

---The same as `torch.ones` for this class. It is called with a point.
---```lua
---print(torch.IntTensor.ones(3):storage():unpack()) --> 1	1	1
---```
---@param ... torch.sizes
---@return self
function Tensor.ones(...) end

---The numbers `first`, `first + step`, `first + 2 * step` and so on, up to `last` if that is one of them, in a tensor of
---one dimension of the default class. Whole numbers are calculated exactly, others as doubles, and then they are converted
---to the class. Errors: numbers that are not finite; a step of 0, or one that leads away from `last`. Origin: Torch7.
---Differs from Torch7: in a class of integers the three numbers were made integers first.
---```lua
---local x = torch.range(1, 2, 0.25)
---print(x:size(1), x[2], x[5]) --> 5	1.25	2
---```
---@param first torch.number
---@param last torch.number
---@param step? torch.number default 1
---@return torch.Tensor
function torch.range(first, last, step) end

---The same as `torch.range` for this class. It is called with a point.
---```lua
---print(torch.IntTensor.range(10, 1, -3):storage():unpack()) --> 10	7	4	1
---```
---@param first torch.number
---@param last torch.number
---@param step? torch.number default 1
---@return self
function Tensor.range(first, last, step) end

---`n` numbers at equal distances, of which the first is `first` and the last `last`, in a tensor of one dimension of the
---default class. They are calculated as doubles. Errors: numbers that are not finite; one number that would have to be
---both. Origin: Torch7. Differs from Torch7: `n` may be 0, and a class of integers has the numbers of the doubles.
---```lua
---local x = torch.linspace(0, 1, 5)
---print(x[2], x[5]) --> 0.25	1
---```
---@param first torch.number
---@param last torch.number
---@param n? torch.number default 100
---@return torch.Tensor
function torch.linspace(first, last, n) end

---The same as `torch.linspace` for this class. It is called with a point.
---```lua
---print(torch.ByteTensor.linspace(0, 255, 4):storage():unpack()) --> 0	85	170	255
---```
---@param first torch.number
---@param last torch.number
---@param n? torch.number default 100
---@return self
function Tensor.linspace(first, last, n) end

---A new tensor with the elements of all tensors, one after the other along dimension `dim`, by default the last.
---`torch.cat(list, dim)` takes any number of tensors, and `torch.cat(a, b, dim)` two. They have the same class, and the
---same sizes except along `dim`. A dimension that a tensor does not have has size 1 for it, so `torch.cat(a, b, 2)` of two
---tensors of one dimension makes a matrix of two columns. Tensors with a single dimension of size 0 are left out. Storages
---are joined to a new storage.
---
---Errors: an empty list; other classes, or other sizes; a dimension that is not 1 to 64, or as a negative number that of a
---tensor. Origin: Torch7, for tensors.
---```lua
---local a, b = torch.IntTensor { { 1, 2 } }, torch.IntTensor { { 3, 4 } }
---print(torch.cat(a, b, 1):size(1), torch.cat { a, b, a }:size(2)) --> 2	6
---print(torch.cat(torch.IntStorage { 1 }, torch.IntStorage { 2, 3 }):unpack()) --> 1	2	3
---```
---@generic T: torch.Tensor|torch.Storage
---@overload fun(list: (torch.Tensor|torch.Storage)[], dim?: torch.number): torch.Tensor|torch.Storage
---@param a T
---@param b T
---@param dim? torch.number for tensors only
---@return T joined
function torch.cat(a, b, dim) end

---The same as `torch.cat(x, other, dim)`.
---```lua
---print(torch.IntTensor({ 1, 2 }):cat(torch.IntTensor { 3 }):storage():unpack()) --> 1	2	3
---```
---@param other torch.Tensor of the same class
---@param dim? torch.number
---@return self joined
function Tensor:cat(other, dim) end

---A new tensor with the parts of this one that have these indices along dimension `dim`, in the order of the list. An index
---may be there several times. Errors: an index that is out of range (negative ones are); indices that are not a LongTensor
---of one dimension, a LongStorage or a table; a dimension that is out of range. Origin: Torch7, for a LongTensor.
---```lua
---local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
---local y = x:index(2, { 3, 1 })
---print(y:get(1, 1), y:get(1, 2), y:get(2, 1), y:get(2, 2)) --> 3	1	6	4
---```
---@param dim torch.number
---@param indices torch.LongTensor|torch.list
---@return self picked
function Tensor:index(dim, indices) end

---The elements where those of `mask` are not 0, in row-major order, as a new tensor of one dimension. The mask is a
---ByteTensor or a BoolTensor with as many elements, and may have other sizes. Errors: another mask. Origin: Torch7. Differs
---from Torch7: numbers above 1 in the mask were errors.
---```lua
---local x = torch.IntTensor { 5, 6, 7 }
---print(x:maskedSelect(torch.BoolTensor { true, false, true }):storage():unpack()) --> 5	7
---```
---@param mask torch.ByteTensor|torch.BoolTensor
---@return self selected
function Tensor:maskedSelect(mask) end

---Where the elements are not 0: a LongTensor with a row for each of them, in row-major order, and a column for each
---dimension. A row has the indices of the element, from 1. NaN is not 0, and -0 is. Origin: Torch7. Differs from Torch7:
---without such elements it has sizes 0 and the number of dimensions.
---```lua
---local where = torch.IntTensor({ { 0, 3 }, { 5, 0 } }):nonzero()
---print(where:size(1), where:storage():unpack()) --> 2	1	2	2	1
---```
---@return torch.LongTensor places
function Tensor:nonzero() end

---The same as `x:nonzero()`. Errors: not a tensor. Origin: Torch7.
---```lua
---print(torch.nonzero(torch.IntTensor { 0, 3, 0, 5 }):storage():unpack()) --> 2	4
---```
---@param x torch.Tensor
---@return torch.LongTensor places
function torch.nonzero(x) end

---Iterates over the indices and elements, in row-major order: as many indices as the tensor has dimensions, and the
---element. LuaJIT compiles it up to 3 dimensions. Errors while it runs: an element that the storage does not have any more.
---Origin: this library.
---```lua
---for i, j, v in torch.IntTensor({ { 5, 6 }, { 7, 8 } }):iter() do print(i, j, v) end
-----> 1	1	5
-----> 1	2	6
-----> 2	1	7
-----> 2	2	8
---```
---@return fun(): integer?, any, any, any, any
function Tensor:iter() end

-- Classes of tensors --------------------------------------------------------------------------------------------------
-- There is a class of tensors for every class of storages except `torch.UntypedStorage`. All are called in the same ways, which
-- `torch.Tensor` describes. Elements are read, written and converted as in the storage class.

-- [dtypes: tensor classes] written by tools/dtypes.lua from the list of dtypes

---Tensors over a `torch.ByteStorage`.
---Unsigned integers of 8 bits, 0 to 255.
---@class torch.ByteTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.ByteTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.ByteTensor
---@overload fun(rows: table): torch.ByteTensor
---@overload fun(storage: torch.ByteStorage, offset?: torch.number, ...: torch.sizes): torch.ByteTensor
---@overload fun(tensor: torch.ByteTensor): torch.ByteTensor
torch.ByteTensor = {}

---Tensors over a `torch.CharStorage`.
---Signed integers of 8 bits, -128 to 127.
---@class torch.CharTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.CharTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.CharTensor
---@overload fun(rows: table): torch.CharTensor
---@overload fun(storage: torch.CharStorage, offset?: torch.number, ...: torch.sizes): torch.CharTensor
---@overload fun(tensor: torch.CharTensor): torch.CharTensor
torch.CharTensor = {}

---Tensors over a `torch.ShortStorage`.
---Signed integers of 16 bits.
---@class torch.ShortTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.ShortTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.ShortTensor
---@overload fun(rows: table): torch.ShortTensor
---@overload fun(storage: torch.ShortStorage, offset?: torch.number, ...: torch.sizes): torch.ShortTensor
---@overload fun(tensor: torch.ShortTensor): torch.ShortTensor
torch.ShortTensor = {}

---Tensors over a `torch.IntStorage`.
---Signed integers of 32 bits.
---@class torch.IntTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.IntTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.IntTensor
---@overload fun(rows: table): torch.IntTensor
---@overload fun(storage: torch.IntStorage, offset?: torch.number, ...: torch.sizes): torch.IntTensor
---@overload fun(tensor: torch.IntTensor): torch.IntTensor
torch.IntTensor = {}

---Tensors over a `torch.LongStorage`.
---Signed integers of 64 bits on every platform.
---@class torch.LongTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.LongTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.LongTensor
---@overload fun(rows: table): torch.LongTensor
---@overload fun(storage: torch.LongStorage, offset?: torch.number, ...: torch.sizes): torch.LongTensor
---@overload fun(tensor: torch.LongTensor): torch.LongTensor
torch.LongTensor = {}

---Tensors over a `torch.HalfStorage`.
---IEEE 754 half precision (binary16).
---@class torch.HalfTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.HalfTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.HalfTensor
---@overload fun(rows: table): torch.HalfTensor
---@overload fun(storage: torch.HalfStorage, offset?: torch.number, ...: torch.sizes): torch.HalfTensor
---@overload fun(tensor: torch.HalfTensor): torch.HalfTensor
torch.HalfTensor = {}

---Tensors over a `torch.FloatStorage`.
---IEEE 754 single precision (binary32).
---@class torch.FloatTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.FloatTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.FloatTensor
---@overload fun(rows: table): torch.FloatTensor
---@overload fun(storage: torch.FloatStorage, offset?: torch.number, ...: torch.sizes): torch.FloatTensor
---@overload fun(tensor: torch.FloatTensor): torch.FloatTensor
torch.FloatTensor = {}

---Tensors over a `torch.DoubleStorage`.
---IEEE 754 double precision (binary64), which is Lua's own number.
---@class torch.DoubleTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.DoubleTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.DoubleTensor
---@overload fun(rows: table): torch.DoubleTensor
---@overload fun(storage: torch.DoubleStorage, offset?: torch.number, ...: torch.sizes): torch.DoubleTensor
---@overload fun(tensor: torch.DoubleTensor): torch.DoubleTensor
torch.DoubleTensor = {}

---Tensors over a `torch.UInt16Storage`.
---Unsigned integers of 16 bits, 0 to 65535.
---Not in Torch7, and not in `.t7` files.
---@class torch.UInt16Tensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.UInt16Tensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.UInt16Tensor
---@overload fun(rows: table): torch.UInt16Tensor
---@overload fun(storage: torch.UInt16Storage, offset?: torch.number, ...: torch.sizes): torch.UInt16Tensor
---@overload fun(tensor: torch.UInt16Tensor): torch.UInt16Tensor
torch.UInt16Tensor = {}

---Tensors over a `torch.UInt32Storage`.
---Unsigned integers of 32 bits, 0 to 2^32 - 1.
---Not in Torch7, and not in `.t7` files.
---@class torch.UInt32Tensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.UInt32Tensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.UInt32Tensor
---@overload fun(rows: table): torch.UInt32Tensor
---@overload fun(storage: torch.UInt32Storage, offset?: torch.number, ...: torch.sizes): torch.UInt32Tensor
---@overload fun(tensor: torch.UInt32Tensor): torch.UInt32Tensor
torch.UInt32Tensor = {}

---Tensors over a `torch.UInt64Storage`.
---Unsigned integers of 64 bits, 0 to 2^64 - 1.
---Not in Torch7, and not in `.t7` files.
---@class torch.UInt64Tensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.UInt64Tensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.UInt64Tensor
---@overload fun(rows: table): torch.UInt64Tensor
---@overload fun(storage: torch.UInt64Storage, offset?: torch.number, ...: torch.sizes): torch.UInt64Tensor
---@overload fun(tensor: torch.UInt64Tensor): torch.UInt64Tensor
torch.UInt64Tensor = {}

---Tensors over a `torch.BFloat16Storage`.
---bfloat16: the upper 16 bits of a single-precision float.
---Not in Torch7, and not in `.t7` files.
---@class torch.BFloat16Tensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.BFloat16Tensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.BFloat16Tensor
---@overload fun(rows: table): torch.BFloat16Tensor
---@overload fun(storage: torch.BFloat16Storage, offset?: torch.number, ...: torch.sizes): torch.BFloat16Tensor
---@overload fun(tensor: torch.BFloat16Tensor): torch.BFloat16Tensor
torch.BFloat16Tensor = {}

---Tensors over a `torch.BoolStorage`.
---Booleans of one byte: 0 or 1; `true` and `false` can be written.
---Not in Torch7, and not in `.t7` files.
---@class torch.BoolTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.BoolTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.BoolTensor
---@overload fun(rows: table): torch.BoolTensor
---@overload fun(storage: torch.BoolStorage, offset?: torch.number, ...: torch.sizes): torch.BoolTensor
---@overload fun(tensor: torch.BoolTensor): torch.BoolTensor
torch.BoolTensor = {}

---Tensors over a `torch.Float8_e4m3fnStorage`.
---Floats of 8 bits with 3 bits of mantissa, up to 448, without infinity.
---Not in Torch7, and not in `.t7` files.
---@class torch.Float8_e4m3fnTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.Float8_e4m3fnTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.Float8_e4m3fnTensor
---@overload fun(rows: table): torch.Float8_e4m3fnTensor
---@overload fun(storage: torch.Float8_e4m3fnStorage, offset?: torch.number, ...: torch.sizes): torch.Float8_e4m3fnTensor
---@overload fun(tensor: torch.Float8_e4m3fnTensor): torch.Float8_e4m3fnTensor
torch.Float8_e4m3fnTensor = {}

---Tensors over a `torch.Float8_e5m2Storage`.
---Floats of 8 bits with 2 bits of mantissa, up to 57344.
---Not in Torch7, and not in `.t7` files.
---@class torch.Float8_e5m2Tensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.Float8_e5m2Tensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.Float8_e5m2Tensor
---@overload fun(rows: table): torch.Float8_e5m2Tensor
---@overload fun(storage: torch.Float8_e5m2Storage, offset?: torch.number, ...: torch.sizes): torch.Float8_e5m2Tensor
---@overload fun(tensor: torch.Float8_e5m2Tensor): torch.Float8_e5m2Tensor
torch.Float8_e5m2Tensor = {}

---Tensors over a `torch.Float8_e4m3fnuzStorage`.
---Floats of 8 bits with 3 bits of mantissa, up to 240, without infinity or -0.
---Not in Torch7, and not in `.t7` files.
---@class torch.Float8_e4m3fnuzTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.Float8_e4m3fnuzTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.Float8_e4m3fnuzTensor
---@overload fun(rows: table): torch.Float8_e4m3fnuzTensor
---@overload fun(storage: torch.Float8_e4m3fnuzStorage, offset?: torch.number, ...: torch.sizes): torch.Float8_e4m3fnuzTensor
---@overload fun(tensor: torch.Float8_e4m3fnuzTensor): torch.Float8_e4m3fnuzTensor
torch.Float8_e4m3fnuzTensor = {}

---Tensors over a `torch.Float8_e5m2fnuzStorage`.
---Floats of 8 bits with 2 bits of mantissa, up to 57344, without infinity or -0.
---Not in Torch7, and not in `.t7` files.
---@class torch.Float8_e5m2fnuzTensor : torch.Tensor
---@overload fun(...: torch.sizes): torch.Float8_e5m2fnuzTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.Float8_e5m2fnuzTensor
---@overload fun(rows: table): torch.Float8_e5m2fnuzTensor
---@overload fun(storage: torch.Float8_e5m2fnuzStorage, offset?: torch.number, ...: torch.sizes): torch.Float8_e5m2fnuzTensor
---@overload fun(tensor: torch.Float8_e5m2fnuzTensor): torch.Float8_e5m2fnuzTensor
torch.Float8_e5m2fnuzTensor = {}

---Tensors over a `torch.ComplexFloatStorage`.
---Complex numbers: two floats, the real part first.
---Not in Torch7, and not in `.t7` files.
---@class torch.ComplexFloatTensor : torch.Tensor
---@field [integer] torch.complex|torch.Tensor
---@overload fun(...: torch.sizes): torch.ComplexFloatTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.ComplexFloatTensor
---@overload fun(rows: table): torch.ComplexFloatTensor
---@overload fun(storage: torch.ComplexFloatStorage, offset?: torch.number, ...: torch.sizes): torch.ComplexFloatTensor
---@overload fun(tensor: torch.ComplexFloatTensor): torch.ComplexFloatTensor
torch.ComplexFloatTensor = {}

---Tensors over a `torch.ComplexDoubleStorage`.
---Complex numbers: two doubles, the real part first.
---Not in Torch7, and not in `.t7` files.
---@class torch.ComplexDoubleTensor : torch.Tensor
---@field [integer] torch.complex|torch.Tensor
---@overload fun(...: torch.sizes): torch.ComplexDoubleTensor
---@overload fun(sizes: torch.LongStorage, strides: torch.list): torch.ComplexDoubleTensor
---@overload fun(rows: table): torch.ComplexDoubleTensor
---@overload fun(storage: torch.ComplexDoubleStorage, offset?: torch.number, ...: torch.sizes): torch.ComplexDoubleTensor
---@overload fun(tensor: torch.ComplexDoubleTensor): torch.ComplexDoubleTensor
torch.ComplexDoubleTensor = {}

-- [end dtypes: tensor classes]

---The default class of tensors: `torch.DoubleTensor` until `torch.setdefaulttensortype` chooses another. Origin: Torch7.
torch.Tensor = torch.DoubleTensor

return torch
