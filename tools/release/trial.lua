-- What the library has to do wherever a file of the release was installed. tools/release/try runs this with the interpreters of
-- each platform:
--
--   INTERPRETER trial.lua FOLDER     (a folder for files)
local torch = require 'torch'
local jit = rawget(_G, 'jit')

local folder = arg[1]

-- Errors are raised through the frames of the library, by an unwinder that is the interpreter's.
local function index(storage, i)
  return storage[i]
end
local s = torch.IntStorage { 10, 20, 30 }
for i = 1, 10000 do
  local ok, message = pcall(index, s, 3 + i)
  assert(not ok and message:find('index %d+ is out of range'), message)
  local thread = coroutine.create(function()
    torch.load(folder .. '/nothing.t7')
  end)
  ok, message = coroutine.resume(thread)
  assert(not ok and message:find 'cannot open file', message)
end

-- Elements in a loop that LuaJIT compiles, a conversion, a view, and a sum that only the right kernels give.
local doubles = torch.DoubleStorage(100000)
for i = 1, #doubles do
  doubles[i] = i - 0.5
end
local bytes, total = doubles:type 'torch.ByteStorage', 0
for i = 1, #bytes do
  total = total + bytes[i]
end
assert(total == 12742320, total)
assert(torch.FloatStorage({ 1 }):view('int32')[1] == 1065353216)

-- Files and maps.
torch.save(folder .. '/a.t7', { weights = torch.FloatTensor { { 1, 2 }, { 3, 4 } } })
assert(torch.load(folder .. '/a.t7').weights:t():get(1, 2) == 3)
torch.safetensors.save(folder .. '/a.safetensors', { weight = torch.HalfTensor { 1, 2, 3 } })
assert(torch.safetensors.load(folder .. '/a.safetensors').weight:get(3) == 3)
local map = torch.LongStorage { filename = folder .. '/numbers', shared = true, size = 1000 }
map[1000] = 2 ^ 40
assert(torch.LongStorage({ filename = folder .. '/numbers', readonly = true })[1000] == 2 ^ 40)

-- Memory with a name.
local name = ('torch-trial-%d-%s'):format(os.time(), tostring(s):match '%x+$' or torch.pointer(s))
local mine = torch.FloatStorage { shared = name, size = 10, create = true }
torch.FloatStorage({ shared = name })[10] = 0.5
assert(mine[10] == 0.5)

-- The state is closed with objects whose finalizers use the library.
local function finalizer()
  assert(s[1] == 10)
end
if newproxy then
  torch.kept = newproxy(true)
  getmetatable(torch.kept).__gc = finalizer
else
  torch.kept = setmetatable({}, { __gc = finalizer })
end
print(('%s on %s: %d'):format(tostring(torch), jit and jit.version or _VERSION, s[1] + s[2] + s[3]))
