-- The module of spec/support/probe.c, which shows the functions of include/torch_storage.h to Lua, for the specs of that header.
local busted = require 'busted'
local support = require 'spec.support'
local c_module = require 'spec.support.c_module'

local SOURCE = 'spec/support/probe.c'

-- The numbers of the header that the specs use.
local probes = {
  ANY = 0,
  SHORT = 3,
  INT = 4,
  FLOAT = 7,
  DOUBLE = 8,
  WRITABLE = 1,
  ALIGNED = 2,
  CONTIGUOUS = 4,
  RESIZABLE = 8,
  RETYPED = 16,
  TENSORS = 256,
  PIN = 512,
}

-- The flags of a storage on the heap.
probes.HEAP = probes.WRITABLE + probes.ALIGNED + probes.CONTIGUOUS + probes.RESIZABLE

local missing = c_module.missing()

-- Declares a test. It is pending where modules cannot be compiled.
probes.it = missing and function(title)
  busted.pending(title .. ': ' .. missing)
end or busted.it

-- Compiles and opens the module before the tests of a `describe`, and removes it after them. Returns a table that has its
-- functions during the tests. `probes.library` is its file then.
function probes.open()
  local functions = {}
  busted.setup(function()
    probes.library = os.tmpname()
    if not missing then
      for name, probe in pairs(c_module.open(SOURCE, 'probe', probes.library)()) do
        functions[name] = probe
      end
    end
  end)
  busted.teardown(function()
    os.remove(probes.library)
  end)
  return functions
end

-- Runs Lua source in a new process, where `open()` gives the module, compiled to the file `name`. It has only what needs no torch
-- if `only_open` is true. `header` is the directory of another torch_storage.h. Returns the output and the exit status.
function probes.child(name, source, only_open, header)
  local open = ("assert(package.loadlib('%s', 'luaopen_probe'))"):format(name)
  local options = (header and '-I' .. header .. ' ' or '') .. (only_open and '-DONLY_OPEN' or '')
  local messages, status = c_module.compile(SOURCE, name, options)
  assert(status == 0, messages)
  return support.run('local open = ' .. open .. '\n' .. source)
end

return probes
