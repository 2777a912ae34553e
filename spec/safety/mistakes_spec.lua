-- Plausible mistakes of somebody who is new to the library. Each raises an error that says what was got and what is possible, and
-- where the mistake is a common one, what to write instead. No mistake changes a storage.
local torch = require 'torch'
local support = require 'spec.support'
local accessors = require 'spec.support.accessors'

local path = support.temporary()
local module = {}
torch.class('mistakes.Class', module)

after_each(accessors.restore)

-- Checks the cases with both kinds of accessors. The storage `s` has to be the same afterwards.
local function mistakes(text)
  local s = torch.IntStorage { 1, 2, 3 }
  accessors.check(text, {
    s = s,
    f = torch.FloatStorage(2),
    missing = path 'missing',
    there = support.spit(path 'there', 'ABCDEFGH'),
    t7 = path 'file.t7',
    Class = module.Class,
  })
  assert.same({ 1, 2, 3 }, s:totable())
  assert.equal('there', support.sh('ls ' .. path()))
end

describe('a mistake', function()
  it('in a constructor', function()
    mistakes [[
      torch.IntStorage('5')   --> ERROR cannot open file '5': No such file or directory; a string is the name of a file, and a size is a number: torch.IntStorage(5)
      torch.IntStorage(true)   --> ERROR number expected, got boolean
      torch.IntStorage(print)   --> ERROR number expected, got function
      torch.IntStorage(io.stdout)   --> ERROR torch.IntStorage expected, got userdata
      torch.IntStorage(-1)   --> ERROR a size is a whole number of elements from 0 to 2^63-1, got -1
      torch.IntStorage(1/0)   --> ERROR a size is a whole number of elements from 0 to 2^63-1, got inf
      torch.IntStorage(1, 2)   --> ERROR 2 is not an address; for a storage of these two elements write torch.IntStorage{1, 2}
      torch.IntStorage(1, 2, 3)   --> ERROR 2 is not an address; for a storage of these elements write torch.IntStorage{1, 2, ...}
      torch.IntStorage(0, 1)   --> ERROR 1 is not an address; for a storage of these two elements write torch.IntStorage{0, 1}
      torch.IntStorage(3, {1, 2, 3})   --> ERROR got table; torch.IntStorage(t) alone has the elements of a table t
      torch.IntStorage(3, 'x')   --> ERROR pointer expected (a number, a light userdata or an FFI pointer, array or int64), got string
      torch.IntStorage(f)   --> ERROR torch.IntStorage expected, got torch.FloatStorage; s:int() converts it, and s:view('int32') shows its bytes
      torch.UntypedStorage(f)   --> ERROR torch.UntypedStorage expected, got torch.FloatStorage; s:untyped() shows its bytes
      torch.IntStorage(s, 0)   --> ERROR offset out of bounds: 0 is not in the range 1 to 4
      torch.IntStorage(s, -1)   --> ERROR offset out of bounds: -1 is not in the range 1 to 4
      torch.IntStorage(s, 2, 5)   --> ERROR size out of bounds: 5 elements from 2 on, the storage has 3
      torch.IntStorage(s, 'x')   --> ERROR number expected, got string
      torch.IntStorage{1, 'x'}   --> ERROR element 2 of the table: number expected, got string 'x'
      torch.IntStorage{{1, 2}, {3, 4}}   --> ERROR element 1 of the table: number expected, got table
      torch.IntStorage{true}   --> ERROR element 1 of the table: number expected, got boolean
      [gap1] torch.IntStorage{nil, 2}   --> ERROR element 1 of the table: number expected, got nil
      torch.IntStorage{[0] = 1}   --> ERROR no option 0: the options are filename, offset, size, shared, readonly, advise, lock, hugepages, create; a table of elements begins at index 1
      torch.IntStorage{size = 10}   --> ERROR option 'filename' is missing; a storage of 10 elements is torch.IntStorage(10)
      torch.IntStorage:new(5)   --> ERROR got a class instead of elements: write torch.IntStorage(...) or torch.IntStorage.new(...)
      torch.IntStorage(torch.IntStorage)   --> ERROR got a class instead of elements
      torch.ComplexFloatStorage{re = 1, im = 2}   --> ERROR the table is a complex number
      torch.BoolStorage{'true'}   --> ERROR element 1 of the table: number or boolean expected, got string 'true'
      torch.IntStorage:fromstring('abcd')   --> ERROR it is called with a point, as in torch.IntStorage.fromstring(text)
      s:fromstring('abcd')   --> ERROR it is called with a point, as in torch.IntStorage.fromstring(text)
      torch.IntStorage:fromfile('x')   --> ERROR it is called with a point, as in torch.IntStorage.fromfile(text)
      torch.IntStorage.fromstring({1, 2})   --> ERROR string expected, got table
      torch.IntStorage.fromstring('abc')   --> ERROR 3 bytes is not a multiple of the 4-byte element size
    ]]
  end)

  it('in the name or the options of a file', function()
    mistakes [[
      torch.IntStorage(missing, 100)   --> ERROR boolean expected, got number: the arguments are (filename, shared, size, sharedmemory)
      torch.IntStorage(missing, 'r')   --> ERROR boolean expected, got string: the arguments are (filename, shared, size, sharedmemory)
      torch.IntStorage(missing, true, true)   --> ERROR number expected, got boolean
      torch.IntStorage(there, false, 2, true)   --> ERROR shared memory is always shared: the arguments are (filename, shared, size, sharedmemory), with true for both
      torch.IntStorage(there, false, 5)   --> ERROR it has 8 bytes, 20 are needed
      torch.IntStorage(missing, true)   --> ERROR (give a size to create it)
      torch.IntStorage.fromfile(missing, 100)   --> ERROR boolean expected, got number: the arguments are
      torch.IntStorage.fromfile()   --> ERROR string expected, got no value
      torch.IntStorage{file = there}   --> ERROR no option 'file': the options are filename, offset, size, shared, readonly, advise, lock, hugepages, create
      torch.IntStorage{filename = there, mode = 'r'}   --> ERROR no option 'mode': the options are filename
      torch.IntStorage{filename = 3}   --> ERROR option 'filename': string expected, got number
      torch.IntStorage{filename = there, offset = -1}   --> ERROR option 'offset': a whole number of bytes from 0 to 2^63-1 expected, got -1
      torch.IntStorage{filename = there, shared = 'yes'}   --> ERROR option 'shared': boolean expected, got string
      torch.IntStorage{filename = there, advise = 'fast'}   --> ERROR option 'advise': 'normal', 'sequential', 'random' or 'willneed' expected, got 'fast'
      torch.IntStorage{there}   --> ERROR element 1 of the table: number expected, got string
      torch.UntypedStorage(there, 5)   --> ERROR boolean expected, got number: the arguments are (filename, shared, size, sharedmemory)
      torch.UntypedStorage(there):flush()   --> ERROR the storage is heap memory; only a shared map writes to its file; fromfile(filename, true) maps one
      torch.UntypedStorage(there):advise('random')   --> ERROR only a mapped file can be advised or checked; fromfile(filename) maps one
      torch.UntypedStorage(there):check()   --> ERROR only a mapped file can be advised or checked; fromfile(filename) maps one
    ]]
  end)

  it('in an index', function()
    mistakes [[
      s[0]   --> ERROR index 0 is out of range: the storage has 3 elements, 1 to 3; indices begin at 1
      s[0.5]   --> ERROR index 0.5 is out of range: the storage has 3 elements, 1 to 3; indices begin at 1
      s[-1]   --> ERROR index -1 is out of range: the storage has 3 elements, 1 to 3; write s[#s] for the last element
      s[-2]   --> ERROR the storage has 3 elements, 1 to 3; write s[#s - 1] to count from the end
      s[-3]   --> ERROR write s[#s - 2] to count from the end
      s[-4]   --> ERROR the storage has 3 elements, 1 to 3; negative indices do not count from the end
      s[4]   --> ERROR index 4 is out of range: the storage has 3 elements, 1 to 3
      torch.IntStorage()[-1]   --> ERROR index -1 is out of range: the storage is empty
      torch.IntStorage(1)[-1]   --> ERROR the storage has 1 element; write s[#s] for the last element
      s[0] = 1   --> ERROR indices begin at 1
      s[-1] = 5   --> ERROR write s[#s] for the last element
      s:get(0)   --> ERROR indices begin at 1
      s:get(-1)   --> ERROR write s[#s] for the last element
      s:set(-2, 5)   --> ERROR write s[#s - 1] to count from the end
      s[1] = 'x'   --> ERROR an element of a torch.IntStorage is a number: number expected, got string
      s[1] = nil   --> ERROR number expected, got nil
      s[1] = {}   --> ERROR number expected, got table
      s.x = 1   --> ERROR the keys of a torch.IntStorage are numbers, got 'x'; a method is added to its class: function torch.IntStorage:name()
      s[nil] = 1   --> ERROR the keys of a torch.IntStorage are numbers, got a nil
      s:get()   --> ERROR number expected, got no value
      s:set(1)   --> ERROR number expected, got no value
      s:set(1, 2, 3)   --> ERROR elements of a torch.IntStorage have no imaginary part
      s:fill(1, 0)   --> ERROR index out of bounds: 0 is not in the range 1 to 3
      s:totable(-1)   --> ERROR index out of bounds: -1 is not in the range 1 to 3
      s:unpack(1, 9)   --> ERROR index out of bounds: 9 is not in the range 1 to 3
      s:string(-1)   --> ERROR index out of bounds: -1 is not in the range 1 to 3
      torch.IntStorage():fill(1, 1, 1)   --> ERROR index out of bounds: 1 is not in an empty storage
    ]]
  end)

  it('in a call of a method', function()
    mistakes [[
      s.size()   --> ERROR torch.IntStorage expected, got no value: methods are called with a colon, as in s:size()
      s.fill(1)   --> ERROR torch.IntStorage expected, got number: methods are called with a colon
      s.data()   --> ERROR methods are called with a colon
      torch.IntStorage.size()   --> ERROR methods are called with a colon
      torch.IntStorage:fill(1)   --> ERROR torch.IntStorage expected, got table: this is a class; torch.IntStorage(...) makes a storage
      s:fill()   --> ERROR number expected, got no value
      s:fill({1, 2, 3})   --> ERROR number expected, got table
      s:copy({1, 2, 3})   --> ERROR torch.*Storage expected, got table: torch.FloatStorage(t), for example, makes a storage of it
      s:equal({1, 2, 3})   --> ERROR torch.FloatStorage(t), for example, makes a storage of it
      s:copy(f)   --> ERROR size mismatch: 3 elements expected, got 2
      s:copy(s, 0)   --> ERROR index out of bounds: 0 is not in the range 1 to 4
      s:copy(s, 2)   --> ERROR 3 elements do not fit from 2 on in a storage of 3
      s:rawcopy(f)   --> ERROR length mismatch: 12 bytes expected, got 8
      s:resize()   --> ERROR number expected, got no value
      s:resize(-1)   --> ERROR a size is a whole number of elements from 0 to 2^63-1, got -1
      s:resize('x')   --> ERROR number expected, got string
      s:byteswap('big')   --> ERROR number expected, got string
      s:byteswap(3)   --> ERROR a word has 1, 2, 4 or 8 bytes, got 3
      s:sub()   --> ERROR number expected, got no value
      s:string({})   --> ERROR string or number expected, got table
      s:string(('abcd'):gsub('x', 'y'))   --> ERROR nothing expected after the text, got number; a call with several results, such as gsub, needs parentheses
      s:string('abc')   --> ERROR 3 bytes is not a multiple of the 4-byte element size (torch.IntStorage)
      s:view(4)   --> ERROR a view of 4 needs 4 elements, and there are 3
      s:view('int64')   --> ERROR give an offset and a size to view a part
      s:view('int16', -1)   --> ERROR an offset is a whole number of bytes from 0 to 2^63-1, got -1
      s:to('cuda')   --> ERROR no device 'cuda': the only device is 'cpu'
      s:to('float32')   --> ERROR the only device is 'cpu'; s:type('float32') converts to a class
      s:to(torch.FloatStorage)   --> ERROR s:type('float32') converts to a class
      s:flush()   --> ERROR fromfile(filename, true) maps one
      s:flush('async')   --> ERROR boolean expected, got string
      s:shareMemory(5)   --> ERROR string expected, got number
      s:shareMemory('a/b')   --> ERROR 'a/b' is not a valid name for shared memory: there is a slash in it
      s(1)   --> ERROR torch.IntStorage has no call operator
    ]]
  end)

  it('in a class', function()
    mistakes([[
      s:type('int3')   --> ERROR no class 'int3': did you mean 'int32'? docs/numbers.md lists all classes
      s:type('Int')   --> ERROR no class 'Int': did you mean 'torch.IntStorage'?
      s:type('FloatTensor')   --> ERROR did you mean 'torch.FloatStorage'?
      s:type('float8')   --> ERROR did you mean 'float8_e4m3fn' or 'float8_e5m2' or
      s:type('doubel')   --> ERROR did you mean 'float64'?
      s:type('torch.Text')   --> ERROR no class 'torch.Text': a class has a name like 'torch.FloatStorage' or 'float32'; docs/numbers.md lists all classes
      s:type('\255\0int')   --> ERROR a class has a name like
      s:type('')   --> ERROR no class '': a class has a name like
      s:view('int3')   --> ERROR no class 'int3': did you mean 'int32'?
      s:type(5)   --> ERROR class (a name like 'torch.FloatStorage' or 'float32', or torch.FloatStorage itself) expected, got number
      torch.frombuffer(s, {dtype = 'int3'})   --> ERROR option 'dtype': no class 'int3': did you mean 'int32'?
      torch.pushudata(0, 'int3')   --> ERROR no class 'int3': did you mean 'int32'?
      torch.pushudata('torch.IntStorage', 5)   --> ERROR number or cdata expected, got string
      torch.setdefaulttensortype('torch.FloatStorage')   --> ERROR 'torch.FloatStorage' is not a tensor type such as 'torch.DoubleTensor'; docs/numbers.md lists the element types
      torch.setdefaulttensortype('torch.UntypedTensor')   --> ERROR is not a tensor type
      torch.setdefaulttensortype(torch.FloatStorage)   --> ERROR string such as 'torch.FloatTensor' expected, got table
      torch.class('no.such.Class')   --> ERROR there is no table 'no'; make it first, or pass a table for the class
      torch.class('X', 'NoSuch')   --> ERROR there is no class 'NoSuch'
    ]])
  end)

  it('in a buffer', function()
    mistakes [[
      torch.frombuffer({1, 2, 3})   --> ERROR storage, string, FFI array or pointer, or object with __buffer expected, got table
      torch.frombuffer('abcd', 'int32')   --> ERROR table of options, such as {dtype = 'float32', count = 10}, expected, got string
      torch.frombuffer('abcd', {'int32'})   --> ERROR no option 1: dtype, count, offset, byteorder, size, requires_grad are the options of a buffer
      torch.frombuffer('abcd', {type = 'int32'})   --> ERROR no option 'type': dtype, count
      torch.frombuffer('abcd', {dtype = 'int32', byteorder = '>'})   --> ERROR option 'byteorder': 'native', 'little' or 'big' expected, got '>'
      torch.frombuffer('abcd', {dtype = 'int32', requires_grad = true})   --> ERROR option 'requires_grad': a storage has no gradient, so only false is accepted
      torch.frombuffer('abcd', {dtype = 'int32', requires_grad = 0})   --> ERROR option 'requires_grad': boolean expected, got number
      #torch.frombuffer('abcd', {dtype = 'int32', requires_grad = false})   --> 1
      torch.frombuffer('abcd', {dtype = 'int32', offset = 1})   --> ERROR 3 bytes from offset 1 on is not a multiple of the 4-byte element size
      torch.frombuffer('abcd', {dtype = 'int32', count = 0})   --> ERROR nothing to share: the buffer has 4 bytes, 0 elements are wanted
      torch.frombuffer('abcd')[1] = 5   --> ERROR read-only
      torch.IntStorage:frombuffer('abcd')   --> ERROR got a class: write torch.IntStorage.frombuffer(object), with a point
    ]]
  end)

  it('in a setting', function()
    mistakes [[
      torch.setnumthreads(-1)   --> ERROR a number of threads is a whole number from 1, or 0 for one a core; got -1
      torch.setnumthreads(0.5)   --> ERROR a number of threads is a whole number from 1, or 0 for one a core; got 0.5
      torch.setnumthreads(0/0)   --> ERROR a number of threads is a whole number from 1, or 0 for one a core; got nan
      torch.setheaptracking(1)   --> ERROR boolean expected, got number
      torch.setprintoptions{treshold = 5}   --> ERROR no option treshold: the options are threshold and edgeitems
      torch.setprintoptions{edgeitems = 1.5}   --> ERROR edgeitems: whole number of at least 0 expected, got 1.5
      torch.sharedMemory('x')   --> ERROR no argument expected, got string; torch.FloatStorage{shared = name, size = n, create = true} makes some
      torch.publish(s, 'x')   --> ERROR string expected, got torch.IntStorage
      torch.publish('x', {})   --> ERROR torch.*Storage expected, got table
      torch.fromToken('x')   --> ERROR this is not a token: s:token() returns one
    ]]
  end)

  it('in saving and loading', function()
    mistakes [[
      torch.save(s, t7)   --> ERROR file name expected, got torch.IntStorage
      torch.save(t7)   --> ERROR value expected, got no value
      torch.save(t7, s, 'rb')   --> ERROR mode 'binary', 'ascii', 'b32' or 'b64' expected, got 'rb'
      torch.save(t7, s, {format = 'ascii'})   --> ERROR no option 'format': the options are mode, referenced, atomic, progress
      torch.save(t7, {a = {b = print}})   --> ERROR <function> at a.b: only nil, booleans, numbers, strings, tables and objects can be saved
      torch.save(t7, {a = Class})   --> ERROR the class mistakes.Class at a: a class is not data; save its name instead
      torch.save(t7, {a = torch.IntStorage})   --> ERROR the class torch.IntStorage at a: a class is not data; save its name instead
      torch.load(s)   --> ERROR file name expected, got torch.IntStorage
      torch:load(t7)   --> ERROR file name expected, got table
      torch.load(there)   --> ERROR this is not a .t7 file: it begins with 'ABCDEFGH'
      torch.load(t7, 'r')   --> ERROR mode 'binary', 'ascii', 'b32' or 'b64' expected, got 'r'
      torch.load(t7, {map = true})   --> ERROR no option 'map': the options are mode, referenced, mmap, progress, info, keeporder
      torch.deserialize(s)   --> ERROR string expected, got torch.IntStorage
      torch.contiguous(s)   --> ERROR record of a CUDA tensor expected, got torch.IntStorage; a tensor has x:contiguous()
      torch.contiguous(s:view(-1))   --> ERROR record of a CUDA tensor expected, got torch.IntTensor; a tensor has x:contiguous()
    ]]
  end)

  -- docs/api.md says what these do.
  it('that cannot be told from what somebody may want gives what the documentation says', function()
    mistakes [[
      torch.IntStorage(nil)   --> <torch.IntStorage #0: >
      torch.IntStorage(2.9)   --> <torch.IntStorage #2: 0 0>
      torch.IntStorage({1, 2}, 5)   --> <torch.IntStorage #2: 1 2>
      torch.IntStorage{[0] = 1, 2, 3}   --> <torch.IntStorage #2: 2 3>
      torch.IntStorage{1, 2, size = 5}   --> <torch.IntStorage #2: 1 2>
      #torch.UntypedStorage('data.bin')   --> 8
      s[1.9]   --> 1
      s['1']   --> 1
      s[nil]   --> nil
      s.no_such_field   --> nil
      s == s:clone()   --> false
      s:type(nil)   --> "torch.IntStorage"
      s:sub(2, 100)   --> <torch.IntStorage #2: 2 3>
      s:totable(4)   --> {}
      s:string(4)   --> ""
      rawequal(s:fill(9, 3, 2), s)   --> true
      torch:isStorage(s)   --> false
      torch.lookup('no such publication')   --> nil
      torch.factory('int3')   --> nil
    ]]
  end)
end)
