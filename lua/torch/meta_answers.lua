---@meta _
-- Types and documentation of sums, extremes, products and searches, for editors (LuaCATS). docs/api-answers.md is made from this
-- file by tools/api.lua, and the rest of the interface is in meta.lua. The file holds declarations only: the library never
-- loads it.
-- luacheck: ignore 212 241

---@class torch
local torch = {}

---@class torch.Storage
local Storage = {}

---@class torch.Tensor
local Tensor = {}

-- Sums of storages ----------------------------------------------------------------------------------------------------
-- A storage is treated as a tensor of one dimension. Floats are added in double, in pairs, so that rounding errors stay as small
-- as NumPy's. Integers are added exactly, modulo 2^64, and a Bool counts as 0 or 1. The results are the same bit by bit on every
-- processor and with any number of threads. docs/answers.md explains the rules.

---The sum of all elements; 0 if there are none. An integer beyond 2^53 is returned as `exact` returns it. Origin: Torch7, for
---tensors.
---```lua
---print(torch.ByteStorage({ 200, 100 }):sum(), torch.FloatStorage({ 0.5, 0.25 }):sum()) --> 300	0.75
---```
---@return number|torch.complex
function Storage:sum() end

---The mean of all elements. That of integers is the exact sum, divided and rounded once. Errors: no elements. Origin: Torch7, for
---tensors of floats.
---```lua
---print(torch.IntStorage({ 1, 2 }):mean()) --> 1.5
---```
---@return number|torch.complex
function Storage:mean() end

---The variance: the sum of the squared distances from the mean, divided by the number of elements less 1, or by their number if
---`population` is true. That of one element is NaN. Errors: no elements; complex elements. Origin: Torch7, for tensors of floats.
---```lua
---local s = torch.IntStorage { 1, 2, 3 }
---print(s:var()) --> 1
---print(('%.4f'):format(s:var(true))) --> 0.6667
---```
---@param population? boolean
---@return number
function Storage:var(population) end

---The standard deviation: the square root of `var`. Errors: as `var`. Origin: Torch7, for tensors of floats.
---```lua
---print(torch.IntStorage({ 1, 2, 3 }):std()) --> 1
---```
---@param population? boolean
---@return number
function Storage:std(population) end

---The `p`-norm: the sum of `|x|^p` to the power of `1 / p`. Of `p` 0 it is the number of elements that are not 0, of infinity the
---largest `|x|`, and of -infinity the smallest. It is 0 if there are no elements. Origin: Torch7, for tensors of floats, where
---those of infinity are 1.
---```lua
---local s = torch.DoubleStorage { 3, -4 }
---print(s:norm(), s:norm(1), s:norm(math.huge)) --> 5	7	4
---```
---@param p? torch.number default 2
---@return number
function Storage:norm(p) end

---The smallest element; NaN if there is one. Errors: no elements; complex elements. Origin: Torch7, for tensors.
---```lua
---print(torch.IntStorage({ 3, 1, 2 }):min()) --> 1
---```
---@return number
function Storage:min() end

---The largest element; NaN if there is one. Errors: as `min`. Origin: Torch7, for tensors.
---```lua
---print(torch.IntStorage({ 3, 1, 2 }):max()) --> 3
---```
---@return number
function Storage:max() end

---The index, from 1, of the first of the smallest elements, or of the first NaN. Errors: as `min`. Origin: NumPy, where it counts
---from 0.
---```lua
---print(torch.IntStorage({ 3, 1, 1 }):argmin()) --> 2
---```
---@return integer
function Storage:argmin() end

---The index, from 1, of the first of the largest elements, or of the first NaN. Errors: as `min`. Origin: NumPy, where it counts
---from 0.
---```lua
---print(torch.IntStorage({ 3, 1, 3 }):argmax()) --> 1
---```
---@return integer
function Storage:argmax() end

---How many elements are equal to a number. A number that no element can be, such as 2.5 among integers, or NaN, is none of them.
---Errors: complex elements. Origin: this library.
---```lua
---local s = torch.ByteStorage { 3, 0, 3 }
---print(s:count(3), s:count(2.5)) --> 2	0
---```
---@param value torch.number|boolean
---@return integer
function Storage:count(value) end

---Whether an element is not 0. NaN is not 0. Errors: no elements; complex elements. Origin: Torch7, for ByteTensors.
---```lua
---print(torch.ByteStorage({ 0, 7 }):any(), torch.ByteStorage({ 0, 0 }):any()) --> true	false
---```
---@return boolean
function Storage:any() end

---Whether no element is 0. Errors: as `any`. Origin: Torch7, for ByteTensors.
---```lua
---print(torch.ByteStorage({ 0, 7 }):all(), torch.ByteStorage({ 1, 7 }):all()) --> false	true
---```
---@return boolean
function Storage:all() end

---The sum of the products of the elements and those of another storage of the class and size. Products of integers are exact,
---modulo 2^64, and complex numbers are multiplied as they are. Origin: Torch7, for tensors, where products of integers keep
---the low
---bits of their class.
---```lua
---print(torch.FloatStorage({ 1, 2, 3 }):dot(torch.FloatStorage { 4, 5, 6 })) --> 32
---```
---@param other self
---@return number|torch.complex
function Storage:dot(other) end

---The Euclidean distance from another storage of the class and size. Origin: Torch7, for tensors, which has other norms, too.
---```lua
---print(torch.FloatStorage({ 1, 2 }):dist(torch.FloatStorage { 4, 6 })) --> 5
---```
---@param other self
---@return number
function Storage:dist(other) end

---Adds a number to each element; the elements of another storage of the class and size; or these times a number. The number is
---converted to an element first. The work is done in the class: integers keep the low bits of the result, and a Bool is true if
---the result is not 0. Elements that are added and lie among those that change are read before. Errors: read-only memory. Origin:
---Torch7, for tensors.
---```lua
---local s = torch.ByteStorage { 250, 2 }
---print(s:add(10):unpack()) --> 4	12
---print(s:add(2, torch.ByteStorage { 1, 2 }):unpack()) --> 6	16
---```
---@overload fun(self: torch.Storage, other: torch.Storage): torch.Storage
---@param value torch.number|torch.complex
---@param other? self
---@return self
function Storage:add(value, other) end

---Multiplies each element by a number, which is converted to an element first, as by `add`. Errors: read-only memory. Origin:
---Torch7, for tensors.
---```lua
---print(torch.FloatStorage({ 1, 2 }):mul(0.5):unpack()) --> 0.5	1
---```
---@param value torch.number|torch.complex
---@return self
function Storage:mul(value) end

-- Sums of tensors -----------------------------------------------------------------------------------------------------
-- Without a dimension, each function has the result of the elements in row-major order. With one, the result is a new tensor of
-- the same sizes, but with size 1 for that dimension. Dimensions count from 1, or from the last one: -1.

---The sum of all elements, or the sums along a dimension. Those of integers and Bool are a LongTensor (of UInt64 a UInt64Tensor).
---Errors: a dimension that does not exist. Origin: Torch7, where sums of integers along a dimension keep the low bits of their
---class.
---```lua
---local x = torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } }
---print(x:sum(), x:sum(1):get(1, 3), x:sum(2):get(2, 1)) --> 21	9	15
---```
---@param dim? torch.number
---@return number|torch.complex|torch.Tensor
function Tensor:sum(dim) end

---The mean of all elements, or the means along a dimension. Those of integers and Bool are a DoubleTensor. Errors: no elements; a
---dimension that does not exist. Origin: Torch7, for floats.
---```lua
---local x = torch.IntTensor { { 1, 2 }, { 4, 5 } }
---print(x:mean(), x:mean(1):get(1, 2)) --> 3	3.5
---```
---@param dim? torch.number
---@return number|torch.complex|torch.Tensor
function Tensor:mean(dim) end

---The variance of all elements, or the variances along a dimension, as those of a storage. The flag may stand alone. Those of
---integers and Bool are a DoubleTensor. Errors: no elements; complex elements; a dimension that does not exist. Origin:
---Torch7, for
---floats.
---```lua
---local x = torch.DoubleTensor { { 1, 2, 3 }, { 1, 3, 5 } }
---print(x:var(2):get(1, 1), x:var(2):get(2, 1), x[1]:var()) --> 1	4	1
---```
---@overload fun(self: torch.Tensor, population: boolean): number
---@param dim? torch.number
---@param population? boolean
---@return number|torch.Tensor
function Tensor:var(dim, population) end

---The square roots of `var`. Errors: as `var`. Origin: Torch7, for floats.
---```lua
---local x = torch.DoubleTensor { { 1, 2, 3 }, { 1, 3, 5 } }
---print(x:std(2):get(2, 1)) --> 2
---```
---@overload fun(self: torch.Tensor, population: boolean): number
---@param dim? torch.number
---@param population? boolean
---@return number|torch.Tensor
function Tensor:std(dim, population) end

---The `p`-norm of all elements, or the norms along a dimension, as those of a storage. Those of integers and Bool are a
---DoubleTensor, and those of complex numbers a tensor of the class of their parts. Errors: a dimension that does not exist.
---Origin:
---Torch7, for floats.
---```lua
---local x = torch.DoubleTensor { { 3, 4 }, { 6, 8 } }
---print(x[1]:norm(), x:norm(2, 2):get(2, 1), x:norm(1)) --> 5	10	21
---```
---@param p? torch.number default 2
---@param dim? torch.number
---@return number|torch.Tensor
function Tensor:norm(p, dim) end

---The smallest element; or the smallest along a dimension, a tensor of the class, and their indices in that dimension, from 1, a
---LongTensor. NaN is found if there is one, and of equal elements the first. Errors: no elements; complex elements; a
---dimension that
---does not exist. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 3, 1 }, { 2, 5 } }
---local values, indices = x:min(2)
---print(x:min(), values:get(1, 1), indices:get(1, 1)) --> 1	1	2
---```
---@param dim? torch.number
---@return number|torch.Tensor values
---@return torch.LongTensor? indices
function Tensor:min(dim) end

---The largest element, or the largest along a dimension and their indices, as `min`. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 3, 1 }, { 2, 5 } }
---local values, indices = x:max(1)
---print(x:max(), values:get(1, 2), indices:get(1, 2)) --> 5	5	2
---```
---@param dim? torch.number
---@return number|torch.Tensor values
---@return torch.LongTensor? indices
function Tensor:max(dim) end

---The indices, from 1, of the first of the smallest elements, one for each dimension; or a LongTensor of the indices in a
---dimension. Of a tensor of more than 16 dimensions it is the number of the element in row-major order. Errors: as `min`. Origin:
---NumPy, where it counts from 0 and returns the number of the element.
---```lua
---local x = torch.IntTensor { { 3, 1 }, { 2, 5 } }
---print(x:argmin()) --> 1	2
---```
---@param dim? torch.number
---@return integer|torch.LongTensor ...
function Tensor:argmin(dim) end

---The indices of the first of the largest elements, as `argmin`. Errors: as `min`. Origin: NumPy, as `argmin`.
---```lua
---local x = torch.IntTensor { { 3, 1 }, { 2, 5 } }
---print(x:argmax()) --> 2	2
---print(x:argmax(2):get(1, 1)) --> 1
---```
---@param dim? torch.number
---@return integer|torch.LongTensor ...
function Tensor:argmax(dim) end

---How many elements are equal to a number, as for a storage. Errors: complex elements. Origin: this library.
---```lua
---print(torch.IntTensor({ { 1, 2 }, { 1, 1 } }):count(1)) --> 3
---```
---@param value torch.number|boolean
---@return integer
function Tensor:count(value) end

---Whether an element is not 0. Errors: no elements; complex elements. Origin: Torch7, for ByteTensors.
---```lua
---print(torch.ByteTensor({ { 0, 0 }, { 0, 1 } }):any()) --> true
---```
---@return boolean
function Tensor:any() end

---Whether no element is 0. Errors: as `any`. Origin: Torch7, for ByteTensors.
---```lua
---print(torch.ByteTensor({ { 0, 0 }, { 0, 1 } }):all()) --> false
---```
---@return boolean
function Tensor:all() end

---The sum of the products of the elements and those of another tensor of the class, in row-major order of each. The sizes may
---differ, but not the number of elements. As for a storage. Origin: Torch7, where products of integers keep the low bits of their
---class.
---```lua
---print(torch.IntTensor({ { 1, 2 }, { 3, 4 } }):dot(torch.IntTensor { 1, 1, 1, 1 })) --> 10
---```
---@param other self
---@return number|torch.complex
function Tensor:dot(other) end

---The Euclidean distance from another tensor of the class, with as many elements. Origin: Torch7, which has other norms, too.
---```lua
---print(torch.FloatTensor({ 1, 2 }):dist(torch.FloatTensor { 4, 6 })) --> 5
---```
---@param other self
---@return number
function Tensor:dist(other) end

---Adds a number to each element; the elements of another tensor of the class with as many elements; or these times a
---number. As for
---a storage. An element that the tensor shows more than once, as after `expand`, changes once for each place. Errors: read-only
---memory. Origin: Torch7.
---```lua
---local x = torch.IntTensor { { 1, 2 }, { 3, 4 } }
---print(x:add(10):get(2, 2), x:add(2, torch.IntTensor { 1, 1, 1, 1 }):get(1, 1)) --> 14	13
---```
---@overload fun(self: torch.Tensor, other: torch.Tensor): torch.Tensor
---@param value torch.number|torch.complex
---@param other? self
---@return self
function Tensor:add(value, other) end

---Multiplies each element by a number, which is converted to an element first. Errors: read-only memory. Origin: Torch7.
---```lua
---print(torch.IntTensor({ { 1, 2 }, { 3, 4 } }):mul(3):get(2, 2)) --> 12
---```
---@param value torch.number|torch.complex
---@return self
function Tensor:mul(value) end

-- Order and search ----------------------------------------------------------------------------------------------------
-- NaN comes after all numbers, -0 and 0 are equal, and of equal elements the lower index comes first.

---Sorts the elements in place, the least first, or with `descending` the greatest first. Returns the storage. NaN comes last
---in both directions. -0 and 0 are equal, and equal elements stay in their order. Takes as much memory again, twice. While it
---sorts a large storage, the host may interrupt it; then nothing has changed. Errors: a class of complex numbers; read-only
---memory; no memory. Origin: Torch7, for tensors.
---```lua
---local s = torch.IntStorage { 30, 10, 20 }
---print(table.concat(s:sort():totable(), ' ')) --> 10 20 30
---print(table.concat(s:sort(true):totable(), ' ')) --> 30 20 10
---```
---@param descending? boolean
---@return self
function Storage:sort(descending) end

---The indices of the elements, from 1, in their order: the index of the least element first, or with `descending` that of the
---greatest. NaN comes last in both directions. Of equal elements the lower index comes first, also with `descending`; -0 and 0
---are equal. The storage does not change. Errors: a class of complex numbers; no memory. Origin: NumPy.
---```lua
---local prices = torch.DoubleStorage { 2.5, 0.5, 1.5 }
---print(table.concat(prices:argsort():totable(), ' ')) --> 2 3 1
---print(table.concat(prices:argsort(true):totable(), ' ')) --> 1 3 2
---```
---@param descending? boolean
---@return torch.LongStorage
function Storage:argsort(descending) end

---The `k` least elements, or with `largest` the `k` greatest: a storage of them, the first one first, and a LongStorage of
---their indices, from 1. `k` is 1 if it is missing. NaN comes after all numbers. Of equal elements the lower index comes
---first. With a small `k` it reads the elements once, and needs memory for about `2 * k` of them. Errors: a class of complex
---numbers; `k` is not from 1 to the number of elements. Origin: Torch7, for tensors.
---```lua
---local s = torch.IntStorage { 4, 9, 2, 7 }
---local best, where = s:topk(2, true)
---print(best[1], best[2], where[1], where[2]) --> 9	7	2	4
---```
---@param k? integer
---@param largest? boolean
---@return self values
---@return torch.LongStorage indices
function Storage:topk(k, largest) end

---The index, from 1, where a number belongs among the elements, which are sorted with the least first, as `sort` leaves them:
---that of the first element which is not less than `v`, or with `right` of the first that is greater; `#s + 1` if there is
---none. The numbers are compared exactly, so 2.5 belongs between 2 and 3 of an IntStorage; a string of digits, or an integer
---of 64 bits, is not rounded. NaN among the elements is behind all numbers. In elements that are not sorted the result is any
---index. With a storage of numbers, of any real class, it returns a LongStorage with an index for each; with a tensor of
---numbers a LongTensor of its sizes. Errors: `v` is or contains NaN or complex numbers; a class of complex numbers. Origin:
---NumPy, as `searchsorted`.
---```lua
---local s = torch.IntStorage { 10, 20, 20, 30 }
---print(s:search(20), s:search(20, true), s:search(99), s:search(-0.5)) --> 2	4	5	1
---print(table.concat(s:search(torch.DoubleStorage { 15, 30 }):totable(), ' ')) --> 2 4
---```
---@param v number|string|ffi.cdata*|torch.Storage|torch.Tensor
---@param right? boolean
---@return integer|torch.LongStorage|torch.LongTensor
function Storage:search(v, right) end

---The elements sorted along dimension `dim`, the least first, or with `descending` the greatest first: a new tensor of the
---same class and sizes, and a LongTensor of the same sizes with the index, from 1, that each element had along that dimension.
---Without `dim` it is the last dimension; `x:sort(true)` leaves it out. -1 is the last dimension, too. NaN comes last in both
---directions. Of equal elements the lower index comes first, also with `descending`; -0 and 0 are equal. The tensor does not
---change. Errors: a class of complex numbers; no such dimension; no memory. Origin: Torch7. Differs from Torch7: equal
---elements and NaN have a defined order, there they had any; a tensor without elements has a result without elements, there it
---was an error.
---```lua
---local values, indices = torch.IntTensor({ { 30, 10, 20 }, { 7, 9, 8 } }):sort()
---print(table.concat(values:storage():totable(), ' ')) --> 10 20 30 7 8 9
---print(table.concat(indices:storage():totable(), ' ')) --> 2 3 1 1 3 2
---```
---@param dim? integer|boolean
---@param descending? boolean
---@return self values
---@return torch.LongTensor indices
function Tensor:sort(dim, descending) end

---The `k` least elements along dimension `dim`, or the `k` greatest if `dir` is true: a new tensor whose size in that
---dimension is `k`, and a LongTensor of the indices, from 1, of these elements along the dimension. `k` is 1 if it is missing,
---and without `dim` it is the last dimension; `x:topk(3, true)` leaves it out. The elements are in their order, whatever
---`sort` says. NaN comes after all numbers, and of equal elements the lower index comes first. Errors: a class of complex
---numbers; no such dimension; `k` is not from 1 to the size of the dimension. Origin: Torch7. Differs from Torch7: without
---`sort` the order was any; equal elements and NaN have a defined order.
---```lua
---local x = torch.FloatTensor { { 0.5, 2.5, 1.5 }, { 9, 7, 8 } }
---local best, where = x:topk(2, true)
---print(best[1][1], best[1][2], where[1][1], where[1][2]) --> 2.5	1.5	2	3
---```
---@param k? integer|boolean
---@param dim? integer|boolean
---@param dir? boolean
---@param sort? boolean
---@return self values
---@return torch.LongTensor indices
function Tensor:topk(k, dim, dir, sort) end

---The index, from 1, where a number belongs among the elements of a tensor of one dimension, which are sorted with the least
---first: that of the first element which is not less than `v`, or with `right` of the first that is greater; one more than the
---number of elements if there is none. The numbers are compared exactly, and NaN among the elements is behind all numbers. In
---elements that are not sorted the result is any index. With a storage of numbers, of any real class, it returns a LongStorage
---with an index for each; with a tensor of numbers a LongTensor of its sizes. Errors: the tensor has not one dimension; `v` is
---or contains NaN or complex numbers; a class of complex numbers. Origin: NumPy, as `searchsorted`.
---```lua
---local x = torch.FloatTensor { 0.5, 1.5, 2.5 }
---print(x:search(1), x:search(2.5), x:search(2.5, true)) --> 2	3	4
---```
---@param v number|string|ffi.cdata*|torch.Storage|torch.Tensor
---@param right? boolean
---@return integer|torch.LongStorage|torch.LongTensor
function Tensor:search(v, right) end

-- Vectors and rows ----------------------------------------------------------------------------------------------------
-- Sums of products of floats are made in double.

---The product of a matrix of n rows and m columns and a vector of m elements of the class: a new tensor of n elements. Those of
---integers keep the low bits of the class. Errors: other sizes. Origin: Torch7, where the function of the module has this form.
---```lua
---local x = torch.DoubleTensor { { 1, 2 }, { 3, 4 } }
---print(x:mv(torch.DoubleTensor { 1, 10 }):storage():unpack()) --> 21	43
---```
---@param vector self
---@return self
function Tensor:mv(vector) end

---How `nearest` compares rows.
---@class torch.NearestOptions
---@field metric? 'cosine'|'dot'|'euclid' the cosine of the angle, the product, or the distance; default `'cosine'`
---@field filter? torch.ByteStorage|torch.BoolStorage an element for each row; rows whose element is 0 are left out

---The `k` rows of a matrix that are nearest to a query, the nearest first: their numbers, from 1, and their scores. Scores are
---cosines or products, of which the largest are the nearest, or distances, of which the smallest are. There are fewer than `k` if
---there are fewer rows, or if fewer pass the filter. Of equal scores the one of the first row comes first. A score that is
---NaN, as
---the cosine of a row of zeros, comes after all others.
---
---The query is a storage or tensor of any real class, with as many elements as a row. The matrix is of any real class; that of a
---mapped file is read in place. Errors: other sizes; an option that does not exist. Origin: this library.
---```lua
---local x = torch.FloatTensor { { 1, 0 }, { 0, 1 }, { 2, 2 } }
---local rows, scores = x:nearest(torch.FloatStorage { 0, 3 }, 2)
---print(rows[1], scores[1], rows[2], ('%.3f'):format(scores[2])) --> 2	1	3	0.707
---```
---@param query torch.Storage|torch.Tensor
---@param k torch.number
---@param options? torch.NearestOptions
---@return torch.LongStorage rows
---@return torch.DoubleStorage scores
function Tensor:nearest(query, k, options) end

---The cosine of the angle between two storages or two tensors of one class, with as many elements, as vectors. It is NaN if
---one has
---only zeros. Errors: complex elements; other sizes. Origin: this library.
---```lua
---local a, b = torch.FloatStorage { 1, 0 }, torch.FloatStorage { 5, 0 }
---print(torch.cosine(a, b)) --> 1
---```
---@param a torch.Storage|torch.Tensor
---@param b torch.Storage|torch.Tensor
---@return number
function torch.cosine(a, b) end

---The Euclidean distance of two storages or two tensors of one class, with as many elements. Errors: other sizes. Origin: Torch7,
---for tensors of floats, which has other norms, too.
---```lua
---print(torch.dist(torch.FloatTensor { 1, 2 }, torch.FloatTensor { 4, 6 })) --> 5
---```
---@param a torch.Storage|torch.Tensor
---@param b torch.Storage|torch.Tensor
---@return number
function torch.dist(a, b) end
