---@meta torch
-- Types and documentation of the interface, for editors (LuaCATS), without tensors, which are in meta_tensor.lua. docs/api.md is
-- made from this file by tools/api.lua. It holds declarations only: the library never loads it, and loading it by hand changes
-- nothing.
-- luacheck: ignore 212 241 511

---@class torch
local torch = {}

-- Tells editors that `require 'torch'` sets a global variable. `require 'torch.storage'` does not.
if false then
  _G.torch = torch
end

-- Storages ------------------------------------------------------------------------------------------------------------

---The constructors, methods and operators that all classes share. A storage is a one-dimensional array of numbers in memory
---that Lua does not own. Indices and sizes are in elements, and indices count from 1. Where a number of bytes is meant, the
---text says so.
---
---`s[i]` reads an element and `s[i] = v` writes it. The index is truncated toward zero, so `s[1.5]` is `s[1]`, and a numeric
---string is an index. An index out of range is an error, also a negative one: the last element is `s[#s]`. Any other key that
---is not a method reads nil and cannot be written. Writing a value that is not a number, or to read-only memory, is an error.
---
---`#s` is the number of elements. `a == b` says whether both are the same storage, not whether they hold the same elements
---(`equal` does). `tostring(s)` and `print(s)` give the text of Torch7; above 1000 elements they show both ends only.
---Arithmetic, comparison by order, concatenation and calls are errors. A program can add methods and operators to a
---class:
---
---```lua
---function torch.IntStorage:twice() return #self * 2 end
---function torch.IntStorage.__add__(a, b) return torch.IntStorage { a[1] + b[1] } end
---local s = torch.IntStorage { 5 }
---print(s:twice(), (s + s)[1]) --> 2	10
---```
---
---Using a freed storage is an error: 'storage was freed'.
---
---Every class is called in the same ways to make a storage:
---
---`(size)`: zeros on the heap. The size is truncated toward zero, and nil is 0. In Torch7 new elements were not initialised.
---
---`(size, ptr)`: memory of `size` elements that belongs to the caller. An array or pointer cdata is kept alive by the storage
---and its views. A pointer keeps only itself alive and not what it points to, so pass the array. It is an error if the
---address is below 65536, negative, fractional or not aligned, or if an array is smaller than `size`. With a size of 0 the
---address may be 0.
---
---`(table)`: the elements of a Lua array, `t[1]` to `t[#t]`, read without metamethods. If an element is not a number, the error
---gives its index. Other keys beside an element 1 do not count, such as the `n` of `table.pack`. `{}` and `{n = 0}` are empty.
---Any other table without an element 1 is options, and an error if it names no file.
---
---`(storage, offset, size)`: a view of the same memory, beginning at element `offset` (default 1). It is an error if the
---class is another one, or the range is not inside.
---
---`{filename = name, ...}`: a map of a file, with the options `torch.MapOptions`. Changes of a private map stay in memory, and
---changes of a map with `shared = true` reach the file and other processes. Without a size the map has the whole file. With a
---size, a shared file is created (mode 0600), or made longer if it has fewer elements. Errors give the name of the file and the
---reason that the system gives. Extending leaves all bytes as they are, an empty file is an empty storage, and a failed open
---leaves nothing behind. Torch7 differed in all three. An unknown option is an error. Torch7's form is
---`(filename, shared, size)`; there the size 0 stood for the whole file.
---
---`{shared = name, ...}`: shared memory of that name, for all processes of this machine, with the options `torch.SharedOptions`.
---A leading slash makes no difference. Without `create`, the memory has to exist. With `create = true` and a size it is created
---(mode 0600, zeros) if it does not exist, and extended if it is shorter. The last storage that holds the memory, in whatever
---process, removes the name when it is collected or freed or when its process exits. In Torch7 the first one did. If a process
---is killed while it is the last, the name stays for the next process that uses it, or for `torch.unlinkSharedMemory`. It is an
---error if there is not enough room, if the name is not possible, or if there is no such memory. Torch7's form is
---`(name, true, size, true)`, which creates the memory whenever it has a size.
---```lua
---local zeros, numbers = torch.IntStorage(3), torch.IntStorage { 10, 20, 30 }
---local part = torch.IntStorage(numbers, 2, 2) -- a view of elements 2 and 3
---local file = torch.IntStorage({ filename = 'three.i32', shared = true, size = 3 }):copy(numbers) -- a new file of 12 bytes
---local rest = torch.IntStorage { filename = 'three.i32', offset = 4 } -- without 4 bytes
---print(#zeros, part[1], #rest, rest[1]) --> 3	20	2	20
---local name = 'numbers-' .. torch.pointer {}
---local mine = torch.IntStorage({ shared = name, size = 3, create = true }):copy(numbers)
---print(torch.IntStorage({ shared = name, readonly = true })[3]) --> 30
---```
---@class torch.Storage
---@field [integer] number
---@operator len: integer
local Storage = {}

-- Types of arguments --------------------------------------------------------------------------------------------------

---A number as the library accepts it: a Lua number, a string that Lua itself would convert to a number, or on LuaJIT an
---`int64_t` or `uint64_t` cdata. All 64 bits of cdata, and of integers since Lua 5.3, are kept. Since Lua 5.3 elements of integer
---classes are read as integers; one of a UInt64Storage from 2^63 on is negative, with the same bits. A decimal integer in a
---string that becomes an element, such as `'9223372036854775807'`, is read exactly, whatever its length. Anything else is an
---error. Differs from Torch7: there `'abc'` was 0, `'010'` was octal, and cdata was refused.
---@alias torch.number number|string|ffi.cdata*

---An element of a complex class: an FFI `complex` on LuaJIT, a table elsewhere. Read it as `s[i].re` and `s[i].im`. It is a copy:
---changing it does not change the storage. Compare two of them by their parts, because `==` does not. A value that is written may
---be either of these (a `complex float`, too), a pair `{re, im}`, or a number, whose imaginary part is 0. `get` and `set` take
---parts and allocate nothing. Converted to other classes, a complex number loses its imaginary part; to a BoolStorage it is true
---unless both parts are 0. Printed as ` 1.0000 - 2.5000i`.
---@alias torch.complex { re: number, im: number }

---A pointer: an address (a number, or an `int64_t` or `uint64_t` cdata), a light userdata, or on LuaJIT a pointer or array
---cdata.
---@alias torch.pointer number|lightuserdata|ffi.cdata*

-- [dtypes: class names] written by tools/dtypes.lua from the list of dtypes

---The name of a class of storages.
---@alias torch.classname
---| 'torch.ByteStorage' # Unsigned integers of 8 bits, 0 to 255.
---| 'torch.CharStorage' # Signed integers of 8 bits, -128 to 127.
---| 'torch.ShortStorage' # Signed integers of 16 bits.
---| 'torch.IntStorage' # Signed integers of 32 bits.
---| 'torch.LongStorage' # Signed integers of 64 bits on every platform.
---| 'torch.HalfStorage' # IEEE 754 half precision (binary16).
---| 'torch.FloatStorage' # IEEE 754 single precision (binary32).
---| 'torch.DoubleStorage' # IEEE 754 double precision (binary64), which is Lua's own number.
---| 'torch.UInt16Storage' # Unsigned integers of 16 bits, 0 to 65535.
---| 'torch.UInt32Storage' # Unsigned integers of 32 bits, 0 to 2^32 - 1.
---| 'torch.UInt64Storage' # Unsigned integers of 64 bits, 0 to 2^64 - 1.
---| 'torch.BFloat16Storage' # bfloat16: the upper 16 bits of a single-precision float.
---| 'torch.BoolStorage' # Booleans of one byte: 0 or 1; `true` and `false` can be written.
---| 'torch.Float8_e4m3fnStorage' # Floats of 8 bits with 3 bits of mantissa, up to 448, without infinity.
---| 'torch.Float8_e5m2Storage' # Floats of 8 bits with 2 bits of mantissa, up to 57344.
---| 'torch.Float8_e4m3fnuzStorage' # Floats of 8 bits with 3 bits of mantissa, up to 240, without infinity or -0.
---| 'torch.Float8_e5m2fnuzStorage' # Floats of 8 bits with 2 bits of mantissa, up to 57344, without infinity or -0.
---| 'torch.ComplexFloatStorage' # Complex numbers: two floats, the real part first.
---| 'torch.ComplexDoubleStorage' # Complex numbers: two doubles, the real part first.
---| 'torch.UntypedStorage' # Bytes without a type: numbers from 0 to 255.

-- [end dtypes: class names]

---A class, wherever a function takes one: its name, with or without `torch.`; PyTorch's name of the element type, such as
---`'float32'`, `'float'` or `'uint8'`; or the class itself, such as `torch.FloatStorage`.
---@alias torch.class torch.classname|string|torch.Storage

---A value whose memory can be shared: a storage, a contiguous tensor, a string, on LuaJIT an FFI array or pointer or a
---`string.buffer`, a `Data` object of LÖVE, a light userdata, or any value whose metatable has a function `__buffer`.
---`__buffer(object)` returns where the memory begins (a light userdata, an FFI pointer or array, or a number), its length in
---bytes, and true if nobody may write to it. The memory must stay where it is, with at least that length, as long as the
---object lives. Or it returns only a string, whose bytes are the memory.
---@alias torch.Buffer torch.Storage|torch.Tensor|string|ffi.cdata*|lightuserdata|userdata|table

---An order of bytes; `'native'` is that of the machine.
---@alias torch.Order 'native'|'little'|'big'

-- Size and elements ---------------------------------------------------------------------------------------------------

---The number of elements, the same as `#s`. Origin: Torch7.
---```lua
---local s = torch.FloatStorage(1000)
---print(s:size(), #s, s:nbytes()) --> 1000	1000	4000
---```
---@return integer elements
function Storage:size() end

---Element `i`, from 1. For a complex class, its real and its imaginary part as two numbers, so that nothing is allocated.
---Errors: an index that is out of range or not a number. Origin: this library.
---```lua
---print(torch.IntStorage({ 10, 20 }):get(2)) --> 20
---print(torch.ComplexFloatStorage({ { 1, -2 } }):get(1)) --> 1	-2
---```
---@param i torch.number
---@return number element or its real part
---@return number? imaginary
function Storage:get(i) end

---The same as `s[i] = value`. For a complex class it also takes both parts, which allocates nothing. Errors: those of `s[i] =
---value`; an imaginary part for another class. Origin: this library.
---```lua
---local s = torch.ComplexFloatStorage(2):set(1, 3, -4):set(2, 0.5)
---print(s:get(1)) --> 3	-4
---print(s:get(2)) --> 0.5	0
---```
---@param i torch.number
---@param value torch.number|boolean|torch.complex|number[] or the real part
---@param imaginary? torch.number
---@return self
function Storage:set(i, value, imaginary) end

---Element `i` with all its bits. In a class of 64-bit integers this is an `int64_t` or `uint64_t` cdata on LuaJIT, an integer
---since Lua 5.3, and decimal text on Lua 5.1 and 5.2, also for small numbers; a float would be rounded beyond 2^53. In other
---classes it is the number that `s[i]` gives. The result can be written back. Errors: those of `get`; a complex class. Origin:
---this library.
---```lua
---local ids = torch.LongStorage { '9007199254740993' }
---ids[1] = ids:exact(1)
---print(ids:decimal(1)) --> 9007199254740993
---```
---@param i torch.number
---@return number | string | ffi.cdata*
function Storage:exact(i) end

---Element `i` as decimal text, the same on every host: an integer with all its digits, a BoolStorage's element as `0` or `1`, a
---float as `%.17g` writes it, which tells all doubles apart; also `inf`, `-inf`, and `nan` for every NaN. Errors: those of
---`exact`. Origin: this library.
---```lua
---print(torch.FloatStorage({ 0.1 }):decimal(1)) --> 0.10000000149011612
---```
---@param i torch.number
---@return string
function Storage:decimal(i) end

---Sets every element, or those from `i` to `j`, to `value`, which is converted once, as in an assignment. Errors: a value that
---is not a number; an index out of range, unless the range is empty (`j` before `i`); read-only memory. Origin: Torch7, without
---ranges.
---```lua
---local s = torch.IntStorage(5):fill(1):fill(2, 4, 5)
---print(s:unpack()) --> 1	1	1	2	2
---```
---@param value torch.number|boolean|torch.complex|number[] a boolean only for a BoolStorage
---@param i? torch.number first index; default 1
---@param j? torch.number last index; default the size
---@return self
function Storage:fill(value, i, j) end

---Sets every byte to zero, like `fill(0)`. Errors: read-only memory. Origin: this library.
---```lua
---local key = torch.ByteStorage():string 'secret'
---print(key:zero():unpack()) --> 0	0	0	0	0	0
---```
---@return self
function Storage:zero() end

---Copies the elements of another storage of any class, converted. Overlapping views are copied as if one were cloned before.
---Between an untyped storage and one of another class, the bytes are copied as they are, and both must have the same number
---of bytes.
---
---With indices, `n` elements of `other`, beginning at `from`, replace those that begin at `to`, and no others change. Indices
---are an error if only one of the two storages is untyped.
---Errors: sizes that differ ('size mismatch'); a range that is not inside; read-only memory. Origin: Torch7, without indices.
---Differs from Torch7: sizes are checked for every pair of classes, and overlapping views are copied correctly. Torch7 read
---beyond the source, and repeated the first elements.
---```lua
---local s = torch.ByteStorage(4):copy(torch.DoubleStorage { 1.9, 2, 3, 256 })
---print(s:unpack()) --> 1	2	3	0
---s:copy(s, 2, 1, 3) -- 3 elements of `s`, from index 1 on, replace those from index 2 on
---print(s:unpack()) --> 1	1	2	3
---```
---@param other torch.Storage
---@param to? torch.number first index in this storage; default 1
---@param from? torch.number first index in `other`; default 1
---@param n? torch.number number of elements; default the rest of `other`
---@return self
function Storage:copy(other, to, from, n) end

---Copies the bytes of another storage of any class as they are. Errors: different numbers of bytes; read-only memory. Origin:
---this library.
---```lua
---local bits = torch.IntStorage(1):rawcopy(torch.FloatStorage { 1 })
---print(('%x'):format(bits[1])) --> 3f800000
---```
---@param other torch.Storage
---@return self
function Storage:rawcopy(other) end

---Reverses the order of the bytes of every element (for a complex class, of each part), or of every `width` bytes. It
---converts data from a machine with the other byte order. Errors: a width other than 1, 2, 4 or 8; a width that does not
---divide the number of bytes; read-only memory. Origin: PyTorch.
---```lua
---local s = torch.UInt16Storage.fromstring '\1\2\3\4' -- from a big-endian machine
---print(s:byteswap():unpack()) --> 258	772
---```
---@param width? torch.number bytes; default those of an element
---@return self
function Storage:byteswap(width) end

---Changes the number of elements. Elements that fit are kept, and new elements are zero. Errors: a view, a map or foreign
---memory ('not resizable'); a size that is negative, NaN or too large. After an error the storage is unchanged. Origin:
---Torch7. Differs from Torch7: new elements are zero, and views that were made before keep the old memory. In Torch7 they
---dangled.
---```lua
---local s = torch.IntStorage { 1, 2, 3 }
---print(s:resize(5):unpack()) --> 1	2	3	0	0
---print(s:resize(2):unpack()) --> 1	2
---```
---@param size torch.number elements
---@return self
function Storage:resize(size) end

---Makes room for `capacity` elements and keeps the size. Resizing up to that many elements then neither moves nor copies
---anything. Errors: those of `resize`. Origin: this library.
---```lua
---local s = torch.IntStorage():reserve(1000)
---for i = 1, 1000 do s:resize(i)[i] = i * i end
---print(#s, s[1000]) --> 1000	1000000
---```
---@param capacity torch.number elements
---@return self
function Storage:reserve(capacity) end

---Whether `resize` is allowed: true for heap memory that is not a view. Origin: PyTorch. In Torch7 it is a bit of
---`cdata().flag`.
---```lua
---local s = torch.IntStorage(10)
---print(s:resizable(), s:sub(1, 5):resizable()) --> true	false
---```
---@return boolean
function Storage:resizable() end

---The width of an element in bytes. It is a method of storages too. Origin: Torch7.
---```lua
---print(torch.HalfStorage.elementSize(), torch.DoubleStorage(3):elementSize())
-----> 2	8
---```
---@return integer bytes
function Storage.elementSize() end

---The number of bytes of all elements: `size() * elementSize()`. Origin: PyTorch.
---```lua
---local s = torch.ComplexFloatStorage(10)
---print(#s, s:nbytes(), s:sub(1, 3):nbytes()) --> 10	80	24
---```
---@return integer bytes
function Storage:nbytes() end

---Iterates over indices and elements, from 1 to the size, even if the size changes during the loop. Since Lua 5.2,
---`pairs(s)` does the same. Origin: this library.
---```lua
---for i, v in torch.IntStorage({ 5, 6 }):iter() do print(i, v) end
-----> 1	5
-----> 2	6
---```
---@return fun(state: any, i: integer): integer?, number?
---@return any state
---@return integer start
function Storage:iter() end

-- Copies and parts ----------------------------------------------------------------------------------------------------

---Calls the constructor with the same arguments. `s.new(3)` is a new storage of 3 elements. `s:new(3)` passes `s` as the
---first argument, and is therefore a view of `s` from element 3 on. Errors: those of the constructor. Origin: Torch7.
---```lua
---local s = torch.ShortStorage { 1, 2, 3 }
---local zeros = s.new(2)
---print(zeros:type(), zeros:unpack()) --> torch.ShortStorage	0	0
---print(s:new(2):unpack()) --> 2	3
---```
---@param ... any as for the constructor
---@return self new
function Storage.new(...) end

---A storage with the bytes of a string, in the byte order of this machine. Errors: a length that is not a multiple of the
---width of an element. Origin: this library. In Torch7 there is only `ByteStorage():string(text)`.
---```lua
---print(torch.ShortStorage.fromstring('\1\0\2\0')[2]) --> 2
---```
---@param text string
---@return self new
function Storage.fromstring(text) end

---A map of a file, as the constructor makes it for a file name. It takes a file name for an untyped storage too. A shared map
---with a size creates the file, or makes a shorter one longer, with zeros. Errors: what the system reports, with the name of the
---file; a private map of more elements than the file has. Origin: PyTorch's `from_file`.
---```lua
---local samples = torch.FloatStorage.fromfile('samples.f32', true, 1000) -- a new file of 4000 bytes
---samples[1000] = 0.5
---print(torch.FloatStorage.fromfile('samples.f32')[1000]) --> 0.5
---```
---@param filename string
---@param shared? boolean whether changes reach the file and other processes; default false
---@param size? torch.number elements; default the whole file; 0 is an empty storage; a shorter shared file becomes longer
---@return self map
function Storage.fromfile(filename, shared, size) end

---`torch.frombuffer` for this class. Errors: those of `torch.frombuffer`; the option `dtype`. Origin: this library.
---```lua
---local s = torch.UInt16Storage.frombuffer('id: \1\0\2\0', { offset = 4 }) -- skips 4 bytes
---print(s:unpack()) --> 1	2
---```
---@param object torch.Buffer
---@param options? torch.BufferOptions without `dtype`
---@return self view
function Storage.frombuffer(object, options) end

---A new heap storage of the same class with the same elements, also for a view or a map. Origin: PyTorch.
---```lua
---local s = torch.IntStorage { 1, 2, 3 }
---local copy = s:sub(2, 3):clone()
---copy[1] = 20
---print(s[2], copy:isView()) --> 2	false
---```
---@return self copy
function Storage:clone() end

---Without an argument, the name of the class. With a class, the storage itself if it has that class already, otherwise a
---converted copy. For `torch.UntypedStorage` the bytes are copied. Errors: an unknown class. Origin: PyTorch. In Torch7 only
---tensors have it.
---```lua
---local s = torch.DoubleStorage { 1.75, -1 }
---print(s:type(), s:type('torch.ByteStorage'):unpack())
-----> torch.DoubleStorage	1	255
---print(s:type 'float64' == s) --> true
---```
---@overload fun(self: torch.Storage): torch.classname
---@param name torch.class
---@return torch.Storage
function Storage:type(name) end

---The elements, or those from `i` to `j`, in a new table that begins at 1. Integers beyond 2^53 are rounded to the nearest
---Lua number. Errors: an index out of range, unless the range is empty (`j` before `i`). Origin: Torch7, without ranges.
---```lua
---local t = torch.IntStorage({ 10, 20, 30, 40 }):totable(2, 3)
---print(#t, t[1], t[2]) --> 2	20	30
---```
---@param i? torch.number first index; default 1
---@param j? torch.number last index; default the size
---@return number[] | torch.complex[]
function Storage:totable(i, j) end

---A view of the elements from `i` to `j`, by the rules of Lua's `string.sub`: negative indices count from the end, and the
---range is cut to the storage. Origin: this library.
---```lua
---local s = torch.IntStorage { 1, 2, 3 }
---s:sub(-2):fill(0) -- a view of the last two
---print(s:unpack()) --> 1	0	0
---```
---@param i torch.number
---@param j? torch.number default -1
---@return self view
function Storage:sub(i, j) end

---The bytes of the elements, or of those from `i` to `j`, as a string. With a string as its argument, it resizes the storage
---to the length of the string, copies its bytes, and returns the storage. To store the digits of a number, pass
---`tostring(number)`. A call with several results, such as `gsub`, needs parentheses: `s:string((text:gsub('a', 'b')))`. Errors:
---those of `resize`; a length that is not a multiple of the width of an element; an index out of range; anything after a text.
---Origin: Torch7, for Byte and Char and without ranges. Differs from Torch7: it looks at the first argument, and a number is an
---index. Torch7 looked at the last one, and stored the digits of a number.
---```lua
---local s = torch.CharStorage():string 'storage'
---print(#s, s:string(), s:string(1, 4)) --> 7	storage	stor
---```
---@overload fun(self: torch.Storage, text: string): torch.Storage
---@param i? torch.number first index; default 1
---@param j? torch.number last index; default the size
---@return string
function Storage:string(i, j) end

---The elements, or those from `i` to `j`, as results, like Lua's `unpack`. Errors: an index out of range, unless the range is
---empty; more results than the Lua stack holds. Origin: this library.
---```lua
---local color = torch.ByteStorage { 255, 128, 0 }
---local red, green = color:unpack(1, 2)
---print(red, green, ('#%02x%02x%02x'):format(color:unpack())) --> 255	128	#ff8000
---```
---@param i? torch.number first index; default 1
---@param j? torch.number last index; default the size
---@return number|torch.complex ...
function Storage:unpack(i, j) end

---Whether class, size and every element agree. NaN is not equal to itself, and -0 is equal to 0. Errors: `other` is not a
---storage. Origin: this library.
---```lua
---local a, b = torch.IntStorage { 1, 2 }, torch.IntStorage { 1, 2 }
---print(a:equal(b), a == b, a:equal(b:long())) --> true	false	false
---```
---@param other torch.Storage
---@return boolean
function Storage:equal(other) end

---A new storage with the elements of these indices, in the order of the list. An index may be there several times. Errors:
---an index that is out of range (negative ones are); indices that are not a LongTensor of one dimension, a LongStorage or a
---table. Origin: this library, after Torch7's tensors.
---```lua
---print(torch.IntStorage({ 10, 20, 30 }):index({ 3, 1, 3 }):unpack()) --> 30	10	30
---```
---@param indices torch.LongTensor|torch.list
---@return self picked
function Storage:index(indices) end

---A new storage with the elements of this one and those of `other`, the same as `torch.cat(s, other)`. Errors: a storage of
---another class. Origin: this library.
---```lua
---print(torch.IntStorage({ 1, 2 }):cat(torch.IntStorage { 3 }):unpack()) --> 1	2	3
---```
---@param other torch.Storage of the same class
---@return self joined
function Storage:cat(other) end

---Options of `column` and `setColumn`.
---@class torch.ColumnOptions
---@field byteorder? torch.Order the order of the bytes in the records; default that of the machine

---One field of every record, as a new storage of `class`. The storage has bytes (a ByteStorage, a CharStorage or an
---UntypedStorage, also a view or a map that can only be read), which are records of `record` bytes that follow each other
---from its first byte on. The field begins `offset` bytes after the beginning of its record, counted from 0, at any
---address, and ends inside the record. `first` is the first record, counted from 1, and `count` their number; without it,
---all complete records from `first` on are read. It is one pass over the records, in several threads if there are many. The
---options come last, whichever numbers are left out.
---
---Errors: a storage of other elements; a field that is not inside its record; records that the storage does not have.
---Origin: this library. docs/binary-records.md has examples.
---```lua
---local records = torch.ByteStorage { 1, 10, 0, 2, 20, 0, 3, 30, 0 } -- 3 bytes: uint8, uint16
---print(records:column('uint8', 0, 3):unpack()) --> 1	2	3
---print(records:column('uint16', 1, 3, 2, { byteorder = 'little' }):unpack()) --> 20	30
---```
---@param class torch.class
---@param offset torch.number bytes before the field in its record
---@param record torch.number bytes of a record
---@param first? torch.number|torch.ColumnOptions the first record; default 1
---@param count? torch.number|torch.ColumnOptions the number of records; default all from `first` on
---@param options? torch.ColumnOptions
---@return torch.Storage
function Storage:column(class, offset, record, first, count, options) end

---Writes the elements of `storage`, which may be of any class, into the same field of records from record `first` on: the
---way back from `column`, with the same numbers. All other bytes stay as they are. A storage on the same memory is read
---before anything is written. Errors: those of `column`; more elements than records; read-only memory. Nothing is written
---then. Origin: this library.
---```lua
---local records = torch.ByteStorage(9)
---records:setColumn(torch.UInt16Storage { 1, 2, 3 }, 1, 3, { byteorder = 'big' })
---print(records:unpack()) --> 0	0	1	0	0	2	0	0	3
---```
---@param storage torch.Storage
---@param offset torch.number bytes before the field in its record
---@param record torch.number bytes of a record
---@param first? torch.number|torch.ColumnOptions the first record; default 1
---@param options? torch.ColumnOptions
---@return self
function Storage:setColumn(storage, offset, record, first, options) end

-- Other element types -------------------------------------------------------------------------------------------------

---A view of the same bytes as elements of another class. It may begin at any byte, aligned or not. Errors: without a size, a
---rest that is not a whole number of elements; a range that is not inside. Origin: PyTorch's `view(dtype)`, which has neither
---offset nor size.
---```lua
---print(torch.FloatStorage({ 1 }):view('int32')[1]) --> 1065353216
---local header = torch.UntypedStorage 'RIFF\8\0\0\0'
---print(header:view('int32', 4, 1)[1]) --> 8
---```
---With sizes instead of a class, it is a tensor over all elements. One size may be -1: it is calculated from the others.
---docs/tensors.md explains tensors. Errors: a product of sizes that is not the number of elements; an untyped storage. Origin:
---PyTorch's `view` of tensors.
---```lua
---local matrix = torch.IntStorage({ 1, 2, 3, 4, 5, 6 }):view(2, -1)
---print(torch.type(matrix), matrix:get(2, 3)) --> torch.IntTensor	6
---```
---@overload fun(self: torch.Storage, ...: torch.sizes): torch.Tensor
---@param class torch.class
---@param byteoffset? torch.number bytes that are skipped; default 0
---@param size? torch.number elements of that class; default all of the rest
---@return torch.Storage
function Storage:view(class, byteoffset, size) end

---A view of the same bytes without a type. For an untyped storage, the storage itself. Origin: PyTorch.
---```lua
---local s = torch.IntStorage { 1, 2 }
---local bytes = s:untyped()
---bytes[5] = 3 -- of element 2, the lowest byte on a little-endian machine
---print(#bytes, s:unpack()) --> 8	1	3
---```
---@return torch.UntypedStorage
function Storage:untyped() end

-- Conversions ---------------------------------------------------------------------------------------------------------
-- There is a method for every class: the elements converted to that class, or the storage itself if it is one already (`clone`
-- always copies). The elements of an untyped storage are its bytes. docs/numbers.md has the rules. The methods come from PyTorch,
-- where they always copy.

-- [dtypes: conversions] written by tools/dtypes.lua from the list of dtypes

---The same as `s:type('torch.ByteStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:byte():unpack()) --> 2	255	200
---```
---@return torch.ByteStorage
function Storage:byte() end

---The same as `s:type('torch.CharStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:char():unpack()) --> 2	-1	-56
---```
---@return torch.CharStorage
function Storage:char() end

---The same as `s:type('torch.ShortStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:short():unpack()) --> 2	-1	200
---```
---@return torch.ShortStorage
function Storage:short() end

---The same as `s:type('torch.IntStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:int():unpack()) --> 2	-1	200
---```
---@return torch.IntStorage
function Storage:int() end

---The same as `s:type('torch.LongStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:long():unpack()) --> 2	-1	200
---```
---@return torch.LongStorage
function Storage:long() end

---The same as `s:type('torch.HalfStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:half():unpack()) --> 2.75	-1.5	200
---```
---@return torch.HalfStorage
function Storage:half() end

---The same as `s:type('torch.FloatStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:float():unpack()) --> 2.75	-1.5	200
---```
---@return torch.FloatStorage
function Storage:float() end

---The same as `s:type('torch.DoubleStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:double():unpack()) --> 2.75	-1.5	200
---```
---@return torch.DoubleStorage
function Storage:double() end

---The same as `s:type('torch.UInt16Storage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:uint16():unpack()) --> 2	65535	200
---```
---@return torch.UInt16Storage
function Storage:uint16() end

---The same as `s:type('torch.UInt32Storage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:uint32():unpack()) --> 2	4294967295	200
---```
---@return torch.UInt32Storage
function Storage:uint32() end

---The same as `s:type('torch.UInt64Storage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:uint64():decimal(2)) --> 18446744073709551615
---```
---@return torch.UInt64Storage
function Storage:uint64() end

---The same as `s:type('torch.BFloat16Storage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:bfloat16():unpack()) --> 2.75	-1.5	200
---```
---@return torch.BFloat16Storage
function Storage:bfloat16() end

---The same as `s:type('torch.BoolStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:bool():unpack()) --> 1	1	1
---```
---@return torch.BoolStorage
function Storage:bool() end

---The same as `s:type('torch.Float8_e4m3fnStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:float8_e4m3fn():unpack()) --> 2.75	-1.5	192
---```
---@return torch.Float8_e4m3fnStorage
function Storage:float8_e4m3fn() end

---The same as `s:type('torch.Float8_e5m2Storage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:float8_e5m2():unpack()) --> 3	-1.5	192
---```
---@return torch.Float8_e5m2Storage
function Storage:float8_e5m2() end

---The same as `s:type('torch.Float8_e4m3fnuzStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:float8_e4m3fnuz():unpack()) --> 2.75	-1.5	192
---```
---@return torch.Float8_e4m3fnuzStorage
function Storage:float8_e4m3fnuz() end

---The same as `s:type('torch.Float8_e5m2fnuzStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:float8_e5m2fnuz():unpack()) --> 3	-1.5	192
---```
---@return torch.Float8_e5m2fnuzStorage
function Storage:float8_e5m2fnuz() end

---The same as `s:type('torch.ComplexFloatStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:complex_float():get(2)) --> -1.5	0
---```
---@return torch.ComplexFloatStorage
function Storage:complex_float() end

---The same as `s:type('torch.ComplexDoubleStorage')`.
---```lua
---local s = torch.DoubleStorage { 2.75, -1.5, 200 }
---print(s:complex_double():get(2)) --> -1.5	0
---```
---@return torch.ComplexDoubleStorage
function Storage:complex_double() end

-- [end dtypes: conversions]

-- Memory --------------------------------------------------------------------------------------------------------------

---The name of the mapped file, as it was given to the constructor, or of the shared memory, without a leading slash. It works
---for views too, and is nil for other memory. Origin: PyTorch.
---```lua
---local map = torch.ByteStorage { filename = 'notes.bin', shared = true, size = 10 }
---print(map:filename(), map:sub(2, 3):filename(), map:clone():filename())
-----> notes.bin	notes.bin	nil
---```
---@return string?
function Storage:filename() end

---Whether the memory is a mapped file, also for a view of one. Origin: this library.
---```lua
---local map = torch.IntStorage { filename = 'numbers.i32', shared = true, size = 4 }
---print(map:isMapped(), map:sub(1, 2):isMapped(), map:clone():isMapped())
-----> true	true	false
---```
---@return boolean
function Storage:isMapped() end

---Whether the storage is a view of another storage. Origin: this library. In Torch7 it is a bit of `cdata().flag`.
---```lua
---local s = torch.IntStorage(10)
---print(s:isView(), s:sub(1, 5):isView(), s:view('int8'):isView())
-----> false	true	true
---```
---@return boolean
function Storage:isView() end

---Whether writing is an error: for maps that were opened with `readonly`, for read-only memory of other values, and for views
---of them. Origin: this library.
---```lua
---local s = torch.frombuffer 'the bytes of a string'
---print(s:isReadOnly(), s:clone():isReadOnly(), (pcall(s.fill, s, 0)))
-----> true	false	false
---```
---@return boolean
function Storage:isReadOnly() end

---Writes the pages of a shared map to the file, and waits until they are on the disk unless `async` is true. Other processes
---see changes without it; it matters only if the machine crashes. Errors: anything but a shared map; what the system reports.
---Origin: this library.
---```lua
---local visits = torch.LongStorage { filename = 'visits.i64', shared = true, size = 1 }
---visits[1] = visits[1] + 1
---visits:flush() -- from here on the number survives a power failure
---print(visits[1]) --> 1
---```
---@param async? boolean whether it returns before the pages are on the disk; default false
---@return self
function Storage:flush(async) end

---Tells the system how a mapped file, or the pages of a view of it, will be read. `'normal'` takes earlier advice back.
---Errors: anything but a mapped file; another word. Origin: this library.
---```lua
---local map, sum = torch.ByteStorage { filename = 'video.raw', shared = true, size = 65536 }, 0
---map:advise 'sequential' -- the system reads ahead
---for _, byte in map:iter() do sum = sum + byte end
---print(sum) --> 0
---```
---@param advice 'normal'|'sequential'|'random'|'willneed'
---@return self
function Storage:advise(advice) end

---Whether the mapped file still has all bytes of the storage. If somebody has shortened the file, touching a byte that is
---gone ends the process with the signal SIGBUS, as with every map. Errors: anything but a mapped file; a file that was
---removed or replaced by another, because then nobody can tell. Origin: this library.
---```lua
---local map = torch.ByteStorage { filename = 'part.bin', shared = true, size = 100 }
---print(map:check()) --> true
---io.open('part.bin', 'w'):close() -- somebody truncates the file
---print(map:check()) --> false
---```
---@return boolean
function Storage:check() end

---Moves the elements of a heap storage to shared memory with this name. Without a name the memory is for the children that
---this process will fork. The storage stays the same object but can no longer be resized, and views that were made before
---keep the old memory. A storage that is in shared memory already stays as it is, unless a name is given. Errors: a view, a
---map, foreign memory; a name that is taken; not enough room; a storage that another Lua state, a token or a publication
---holds. Origin: PyTorch's `share_memory_`.
---```lua
---local name = 'weights-' .. torch.pointer {}
---local s = torch.IntStorage({ 1, 2, 3 }):shareMemory(name)
---local theirs = torch.IntStorage { shared = name } -- in any process
---theirs[1] = 10
---print(s[1], s:resizable()) --> 10	false
---```
---@param name? string without slashes; other processes attach by it
---@return self
function Storage:shareMemory(name) end

---Whether other processes can see what is written: true for shared maps of files, for shared memory, and for views of them.
---Origin: PyTorch's `is_shared`.
---```lua
---local s = torch.IntStorage(3)
---local map = torch.IntStorage { filename = 'shared.i32', shared = true, size = 3 }
---print(s:isShared(), s:shareMemory():isShared()) --> false	true
---print(map:isShared(), torch.IntStorage('shared.i32'):isShared()) --> true	false
---```
---@return boolean
function Storage:isShared() end

---A string that stands for one reference to the storage. Send it over any channel to another Lua state of this process, where
---`torch.fromToken` takes the storage, once. Until then the storage lives, and cannot be resized. Errors: memory that belongs
---to a value of this Lua state, such as an FFI array. Origin: this library.
---```lua
---local token = torch.IntStorage({ 1, 2, 3 }):token()
---print(type(token), torch.fromToken(token):unpack()) --> string	1	2	3
---print((pcall(torch.fromToken, token))) --> false
---```
---@return string token
function Storage:token() end

---Locks the pages of the elements in memory (`mlock`), until the memory is freed or the storage is resized or moved. The
---pages are locked for other storages over that memory too, but not in a forked child. Errors: more than the system allows,
---with its limit. Origin: this library, for PyTorch's `pin_memory`.
---```lua
---local samples = torch.FloatStorage(1000)
---print(samples:isPinned(), samples:pin():isPinned()) --> false	true
---```
---@return self
function Storage:pin() end

---Whether the pages of all elements are locked, by `pin` or by the option `lock` of a map. An empty storage is pinned.
---Origin: PyTorch's `is_pinned`.
---```lua
---local map = torch.ByteStorage { filename = 'locked.bin', shared = true, size = 4096, lock = true }
---print(map:isPinned(), map:sub(1, 10):isPinned(), map:clone():isPinned())
-----> true	true	false
---```
---@return boolean
function Storage:isPinned() end

---The device of the storage. There is only one. Origin: PyTorch.
---```lua
---print(torch.FloatStorage(3):device()) --> cpu
---```
---@return 'cpu'
function Storage:device() end

---The storage itself. Origin: PyTorch.
---```lua
---local s = torch.FloatStorage(3)
---print(s:cpu() == s) --> true
---```
---@return self
function Storage:cpu() end

---The storage itself, for the only device that there is. Errors: any other device. Origin: PyTorch.
---```lua
---local s = torch.FloatStorage(3)
---print(s:to 'cpu' == s, (pcall(s.to, s, 'cuda'))) --> true	false
---```
---@param device 'cpu'
---@return self
function Storage:to(device) end

-- References and pointers ---------------------------------------------------------------------------------------------

---Adds a reference for somebody outside of this Lua state: for C code, or through `torch.pointer` and `torch.pushudata` for
---another Lua state. Returns nothing. Origin: Torch7.
---```lua
---local s = torch.IntStorage { 7 }
---s:retain() -- for C code that keeps the pointer
---s:free() -- C code is done: gives back its reference only
---print(s[1]) --> 7
---```
function Storage:retain() end

---Gives back a reference that `retain` has taken. If there is none, it frees the storage, and using it becomes an error. The
---end of a to-be-closed variable, since Lua 5.4, frees the storage and leaves the references of `retain`. Returns nothing.
---Origin: Torch7. Differs from Torch7: no order of calls reads or frees freed memory.
---```lua
---local s = torch.ByteStorage(1e6)
---s:free() -- gives the megabyte back now, not when the collector finds it
---print((pcall(s.size, s))) --> false
---```
function Storage:free() end

---A pointer to the first element: on LuaJIT a cdata such as `int32_t *`, which is a null pointer for an empty storage, and on
---other Luas a light userdata. It does not keep the storage alive, is out of date after a `resize`, and is indexed from 0
---without checks. Origin: Torch7. Differs from Torch7: the type of the argument is checked, and all Luas have the method.
---```lua (LuaJIT)
---local s = torch.IntStorage { 10, 20 }
---local pointer = s:data() -- an int32_t *, indexed from 0
---pointer[1] = pointer[1] + 1
---print(s[2]) --> 21
---```
---@param asnumber? boolean true: the address as a number (an int64 cdata on LuaJIT), which `(size, ptr)` accepts
---@return ffi.cdata*|lightuserdata|number
function Storage:data(asnumber) end

---The address of the first element as a number, or 0 for an empty storage. It does not keep the storage alive. Origin:
---PyTorch's `data_ptr`.
---```lua
---local s = torch.IntStorage(10) -- elements of 4 bytes
---print(s:sub(3):dataptr() - s:dataptr()) --> 8
---```
---@return integer
function Storage:dataptr() end

---LuaJIT only: a pointer to the C struct of the storage, with the fields data, size, refcount and flag in Torch7's order.
---Origin: Torch7. Differs from Torch7: the type of the argument is checked, and `refcount` does not count views.
---```lua (LuaJIT)
---local s = torch.IntStorage { 10, 20 }
---local struct = s:cdata()
---print(tonumber(struct.size), struct.data[1], struct.refcount) --> 2	20	1
---```
---@param asnumber? boolean true: the address as an int64 cdata
---@return ffi.cdata*
function Storage:cdata(asnumber) end

---A storage from the address that `torch.pointer` gave. It takes over one reference of `retain`. The address 0 gives nil.
---Errors: an address without an outstanding `retain`; an address of another class. Origin: Torch7. Differs from Torch7: there
---any number was trusted.
---```lua
---local s = torch.IntStorage { 7 }
---s:retain() -- the reference that `pushudata` takes over
---local same = torch.pushudata(torch.pointer(s), 'torch.IntStorage')
---print(same == s, same[1]) --> true	7
---```
---@param address torch.pointer
---@param class torch.class
---@return torch.Storage?
function torch.pushudata(address, class) end

-- Classes -------------------------------------------------------------------------------------------------------------
-- All classes are called in the same ways, which `torch.Storage` describes. Integer classes truncate fractions toward zero and
-- keep the low bits. docs/numbers.md has the rules.

---How a file is mapped. Origin: this library.
---@class torch.MapOptions
---@field filename string
---@field offset? torch.number the first byte that is mapped, from 0; elements need not be aligned
---@field size? torch.number elements; default as many as fit into the rest of the file; a shorter shared file becomes longer
---@field shared? boolean writes reach the file and other processes; with `size`, the file is created or extended
---@field readonly? boolean writing is an error; the file may be write-protected, and is neither created nor extended
---@field advise? 'normal'|'sequential'|'random'|'willneed' as in `s:advise`
---@field lock? boolean keeps the pages in memory; an error if the system does not allow that much
---@field hugepages? boolean asks for huge pages, where the system has them for files

---Which shared memory is used, and how. Origin: this library.
---@class torch.SharedOptions
---@field shared string the name, without slashes
---@field size? torch.number elements; default as many as the memory has; without `create` an error if it has fewer
---@field create? boolean creates memory that does not exist, and extends shorter memory; it takes a size; default false
---@field readonly? boolean writing is an error; default false; an error together with `create`

-- [dtypes: classes] written by tools/dtypes.lua from the list of dtypes

---Unsigned integers of 8 bits, 0 to 255.
---
---Constructors: see `torch.Storage`. PyTorch's uint8.
---```lua
---print(torch.ByteStorage({ 1.9, -1, 128 }):unpack()) --> 1	255	128
---```
---@class torch.ByteStorage : torch.Storage
---@overload fun(size?: torch.number): torch.ByteStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.ByteStorage
---@overload fun(elements: torch.number[]): torch.ByteStorage
---@overload fun(storage: torch.ByteStorage, offset?: torch.number, size?: torch.number): torch.ByteStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.ByteStorage
---@overload fun(options: torch.MapOptions): torch.ByteStorage
---@overload fun(options: torch.SharedOptions): torch.ByteStorage
torch.ByteStorage = {}

---Signed integers of 8 bits, -128 to 127.
---
---Constructors: see `torch.Storage`. PyTorch's int8.
---```lua
---print(torch.CharStorage({ 1.9, -1, 128 }):unpack()) --> 1	-1	-128
---```
---@class torch.CharStorage : torch.Storage
---@overload fun(size?: torch.number): torch.CharStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.CharStorage
---@overload fun(elements: torch.number[]): torch.CharStorage
---@overload fun(storage: torch.CharStorage, offset?: torch.number, size?: torch.number): torch.CharStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.CharStorage
---@overload fun(options: torch.MapOptions): torch.CharStorage
---@overload fun(options: torch.SharedOptions): torch.CharStorage
torch.CharStorage = {}

---Signed integers of 16 bits.
---
---Constructors: see `torch.Storage`. PyTorch's int16.
---```lua
---print(torch.ShortStorage({ 1.9, -1, 32768 }):unpack()) --> 1	-1	-32768
---```
---@class torch.ShortStorage : torch.Storage
---@overload fun(size?: torch.number): torch.ShortStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.ShortStorage
---@overload fun(elements: torch.number[]): torch.ShortStorage
---@overload fun(storage: torch.ShortStorage, offset?: torch.number, size?: torch.number): torch.ShortStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.ShortStorage
---@overload fun(options: torch.MapOptions): torch.ShortStorage
---@overload fun(options: torch.SharedOptions): torch.ShortStorage
torch.ShortStorage = {}

---Signed integers of 32 bits.
---
---Constructors: see `torch.Storage`. PyTorch's int32.
---```lua
---print(torch.IntStorage({ 1.9, -1, 2147483648 }):unpack()) --> 1	-1	-2147483648
---```
---@class torch.IntStorage : torch.Storage
---@overload fun(size?: torch.number): torch.IntStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.IntStorage
---@overload fun(elements: torch.number[]): torch.IntStorage
---@overload fun(storage: torch.IntStorage, offset?: torch.number, size?: torch.number): torch.IntStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.IntStorage
---@overload fun(options: torch.MapOptions): torch.IntStorage
---@overload fun(options: torch.SharedOptions): torch.IntStorage
torch.IntStorage = {}

---Signed integers of 64 bits on every platform.
---
---Copies, fills and cdata keep all 64 bits. An element that is read as a Lua number is rounded beyond 2^53.
---
---Constructors: see `torch.Storage`. PyTorch's int64.
---```lua
---local s = torch.LongStorage { '9223372036854775807', -1 } -- as numbers they would be rounded
---print(s:decimal(1), s:decimal(2)) --> 9223372036854775807	-1
---```
---@class torch.LongStorage : torch.Storage
---@overload fun(size?: torch.number): torch.LongStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.LongStorage
---@overload fun(elements: torch.number[]): torch.LongStorage
---@overload fun(storage: torch.LongStorage, offset?: torch.number, size?: torch.number): torch.LongStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.LongStorage
---@overload fun(options: torch.MapOptions): torch.LongStorage
---@overload fun(options: torch.SharedOptions): torch.LongStorage
torch.LongStorage = {}

---IEEE 754 half precision (binary16).
---
---Converted through single precision, as in Torch7.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float16.
---```lua
---local s = torch.HalfStorage { 0.1, 1000000 }
---print(s:decimal(1), s:decimal(2)) --> 0.0999755859375	inf
---```
---@class torch.HalfStorage : torch.Storage
---@overload fun(size?: torch.number): torch.HalfStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.HalfStorage
---@overload fun(elements: torch.number[]): torch.HalfStorage
---@overload fun(storage: torch.HalfStorage, offset?: torch.number, size?: torch.number): torch.HalfStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.HalfStorage
---@overload fun(options: torch.MapOptions): torch.HalfStorage
---@overload fun(options: torch.SharedOptions): torch.HalfStorage
torch.HalfStorage = {}

---IEEE 754 single precision (binary32).
---
---Constructors: see `torch.Storage`. PyTorch's float32.
---```lua
---local s = torch.FloatStorage { 0.1, 1000000 }
---print(s:decimal(1), s:decimal(2)) --> 0.10000000149011612	1000000
---```
---@class torch.FloatStorage : torch.Storage
---@overload fun(size?: torch.number): torch.FloatStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.FloatStorage
---@overload fun(elements: torch.number[]): torch.FloatStorage
---@overload fun(storage: torch.FloatStorage, offset?: torch.number, size?: torch.number): torch.FloatStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.FloatStorage
---@overload fun(options: torch.MapOptions): torch.FloatStorage
---@overload fun(options: torch.SharedOptions): torch.FloatStorage
torch.FloatStorage = {}

---IEEE 754 double precision (binary64), which is Lua's own number.
---
---Constructors: see `torch.Storage`. PyTorch's float64.
---```lua
---local s = torch.DoubleStorage { 0.1, 1000000 }
---print(s:decimal(1), s:decimal(2)) --> 0.10000000000000001	1000000
---```
---@class torch.DoubleStorage : torch.Storage
---@overload fun(size?: torch.number): torch.DoubleStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.DoubleStorage
---@overload fun(elements: torch.number[]): torch.DoubleStorage
---@overload fun(storage: torch.DoubleStorage, offset?: torch.number, size?: torch.number): torch.DoubleStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.DoubleStorage
---@overload fun(options: torch.MapOptions): torch.DoubleStorage
---@overload fun(options: torch.SharedOptions): torch.DoubleStorage
torch.DoubleStorage = {}

---Unsigned integers of 16 bits, 0 to 65535.
---
---Constructors: see `torch.Storage`. PyTorch's uint16. Not in Torch7, and not in `.t7` files.
---```lua
---print(torch.UInt16Storage({ 1.9, -1, 32768 }):unpack()) --> 1	65535	32768
---```
---@class torch.UInt16Storage : torch.Storage
---@overload fun(size?: torch.number): torch.UInt16Storage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.UInt16Storage
---@overload fun(elements: torch.number[]): torch.UInt16Storage
---@overload fun(storage: torch.UInt16Storage, offset?: torch.number, size?: torch.number): torch.UInt16Storage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.UInt16Storage
---@overload fun(options: torch.MapOptions): torch.UInt16Storage
---@overload fun(options: torch.SharedOptions): torch.UInt16Storage
torch.UInt16Storage = {}

---Unsigned integers of 32 bits, 0 to 2^32 - 1.
---
---Constructors: see `torch.Storage`. PyTorch's uint32. Not in Torch7, and not in `.t7` files.
---```lua
---print(torch.UInt32Storage({ 1.9, -1, 2147483648 }):unpack()) --> 1	4294967295	2147483648
---```
---@class torch.UInt32Storage : torch.Storage
---@overload fun(size?: torch.number): torch.UInt32Storage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.UInt32Storage
---@overload fun(elements: torch.number[]): torch.UInt32Storage
---@overload fun(storage: torch.UInt32Storage, offset?: torch.number, size?: torch.number): torch.UInt32Storage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.UInt32Storage
---@overload fun(options: torch.MapOptions): torch.UInt32Storage
---@overload fun(options: torch.SharedOptions): torch.UInt32Storage
torch.UInt32Storage = {}

---Unsigned integers of 64 bits, 0 to 2^64 - 1.
---
---Copies, fills and cdata keep all 64 bits. An element that is read as a Lua number is rounded beyond 2^53.
---
---Constructors: see `torch.Storage`. PyTorch's uint64. Not in Torch7, and not in `.t7` files.
---```lua
---local s = torch.UInt64Storage { '9223372036854775807', -1 } -- as numbers they would be rounded
---print(s:decimal(1), s:decimal(2)) --> 9223372036854775807	18446744073709551615
---```
---@class torch.UInt64Storage : torch.Storage
---@overload fun(size?: torch.number): torch.UInt64Storage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.UInt64Storage
---@overload fun(elements: torch.number[]): torch.UInt64Storage
---@overload fun(storage: torch.UInt64Storage, offset?: torch.number, size?: torch.number): torch.UInt64Storage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.UInt64Storage
---@overload fun(options: torch.MapOptions): torch.UInt64Storage
---@overload fun(options: torch.SharedOptions): torch.UInt64Storage
torch.UInt64Storage = {}

---bfloat16: the upper 16 bits of a single-precision float.
---
---Rounded once from numbers and integers.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's bfloat16. Not in Torch7, and not in `.t7` files.
---```lua
---local s = torch.BFloat16Storage { 0.1, 1000000 }
---print(s:decimal(1), s:decimal(2)) --> 0.10009765625	999424
---```
---@class torch.BFloat16Storage : torch.Storage
---@overload fun(size?: torch.number): torch.BFloat16Storage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.BFloat16Storage
---@overload fun(elements: torch.number[]): torch.BFloat16Storage
---@overload fun(storage: torch.BFloat16Storage, offset?: torch.number, size?: torch.number): torch.BFloat16Storage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.BFloat16Storage
---@overload fun(options: torch.MapOptions): torch.BFloat16Storage
---@overload fun(options: torch.SharedOptions): torch.BFloat16Storage
torch.BFloat16Storage = {}

---Booleans of one byte: 0 or 1; `true` and `false` can be written.
---
---Writing takes booleans and numbers. All numbers but 0 are true, NaN too. Lua reads 0 and 1; any byte that is
---not 0 reads as 1.
---
---Constructors: see `torch.Storage`. PyTorch's bool. Not in Torch7, and not in `.t7` files.
---```lua
---print(torch.BoolStorage({ true, false, 0.5, 0 }):unpack()) --> 1	0	1	0
---```
---@class torch.BoolStorage : torch.Storage
---@overload fun(size?: torch.number): torch.BoolStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.BoolStorage
---@overload fun(elements: (torch.number|boolean)[]): torch.BoolStorage
---@overload fun(storage: torch.BoolStorage, offset?: torch.number, size?: torch.number): torch.BoolStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.BoolStorage
---@overload fun(options: torch.MapOptions): torch.BoolStorage
---@overload fun(options: torch.SharedOptions): torch.BoolStorage
torch.BoolStorage = {}

---Floats of 8 bits with 3 bits of mantissa, up to 448, without infinity.
---
---A number that is too large becomes NaN. Converted through single precision, as in PyTorch, like the other floats
---of 8 bits.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float8_e4m3fn. Not in Torch7, and not in `.t7` files.
---```lua
---local s = torch.Float8_e4m3fnStorage { 0.1, 1000000 }
---print(s:decimal(1), s:decimal(2)) --> 0.1015625	nan
---```
---@class torch.Float8_e4m3fnStorage : torch.Storage
---@overload fun(size?: torch.number): torch.Float8_e4m3fnStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.Float8_e4m3fnStorage
---@overload fun(elements: torch.number[]): torch.Float8_e4m3fnStorage
---@overload fun(storage: torch.Float8_e4m3fnStorage, offset?: torch.number, size?: torch.number): torch.Float8_e4m3fnStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.Float8_e4m3fnStorage
---@overload fun(options: torch.MapOptions): torch.Float8_e4m3fnStorage
---@overload fun(options: torch.SharedOptions): torch.Float8_e4m3fnStorage
torch.Float8_e4m3fnStorage = {}

---Floats of 8 bits with 2 bits of mantissa, up to 57344.
---
---A number that is too large becomes infinity.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float8_e5m2. Not in Torch7, and not in `.t7` files.
---```lua
---local s = torch.Float8_e5m2Storage { 0.1, 1000000 }
---print(s:decimal(1), s:decimal(2)) --> 0.09375	inf
---```
---@class torch.Float8_e5m2Storage : torch.Storage
---@overload fun(size?: torch.number): torch.Float8_e5m2Storage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.Float8_e5m2Storage
---@overload fun(elements: torch.number[]): torch.Float8_e5m2Storage
---@overload fun(storage: torch.Float8_e5m2Storage, offset?: torch.number, size?: torch.number): torch.Float8_e5m2Storage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.Float8_e5m2Storage
---@overload fun(options: torch.MapOptions): torch.Float8_e5m2Storage
---@overload fun(options: torch.SharedOptions): torch.Float8_e5m2Storage
torch.Float8_e5m2Storage = {}

---Floats of 8 bits with 3 bits of mantissa, up to 240, without infinity or -0.
---
---A number that is too large becomes NaN.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float8_e4m3fnuz. Not in Torch7, and not in `.t7` files.
---```lua
---local s = torch.Float8_e4m3fnuzStorage { 0.1, 1000000 }
---print(s:decimal(1), s:decimal(2)) --> 0.1015625	nan
---```
---@class torch.Float8_e4m3fnuzStorage : torch.Storage
---@overload fun(size?: torch.number): torch.Float8_e4m3fnuzStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.Float8_e4m3fnuzStorage
---@overload fun(elements: torch.number[]): torch.Float8_e4m3fnuzStorage
---@overload fun(storage: torch.Float8_e4m3fnuzStorage, offset?: torch.number, size?: torch.number): torch.Float8_e4m3fnuzStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.Float8_e4m3fnuzStorage
---@overload fun(options: torch.MapOptions): torch.Float8_e4m3fnuzStorage
---@overload fun(options: torch.SharedOptions): torch.Float8_e4m3fnuzStorage
torch.Float8_e4m3fnuzStorage = {}

---Floats of 8 bits with 2 bits of mantissa, up to 57344, without infinity or -0.
---
---A number that is too large becomes NaN.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float8_e5m2fnuz. Not in Torch7, and not in `.t7` files.
---```lua
---local s = torch.Float8_e5m2fnuzStorage { 0.1, 1000000 }
---print(s:decimal(1), s:decimal(2)) --> 0.09375	nan
---```
---@class torch.Float8_e5m2fnuzStorage : torch.Storage
---@overload fun(size?: torch.number): torch.Float8_e5m2fnuzStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.Float8_e5m2fnuzStorage
---@overload fun(elements: torch.number[]): torch.Float8_e5m2fnuzStorage
---@overload fun(storage: torch.Float8_e5m2fnuzStorage, offset?: torch.number, size?: torch.number): torch.Float8_e5m2fnuzStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.Float8_e5m2fnuzStorage
---@overload fun(options: torch.MapOptions): torch.Float8_e5m2fnuzStorage
---@overload fun(options: torch.SharedOptions): torch.Float8_e5m2fnuzStorage
torch.Float8_e5m2fnuzStorage = {}

---Complex numbers: two floats, the real part first.
---
---An element is read and written as `torch.complex` says.
---
---Constructors: see `torch.Storage`. PyTorch's complex64, cfloat. Not in Torch7, and not in `.t7` files.
---```lua
---local s = torch.ComplexFloatStorage { { 3, -4 }, 0.5 }
---print(s[1].re, s[1].im, s[2].re, s[2].im) --> 3	-4	0.5	0
---```
---@class torch.ComplexFloatStorage : torch.Storage
---@field [integer] torch.complex
---@overload fun(size?: torch.number): torch.ComplexFloatStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.ComplexFloatStorage
---@overload fun(elements: (torch.number|torch.complex|number[])[]): torch.ComplexFloatStorage
---@overload fun(storage: torch.ComplexFloatStorage, offset?: torch.number, size?: torch.number): torch.ComplexFloatStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.ComplexFloatStorage
---@overload fun(options: torch.MapOptions): torch.ComplexFloatStorage
---@overload fun(options: torch.SharedOptions): torch.ComplexFloatStorage
torch.ComplexFloatStorage = {}

---Complex numbers: two doubles, the real part first.
---
---An element is read and written as `torch.complex` says.
---
---Constructors: see `torch.Storage`. PyTorch's complex128, cdouble. Not in Torch7, and not in `.t7` files.
---```lua
---local s = torch.ComplexDoubleStorage { { 3, -4 }, 0.5 }
---print(s[1].re, s[1].im, s[2].re, s[2].im) --> 3	-4	0.5	0
---```
---@class torch.ComplexDoubleStorage : torch.Storage
---@field [integer] torch.complex
---@overload fun(size?: torch.number): torch.ComplexDoubleStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.ComplexDoubleStorage
---@overload fun(elements: (torch.number|torch.complex|number[])[]): torch.ComplexDoubleStorage
---@overload fun(storage: torch.ComplexDoubleStorage, offset?: torch.number, size?: torch.number): torch.ComplexDoubleStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.ComplexDoubleStorage
---@overload fun(options: torch.MapOptions): torch.ComplexDoubleStorage
---@overload fun(options: torch.SharedOptions): torch.ComplexDoubleStorage
torch.ComplexDoubleStorage = {}

---Bytes without a type: numbers from 0 to 255.
---
---Converted as a `Byte` is. In Lua, a copy between such a storage and one of another class copies bytes.
---
---One string alone is taken as the bytes. So `torch.UntypedStorage("data.bin")` reads no file: `fromfile` maps one,
---and so does `{filename = ...}`. A string with one more argument, which may be nil, is the name of a file and
---whether it is shared: see `torch.Storage`. Elements are stored as in a `torch.ByteStorage`.
---
---Constructors: see `torch.Storage`. PyTorch's UntypedStorage. Not in Torch7, and not in `.t7` files.
---```lua
---local bytes = torch.UntypedStorage 'RIFF'
---print(bytes[1], bytes:string()) --> 82	RIFF
---```
---@class torch.UntypedStorage : torch.Storage
---@overload fun(size?: torch.number): torch.UntypedStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.UntypedStorage
---@overload fun(elements: torch.number[]): torch.UntypedStorage
---@overload fun(bytes: string): torch.UntypedStorage
---@overload fun(storage: torch.UntypedStorage, offset?: torch.number, size?: torch.number): torch.UntypedStorage
---@overload fun(filename: string, shared: boolean?, size?: torch.number, sharedmemory?: boolean): torch.UntypedStorage
---@overload fun(options: torch.MapOptions): torch.UntypedStorage
---@overload fun(options: torch.SharedOptions): torch.UntypedStorage
torch.UntypedStorage = {}

-- [end dtypes: classes]

---The default class: `torch.DoubleStorage` until `torch.setdefaulttensortype` chooses another. Origin: Torch7.
torch.Storage = torch.DoubleStorage

-- Types of values -----------------------------------------------------------------------------------------------------
-- The functions of the module are called with a point: `torch.isStorage(s)`. With a colon the value would be the module itself.

---Makes `torch.Tensor` this class of tensors, and `torch.Storage` the class of its storages. Errors: an unknown class. Origin:
---Torch7.
---```lua
---torch.setdefaulttensortype 'torch.FloatTensor'
---print(torch.Tensor(2):type(), torch.Storage(2):type())
-----> torch.FloatTensor	torch.FloatStorage
---torch.setdefaulttensortype 'torch.DoubleTensor'
---```
---@param name string 'torch.FloatTensor' and so on
function torch.setdefaulttensortype(name) end

---The name of the default class of tensors: 'torch.DoubleTensor' until `torch.setdefaulttensortype` chooses another. Origin:
---Torch7.
---```lua
---print(torch.getdefaulttensortype()) --> torch.DoubleTensor
---```
---@return string
function torch.getdefaulttensortype() end

---The class name of a storage, of a tensor, or of an object whose class the program has registered. Nothing for any other
---value. Errors: no argument. Origin: Torch7.
---```lua
---print(torch.typename(torch.IntStorage(3)), (torch.typename 'text'))
-----> torch.IntStorage	nil
---```
---@param value any
---@return string?
function torch.typename(value) end

---The same as `torch.typename`, or Lua's `type` for values without a class. Errors: no argument. Origin: Torch7.
---```lua
---print(torch.type(torch.IntTensor(2, 3)), torch.type 'text', torch.type {})
-----> torch.IntTensor	string	table
---```
---@param value any
---@return string
function torch.type(value) end

---Whether a value is a storage. Origin: Torch7. Differs from Torch7: it goes by the value and not by the name of its class.
---```lua
---local s = torch.IntStorage(3)
---print(torch.isStorage(s), torch.isStorage(s:view(3)), torch.isStorage {})
-----> true	false	false
---```
---@param value any
---@return boolean
function torch.isStorage(value) end

---Whether a value is a tensor. It is false for the record of a CUDA tensor. Origin: Torch7. Differs from Torch7: it goes by the
---value and not by the name of its class.
---```lua
---local x = torch.IntTensor(2, 3)
---print(torch.isTensor(x), torch.isTensor(x:storage()), torch.isTensor { { 1, 2 } })
-----> true	false	false
---```
---@param value any
---@return boolean
function torch.isTensor(value) end

---Whether a storage, a tensor or an object is of a class, or of a class that inherits from it. The class is given by its
---name, by a Lua pattern that matches the whole name, by its constructor or metatable, or by another object. For any other value
---it is false. Errors: a class that is not given in one of these ways. Origin: Torch7.
---```lua
---local x = torch.FloatTensor(3)
---print(torch.isTypeOf(x, 'torch.FloatTensor'), torch.isTypeOf(x, torch.IntTensor))
-----> true	false
---print(torch.isTypeOf(x, 'torch.*Tensor')) --> true
---```
---@param value any
---@param class string|table|torch.Storage|torch.Tensor 'torch.IntStorage', 'torch.*Tensor', torch.IntStorage
---@return boolean
function torch.isTypeOf(value, class) end

---Whether two values are the same object. For storages: the same storage, even if two userdata hold it. Errors: a userdata
---without a class. Origin: Torch7.
---```lua
---local x = torch.IntTensor { 1, 2 }
---print(torch.isequal(x:storage(), x:storage()), torch.isequal(x, x:clone()))
-----> true	false
---```
---@param a any
---@param b any
---@return boolean
function torch.isequal(a, b) end

---The address of the C struct of a storage, or of a table, function, thread, string, cdata or userdata with a class. The address
---of an object that was collected may become that of another. Errors: nil; a boolean; a userdata without a class. Origin: Torch7.
---```lua
---local object = {}
---local seen = { [torch.pointer(object)] = true } -- this key does not keep the object alive
---print(seen[torch.pointer(object)], seen[torch.pointer {}]) --> true	nil
---```
---@param value any
---@return number address
function torch.pointer(value) end

-- Memory of other values ----------------------------------------------------------------------------------------------

---Options of `torch.frombuffer`.
---@class torch.BufferOptions
---@field dtype? torch.class default `torch.UntypedStorage`
---@field count? torch.number elements; if it is negative or missing, all of the rest
---@field offset? torch.number bytes that are skipped; elements need not be aligned; default 0
---@field byteorder? torch.Order the order of the bytes in the memory; default that of the machine
---@field size? torch.number the number of bytes behind a bare pointer
---@field requires_grad? false for programs written for PyTorch; storages have no gradients

---A storage over the memory of another value, which is kept alive. It cannot be resized.
---
---Strings, constant FFI memory and memory that its owner calls read-only can only be read, and every write is an error. If
---`byteorder` is not that of the machine, the result is a copy with the bytes of every element reversed, which can be
---resized. A storage gives a view of itself, which keeps its memory when the storage is resized, and a contiguous tensor a
---view of its elements. A `string.buffer` gives a copy of its bytes, which can only be read. An object with `__buffer` must
---not move its memory while the storage exists. The result is a storage; its method `view` makes a tensor.
---
---LÖVE's ByteData, ImageData and SoundData can be written, and its other `Data` objects only read. Their memory stays while
---a storage or view shows it, even if the object is released. An object that was released before is an error.
---
---Errors: nothing to share; a length that is not a whole number of elements; a range that is not inside; errors of
---`__buffer`. Origin: PyTorch. Differs from PyTorch: there is a default for `dtype`, and strings cannot be written.
---```lua
---local reply = 'status: \0\0\1\44'
---local numbers = torch.frombuffer(reply, { dtype = 'int32', offset = 8, byteorder = 'big' })
---print(numbers[1]) --> 300
---```
---@param object torch.Buffer
---@param options? torch.BufferOptions
---@return torch.Storage
function torch.frombuffer(object, options) end

---Where the bytes of a storage or a contiguous tensor begin (on LuaJIT an FFI pointer, on other Luas a light userdata), how
---many there are, and whether they can only be read: the results that `__buffer` has to give. They neither keep the storage
---alive nor keep it from moving. Errors: a tensor that is not contiguous. Origin: this library.
---```lua
---local Image = { __buffer = function(image) return torch.buffer(image.pixels) end }
---local image = setmetatable({ pixels = torch.ByteStorage { 10, 20, 30 } }, Image)
---print(torch.frombuffer(image):unpack()) --> 10	20	30
---print(select(2, torch.buffer(torch.IntStorage(3)))) --> 12	false
---```
---@param storage torch.Storage|torch.Tensor
---@return ffi.cdata*|lightuserdata pointer
---@return integer bytes
---@return boolean readonly
function torch.buffer(storage) end

-- Classes of the program ----------------------------------------------------------------------------------------------

---The function that makes an empty object of a class, its `__factory`. nil for an unknown name, or if the class has none.
---Origin: Torch7.
---```lua
---local Connection = torch.class 'Connection'
---function Connection:__init() error 'a factory does not call this' end
---print(torch.type(torch.factory 'Connection'())) --> Connection
---```
---@param class torch.class
---@return (fun(...): any)?
function torch.factory(class) end

---The metatable of a class, by name. Nothing for an unknown name. Origin: Torch7.
---```lua
---local methods = torch.getmetatable 'torch.IntStorage'
---function methods:last() return self[#self] end
---print(torch.IntStorage({ 1, 2, 3 }):last()) --> 3
---```
---@param class torch.class
---@return table?
function torch.getmetatable(class) end

---The constructor table of a class (`torch.IntStorage`), by name. Nothing for an unknown name. Origin: Torch7.
---```lua
---local class = 'torch.' .. 'Int' .. 'Storage'
---print(torch.getconstructortable(class) { 1, 2, 3 }:size()) --> 3
---```
---@param class torch.class
---@return table?
function torch.getconstructortable(class) end

---Makes a class of tables. Returns its metatable, which the program adds methods to, and the metatable of the parent. The
---constructor of the class is stored under its name: as a global variable; for `package.Name`, as a field of the global or
---loaded table `package`; with `module`, as a field of that table. The constructor makes an object, calls its method `__init`
---with the arguments if there is one, and returns the object. `A.new` is the same.
---
---Methods and `__init` of the parent are found in the child. Operators are methods with underscores at both ends, which
---children inherit too: `__add__`, `__sub__`, `__mul__`, `__div__`, `__mod__`, `__pow__`, `__unm__`, `__concat__`, `__lt__`,
---`__le__`, `__eq__`, `__call__`, `__tostring__`. `__index__(object, key)` returns the value and true, or false to continue
---with the methods. `__newindex__(object, key, value)` returns true, or false to store the value in the object. `__version`
---is 1 unless it is set.
---
---If the parent is a storage class, the child inherits its name, but the methods refuse the object because it is not a
---storage. Errors: a class of that name exists; the parent or the package does not. Origin: Torch7.
---```lua
---local Counter = torch.class 'Counter'
---function Counter:__init(first) self.n = first or 0 end
---function Counter:next() self.n = self.n + 1 return self.n end
---local Even, parent = torch.class('Even', 'Counter')
---function Even:next() parent.next(self) return parent.next(self) end
---print(_G.Even(4):next()) --> 6
---```
---@overload fun(name: string, module: table): table
---@param name string
---@param parent? string
---@param module? table
---@return table metatable
---@return table? parent
function torch.class(name, parent, module) end

---Makes a class of any values that `constructor` makes, or adds the given parts to a class that lacks them. The destructor
---becomes the `__gc` of userdata, and the factory makes an empty object. Returns the metatable. Most programs need only
---`torch.class`. Errors: a part that the class already has; those of `torch.class`. Origin: Torch7.
---```lua
---local function new(celsius) return torch.setmetatable({ celsius }, 'Degrees') end
---local Degrees = torch.newmetatable('Degrees', nil, new)
---function Degrees:fahrenheit() return self[1] * 9 / 5 + 32 end
---print(_G.Degrees(100):fahrenheit()) --> 212
---```
---@param name string
---@param parent? string
---@param constructor? fun(...): any
---@param destructor? fun(object: any)
---@param factory? fun(...): any
---@param module? table as for `torch.class`
---@return table metatable
function torch.newmetatable(name, parent, constructor, destructor, factory, module) end

---Gives a class name to all values with a metatable, and on LuaJIT to the values of an FFI type (a ctype, its text, or a
---value of the type). Errors: a name, a metatable or a type that another class has. Origin: Torch7. Differs from Torch7:
---there the other class was replaced.
---```lua
---local methods = { __index = {} }
---torch.metatype('Matrix', methods)
---print(torch.type(setmetatable({}, methods))) --> Matrix
---```
---@param name string
---@param metatable table
---@param ctype? ffi.ctype*|ffi.cdata*|string
function torch.metatype(name, metatable, ctype) end

---Makes a table an object of a class, and returns the table. Errors: an unknown class; a storage class. Origin: Torch7.
---Differs from Torch7: it returned the name, against its documentation, and let tables pretend to be storages.
---```lua
---local Circle = torch.class 'Circle'
---function Circle:area() return math.floor(math.pi * self.radius ^ 2) end
---local circle = torch.setmetatable({ radius = 10 }, 'Circle') -- does not call `__init`
---print(torch.type(circle), circle:area()) --> Circle	314
---```
---@generic T: table
---@param object T
---@param class string
---@return T object
function torch.setmetatable(object, class) end

---The format version of an object's class, its `__version`. It is 1 for a storage, and for a class of the program unless it
---is set. Errors: no argument. Origin: Torch7.
---```lua
---local Model = torch.class 'Model'
---Model.__version = 2
---print(torch.version(_G.Model()), torch.version(torch.IntStorage(3))) --> 2	1
---```
---@param value any
---@return integer?
function torch.version(value) end

-- Methods as functions ------------------------------------------------------------------------------------------------

---The same as `storage:totable()`. That of a tensor is a nested table. Errors: neither a storage nor a tensor. Origin: Torch7.
---```lua
---print(torch.totable(torch.IntTensor { { 1, 2 }, { 3, 4 } })[2][1]) --> 3
---```
---@param storage torch.Storage|torch.Tensor
---@return table
function torch.totable(storage) end

---The same as `storage:data(asnumber)`. Errors: neither a storage nor a tensor. Origin: Torch7. Differs from Torch7: `(size,
---ptr)` accepts the result of `torch.data(s, true)`.
---```lua
---local s = torch.FloatStorage { 0.5, 1.5 }
---local same = torch.FloatStorage(2, torch.data(s, true)) -- the same memory, while `s` lives
---same[2] = 2.5
---print(s[2]) --> 2.5
---```
---@param storage torch.Storage|torch.Tensor
---@param asnumber? boolean
---@return ffi.cdata*|lightuserdata|number
function torch.data(storage, asnumber) end

---LuaJIT only: the same as `storage:cdata(asnumber)`. Errors: not a storage. Origin: Torch7.
---```lua (LuaJIT)
---local s = torch.FloatStorage { 0.5, 1.5 }
---print(torch.cdata(s).data[1], torch.cdata(s) == s:cdata()) --> 1.5	true
---```
---@param storage torch.Storage
---@param asnumber? boolean
---@return ffi.cdata*
function torch.cdata(storage, asnumber) end

-- Settings and statistics ---------------------------------------------------------------------------------------------

---Sets how many threads the large operations of this process (`fill`, `copy`, `clone`, `type`) use. 0, the default, means as
---many as there are cores for the process. Threads are started for each operation, and none is kept. Errors: a negative number,
---or a fraction. Origin: Torch7.
---```lua
---torch.setnumthreads(1) -- all work stays on the thread that calls
---print(torch.getnumthreads()) --> 1
---torch.setnumthreads(0)
---```
---@param n integer
function torch.setnumthreads(n) end

---How many threads large operations use. Origin: Torch7.
---```lua
---print(torch.getnumthreads() >= 1) --> true
---```
---@return integer
function torch.getnumthreads() end

---The version of the library, such as `'0.2.0'`. `tostring(torch)` shows it, too. Origin: this library.
---@type string
torch._VERSION = ''

---How many bytes the storages of this process hold, by kind of memory. `print` shows the numbers. Origin: this library.
---```lua
---collectgarbage()
---local before = torch.memory().heap
---local s = torch.DoubleStorage(1000)
---print(torch.memory().heap - before, s:nbytes()) --> 8000	8000
---```
---@return { heap: integer, mapped: integer, shared: integer, foreign: integer } bytes
function torch.memory() end

---Sets whether large allocations may run Lua's collector, which is the default. Such a run starts a collector that the
---program has stopped. Origin: Torch7.
---```lua
---collectgarbage 'stop'
---torch.setheaptracking(false) -- the collector stays stopped, whatever is allocated
---for _ = 1, 10 do torch.ByteStorage(1e6) end
---print(torch.memory().heap >= 1e7) --> true
---torch.setheaptracking(true) collectgarbage 'restart'
---```
---@param enabled boolean
function torch.setheaptracking(enabled) end

---Sets how elements are accessed, for all storages of this Lua state: by functions that LuaJIT compiles, at the speed of a C
---array (`'ffi'`, the default on LuaJIT with the JIT on), or by C functions (`'c'`, the default elsewhere). With `'ffi'` one
---case is not safe: a debug hook that resizes or frees the very storage in the middle of an access. Errors: another mode;
---`'ffi'` without LuaJIT. Origin: this library.
---```lua
---local mode = torch.accessors() -- 'ffi' on LuaJIT, 'c' elsewhere
---print(torch.accessors 'c') --> c
---torch.accessors(mode)
---```
---@param mode? 'c'|'ffi'
---@return 'c'|'ffi' mode the one in force
function torch.accessors(mode) end

-- Shared memory -------------------------------------------------------------------------------------------------------

---The shared memory objects of this machine that the process may open, by name. `held` says whether a storage of some process
---holds the object. An object that nobody holds was left by a process that was killed, or belongs to a program that does not
---use this library. Errors: an argument. Origin: this library.
---```lua
---local name = 'frames-' .. torch.pointer {}
---local s = torch.IntStorage { shared = name, size = 10, create = true }
---for _, object in ipairs(torch.sharedMemory()) do
---  if object.name == name then print(object.bytes, object.held, #s) end
---  --> 40	true	10
---end
---```
---@return { name: string, bytes: integer, held: boolean }[]
function torch.sharedMemory() end

---Removes the name of shared memory. Whoever has it mapped keeps it, and the name is free for something new. Returns whether
---the name existed. Errors: what the system reports. Origin: this library.
---```lua
---local name = 'left-' .. torch.pointer {}
---local s = torch.IntStorage { shared = name, size = 10, create = true }
---print(torch.unlinkSharedMemory(name), torch.unlinkSharedMemory(name)) --> true	false
---print(#s) --> 10
---```
---@param name string
---@return boolean
function torch.unlinkSharedMemory(name) end

-- Storages between Lua states -----------------------------------------------------------------------------------------

---Takes the storage or the tensor that waits for a token of its method `token`. Errors: a token that was taken or dropped, that
---another process made, or that is not a token. Origin: this library.
---```lua
---local x = torch.IntTensor { { 1, 2 }, { 3, 4 } }
---local received = torch.fromToken(x:token()) -- usually in another Lua state
---received:set(2, 1, 30)
---print(x:get(2, 1)) --> 30
---```
---@param token string
---@return torch.Storage | torch.Tensor
function torch.fromToken(token) end

---Gives up the storage or the tensor that waits for a token, because the token will not arrive. Errors: those of
---`torch.fromToken`. Origin: this library.
---```lua
---local s = torch.IntStorage { 1 }
---local token = s:token()
---print((pcall(s.resize, s, 2))) --> false
---torch.dropToken(token)
---print(#s:resize(2)) --> 2
---```
---@param token string
function torch.dropToken(token) end

---Makes a storage known under a name to all Lua states of this process, which find it by `torch.lookup(name)`, until
---`torch.unpublish(name)`. Until then it cannot be resized. Publishing the same storage again under its name changes nothing.
---Errors: a name that another storage has; memory that belongs to a value of this Lua state. Origin: this library.
---```lua
---torch.publish('weights', torch.FloatStorage { 0.5, 1.5 })
---print(torch.lookup('weights')[2]) --> 1.5
---torch.unpublish 'weights'
---```
---@param name string
---@param storage torch.Storage
function torch.publish(name, storage) end

---The storage that is published under a name in this process, or nil. Origin: this library.
---```lua
---local squares = torch.lookup 'squares'
---if not squares then -- this Lua state is the first one
---  squares = torch.IntStorage { 1, 4, 9 }
---  torch.publish('squares', squares)
---end
---print(torch.lookup('squares')[3], torch.lookup 'cubes') --> 9	nil
---```
---@param name string
---@return torch.Storage?
function torch.lookup(name) end

---Ends a publication. Lua states that have looked the storage up keep it. Returns whether there was a publication. Origin:
---this library.
---```lua
---local s = torch.IntStorage { 1 }
---torch.publish('one', s)
---print(torch.unpublish 'one', torch.unpublish 'one', s:resizable())
-----> true	false	true
---```
---@param name string
---@return boolean
function torch.unpublish(name) end

-- Atomic elements -----------------------------------------------------------------------------------------------------
-- Single elements that several threads and processes read and write at once. docs/atomic.md explains the functions, and
-- docs/sharing.md#who-sees-what what others see of them. All are sequentially consistent.
--
-- The storage is one of integers of 8 to 64 bits, of Float, of Double or of Bool. Values are converted as by `s[i] = v`, and
-- what is returned is what `s[i]` would give. Errors, after which nothing has changed: a storage of another class, which the
-- message lists; an index out of range; a storage that was freed, or is read-only unless it is only read; an element whose
-- address is not a multiple of its width, as in views that begin at any byte; a tensor, whose storage and index are needed.
-- Where it comes from: `Atomics` of JavaScript has these functions, with `and`, `or` and `xor` for `band`, `bor` and `bxor`,
-- and without `min` and `max`.

---Functions that access single elements at once.
torch.atomic = {}

---The functions of `torch.atomic`, but they return what `s:exact(i)` gives. With integers of 64 bits beyond 2^53, the others
---return rounded numbers, except on Lua 5.3 and later. What they write and compare is never rounded in either table.
---
---Origin: this library.
---```lua
---local s = torch.LongStorage { '9007199254740993' }
---print(tostring(torch.atomic.exact.load(s, 1)):match '%d+') --> 9007199254740993
---```
torch.atomic.exact = torch.atomic

---The element. What others wrote before they stored it atomically is seen by whoever reads it so.
---
---Origin: JavaScript.
---```lua
---print(torch.atomic.load(torch.IntStorage { 10, 20 }, 2)) --> 20
---```
---@param storage torch.Storage
---@param index torch.number
---@return number
function torch.atomic.load(storage, index) end

---Writes the element. Returns the value as it was stored.
---
---Origin: JavaScript, where it returns the value before it is stored.
---```lua
---local s = torch.ByteStorage(2)
---print(torch.atomic.store(s, 1, 300), s[1]) --> 44	44
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number|boolean
---@return number
function torch.atomic.store(storage, index, value) end

---Writes the element. Returns what it was.
---
---Origin: JavaScript.
---```lua
---local s = torch.IntStorage { 10, 20 }
---print(torch.atomic.exchange(s, 1, 11), s[1]) --> 10	11
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number|boolean
---@return number
function torch.atomic.exchange(storage, index, value) end

---Writes `value` if the element is `expected`. Returns what the element was, and whether `value` was written.
---
---Both numbers are converted first, and then the bits are compared: of a ByteStorage, 300 is 44; of floats, -0 differs from 0,
---and a NaN equals one with the same bits. Integers of 64 bits are compared exactly. A Bool is compared as it is read, whatever
---its byte is. So the second result tells what happened, and not a comparison of the first one.
---
---Origin: JavaScript, which has only the first result.
---```lua
---local s = torch.IntStorage { 10 }
---print(torch.atomic.compareExchange(s, 1, 9, 11)) --> 10	false
---print(torch.atomic.compareExchange(s, 1, 10, 11), s[1]) --> 10	11
---```
---@param storage torch.Storage
---@param index torch.number
---@param expected torch.number|boolean
---@param value torch.number|boolean
---@return number
---@return boolean
function torch.atomic.compareExchange(storage, index, expected, value) end

---Adds to the element. Returns what it was. An integer becomes the sum modulo 2 to the power of its bits. Not for Bool.
---
---Origin: JavaScript, for integers.
---```lua
---local counts = torch.LongStorage(2)
---print(torch.atomic.add(counts, 1, 5), torch.atomic.add(counts, 1, 1), counts[1]) --> 0	5	6
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number
---@return number
function torch.atomic.add(storage, index, value) end

---Subtracts from the element, as `add` adds. Not for Bool.
---
---Origin: JavaScript, for integers.
---```lua
---local s = torch.ByteStorage { 1 }
---print(torch.atomic.sub(s, 1, 2), s[1]) --> 1	255
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number
---@return number
function torch.atomic.sub(storage, index, value) end

---Keeps the bits of the element that `value` has, too. Returns what it was. Not for Float and Double. A Bool is true if both are.
---
---Origin: JavaScript, where it is `and`, which is a word of Lua.
---```lua
---local s = torch.ByteStorage { 12 }
---print(torch.atomic.band(s, 1, 10), s[1]) --> 12	8
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number|boolean
---@return number
function torch.atomic.band(storage, index, value) end

---Sets the bits of the element that `value` has. Returns what it was. Not for Float and Double. A Bool is true if one of both is.
---
---Origin: JavaScript, where it is `or`, which is a word of Lua.
---```lua
---local s = torch.ByteStorage { 12 }
---print(torch.atomic.bor(s, 1, 3), s[1]) --> 12	15
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number|boolean
---@return number
function torch.atomic.bor(storage, index, value) end

---Turns over the bits of the element that `value` has. Returns what it was. Not for Float and Double. A Bool is true if one of
---both is, but not the other.
---
---Origin: JavaScript, where it is `xor`.
---```lua
---local s = torch.ByteStorage { 12 }
---print(torch.atomic.bxor(s, 1, 10), s[1]) --> 12	6
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number|boolean
---@return number
function torch.atomic.bxor(storage, index, value) end

---Makes the element `value` if that is smaller. Returns what it was. The value is converted before it is compared. NaN is not
---smaller than anything, and nothing is smaller than NaN. Not for Bool.
---
---Origin: this library.
---```lua
---local s = torch.DoubleStorage { 0.5 }
---print(torch.atomic.min(s, 1, 0.25), torch.atomic.min(s, 1, 3), s[1]) --> 0.5	0.25	0.25
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number
---@return number
function torch.atomic.min(storage, index, value) end

---Makes the element `value` if that is larger, as `min` does if it is smaller. Of a ByteStorage, 300 is 44. Not for Bool.
---
---Origin: this library.
---```lua
---local s = torch.ByteStorage { 50 }
---print(torch.atomic.max(s, 1, 60), torch.atomic.max(s, 1, 300), s[1]) --> 50	60	60
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number
---@return number
function torch.atomic.max(storage, index, value) end

---Sleeps while the element is `value`, until `notify` is called for it, at most `timeout` seconds; without one there is no
---limit. The whole thread sleeps, and with it all coroutines. For Int, UInt32, Long and UInt64.
---
---Returns `'not-equal'` if the element is not `value` at the beginning, `'timed-out'` if the time is over, and otherwise
---`'ok'`. After `'ok'` the element may be `value`: a program looks at it again. A negative time-out is 0, and infinity is none.
---Errors: NaN as a time-out; no time-out, where no other thread or process can reach the memory, so that nobody could wake this
---one; what a hook raises, as Ctrl-C does. docs/atomic.md#waiting says more.
---
---Origin: JavaScript, where times are in milliseconds.
---```lua
---local s = torch.IntStorage { 1 }
---print(torch.atomic.wait(s, 1, 0, 1), torch.atomic.wait(s, 1, 1, 0.01)) --> not-equal	timed-out
---```
---@param storage torch.Storage
---@param index torch.number
---@param value torch.number
---@param timeout? number
---@return 'ok'|'not-equal'|'timed-out'
function torch.atomic.wait(storage, index, value, timeout) end

---Wakes up to `count` threads that wait for the element, also those of other processes; without `count` it wakes all. Returns
---how many. Whether the element has changed makes no difference. For Int, UInt32, Long and UInt64. A negative count is an
---error, and so is NaN.
---
---Origin: JavaScript.
---```lua
---print(torch.atomic.notify(torch.IntStorage(1), 1)) --> 0
---```
---@param storage torch.Storage
---@param index torch.number
---@param count? torch.number
---@return integer
function torch.atomic.notify(storage, index, count) end

---Whether elements of a class can be accessed at once, which needs no lock on any processor that the library knows.
---
---Origin: JavaScript, where it takes a width.
---```lua
---print(torch.atomic.isLockFree 'int64', torch.atomic.isLockFree 'half') --> true	false
---```
---@param class torch.class
---@return boolean
function torch.atomic.isLockFree(class) end

-- Files ---------------------------------------------------------------------------------------------------------------

---Options of `torch.save` and `torch.serialize`.
---@class torch.SaveOptions
---@field mode? torch.Mode default `'binary'`
---@field referenced? boolean whether an object that occurs several times is written once, and then by its index; default true
---@field atomic? boolean whether a new file takes the place of the old one when it is complete; default true
---@field progress? fun(done: integer, total: integer) called with numbers of bytes, now and then and at the end; the object
---is then saved twice, first to count the bytes

---Options of `torch.load` and `torch.deserialize`.
---@class torch.LoadOptions
---@field mode? torch.Mode by default it is found out: ascii or binary, longs of 8 or 4 bytes, and the byte order
---@field referenced? boolean whether objects with the same index are the same object; default true
---@field mmap? boolean whether the storages of a binary file are parts of a private map of it; default false
---@field progress? fun(done: integer, total: integer) called with numbers of bytes, now and then and at the end
---@field info? boolean whether a second result says what was found out about the file; default false
---@field keeporder? boolean whether tables are saved with their keys in the order of the file, as long as they have the same
---keys; default false; tables inside of records are always saved so

---How a file is written. `'b64'` is `'binary'`, and `'b32'` has C longs of 4 bytes.
---@alias torch.Mode 'binary'|'ascii'|'b32'|'b64'

---What `torch.load` has found out about a file. An ascii file has only a mode.
---@class torch.FileInfo
---@field mode 'binary'|'ascii'
---@field longsize? 4|8 bytes of a C long
---@field byteorder? 'little'|'big'

---A table that stands for a CUDA tensor, an object or a function of a file, because this program has no class for it. Which
---fields it has depends on `class`. Saving it gives back what was in the file.
---@class torch.Record
---@field class string `'torch.CudaTensor'`, `'torch.CudaStorage'`, `'nn.Linear'`, `'function'`
---@field version? integer|string the version of the class; 0 in files from before there were versions; a CUDA tensor has one
---only if it is not 1
---@field storage? torch.Storage of a CUDA tensor or a CUDA storage
---@field size? integer[] of a CUDA tensor: the number of elements along each dimension
---@field stride? integer[] of a CUDA tensor: the distance in elements from one to the next along each dimension
---@field offset? integer of a CUDA tensor: the index of its first element in the storage
---@field fields? any of another object: the fields, or whatever it has written
---@field tag? 6|7|8 of a function: how it was written
---@field code? string of a function: its bytecode
---@field upvalues? table of a function

---Saves an object as a `.t7` file, byte for byte as Torch7. If there is an old file, it stays until the new one is complete
---and on the disk. Errors: a value that cannot be saved (a function, a thread, or a userdata without a method `write`), with
---its path in the object; a storage of a class that Torch7 does not have, with what to save instead; what the system reports.
---Origin: Torch7.
---```lua
---torch.save('model.t7', { name = 'net', weights = torch.FloatTensor(2, 3):fill(0.5) })
---local model = torch.load 'model.t7'
---print(model.name, model.weights:get(2, 3)) --> net	0.5
---```
---@param filename string
---@param object any
---@param mode? torch.Mode|torch.SaveOptions
---@param referenced? boolean
function torch.save(filename, object, mode, referenced) end

---Loads the object of a `.t7` file. An object without a class in this program becomes a `torch.Record`, and functions are
---never run. Errors: what is wrong with the file, with the byte (from 0) and the path in the object; what the system reports.
---Origin: Torch7. Differs from Torch7: it runs no functions, and finds out the mode. Torch7 took every file for binary unless
---it was told otherwise.
---```lua
---torch.save('points.t7', torch.IntTensor { { 1, 2 }, { 3, 4 } })
---local points, info = torch.load('points.t7', { mmap = true, info = true })
---print(points:get(2, 1), points:storage():isMapped()) --> 3	true
---print(info.mode, info.longsize) --> binary	8
---```
---@param filename string
---@param mode? torch.Mode|torch.LoadOptions
---@param referenced? boolean
---@return any object
---@return torch.FileInfo? info with `info=true`
function torch.load(filename, mode, referenced) end

---The same as `torch.save`. Origin: Torch7.
---```lua
---torch.saveobj('list.t7', { 'one', 'two' }, 'ascii')
---print(torch.load('list.t7')[2]) --> two
---```
---@param filename string
---@param object any
---@param mode? torch.Mode|torch.SaveOptions
---@param referenced? boolean
function torch.saveobj(filename, object, mode, referenced) end

---The same as `torch.load`. Origin: Torch7.
---```lua
---torch.save('settings.t7', { rate = 0.25 })
---print(torch.loadobj('settings.t7').rate) --> 0.25
---```
---@param filename string
---@param mode? torch.Mode|torch.LoadOptions
---@param referenced? boolean
---@return any object
---@return torch.FileInfo? info
function torch.loadobj(filename, mode, referenced) end

---Returns what `torch.save` would write, as a string. Origin: Torch7.
---```lua
---local bytes = torch.serialize(torch.ByteStorage(1000))
---print(#bytes, torch.deserialize(bytes):size()) --> 1044	1000
---```
---@param object any
---@param mode? torch.Mode|torch.SaveOptions
---@param referenced? boolean
---@return string
function torch.serialize(object, mode, referenced) end

---Loads an object from a string, like `torch.load`. Origin: Torch7.
---```lua
---local s = torch.IntStorage { 1, 2, 3 }
---local copy = torch.deserialize(torch.serialize { s, s })
---print(copy[1] == copy[2], copy[1] == s) --> true	false
---```
---@param bytes string
---@param mode? torch.Mode|torch.LoadOptions
---@param referenced? boolean
---@return any object
---@return torch.FileInfo? info
function torch.deserialize(bytes, mode, referenced) end

---Returns what `torch.save` would write, as a storage. Origin: Torch7.
---```lua
---local s = torch.serializeToStorage { 'any', 'value' }
---print(s:type(), torch.deserializeFromStorage(s)[2]) --> torch.CharStorage	value
---```
---@param object any
---@param mode? torch.Mode|torch.SaveOptions
---@param referenced? boolean
---@return torch.CharStorage
function torch.serializeToStorage(object, mode, referenced) end

---Loads an object from the bytes of a storage of any class, like `torch.load`. Origin: Torch7, where it had to be a
---CharStorage.
---```lua
---torch.save('answer.t7', { answer = 42 })
---local bytes = torch.ByteStorage 'answer.t7' -- a map of the file, a network packet, ...
---print(torch.deserializeFromStorage(bytes).answer) --> 42
---```
---@param storage torch.Storage
---@param mode? torch.Mode|torch.LoadOptions
---@param referenced? boolean
---@return any object
---@return torch.FileInfo? info
function torch.deserializeFromStorage(storage, mode, referenced) end

---Makes a table a record, so that it is saved as the object that it describes, and returns it. Errors: a table that does
---not describe an object, or that describes a storage or a tensor that can be saved itself; a CUDA tensor whose elements
---are not all in its storage. Origin: this library.
---```lua
---local layer = { class = 'nn.Linear', version = 1, fields = { weight = torch.FloatTensor(2, 3) } }
---torch.save('layer.t7', torch.record(layer)) -- Torch7 loads it as an nn.Linear
---local loaded = torch.load 'layer.t7'
---print(loaded.class, loaded.fields.weight:size(2)) --> nn.Linear	3
---```
---@param record table
---@return torch.Record record
function torch.record(record) end

---Whether a value is a record. Origin: this library.
---```lua
---torch.save('net.t7', torch.record { class = 'nn.Sequential', version = 1, fields = {} })
---local model = torch.load 'net.t7' -- a file that Torch7 has written is loaded like this
---print(torch.isRecord(model), torch.isRecord {}) --> true	false
---```
---@param value any
---@return boolean
function torch.isRecord(value) end

---The elements of the record of a CUDA tensor in row-major order, as a new storage. Errors: anything else, also a tensor,
---which has `x:contiguous()`; a record whose elements are not all in its storage. Origin: this library.
---```lua
---local s = torch.record { class = 'torch.CudaStorage', storage = torch.FloatStorage { 1, 2, 3, 4 } }
---local x = { class = 'torch.CudaTensor', storage = s, offset = 1 }
---x.size, x.stride = { 2, 2 }, { 1, 2 }
---print(torch.contiguous(torch.record(x)):unpack()) --> 1	3	2	4
---```
---@param record torch.Record
---@return torch.Storage
function torch.contiguous(record) end

-- Objects in files ----------------------------------------------------------------------------------------------------
-- An object of a class is saved with all its fields. If the class has the methods `write(file)` and `read(file)`, these save and
-- load the object instead. The examples are such classes.

---The open `.t7` file that `read`, `write` and `__factory` of a class get. `readInt` and `writeInt` exist for every element
---type of Torch7: `readByte`, `writeDouble` and so on. Errors: writing to a file that is open for reading, and the reverse; a
---file that is closed; the end of the file.
---@class torch.File
local File = {}

---Reads the next object. Origin: Torch7.
---```lua
---local Pair = torch.class 'Pair'
---function Pair:write(file) file:writeObject(self.left) file:writeObject(self.right) end
---function Pair:read(file) self.left, self.right = file:readObject(), file:readObject() end
---local pair = torch.setmetatable({ left = 'a', right = torch.IntStorage { 5 } }, 'Pair')
---print(torch.deserialize(torch.serialize(pair)).right[1]) --> 5
---```
---@return any
function File:readObject() end

---Writes an object. One that was written before is written by its index. Origin: Torch7.
---```lua
---local Cache = torch.class 'Cache'
---function Cache:write(file) file:writeObject(self.key) end -- without the value
---function Cache:read(file) self.key = file:readObject() self.value = self.key ^ 2 end
---local cache = torch.setmetatable({ key = 3, value = 9 }, 'Cache')
---print(torch.deserialize(torch.serialize(cache)).value) --> 9
---```
---@param object any
function File:writeObject(object) end

---Reads the next `n` bytes. Origin: this library.
---```lua
---local Tag = torch.class 'Tag'
---function Tag:write(file) file:writeString(self.text) end
---function Tag:read(file) self.text = file:readString(4) end -- bytes
---local tag = torch.setmetatable({ text = 'RIFF' }, 'Tag')
---print(torch.deserialize(torch.serialize(tag)).text)
-----> RIFF
---```
---@param n integer
---@return string
function File:readString(n) end

---Writes the bytes of a string, without its length. Origin: this library.
---```lua
---local Name = torch.class 'Name'
---function Name:write(file) file:writeInt(#self[1]) file:writeString(self[1]) end
---function Name:read(file) self[1] = file:readString(file:readInt()) end
---print(torch.deserialize(torch.serialize(torch.setmetatable({ 'Ada' }, 'Name')))[1])
-----> Ada
---```
---@param bytes string
---@return integer bytes
function File:writeString(bytes) end

---Reads the next int, as a boolean. Origin: Torch7.
---```lua
---local Switch = torch.class 'Switch'
---function Switch:write(file) file:writeBool(self.on) end
---function Switch:read(file) self.on = file:readBool() end
---local switch = torch.setmetatable({ on = true }, 'Switch')
---print(torch.deserialize(torch.serialize(switch)).on)
-----> true
---```
---@return boolean
function File:readBool() end

---Writes a boolean as an int. Origin: Torch7.
---```lua
---local Door = torch.class 'Door'
---function Door:write(file) file:writeBool(self.open) file:writeBool(self.locked) end
---function Door:read(file) self.open, self.locked = file:readBool(), file:readBool() end
---local door = torch.setmetatable({ open = false, locked = true }, 'Door')
---print(torch.deserialize(torch.serialize(door)).locked) --> true
---```
---@param value boolean
function File:writeBool(value) end

---How many bytes have been read or written so far. Origin: this library.
---```lua
---local Pixels = torch.class 'Pixels'
---function Pixels:write(file)
---  local before = file:position()
---  file:writeInt(torch.IntStorage(100))
---  print(file:position() - before) --> 400
---end
---torch.serialize(torch.setmetatable({}, 'Pixels'))
---```
---@return integer
function File:position() end

---Reads the next element and returns it as a number. With a number `n`, reads `n` elements and returns them as a storage.
---With a storage, fills it and returns its size. Origin: Torch7.
---```lua
---local Samples = torch.class 'Samples'
---function Samples:write(file) file:writeInt(#self[1]) file:writeShort(self[1]) end
---function Samples:read(file) self[1] = file:readShort(file:readInt()) end
---local samples = torch.setmetatable({ torch.ShortStorage { 3, -4 } }, 'Samples')
---print(torch.deserialize(torch.serialize(samples))[1]:unpack()) --> 3	-4
---```
---@param into? integer|torch.Storage
---@return number|torch.Storage
function File:readInt(into) end

---Writes a number as one element, or all elements of a storage of that class. Returns how many. Origin: Torch7.
---```lua
---local Version = torch.class 'Version'
---function Version:write(file) file:writeInt(self.major) file:writeInt(self.minor) end
---function Version:read(file) self.major, self.minor = file:readInt(2):unpack() end
---local version = torch.setmetatable({ major = 5, minor = 4 }, 'Version')
---print(torch.deserialize(torch.serialize(version)).minor) --> 4
---```
---@param value number|torch.Storage
---@return integer
function File:writeInt(value) end

-- Printing ------------------------------------------------------------------------------------------------------------

---Sets how storages and tensors are printed: one with more than `threshold` elements (1000) shows only `edgeitems` (10) at each
---end, a tensor at each end of every dimension. Errors: an option that does not exist; a number that is negative or a fraction.
---Origin: this library. Torch7 printed all elements.
---```lua
---torch.setprintoptions { threshold = 5, edgeitems = 1 }
---print(torch.IntStorage { 1, 2, 3, 4, 5, 6 })
----->  1
----->  ...
----->  6
-----> [torch.IntStorage of size 6]
----->
---torch.setprintoptions { threshold = 1000, edgeitems = 10 }
---```
---@param options { threshold?: integer, edgeitems?: integer }
function torch.setprintoptions(options) end

---A copy of the options that `torch.setprintoptions` sets, which takes it back. `print` shows them. Origin: this library.
---```lua
---print(torch.getprintoptions()) --> print options: threshold 1000, edgeitems 10
---```
---@return { threshold: number, edgeitems: integer }
function torch.getprintoptions() end

return torch
