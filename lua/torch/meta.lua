---@meta torch
-- Types and documentation of the whole API, for editors (LuaCATS). It holds declarations only: the library never loads
-- it, and loading it by hand changes nothing.
-- luacheck: ignore 212 241 511

---@class torch
local torch = {}

-- The global that `require 'torch'` sets, as editors read it; `require 'torch.storage'` sets no global.
if false then
  _G.torch = torch
end

---What is accepted in the place of a number: a number, a numeric string by Lua's own rules, or (LuaJIT) an int64 or uint64
---cdata. Anything else is an error. Differs from Torch7, which made `'abc'` 0, read `'010'` as octal and knew no cdata.
---@alias torch.number number|string|ffi.cdata*

---An element of a complex class: an FFI `complex` on LuaJIT, a table elsewhere. Read it as `s[i].re` and `s[i].im`. It is a copy:
---changing it does not change the storage. Compare two of them by their parts: `==` says nothing. Writing takes both of these (a
---`complex float`, too), a pair `{re, im}`, and a number, whose imaginary part is 0. `get` and `set` take parts and allocate
---nothing. Converted to other classes, a complex number loses its imaginary part; to a BoolStorage it is true unless both parts
---are 0. Printed as ` 1.0000 - 2.5000i`.
---@alias torch.complex { re: number, im: number }

---A pointer: an address (number, int64 or uint64 cdata), a lightuserdata, or (LuaJIT) a pointer or array cdata.
---@alias torch.pointer number|lightuserdata|ffi.cdata*

-- [dtypes: class names] written by tools/dtypes.lua from the list of dtypes

---@alias torch.classname
---| 'torch.ByteStorage' # Unsigned integers of 8 bits, 0 to 255.
---| 'torch.CharStorage' # Signed integers of 8 bits, -128 to 127.
---| 'torch.ShortStorage' # Signed integers of 16 bits.
---| 'torch.IntStorage' # Signed integers of 32 bits.
---| 'torch.LongStorage' # Signed integers of 64 bits on every platform.
---| 'torch.HalfStorage' # IEEE 754 half precision (binary16).
---| 'torch.FloatStorage' # IEEE 754 single precision (binary32).
---| 'torch.DoubleStorage' # IEEE 754 double precision (binary64), which is Lua's own number.
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

---A class, wherever one is taken: its name, with or without `torch.`; PyTorch's name of the dtype, `'float32'` or `'float'`,
---`'uint8'` and so on; or the class itself, `torch.FloatStorage`.
---@alias torch.class torch.classname|string|torch.Storage

---What has memory to share: a storage, a string, (LuaJIT) an FFI array or pointer or a `string.buffer`, a light userdata, or
---anything whose metatable has `__buffer`. `__buffer(object)` gives where the memory begins (a light userdata, an FFI
---pointer or array, or a number), its length in bytes, and optionally true if nobody may write to it. The memory stays where
---it is, and as long, for as long as the object lives.
---@alias torch.Buffer torch.Storage|string|ffi.cdata*|lightuserdata|userdata|table

---@alias torch.Order 'native'|'little'|'big'

---What all classes have in common: a one-dimensional array of C numbers over memory that Lua does not own. Indices,
---offsets and sizes are in elements and count from 1; only `nbytes`, `elementSize` and `torch.memory` are in bytes.
---
---`s[i]` reads, `s[i] = v` writes. The index is truncated toward zero (`s[1.5]` is `s[1]`); a numeric string is an index. Out
---of range is an error; another missing key reads `nil` and cannot be written. Torch7.
---
---`a == b` says whether both are the same storage, not whether they hold the same values (see `equal`). `tostring(s)` is
---Torch7's text. Arithmetic, order, concatenation and calls raise Torch7's errors.
---
---A freed storage raises 'storage was freed' whatever is done with it.
---
---Every class is called in the same ways to make a storage:
---
---`(size)`: zeroed elements; the size is truncated toward zero. Differs from Torch7, where they were uninitialised.
---
---`(size, ptr)`: foreign memory of `size` elements. It stays the caller's; it cannot be resized. An array or pointer cdata is
---kept alive by the storage and its views, but a pointer keeps only itself alive: pass the array. Errors: an address that is
---below 65536, negative, fractional or not aligned; an array smaller than `size`.
---
---`(table)`: the elements of a Lua array. Errors name the index of an element that is no number.
---
---`(storage, offset, size)`: a view of the same memory from element `offset` (1) on. Errors: another class; out of bounds.
---
---`(filename, shared, size)`: a mapped file; private changes stay in memory, shared ones reach the file and other processes.
---A shared file is created (mode 0600) or extended to `size` elements. Errors name the file and the reason the system gives.
---Differs from Torch7: extending leaves all bytes alone, an empty file is an empty storage, a failed open leaves nothing
---behind.
---
---`(name, true, size, true)`: shared memory of that name, for all processes of this machine; a leading slash makes no
---difference. Given a size it is created (mode 0600, zeros) or extended; without one, or 0, it is attached to as a whole. The
---last that holds it, in whatever process, removes the name: when it is collected, freed, or its process exits. A process
---that is killed while it is the last leaves the name for the next, or for `torch.unlinkSharedMemory`. Errors: no room for
---it; a name that cannot be one; no size for what does not exist. Differs from Torch7, where the first to leave removed the
---name.
---
---`{filename = ...}`: a mapped file with options: `torch.MapOptions`. A table with an element 1 is data.
---@class torch.Storage
---@field [integer] number
---@operator len: integer
local Storage = {}

-- Size and elements ---------------------------------------------------------------------------------------------------

---Number of elements; the same as `#s`. Torch7.
---@return integer elements
function Storage:size() end

---Element `i`; of a complex class its real and its imaginary part, as two numbers, so that nothing is allocated. Errors: an index
---that is out of range, or no number. Not in Torch7.
---```lua
---local re, im = torch.ComplexFloatStorage({ { 1, -2 } }):get(1)
---```
---@param i torch.number
---@return number element
---@return number? imaginary
function Storage:get(i) end

---The same as `s[i] = value`; of a complex class also with both parts, which allocates nothing. Returns the storage. Errors: as
---`s[i] = value`; an imaginary part for another class. Not in Torch7.
---@param i torch.number
---@param value torch.number|boolean|torch.complex|number[] or the real part
---@param imaginary? torch.number
---@return self
function Storage:set(i, value, imaginary) end

---Sets every element, or those from `i` to `j`, to `value`, converted once by the rules of assignment. Returns the storage.
---Errors: an index that is out of range, unless the range is empty (`j` before `i`). Torch7; ranges are not in Torch7.
---```lua
---local x = torch.IntStorage(10):fill(1):fill(2, 4, 6)
---```
---@param value torch.number|boolean|torch.complex|number[] a boolean to a BoolStorage only
---@param i? torch.number first index (1)
---@param j? torch.number last index (the size)
---@return self
function Storage:fill(value, i, j) end

---Sets every byte to zero. Returns the storage. Not in Torch7: the same as `fill(0)`.
---@return self
function Storage:zero() end

---Copies the elements of another storage of any class, converted. Returns the storage. Errors: sizes that differ ('size
---mismatch'). Differs from Torch7: sizes are checked for every pair of classes, and overlapping views are copied as if
---through a third place (Torch7 read out of bounds, and smeared). Between an untyped storage and one of another class the
---bytes are copied as they are, and their numbers have to agree; there are no places then.
---```lua
---local y = torch.DoubleStorage(3):copy(torch.IntStorage { 1, 2, 3 })
---y:copy(y, 2, 1, 2) -- 1 1 2
---```
---With places, `n` elements of `other` from `from` on go to `to` and after; nothing else is touched. Not in Torch7.
---@param other torch.Storage
---@param to? torch.number index here (1)
---@param from? torch.number index in `other` (1)
---@param n? torch.number elements (the rest of `other`)
---@return self
function Storage:copy(other, to, from, n) end

---Copies the bytes of another storage of any class as they are. Returns the storage. Errors: lengths in bytes that differ.
---Not in Torch7.
---@param other torch.Storage
---@return self
function Storage:rawcopy(other) end

---Turns the order of the bytes of every element (of a complex class: of each part), or of every `width` bytes: for what a
---machine of the other kind has written. Returns the storage. Errors: a width that is not 1, 2, 4 or 8, or does not divide
---the length in bytes. PyTorch's `byteswap`.
---@param width? torch.number bytes (those of an element)
---@return self
function Storage:byteswap(width) end

---Changes the size to `size` elements and keeps what fits; new elements are zero. Returns the storage. Errors: a view, a map
---or foreign memory ('not resizable'); a negative, NaN or too big size: the storage is then what it was. Differs from Torch7:
---growth is zeroed, and views made before keep the old bytes (in Torch7 they dangled).
---@param size torch.number elements
---@return self
function Storage:resize(size) end

---Makes room for `capacity` elements without changing the size: resizing within it neither moves nor copies. Returns the
---storage. Errors: as `resize`. Not in Torch7.
---```lua
---local s = torch.IntStorage():reserve(1000)
---for i = 1, 1000 do s:resize(i)[i] = i * i end
---```
---@param capacity torch.number elements
---@return self
function Storage:reserve(capacity) end

---Whether `resize` is allowed: true for heap memory that is not a view. Not in Torch7 (there: a bit of `cdata().flag`).
---@return boolean
function Storage:resizable() end

---Width of an element in bytes; also without a storage: `torch.IntStorage.elementSize()`. Torch7.
---@return integer bytes
function Storage.elementSize() end

---Number of bytes the elements take: `size() * elementSize()`. Not in Torch7.
---@return integer bytes
function Storage:nbytes() end

---Iterates over index and element, from 1. Not in Torch7.
---```lua
---for i, v in torch.IntStorage({ 5, 6 }):iter() do print(i, v) end
---```
---@return fun(state: any, i: integer): integer?, number?
---@return any state
---@return integer start
function Storage:iter() end

-- Making storages out of it -------------------------------------------------------------------------------------------

---Calls the constructor with the same arguments. `s.new(3)` is a new storage of 3 elements; `s:new(3)` passes `s` first and
---is therefore a view of `s` from element 3. Torch7.
---@param ... any as the constructor
---@return self
function Storage.new(...) end

---A storage of the class that holds the bytes of a string, in the order of this machine. Errors: a length that is no multiple
---of the element's width. Not in Torch7 (there: only `ByteStorage():string(text)`).
---```lua
---print(torch.ShortStorage.fromstring('\1\0\2\0')[2]) --> 2
---```
---@param text string
---@return self
function Storage.fromstring(text) end

---A map of a file, as the constructor makes of a file name; of an untyped storage, too. PyTorch's `from_file`.
---@param filename string
---@param shared? boolean
---@param size? torch.number elements (the whole file)
---@return self
function Storage.fromfile(filename, shared, size) end

---`torch.frombuffer` for this class.
---@param object torch.Buffer
---@param options? { count?: torch.number, offset?: torch.number, byteorder?: torch.Order, size?: torch.number }
---@return self
function Storage.frombuffer(object, options) end

---A new heap storage of the same class with the same elements, also of a view or a map. Not in Torch7.
---@return self
function Storage:clone() end

---Without a name: the name of the class. With one: the storage itself if it is of that class already, else a converted copy.
---To `torch.UntypedStorage` goes a copy of the bytes. Errors: an unknown name. Not in Torch7 (there: tensors only).
---@overload fun(self: torch.Storage): torch.classname
---@param name torch.class
---@return torch.Storage
function Storage:type(name) end

---The elements, or those from `i` to `j`, in a new table, from 1. Integers beyond 2^53 are rounded to the nearest Lua number.
---Torch7; ranges are not in Torch7.
---@param i? torch.number first index (1)
---@param j? torch.number last index (the size)
---@return number[] | torch.complex[]
function Storage:totable(i, j) end

---A view of the elements from `i` to `j`, by the rules of Lua's `string.sub`: negative indices count from the end, what is
---outside is left out. Not in Torch7.
---```lua
---local last = torch.IntStorage({ 1, 2, 3 }):sub(-2) -- 2 3
---```
---@param i torch.number
---@param j? torch.number (-1)
---@return self
function Storage:sub(i, j) end

---The bytes of the elements, or of those from `i` to `j`, as a string. With a string instead: resizes to what it holds,
---copies its bytes, returns the storage. Errors: as `resize`; a length that is no whole number of elements; an index out of
---range. Torch7, for Byte and Char. Differs from Torch7, which looked at the last argument, whatever its place. One number
---alone is a string, as there.
---@overload fun(self: torch.Storage, text: string): torch.Storage
---@param i? torch.number first index (1)
---@param j? torch.number last index (the size)
---@return string
function Storage:string(i, j) end

---The elements `i` to `j` as results, as Lua's `unpack`; all of them without arguments. Errors: more results than the Lua
---stack holds. Not in Torch7.
---@param i? torch.number first index, 1 if left out
---@param j? torch.number last index, the size if left out
---@return number|torch.complex ...
function Storage:unpack(i, j) end

---Whether class, size and every element agree; NaN is not equal to itself, -0 is equal to 0. Errors: `other` is no storage.
---Not in Torch7.
---@param other torch.Storage
---@return boolean
function Storage:equal(other) end

-- As another class ----------------------------------------------------------------------------------------------------

---The same bytes as elements of another class: a view. The offset is in bytes from 0, aligned or not; the size in elements
---of that class. Without a size it is all of the rest. Errors: a rest that is no whole number of elements; what is not
---inside, with the numbers. PyTorch's `view(dtype)`, which has neither offset nor size.
---```lua
---print(torch.FloatStorage({ 1 }):view('int32')[1]) --> 1065353216
---local header = torch.UntypedStorage(name, false):view('int16', 34, 1) -- bytes 34 and 35 of a file
---```
---@param class torch.class
---@param byteoffset? torch.number (0)
---@param size? torch.number elements (the rest)
---@return torch.Storage
function Storage:view(class, byteoffset, size) end

---The bytes without a type, on the same memory: a view; the storage itself if it is that. PyTorch's `untyped`.
---@return torch.UntypedStorage
function Storage:untyped() end

-- There is a method for every class: the elements converted to that class, or the storage itself if it is one already (`clone`
-- always copies). The elements of an untyped storage are its bytes. PyTorch, where it always copies.

-- [dtypes: conversions] written by tools/dtypes.lua from the list of dtypes

---The same as `s:type('torch.ByteStorage')`.
---@return torch.ByteStorage
function Storage:byte() end

---The same as `s:type('torch.CharStorage')`.
---@return torch.CharStorage
function Storage:char() end

---The same as `s:type('torch.ShortStorage')`.
---@return torch.ShortStorage
function Storage:short() end

---The same as `s:type('torch.IntStorage')`.
---@return torch.IntStorage
function Storage:int() end

---The same as `s:type('torch.LongStorage')`.
---@return torch.LongStorage
function Storage:long() end

---The same as `s:type('torch.HalfStorage')`.
---@return torch.HalfStorage
function Storage:half() end

---The same as `s:type('torch.FloatStorage')`.
---@return torch.FloatStorage
function Storage:float() end

---The same as `s:type('torch.DoubleStorage')`.
---@return torch.DoubleStorage
function Storage:double() end

---The same as `s:type('torch.BFloat16Storage')`.
---@return torch.BFloat16Storage
function Storage:bfloat16() end

---The same as `s:type('torch.BoolStorage')`.
---@return torch.BoolStorage
function Storage:bool() end

---The same as `s:type('torch.Float8_e4m3fnStorage')`.
---@return torch.Float8_e4m3fnStorage
function Storage:float8_e4m3fn() end

---The same as `s:type('torch.Float8_e5m2Storage')`.
---@return torch.Float8_e5m2Storage
function Storage:float8_e5m2() end

---The same as `s:type('torch.Float8_e4m3fnuzStorage')`.
---@return torch.Float8_e4m3fnuzStorage
function Storage:float8_e4m3fnuz() end

---The same as `s:type('torch.Float8_e5m2fnuzStorage')`.
---@return torch.Float8_e5m2fnuzStorage
function Storage:float8_e5m2fnuz() end

---The same as `s:type('torch.ComplexFloatStorage')`.
---@return torch.ComplexFloatStorage
function Storage:complex_float() end

---The same as `s:type('torch.ComplexDoubleStorage')`.
---@return torch.ComplexDoubleStorage
function Storage:complex_double() end

-- [end dtypes: conversions]

-- Memory --------------------------------------------------------------------------------------------------------------

---Name of the mapped file as given to the constructor, or of the shared memory without a leading slash; also for a view of
---one; nil for other memory. Not in Torch7.
---@return string?
function Storage:filename() end

---Whether the memory is a mapped file, also for a view of one. Not in Torch7.
---@return boolean
function Storage:isMapped() end

---Whether the storage is a view of another storage. Not in Torch7 (there: a bit of `cdata().flag`).
---@return boolean
function Storage:isView() end

---Whether writing is an error: of a map opened `readonly`, and of its views. Not in Torch7.
---@return boolean
function Storage:isReadOnly() end

---Writes the pages of a shared map to the file, and waits until they are there unless `async` is true. Returns the storage.
---Other processes see the changes without it; it is for surviving a crash of the machine. Errors: anything but a shared map;
---what the system reports. Not in Torch7.
---@param async? boolean
---@return self
function Storage:flush(async) end

---Tells the system how a mapped file is going to be read; of a view, the pages that it touches. `'normal'` takes earlier
---advice back. Returns the storage. Errors: anything but a mapped file; another word. Not in Torch7.
---@param advice 'normal'|'sequential'|'random'|'willneed'
---@return self
function Storage:advise(advice) end

---Whether the mapped file still has all the bytes that the storage shows. Somebody may have cut it: touching a byte that is
---gone ends the process (SIGBUS), as with every map. Errors: anything but a mapped file; a file that was removed, or replaced
---by another, as nobody can tell then. Not in Torch7.
---@return boolean
function Storage:check() end

---Moves the elements of a heap storage to shared memory: of a new name, or of none, for the children that this process will
---fork. The storage stays the same object and cannot be resized any more; views made before keep the old bytes. Nothing to do
---for what is in shared memory already, unless a name is given. Returns the storage. Errors: a view, a map, foreign memory; a
---name that is taken; no room; a storage that another Lua state, a token or a publication holds. PyTorch's `share_memory_`.
---@param name? string
---@return self
function Storage:shareMemory(name) end

---Whether other processes can see what is written: true for shared maps of files and for shared memory, and for views of
---them. PyTorch's `is_shared`.
---@return boolean
function Storage:isShared() end

---A string that stands for one reference to the storage, for any channel to another Lua state of this process (a thread):
---`torch.fromToken` there takes it, once. Until then the storage lives, and nobody resizes it. Errors: memory that a value of
---this Lua state owns (an FFI array). Not in Torch7.
---@return string token
function Storage:token() end

---Locks the pages of the elements in memory (`mlock`), until the memory ends or the storage is resized or moved. Other
---storages on that memory have them locked, too; a forked child has not. Returns the storage. Errors: more than the system
---allows, with its limit. In the place of PyTorch's `pin_memory`.
---@return self
function Storage:pin() end

---Whether the pages of all elements are locked: by `pin`, or by a map's `lock`. An empty storage has none that are not.
---PyTorch's `is_pinned`.
---@return boolean
function Storage:isPinned() end

---The device: there is one. PyTorch.
---@return 'cpu'
function Storage:device() end

---The storage itself. PyTorch.
---@return self
function Storage:cpu() end

---The storage itself, for the one device that there is. Errors: any other. PyTorch.
---@param device 'cpu'
---@return self
function Storage:to(device) end

---Adds a reference that outlives Lua's own: for handing the storage to C code or, through `torch.pointer` and
---`torch.pushudata`, to another Lua state. Returns nothing. Torch7.
function Storage:retain() end

---Gives back a reference that `retain` took. If none is outstanding, gives up this userdata's own: the storage is then freed,
---and using it is an error. Returns nothing. Differs from Torch7: no order of calls reads or frees freed memory.
function Storage:free() end

---Pointer to the first element. LuaJIT: a cdata such as `int32_t *`; nil pointer for an empty storage. PUC Lua: a
---lightuserdata. It keeps nothing alive and follows no `resize`: hold on to the storage while it is used, and index it from
---0, unchecked. Differs from Torch7: the storage is type-checked, and PUC Lua has the method.
---@param asnumber? boolean true: the address as a number (int64 cdata on LuaJIT), which `(size, ptr)` accepts
---@return ffi.cdata*|lightuserdata|number
function Storage:data(asnumber) end

---The address of the first element as a number; 0 for an empty storage. Nothing keeps the storage alive for it. PyTorch's
---`data_ptr`.
---@return integer
function Storage:dataptr() end

---LuaJIT only: pointer to the C struct of the storage, with the fields data, size, refcount and flag in Torch7's order.
---Differs from Torch7: type-checked; `refcount` does not count views.
---@param asnumber? boolean true: the address as int64 cdata
---@return ffi.cdata*
function Storage:cdata(asnumber) end

-- Classes -------------------------------------------------------------------------------------------------------------
-- Every class is called in the same ways; they are described once, at `torch.Storage`. Numbers become elements as in
-- Torch7: an integer class keeps the low bits, a fraction is truncated toward zero.

---How a file is mapped. Not in Torch7.
---@class torch.MapOptions
---@field filename string
---@field offset? torch.number bytes from 0: the first that is mapped; any number, elements need not be aligned
---@field size? torch.number elements; as many as are whole in the rest of the file if it is missing
---@field shared? boolean writes reach the file and other processes; the file is created or extended
---@field readonly? boolean writing is an error; the file needs no right to write, and is neither created nor extended
---@field advise? 'normal'|'sequential'|'random'|'willneed' as `advise`
---@field lock? boolean keeps the pages in memory; an error where the system does not allow so much
---@field hugepages? boolean asks for huge pages, where the system has them for files

-- [dtypes: classes] written by tools/dtypes.lua from the list of dtypes

---Unsigned integers of 8 bits, 0 to 255.
---
---Constructors: see `torch.Storage`. PyTorch's uint8.
---@class torch.ByteStorage : torch.Storage
---@overload fun(size?: torch.number): torch.ByteStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.ByteStorage
---@overload fun(elements: torch.number[]): torch.ByteStorage
---@overload fun(storage: torch.ByteStorage, offset?: torch.number, size?: torch.number): torch.ByteStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.ByteStorage
---@overload fun(options: torch.MapOptions): torch.ByteStorage
torch.ByteStorage = {}

---Signed integers of 8 bits, -128 to 127.
---
---Constructors: see `torch.Storage`. PyTorch's int8.
---@class torch.CharStorage : torch.Storage
---@overload fun(size?: torch.number): torch.CharStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.CharStorage
---@overload fun(elements: torch.number[]): torch.CharStorage
---@overload fun(storage: torch.CharStorage, offset?: torch.number, size?: torch.number): torch.CharStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.CharStorage
---@overload fun(options: torch.MapOptions): torch.CharStorage
torch.CharStorage = {}

---Signed integers of 16 bits.
---
---Constructors: see `torch.Storage`. PyTorch's int16.
---@class torch.ShortStorage : torch.Storage
---@overload fun(size?: torch.number): torch.ShortStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.ShortStorage
---@overload fun(elements: torch.number[]): torch.ShortStorage
---@overload fun(storage: torch.ShortStorage, offset?: torch.number, size?: torch.number): torch.ShortStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.ShortStorage
---@overload fun(options: torch.MapOptions): torch.ShortStorage
torch.ShortStorage = {}

---Signed integers of 32 bits.
---
---Constructors: see `torch.Storage`. PyTorch's int32.
---@class torch.IntStorage : torch.Storage
---@overload fun(size?: torch.number): torch.IntStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.IntStorage
---@overload fun(elements: torch.number[]): torch.IntStorage
---@overload fun(storage: torch.IntStorage, offset?: torch.number, size?: torch.number): torch.IntStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.IntStorage
---@overload fun(options: torch.MapOptions): torch.IntStorage
torch.IntStorage = {}

---Signed integers of 64 bits on every platform.
---
---Copies, fills and cdata keep all 64 bits. An element that is read as a Lua number is rounded beyond 2^53.
---
---Constructors: see `torch.Storage`. PyTorch's int64.
---@class torch.LongStorage : torch.Storage
---@overload fun(size?: torch.number): torch.LongStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.LongStorage
---@overload fun(elements: torch.number[]): torch.LongStorage
---@overload fun(storage: torch.LongStorage, offset?: torch.number, size?: torch.number): torch.LongStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.LongStorage
---@overload fun(options: torch.MapOptions): torch.LongStorage
torch.LongStorage = {}

---IEEE 754 half precision (binary16).
---
---Converted through single precision, as in Torch7.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float16.
---@class torch.HalfStorage : torch.Storage
---@overload fun(size?: torch.number): torch.HalfStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.HalfStorage
---@overload fun(elements: torch.number[]): torch.HalfStorage
---@overload fun(storage: torch.HalfStorage, offset?: torch.number, size?: torch.number): torch.HalfStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.HalfStorage
---@overload fun(options: torch.MapOptions): torch.HalfStorage
torch.HalfStorage = {}

---IEEE 754 single precision (binary32).
---
---Constructors: see `torch.Storage`. PyTorch's float32.
---@class torch.FloatStorage : torch.Storage
---@overload fun(size?: torch.number): torch.FloatStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.FloatStorage
---@overload fun(elements: torch.number[]): torch.FloatStorage
---@overload fun(storage: torch.FloatStorage, offset?: torch.number, size?: torch.number): torch.FloatStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.FloatStorage
---@overload fun(options: torch.MapOptions): torch.FloatStorage
torch.FloatStorage = {}

---IEEE 754 double precision (binary64), which is Lua's own number.
---
---Constructors: see `torch.Storage`. PyTorch's float64.
---@class torch.DoubleStorage : torch.Storage
---@overload fun(size?: torch.number): torch.DoubleStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.DoubleStorage
---@overload fun(elements: torch.number[]): torch.DoubleStorage
---@overload fun(storage: torch.DoubleStorage, offset?: torch.number, size?: torch.number): torch.DoubleStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.DoubleStorage
---@overload fun(options: torch.MapOptions): torch.DoubleStorage
torch.DoubleStorage = {}

---bfloat16: the upper 16 bits of a single-precision float.
---
---Rounded once from numbers and integers.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's bfloat16. Not in Torch7, and not in `.t7` files.
---@class torch.BFloat16Storage : torch.Storage
---@overload fun(size?: torch.number): torch.BFloat16Storage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.BFloat16Storage
---@overload fun(elements: torch.number[]): torch.BFloat16Storage
---@overload fun(storage: torch.BFloat16Storage, offset?: torch.number, size?: torch.number): torch.BFloat16Storage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.BFloat16Storage
---@overload fun(options: torch.MapOptions): torch.BFloat16Storage
torch.BFloat16Storage = {}

---Booleans of one byte: 0 or 1; `true` and `false` can be written.
---
---Writing takes numbers, of which all but 0 are true (NaN too), and booleans. Lua reads 0 and 1; any byte that is not 0
---reads as 1.
---
---Constructors: see `torch.Storage`. PyTorch's bool. Not in Torch7, and not in `.t7` files.
---@class torch.BoolStorage : torch.Storage
---@overload fun(size?: torch.number): torch.BoolStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.BoolStorage
---@overload fun(elements: (torch.number|boolean)[]): torch.BoolStorage
---@overload fun(storage: torch.BoolStorage, offset?: torch.number, size?: torch.number): torch.BoolStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.BoolStorage
---@overload fun(options: torch.MapOptions): torch.BoolStorage
torch.BoolStorage = {}

---Floats of 8 bits with 3 bits of mantissa, up to 448, without infinity.
---
---A number that is too large becomes NaN. Converted through single precision, as in PyTorch, like the other floats of 8
---bits.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float8_e4m3fn. Not in Torch7, and not in `.t7` files.
---@class torch.Float8_e4m3fnStorage : torch.Storage
---@overload fun(size?: torch.number): torch.Float8_e4m3fnStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.Float8_e4m3fnStorage
---@overload fun(elements: torch.number[]): torch.Float8_e4m3fnStorage
---@overload fun(storage: torch.Float8_e4m3fnStorage, offset?: torch.number, size?: torch.number): torch.Float8_e4m3fnStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.Float8_e4m3fnStorage
---@overload fun(options: torch.MapOptions): torch.Float8_e4m3fnStorage
torch.Float8_e4m3fnStorage = {}

---Floats of 8 bits with 2 bits of mantissa, up to 57344.
---
---A number that is too large becomes infinity.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float8_e5m2. Not in Torch7, and not in `.t7` files.
---@class torch.Float8_e5m2Storage : torch.Storage
---@overload fun(size?: torch.number): torch.Float8_e5m2Storage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.Float8_e5m2Storage
---@overload fun(elements: torch.number[]): torch.Float8_e5m2Storage
---@overload fun(storage: torch.Float8_e5m2Storage, offset?: torch.number, size?: torch.number): torch.Float8_e5m2Storage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.Float8_e5m2Storage
---@overload fun(options: torch.MapOptions): torch.Float8_e5m2Storage
torch.Float8_e5m2Storage = {}

---Floats of 8 bits with 3 bits of mantissa, up to 240, without infinity or -0.
---
---A number that is too large becomes NaN.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float8_e4m3fnuz. Not in Torch7, and not in `.t7` files.
---@class torch.Float8_e4m3fnuzStorage : torch.Storage
---@overload fun(size?: torch.number): torch.Float8_e4m3fnuzStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.Float8_e4m3fnuzStorage
---@overload fun(elements: torch.number[]): torch.Float8_e4m3fnuzStorage
---@overload fun(storage: torch.Float8_e4m3fnuzStorage, offset?: torch.number, size?: torch.number): torch.Float8_e4m3fnuzStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.Float8_e4m3fnuzStorage
---@overload fun(options: torch.MapOptions): torch.Float8_e4m3fnuzStorage
torch.Float8_e4m3fnuzStorage = {}

---Floats of 8 bits with 2 bits of mantissa, up to 57344, without infinity or -0.
---
---A number that is too large becomes NaN.
---
---`data()[i].x` has the bits.
---
---Constructors: see `torch.Storage`. PyTorch's float8_e5m2fnuz. Not in Torch7, and not in `.t7` files.
---@class torch.Float8_e5m2fnuzStorage : torch.Storage
---@overload fun(size?: torch.number): torch.Float8_e5m2fnuzStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.Float8_e5m2fnuzStorage
---@overload fun(elements: torch.number[]): torch.Float8_e5m2fnuzStorage
---@overload fun(storage: torch.Float8_e5m2fnuzStorage, offset?: torch.number, size?: torch.number): torch.Float8_e5m2fnuzStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.Float8_e5m2fnuzStorage
---@overload fun(options: torch.MapOptions): torch.Float8_e5m2fnuzStorage
torch.Float8_e5m2fnuzStorage = {}

---Complex numbers: two floats, the real part first.
---
---An element is read and written as `torch.complex` says.
---
---Constructors: see `torch.Storage`. PyTorch's complex64, cfloat. Not in Torch7, and not in `.t7` files.
---@class torch.ComplexFloatStorage : torch.Storage
---@field [integer] torch.complex
---@overload fun(size?: torch.number): torch.ComplexFloatStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.ComplexFloatStorage
---@overload fun(elements: (torch.number|torch.complex|number[])[]): torch.ComplexFloatStorage
---@overload fun(storage: torch.ComplexFloatStorage, offset?: torch.number, size?: torch.number): torch.ComplexFloatStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.ComplexFloatStorage
---@overload fun(options: torch.MapOptions): torch.ComplexFloatStorage
torch.ComplexFloatStorage = {}

---Complex numbers: two doubles, the real part first.
---
---An element is read and written as `torch.complex` says.
---
---Constructors: see `torch.Storage`. PyTorch's complex128, cdouble. Not in Torch7, and not in `.t7` files.
---@class torch.ComplexDoubleStorage : torch.Storage
---@field [integer] torch.complex
---@overload fun(size?: torch.number): torch.ComplexDoubleStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.ComplexDoubleStorage
---@overload fun(elements: (torch.number|torch.complex|number[])[]): torch.ComplexDoubleStorage
---@overload fun(storage: torch.ComplexDoubleStorage, offset?: torch.number, size?: torch.number): torch.ComplexDoubleStorage
---@overload fun(filename: string, shared?: boolean, size?: torch.number, sharedmemory?: boolean): torch.ComplexDoubleStorage
---@overload fun(options: torch.MapOptions): torch.ComplexDoubleStorage
torch.ComplexDoubleStorage = {}

---Bytes without a type: numbers from 0 to 255.
---
---Converted as a `Byte` is. In Lua, a copy between such a storage and one of another class copies bytes.
---
---One string alone is taken as the bytes. A string with one more argument, which may be nil, is the name of a file
---and whether it is shared: see `torch.Storage`, and `fromfile`. Elements are stored as in a `torch.ByteStorage`.
---```lua
---local bytes = torch.UntypedStorage 'RIFF'
---local map = torch.UntypedStorage('sound.wav', false)
---```
---
---Constructors: see `torch.Storage`. PyTorch's UntypedStorage. Not in Torch7, and not in `.t7` files.
---@class torch.UntypedStorage : torch.Storage
---@overload fun(size?: torch.number): torch.UntypedStorage
---@overload fun(size: torch.number, ptr: torch.pointer): torch.UntypedStorage
---@overload fun(elements: torch.number[]): torch.UntypedStorage
---@overload fun(bytes: string): torch.UntypedStorage
---@overload fun(storage: torch.UntypedStorage, offset?: torch.number, size?: torch.number): torch.UntypedStorage
---@overload fun(filename: string, shared: boolean?, size?: torch.number, sharedmemory?: boolean): torch.UntypedStorage
---@overload fun(options: torch.MapOptions): torch.UntypedStorage
torch.UntypedStorage = {}

-- [end dtypes: classes]

---The preferred class: `torch.DoubleStorage` until `torch.setdefaulttensortype` moves it. Torch7.
torch.Storage = torch.DoubleStorage

-- Functions of the module ---------------------------------------------------------------------------------------------

---Moves `torch.Storage` to the class that goes with a tensor type's name. Errors: no such type. Torch7 (there are no tensors
---here).
---@param name string 'torch.FloatTensor' and so on
function torch.setdefaulttensortype(name) end

---The name given to `torch.setdefaulttensortype`, 'torch.DoubleTensor' at first. Torch7.
---@return string
function torch.getdefaulttensortype() end

---The class name of a storage or of an object of a class of the program, nothing for any other value. Errors: no argument.
---Torch7.
---@param value any
---@return string?
function torch.typename(value) end

---As `torch.typename`, else Lua's `type`. Torch7.
---@param value any
---@return string
function torch.type(value) end

---Whether a value is a storage. Differs from Torch7, which went by the name of the class.
---@param value any
---@return boolean
function torch.isStorage(value) end

---Always false: there are no tensors here. Torch7.
---@param value any
---@return boolean
function torch.isTensor(value) end

---Whether a storage or an object is of a class or of one that inherits from it. The class is given by name, by a Lua pattern
---that matches the whole name, by its constructor or metatable, or by another object. Torch7.
---@param value any
---@param class string|table|torch.Storage 'torch.IntStorage', 'torch.*Storage', torch.IntStorage
---@return boolean
function torch.isTypeOf(value, class) end

---Whether two values are the same object: for storages the same storage, whatever userdata holds it. Errors: a userdata that
---is of no class. Torch7.
---@param a any
---@param b any
---@return boolean
function torch.isequal(a, b) end

---Address of the C struct of a storage, or of a table, function, thread, string, cdata or userdata of a class. Torch7.
---@param value any
---@return number address
function torch.pointer(value) end

---@class torch.BufferOptions
---@field dtype? torch.class
---@field count? torch.number elements
---@field offset? torch.number bytes
---@field byteorder? torch.Order
---@field size? torch.number bytes

---A storage over the memory of another value, which stays alive for it. Never resizable. `dtype` is the class
---(`torch.UntypedStorage`), `count` the number of elements (negative or missing: all of the rest), `offset` the bytes that are
---skipped, from 0, aligned or not, `size` the bytes that a bare pointer has.
---
---Strings, constant FFI memory and what its owner calls read-only can only be read: every write is an error. A `byteorder`
---other than the machine's gives a copy, turned round, which can be resized. A storage gives a view of itself, which the
---other's resize does not move. A `string.buffer`, or an object with `__buffer`, must not change its memory meanwhile.
---
---Errors: nothing to share; what is no whole number of elements, or not inside, with the numbers; what `__buffer` raises.
---PyTorch, which has no default dtype and lets strings be written.
---```lua
---local numbers = torch.frombuffer(reply, { dtype = 'int32', offset = 8, byteorder = 'big' })
---```
---@param object torch.Buffer
---@param options? torch.BufferOptions
---@return torch.Storage
function torch.frombuffer(object, options) end

---Where the bytes of a storage begin (LuaJIT: an FFI pointer; PUC Lua: a light userdata), how many there are, and whether
---they are only to be read: what `__buffer` gives. Nothing keeps the storage alive for it, nor in its place.
---@param storage torch.Storage
---@return ffi.cdata*|lightuserdata pointer
---@return integer bytes
---@return boolean readonly
function torch.buffer(storage) end

---A storage from the address that `torch.pointer` gave; it takes over one outstanding `retain`. An address of 0 gives nil.
---Errors: an address with no outstanding `retain`, or of another class. Differs from Torch7, which trusted any number.
---@param address torch.pointer
---@param class torch.class
---@return torch.Storage?
function torch.pushudata(address, class) end

---The function that makes an empty object of a class, its `__factory`; nil for an unknown name or if it has none. Torch7.
---@param class torch.class
---@return (fun(...): any)?
function torch.factory(class) end

---The metatable of a class by name; nothing for an unknown name. Torch7.
---@param class torch.class
---@return table?
function torch.getmetatable(class) end

---The constructor table of a class by name (`torch.IntStorage`); nothing for an unknown name. Torch7.
---@param class torch.class
---@return table?
function torch.getconstructortable(class) end

---Makes a class of tables and returns its metatable, to be filled with methods, and the parent's metatable. Its constructor
---is put under the name: a global variable, or a field for `package.Name`, where `package` is a global or loaded table; with
---`module`, a field of that table. It makes an object, calls `__init` with the arguments if there is one, and returns the
---object. `A.new` is the same.
---
---Methods and `__init` of the parent are found in the child. Operators are methods with underscores at both ends, which
---children have too: `__add__`, `__sub__`, `__mul__`, `__div__`, `__mod__`, `__pow__`, `__unm__`, `__concat__`, `__lt__`,
---`__le__`, `__eq__`, `__call__`, `__tostring__`. `__index__(object, key)` gives the value and true, or false to go on with
---the methods; `__newindex__(object, key, value)` gives true, or false to store it. `__version` is 1 unless it is set.
---
---A storage class as parent gives a name to inherit from, and methods that refuse the object, which is no storage. Errors: a
---class of that name, no such parent, no such package. Torch7, where redefining a class is an error, too.
---```lua
---local Counter = torch.class 'Counter'
---function Counter:__init(first) self.n = first or 0 end
---function Counter:next() self.n = self.n + 1 return self.n end
---local Even, parent = torch.class('Even', 'Counter')
---function Even:next() parent.next(self) return parent.next(self) end
---```
---@overload fun(name: string, module: table): table
---@param name string
---@param parent? string
---@param module? table
---@return table metatable
---@return table? parent
function torch.class(name, parent, module) end

---Makes a class of whatever `constructor` makes, or gives these parts to a class that has not got them: the destructor is the
---`__gc` of userdata, the factory makes an empty object. Returns its metatable. For most purposes `torch.class` is it.
---Errors: a part that the class has already, and as `torch.class`. Torch7.
---@param name string
---@param parent? string
---@param constructor? fun(...): any
---@param destructor? fun(object: any)
---@param factory? fun(...): any
---@param module? table as `torch.class`
---@return table metatable
function torch.newmetatable(name, parent, constructor, destructor, factory, module) end

---Gives a class name to whatever has a metatable, and on LuaJIT to the values of an FFI type (a ctype, its text, or a value).
---Errors: a name or a metatable or a type that is another class's. Torch7, which replaced them.
---@param name string
---@param metatable table
---@param ctype? ffi.ctype*|ffi.cdata*|string
function torch.metatype(name, metatable, ctype) end

---Makes a table an object of a class, and returns it. Errors: no such class, a class of storages. Differs from Torch7: it
---returned the name, against its documentation, and made tables pretend to be storages.
---@generic T: table
---@param object T
---@param class string
---@return T object
function torch.setmetatable(object, class) end

---As `storage:totable()`. Errors: no storage. Torch7.
---@param storage torch.Storage
---@return number[]
function torch.totable(storage) end

---The format version of an object's class, its `__version`: 1 for a storage, and at first for a class of the program. Errors:
---no argument. Torch7.
---@param value any
---@return integer?
function torch.version(value) end

---As `storage:data(asnumber)`. Differs from Torch7: what `torch.data(s, true)` gives is accepted by `(size, ptr)`.
---@param storage torch.Storage
---@param asnumber? boolean
---@return ffi.cdata*|lightuserdata|number
function torch.data(storage, asnumber) end

---LuaJIT only: as `storage:cdata(asnumber)`. Torch7.
---@param storage torch.Storage
---@param asnumber? boolean
---@return ffi.cdata*
function torch.cdata(storage, asnumber) end

---How many threads large operations (`fill`, `copy`, `clone`, `type`) of this process run in; 0: as many as it may use cores,
---which is so at first. Threads are started for each operation and none is kept. Torch7.
---@param n integer
function torch.setnumthreads(n) end

---That number. Torch7.
---@return integer
function torch.getnumthreads() end

---Bytes held by storages in this process, by kind of memory. Not in Torch7.
---@return { heap: integer, mapped: integer, shared: integer, foreign: integer } bytes
function torch.memory() end

---The shared memory objects of this machine that the process may open, by name. `held`: whether a storage of some process has
---it. One that nobody holds was left by a process that was killed, or is another program's: those do not say that they hold
---it. Not in Torch7.
---@return { name: string, bytes: integer, held: boolean }[]
function torch.sharedMemory() end

---Removes the name of shared memory. Who has it mapped keeps it; the name is free for something new. Returns whether there
---was one. Errors: what the system reports. Not in Torch7.
---@param name string
---@return boolean
function torch.unlinkSharedMemory(name) end

---Takes the reference that waits for a token: `storage:token()`. Errors: a token that was taken or dropped, that another
---process made, or that is none. Not in Torch7.
---@param token string
---@return torch.Storage
function torch.fromToken(token) end

---Gives back the reference that waits for a token which will not arrive. Errors: as `fromToken`. Not in Torch7.
---@param token string
function torch.dropToken(token) end

---Lets every Lua state of this process find the storage by `torch.lookup(name)`, until `torch.unpublish(name)`. Nobody
---resizes it meanwhile. The same storage may be published under its name again. Errors: a name that another storage has;
---memory that a value of this Lua state owns. Not in Torch7.
---@param name string
---@param storage torch.Storage
function torch.publish(name, storage) end

---The storage that is published under a name in this process; nil if there is none. Not in Torch7.
---@param name string
---@return torch.Storage?
function torch.lookup(name) end

---Ends a publication; who has looked the storage up keeps it. Returns whether there was one. Not in Torch7.
---@param name string
---@return boolean
function torch.unpublish(name) end

---Whether large allocations may run Lua's collector (on at first). A run restarts a collector that was stopped by hand.
---Torch7.
---@param enabled boolean
function torch.setheaptracking(enabled) end

---Chooses how elements are accessed, for all storages of this Lua state: `'ffi'` by functions that LuaJIT compiles, at the
---speed of a C array (at first on LuaJIT with the JIT on), `'c'` by C functions (at first elsewhere). Not in Torch7. With
---`'ffi'` one case is not safe: a debug hook that resizes or frees the very storage in the middle of an access. Errors:
---another mode; `'ffi'` on Lua 5.1.
---@param mode? 'c'|'ffi'
---@return 'c'|'ffi' mode what is in force
function torch.accessors(mode) end

---Options of `torch.save` and `torch.serialize`.
---@class torch.SaveOptions
---@field mode? torch.Mode `'binary'` at first
---@field referenced? boolean write what appears several times once, and its index after that (true at first)
---@field atomic? boolean write a new file that takes the old one's place when it is whole (true at first)
---@field progress? fun(done: integer, total: integer) called with bytes, now and then and at the end; saving is then done twice,
---the first time to count

---Options of `torch.load` and `torch.deserialize`.
---@class torch.LoadOptions
---@field mode? torch.Mode found out at first: ascii or binary, longs of 8 or 4 bytes, byte order
---@field referenced? boolean what has the same index is the same object (true at first)
---@field mmap? boolean storages of a binary file are parts of a private map of it (false at first)
---@field progress? fun(done: integer, total: integer) called with bytes, now and then and at the end
---@field info? boolean give what was found out as a second result (false at first)
---@field keeporder? boolean tables are saved with their keys in the order of the file, while these are the same (false at first;
---tables inside of records always are)

---How a file is written: `'b64'` is `'binary'`, `'b32'` has C longs of 4 bytes.
---@alias torch.Mode 'binary'|'ascii'|'b32'|'b64'

---What was found out about a file. Of an ascii file only the mode.
---@class torch.FileInfo
---@field mode 'binary'|'ascii'
---@field longsize? 4|8
---@field byteorder? 'little'|'big'

---What stands for a tensor, an object or a function of a file that has no class in this program. Which fields it has depends
---on `class`; saving gives back what it was.
---@class torch.Record
---@field class string `'torch.FloatTensor'`, `'torch.CudaStorage'`, `'nn.Linear'`, `'function'`
---@field version? integer|string the class's, 0 in files from before there were versions; a tensor has one only if it is not 1
---@field storage? torch.Storage of a tensor or a CUDA storage
---@field size? integer[] of a tensor: elements along each dimension
---@field stride? integer[] of a tensor: elements from one to the next along each dimension
---@field offset? integer of a tensor: the first element, from 1
---@field fields? any of another object: what it wrote
---@field tag? 6|7|8 of a function: how it was written
---@field code? string of a function: its bytecode
---@field upvalues? table of a function

---What `read`, `write` and `__factory` of a class get: an open .t7 file. `TYPE` is Byte, Char, Short, Int, Long, Half, Float
---or Double. Errors: a file that is open for the other thing, that is closed, or that has come to its end.
---@class torch.File
local File = {}

---The next object. Torch7.
---@return any
function File:readObject() end

---Writes an object; one that was written before by its index. Torch7.
---@param object any
function File:writeObject(object) end

---The next `n` bytes.
---@param n integer
---@return string
function File:readString(n) end

---Writes the bytes of a string, without its length.
---@param bytes string
---@return integer bytes
function File:writeString(bytes) end

---The next int, as a boolean. Torch7.
---@return boolean
function File:readBool() end

---Writes a boolean as an int. Torch7.
---@param value boolean
function File:writeBool(value) end

---Bytes read or written so far.
---@return integer
function File:position() end

---The next element as a number; the next `n` as a storage; or as many as a storage has, into it, and their number. So for
---every TYPE: `readByte`, `readDouble` ... Torch7.
---@param into? integer|torch.Storage
---@return number|torch.Storage
function File:readInt(into) end

---Writes a number as one element, or all elements of a storage of that class; returns how many. So for every TYPE. Torch7.
---@param value number|torch.Storage
---@return integer
function File:writeInt(value) end

---Saves an object as a .t7 file, byte for byte as Torch7. The old file, if there is one, stays until the new one is whole and
---on the disk. Errors: what cannot be saved, by its path in the object (functions, threads, userdata without a `write`); the
---system's.
---@param filename string
---@param object any
---@param mode? torch.Mode|torch.SaveOptions
---@param referenced? boolean
function torch.save(filename, object, mode, referenced) end

---Loads the object of a .t7 file. What has no class in this program is a `torch.Record`; functions are never run. Errors:
---what is wrong with the file, by byte (from 0) and path in the object; the system's. Torch7, which ran functions and took
---nothing but binary without a mode.
---@param filename string
---@param mode? torch.Mode|torch.LoadOptions
---@param referenced? boolean
---@return any object
---@return torch.FileInfo? info with `info=true`
function torch.load(filename, mode, referenced) end

---As `torch.save`. Torch7.
---@param filename string
---@param object any
---@param mode? torch.Mode|torch.SaveOptions
---@param referenced? boolean
function torch.saveobj(filename, object, mode, referenced) end

---As `torch.load`. Torch7.
---@param filename string
---@param mode? torch.Mode|torch.LoadOptions
---@param referenced? boolean
---@return any object
---@return torch.FileInfo? info
function torch.loadobj(filename, mode, referenced) end

---What `torch.save` would write, as a string. Torch7.
---@param object any
---@param mode? torch.Mode|torch.SaveOptions
---@param referenced? boolean
---@return string
function torch.serialize(object, mode, referenced) end

---As `torch.load`, from a string. Torch7.
---@param bytes string
---@param mode? torch.Mode|torch.LoadOptions
---@param referenced? boolean
---@return any object
---@return torch.FileInfo? info
function torch.deserialize(bytes, mode, referenced) end

---What `torch.save` would write, as a storage. Torch7.
---@param object any
---@param mode? torch.Mode|torch.SaveOptions
---@param referenced? boolean
---@return torch.CharStorage
function torch.serializeToStorage(object, mode, referenced) end

---As `torch.load`, from the bytes of a storage of any class. Torch7, where it had to be a CharStorage.
---@param storage torch.Storage
---@param mode? torch.Mode|torch.LoadOptions
---@param referenced? boolean
---@return any object
---@return torch.FileInfo? info
function torch.deserializeFromStorage(storage, mode, referenced) end

---Makes a table a record, so that it is saved as the object that it describes; returns it. Errors: what does not describe
---one, a tensor that its storage does not hold. Not in Torch7.
---@param record table
---@return torch.Record record
function torch.record(record) end

---Whether it is a record. Not in Torch7.
---@param value any
---@return boolean
function torch.isRecord(value) end

---The elements of a tensor's record as a new storage, in row-major order. Errors: a tensor that its storage does not hold.
---Not in Torch7.
---@param record torch.Record
---@return torch.Storage
function torch.contiguous(record) end

---How storages are printed: above `threshold` elements (1000), only `edgeitems` (10) at each end. Differs from Torch7: it
---printed all.
---@param options { threshold?: integer, edgeitems?: integer }
function torch.setprintoptions(options) end

return torch
