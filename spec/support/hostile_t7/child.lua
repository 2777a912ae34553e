-- Runs Lua source that loads hostile files, in a child process with limited memory.
local support = require 'spec.support'

-- The address space that a child may use, in KiB.
local LIMIT = 1500000

-- `calm` loads a file and accepts errors that are strings. `use` does with a loaded object what a program would. `peak` returns
-- the highest memory use so far.
local PRELUDE = [[
  package.path = './?.lua;' .. package.path
  local torch = require 'torch'
  local support = require 'spec.support'
  local MODES = { false, 'binary', 'b32', 'ascii' }

  local function checked(what, ok, ...)
    if not ok then
      local message = ...
      assert(type(message) == 'string', what)
      assert(not message:find('internal error', 1, true), message)
      assert(not message:find('panic', 1, true), message)
      assert(#message < 20000, what .. ': a message of ' .. #message)
    end
    return ok, ...
  end

  local function calm(f, ...)
    return checked('call', pcall(f, ...))
  end

  local function use(object)
    for _, mode in ipairs { 'binary', 'ascii', 'b32' } do
      local ok, bytes = calm(torch.serialize, object, mode)
      if ok then assert(calm(torch.deserialize, bytes, mode)) end
    end
    local seen, todo, steps = {}, { object }, 0
    while #todo > 0 and steps < 10000 do
      steps = steps + 1
      local v = table.remove(todo)
      if torch.isStorage(v) then
        if #v > 0 then v[1] = v[#v] end
        tostring(v)
      elseif torch.isTensor(v) then
        todo[#todo + 1] = v:storage()
        local last, first = v:size():totable(), {}
        for i = 1, #last do first[i] = 1 end
        local has_last, value = calm(v.get, v, unpack(last))
        first[#last + 1] = has_last and value or 0
        local is_set = calm(v.set, v, unpack(first))
        -- A Lua number is not exact above 2^53.
        assert(v:nElement() > 2 ^ 53 or has_last == (v:nElement() > 0) and is_set == has_last)
      elseif type(v) == 'table' and not seen[v] then
        seen[v] = true
        if torch.isRecord(v) then
          calm(torch.contiguous, v)
          calm(tostring, v)
        end
        for key, value in pairs(v) do
          todo[#todo + 1] = key
          todo[#todo + 1] = value
        end
      end
    end
  end

  local function peak()
    return tonumber(support.slurp('/proc/self/status'):match 'VmHWM:%s*(%d+)') * 1024
  end

  -- Loads a file in every way there is.
  local function every_way(bytes, name)
    for _, mode in ipairs(MODES) do
      local ok, object = calm(torch.deserialize, bytes, mode or nil)
      if ok then use(object) end
    end
    if name then
      for _, options in ipairs { {}, { mmap = true }, { mmap = true, keeporder = true, info = true }, { referenced = false } } do
        local ok, object = calm(torch.load, name, options)
        if ok then use(object) end
      end
    end
  end
]]

-- The source has to print `sane` and nothing else within `seconds`.
return function(source, seconds)
  local runner = ('ulimit -v %d; timeout %d %s'):format(LIMIT, seconds or 60, support.interpreter)
  local output, status = support.run(PRELUDE .. source .. "\nprint 'sane'", runner)
  if output ~= 'sane' or status ~= 0 then
    error(('%s (status %d)'):format(output, status), 2)
  end
end
