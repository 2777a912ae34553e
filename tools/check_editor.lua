-- Checks what an editor knows about the library from lua/torch/meta*.lua: emmylua_check reads the same annotations as the
-- language servers LuaLS and EmmyLua. It has to find each mistake in the program below, and no other. A member that it calls
-- undefined is one that an editor would not offer, and it can only know that if it knows the type before it.
--
--   luajit tools/check_editor.lua     (from the project's directory; tools/need installs emmylua_check)

-- A comment names the member of its line that does not exist.
local PROGRAM = [[
local torch = require 'torch'

-- Constructors, and methods that return the storage itself.
local s = torch.FloatStorage(3)
s:fill(1):copy(s):zero():size()
s:fil(1) --> fil
s:fill(1):copy(s):sizee() --> sizee
torch.FloatStorge(3) --> FloatStorge
torch.getprintoptions()
torch.getprintoption() --> getprintoption

-- Views, conversions and tensors.
s:sub(1, 2):byte():isView()
s:sub(1, 2):isVew() --> isVew
s:byte():string()
s:byte():strin() --> strin
s:type 'torch.IntStorage':nbytes()
s:type 'torch.IntStorage':nbyte() --> nbyte
local x = torch.FloatTensor(2, 3)
x:t():narrow(1, 1, 2):clone():contiguous():dim()
x:t():narrow(1, 1, 2):clone():dimm() --> dimm
x:double():transpose(1, 2):stride(1)
x:double():transpse(1, 2) --> transpse

-- Files, memory and other states.
torch.save('x.t7', x)
torch.sav('x.t7', x) --> sav
torch.memory().heap = nil
local model = torch.safetensors.load 'model.safetensors'
model.weight:size(1)
model.weight:sise(1) --> sise
local file = torch.safetensors.open 'model.safetensors'
file:get 'weight'
file:gett 'weight' --> gett
torch.npy.load('x.npy'):size(1)
torch.fromToken(s:token()):copy(s)
torch.fromToken(s:tokenn()) --> tokenn
]]

local folder = 'target/editor'
os.execute(('rm -rf %s && mkdir -p %s/library && cp lua/torch/meta*.lua %s/library'):format(folder, folder, folder))

local function write(name, text)
  local file = assert(io.open(folder .. '/' .. name, 'w'))
  file:write(text)
  file:close()
end
write('program.lua', PROGRAM)
write('.emmyrc.json', '{ "workspace": { "library": ["./library"] } }\n')

local expected, number = {}, 0
for line in PROGRAM:gmatch '(.-)\n' do
  number = number + 1
  expected[number] = line:match '%-%-> (%w+)$'
end

local pipe = assert(io.popen(('.tools/bin/emmylua_check %s 2>&1'):format(folder)))
local output = pipe:read '*a'
pipe:close()

local problems, count = 0, 0
local function problem(text, ...)
  problems = problems + 1
  print(text:format(...))
end
for field, line in output:gmatch 'Undefined field `([^`]+)`[^\n]*\n%s*%-%-> [^\n]-program%.lua:(%d+):' do
  line, count = tonumber(line), count + 1
  if expected[line] == field then
    expected[line] = nil
  else
    problem('line %d: the declarations do not have %s', line, field)
  end
end
for line, field in pairs(expected) do
  problem('line %d: the declarations do not say that there is no %s', line, field)
end
for error_text in output:gmatch 'error: ([^\n]+)' do
  problem('%s', error_text)
end
if not output:find 'Check ' then
  problem('emmylua_check says: %s', output)
end
print(('%d mistakes found: %d problems'):format(count, problems))
os.exit(problems == 0 and 0 or 1)
