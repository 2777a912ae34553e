-- Runs examples/t7dump.lua as a process of the interpreter under test, for its specs.
local torch = require 'torch'
local support = require 'spec.support'

local t7dump = {}

-- Makes a new directory for each spec: `t7dump.directory`.
function t7dump.setup()
  t7dump.directory = support.directory()
end

function t7dump.teardown()
  support.remove(t7dump.directory)
end

function t7dump.quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- Runs the program. Returns what it prints, its errors and its exit status.
function t7dump.run(...)
  local command = support.interpreter .. ' examples/t7dump.lua'
  for _, word in ipairs { ... } do
    command = command .. ' ' .. t7dump.quote(word)
  end
  local out, err = t7dump.directory .. '/out', t7dump.directory .. '/err'
  local status = support.sh(command .. ' >' .. t7dump.quote(out) .. ' 2>' .. t7dump.quote(err) .. '; echo $?')
  return support.slurp(out), support.slurp(err), tonumber(status)
end

function t7dump.saved(object, mode)
  local name = t7dump.directory .. '/file.t7'
  torch.save(name, object, mode)
  return name
end

-- The tree that is printed for an object, without the first line.
function t7dump.tree(object, ...)
  local name = t7dump.saved(object)
  local output, errors, status = t7dump.run(name, ...)
  assert(errors == '' and status == 0, errors)
  local first, rest = output:match '^([^\n]*)\n(.*)$'
  assert(first == name .. ': binary, 8-byte longs, little endian', first)
  return rest
end

-- A tensor, or the record of a CUDA tensor.
function t7dump.tensor(class, storage, size, stride, offset)
  local own = torch.getconstructortable(class)
  if own then
    return storage and own(storage, offset or 1, size, stride) or own()
  end
  return torch.record { class = class, storage = storage, size = size, stride = stride, offset = offset or 1 }
end

function t7dump.lines(...)
  return table.concat({ ... }, '\n') .. '\n'
end

return t7dump
