-- Runs examples/dump.lua and examples/convert.lua as processes of the interpreter under test, for their specs.
local torch = require 'torch'
local support = require 'spec.support'

local converter = {}

-- Makes a new directory for each spec: `converter.directory`.
function converter.setup()
  converter.directory = support.directory()
end

function converter.teardown()
  support.remove(converter.directory)
end

-- A file in that directory.
function converter.path(name)
  return converter.directory .. '/' .. name
end

function converter.quote(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function run(program, ...)
  local command = support.interpreter .. ' examples/' .. program
  for _, word in ipairs { ... } do
    command = command .. ' ' .. converter.quote(word)
  end
  local out, err = converter.path 'out', converter.path 'err'
  local status = support.sh(command .. ' >' .. converter.quote(out) .. ' 2>' .. converter.quote(err) .. '; echo $?')
  return support.slurp(out), support.slurp(err), tonumber(status)
end

-- These run a program. They return what it prints, its errors and its exit status.
function converter.dump(...)
  return run('dump.lua', ...)
end

function converter.convert(...)
  return run('convert.lua', ...)
end

function converter.saved(object, mode)
  local name = converter.path 'file.t7'
  torch.save(name, object, mode)
  return name
end

-- What examples/dump.lua prints for a file, without the first line, and that line without the file's name.
function converter.listing(name, ...)
  local output, errors, status = converter.dump(name, ...)
  assert(errors == '' and status == 0, errors)
  local first, rest = output:match '^([^\n]*)\n(.*)$'
  assert(first:sub(1, #name + 2) == name .. ': ', first)
  return rest, first:sub(#name + 3)
end

-- The tree that is printed for an object in a .t7 file.
function converter.tree(object, ...)
  local tree, title = converter.listing(converter.saved(object), ...)
  assert(title == 't7, binary, 8-byte longs, little endian', title)
  return tree
end

-- A tensor, or the record of a CUDA tensor.
function converter.tensor(class, storage, size, stride, offset)
  local own = torch.getconstructortable(class)
  if own then
    return storage and own(storage, offset or 1, size, stride) or own()
  end
  return torch.record { class = class, storage = storage, size = size, stride = stride, offset = offset or 1 }
end

function converter.lines(...)
  return table.concat({ ... }, '\n') .. '\n'
end

return converter
