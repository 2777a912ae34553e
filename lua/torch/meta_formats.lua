---@meta _
-- Types and documentation of safetensors, npy and npz files, for editors (LuaCATS). docs/api-formats.md is made from this
-- file by tools/api.lua, and the rest of the interface is in meta.lua. The file holds declarations only: the library never
-- loads it.
-- luacheck: ignore 212 241

---@class torch
local torch = {}

---Functions for safetensors files.
torch.safetensors = {}

---Functions for npy files.
torch.npy = {}

---Functions for npz files.
torch.npz = {}

-- safetensors ---------------------------------------------------------------------------------------------------------
-- Files of named tensors, as models are published in them. Files are not trusted: whatever is wrong in a file is an error
-- that names the file, the byte and the tensor, and nothing is loaded then.
--
-- Each dtype of the format is a class of tensors, such as `F32` a FloatTensor: docs/formats.md#element-types has the table. For
-- `F8_E8M0`, `F6_E2M3`, `F6_E3M2` and `F4` there are ByteTensors of the bytes: of the sizes that the file says for `F8_E8M0`, and
-- of one dimension for the others, whose elements are smaller than a byte.

---Options of `torch.safetensors.load`.
---@class torch.SafetensorsOptions
---@field mmap? boolean whether the tensors are parts of a private map of the file; default true; otherwise they are copies
---@field names? string[] the tensors that are loaded; default all
---@field progress? fun(done: integer, total: integer) called with numbers of bytes of tensors, now and then and at the end

---All tensors of a file by name, and its metadata.
---
---The file is mapped, so this takes less than a millisecond for a file of any size, and memory only for pages that are
---written. All tensors share one map, which ends with the last of them. Writing to a tensor does not change the file. The
---file must not be truncated as long as it is mapped; to replace it by another file of the same name is safe. With
---`mmap=false` each tensor is a copy in memory of its own.
---
---A path that ends in `.safetensors.index.json` is that of the index of a model in several files. These are in the same
---folder, and each of them is mapped once. Tensors that the index does not name are left out. The metadata is that of all
---files. Errors: a file that cannot be opened or that is not in this format; a name in `names` that no tensor has; an option
---that does not exist. Origin: Python's safetensors, where it is `load_file` and gives no metadata.
---```lua
---local weight = torch.FloatTensor(2, 3):fill(0.5)
---torch.safetensors.save('model.safetensors', { weight = weight }, { format = 'pt' })
---local tensors, metadata = torch.safetensors.load 'model.safetensors'
---print(tensors.weight:get(2, 3), tensors.weight:storage():isMapped(), metadata.format)
-----> 0.5	true	pt
---```
---@param path string
---@param options? torch.SafetensorsOptions
---@return table<string, torch.Tensor> tensors
---@return table<string, string> metadata empty if there is none
function torch.safetensors.load(path, options) end

---Opens a file, or all files of an index, and reads only the headers, however large the files are. `get` gives its tensors one
---by one. It stays as it was opened if the path leads to another file later, or to none. Errors: as `torch.safetensors.load`.
---Origin: Python's safetensors, where it is `safe_open`.
---```lua
---torch.safetensors.save('layers.safetensors', { ['layer.1.weight'] = torch.FloatTensor(10, 20) })
---local file = torch.safetensors.open 'layers.safetensors'
---for _, name in ipairs(file:keys()) do
---  print(name, table.concat(file:info(name).shape, 'x'), file:get(name):nElement())
---  --> layer.1.weight	10x20	200
---end
---```
---@param path string
---@return torch.SafetensorsFile
function torch.safetensors.open(path) end

---Options of the functions that save.
---@class torch.FormatSaveOptions
---@field atomic? boolean whether a new file takes the place of the old one when it is complete; default true
---@field progress? fun(done: integer, total: integer) called with numbers of bytes, now and then and at the end

---Saves tensors and storages by name. A storage is saved as a tensor of one dimension, and one without a type as bytes. Each
---tensor is saved with its own elements only, in C order. The file is the one that the reference writes, byte for byte; it
---writes metadata in no order, and here it is sorted by name. Empty metadata is none.
---
---If there is an old file, it stays until the new one is complete and on the disk, so tensors can be saved to the file from
---which they were mapped. If a progress function or a hook changes, resizes or frees a tensor in the process, the file gets the
---sizes that it had at the beginning. Errors: a key that is not a string in UTF-8, or `'__metadata__'`; a value that is neither
---a tensor nor a storage; a ComplexDoubleTensor, for which the format has no dtype; metadata that is not a table of strings by
---name; an option that does not exist; a file that clearly does not fit on its disk, before anything is written; what the system
---reports. Origin: Python's safetensors, where it is `save_file`.
---```lua
---local weight, bias = torch.FloatTensor(2, 3):fill(0.5), torch.HalfStorage { 1, 2 }
---torch.safetensors.save('linear.safetensors', { weight = weight:t(), bias = bias }, { epoch = '7' })
---local tensors, metadata = torch.safetensors.load 'linear.safetensors'
---print(torch.type(tensors.bias), tensors.weight:size(1), metadata.epoch)
-----> torch.HalfTensor	3	7
---```
---@param path string
---@param tensors table<string, torch.Tensor|torch.Storage>
---@param metadata? table<string, string>
---@param options? torch.FormatSaveOptions
function torch.safetensors.save(path, tensors, metadata, options) end

---What a safetensors file says about a tensor.
---@class torch.TensorInfo
---@field dtype string as in the file: `'F32'`, `'F8_E8M0'`
---@field shape integer[] the sizes as in the file; empty for a scalar
---@field bytes integer the number of bytes of all elements
---@field class string the class that `get` gives it: `'torch.FloatTensor'`

---An open safetensors file, or the files of an index. `#file` is the number of its tensors. Errors: using a file that is closed,
---except to close it again.
---@class torch.SafetensorsFile
local SafetensorsFile = {}

---The names of the tensors, in the order of their bytes, as a new table. Origin: Python's safetensors.
---```lua
---local tensors = { bias = torch.FloatTensor(3), weight = torch.FloatTensor(3, 4) }
---torch.safetensors.save('two.safetensors', tensors)
---local file = torch.safetensors.open 'two.safetensors'
---print(#file, table.concat(file:keys(), ' ')) --> 2	bias weight
---```
---@return string[]
function SafetensorsFile:keys() end

---A tensor over the private map of the file. Each call makes a new tensor over the same elements. Errors: no tensor has that
---name. Origin: Python's safetensors, where it is `get_tensor` and makes a copy.
---```lua
---torch.safetensors.save('bias.safetensors', { bias = torch.FloatTensor { 0.5, 1.5 } })
---local file = torch.safetensors.open 'bias.safetensors'
---file:get('bias'):fill(7) -- the same elements as in the next line; the file does not change
---print(file:get('bias'):get(2)) --> 7
---```
---@param name string
---@return torch.Tensor
function SafetensorsFile:get(name) end

---What the file says about a tensor. Errors: no tensor has that name. Origin: Python's safetensors, where it is `get_slice`.
---```lua
---torch.safetensors.save('half.safetensors', { weight = torch.HalfTensor(3, 4) })
---local info = torch.safetensors.open('half.safetensors'):info 'weight'
---print(info.dtype, info.shape[1], info.shape[2], info.bytes, info.class)
-----> F16	3	4	24	torch.HalfTensor
---```
---@param name string
---@return torch.TensorInfo
function SafetensorsFile:info(name) end

---The metadata, as a new table. It is empty if there is none. That of an index is of all its files; where these have different
---texts of one name, that of the first file is taken. Origin: Python's safetensors.
---```lua
---torch.safetensors.save('epoch.safetensors', { x = torch.FloatTensor(1) }, { epoch = '7' })
---print(torch.safetensors.open('epoch.safetensors'):metadata().epoch) --> 7
---```
---@return table<string, string>
function SafetensorsFile:metadata() end

---Closes the file. Tensors that `get` has given stay as they are. A file that is closed stays closed; without this it is
---closed when it is collected, or since Lua 5.4 at the end of `local file <close>`. Origin: this library.
---```lua
---torch.safetensors.save('closed.safetensors', { x = torch.IntTensor { 5 } })
---local file = torch.safetensors.open 'closed.safetensors'
---local x = file:get 'x'
---file:close()
---print(x:get(1), (pcall(file.get, file, 'x'))) --> 5	false
---```
function SafetensorsFile:close() end

-- npy -----------------------------------------------------------------------------------------------------------------
-- Files of one array, in NumPy's format. Files are not trusted, as those of safetensors.
--
-- Each type of elements is a class of tensors, such as `<f4` a FloatTensor: docs/formats.md#element-types has the table. Arrays
-- of objects, structures, strings and times are errors.

---Options of `torch.npy.load`.
---@class torch.NpyOptions
---@field mmap? boolean whether the tensor is a part of a private map of the file; default true; otherwise it is a copy
---@field dtype? torch.class of elements whose type NumPy does not write: those of `ml_dtypes`, such as `'bfloat16'`, of which
---the file says only the width, as in `V2`; for other elements it must be their type
---@field progress? fun(done: integer, total: integer) called with numbers of bytes of the array, now and then and at the end

---The array of a file. The file is mapped as by `torch.safetensors.load`. An array in Fortran order has strides that grow
---from the first dimension on. Elements whose bytes are in the other order are copied. An array of shape `()` is a scalar.
---Bytes after the array are ignored, as NumPy does. Errors: a file that cannot be opened or that is not in this format;
---elements for which there is no class; elements without a type and no `dtype`; an option that does not exist. Origin: NumPy,
---where `mmap_mode` is not the default.
---```lua
---torch.npy.save('weights.npy', torch.BFloat16Tensor { { 0.5, 1.5 } }) -- bytes without a type
---print(torch.npy.load('weights.npy', { dtype = 'bfloat16' }):get(1, 2)) --> 1.5
---```
---@param path string
---@param options? torch.NpyOptions
---@return torch.Tensor
function torch.npy.load(path, options) end

---Saves a tensor or a storage, as `torch.safetensors.save`. The file is the one that `numpy.save` writes, byte for byte. A
---tensor whose elements lie side by side in Fortran order, as those of the transpose of a matrix, is saved in this order, and
---all others in C order. All classes can be saved; BFloat16 and three of the Float8 classes as bytes without a type (`<V2` and
---`<V1`), and Float8_e5m2 as `<f1`, as NumPy does with `ml_dtypes`. NumPy reads the former with `.view(ml_dtypes.bfloat16)`, and
---the latter not at all. Errors: as `torch.safetensors.save`. Origin: NumPy.
---```lua
---torch.npy.save('matrix.npy', torch.IntTensor { { 1, 2, 3 }, { 4, 5, 6 } })
---print(torch.npy.load('matrix.npy'):get(2, 3)) --> 6
---```
---@param path string
---@param tensor torch.Tensor|torch.Storage
---@param options? torch.FormatSaveOptions
function torch.npy.save(path, tensor, options) end

-- npz -----------------------------------------------------------------------------------------------------------------
-- Files of named arrays: zip archives of npy files, as `numpy.savez` writes them. Files are not trusted, as those of
-- safetensors.

---Options of `torch.npz.load`.
---@class torch.NpzOptions
---@field mmap? boolean whether the tensors are parts of a private map of the file; default true; otherwise they are copies,
---and the checksum of each entry is checked
---@field dtype? torch.class of elements whose type NumPy does not write, as for `torch.npy.load`; for others it does not
---matter
---@field names? string[] the arrays that are loaded; default all
---@field progress? fun(done: integer, total: integer) called with numbers of bytes of arrays, now and then and at the end

---All arrays of a file by name, and the names of its other entries, if it has some. An entry whose name ends in `.npy` is an
---array, and this ending is left out of its name here. An entry with any other name is an array if its contents begin like an
---npy file. If there are two arrays `a` and `a.npy`, both keep their names, as in NumPy.
---
---Errors: as `torch.npy.load`; entries that are compressed, which `numpy.savez_compressed` writes, or encrypted; a name in
---`names` that no array has. Origin: NumPy, which loads each array when it is used, and returns the bytes of other entries.
---```lua
---local images, labels = torch.ByteTensor(10, 28, 28), torch.ByteTensor(10):fill(7)
---torch.npz.save('data.npz', { images = images, labels = labels })
---local arrays = torch.npz.load('data.npz', { names = { 'labels' } })
---print(arrays.labels:get(10), arrays.images) --> 7	nil
---```
---@param path string
---@param options? torch.NpzOptions
---@return table<string, torch.Tensor> arrays
---@return string[]? others the names of the entries that are not arrays, in the order of their bytes, if there are some
function torch.npz.load(path, options) end

---Saves tensors and storages by name, each as `torch.npy.save` does. The entries are not compressed, and in the order of the
---bytes of their names. The file is the one that `numpy.savez` writes of the same arrays in this order, byte for byte. Errors:
---as `torch.npy.save`; a name that is longer than 65,531 bytes, or has a zero byte. Origin: NumPy, where it is `savez`.
---```lua
---local pixels, scale = torch.UInt16Tensor(480, 640), torch.DoubleStorage { 0.25 }
---torch.npz.save('scan.npz', { pixels = pixels, scale = scale })
---local arrays = torch.npz.load 'scan.npz'
---print(arrays.pixels:nDimension(), arrays.scale:get(1)) --> 2	0.25
---```
---@param path string
---@param tensors table<string, torch.Tensor|torch.Storage>
---@param options? torch.FormatSaveOptions
function torch.npz.save(path, tensors, options) end
