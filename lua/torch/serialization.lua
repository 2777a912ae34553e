-- .t7 files: torch.save and torch.load, to and from files, strings and storages. What is read and written is core's work.
local core = require 'torch.core'
local class = require 'torch.class'
local records = require 'torch.records'

local serialization = { functions = {} }
local functions = serialization.functions

-- Keys of loaded tables, in the order in which they stood in the file. Of tables that nobody else has nothing is kept.
local orders = setmetatable({}, { __mode = 'k' })

-- The metatable of lists with keys that are objects. A list that kept them would keep the table that they lead back to.
local weak = { __mode = 'v' }

-- What follows mode -----------------------------------------------------------------------------------------------------

local expected = {
  mode = { 'string' },
  referenced = { 'boolean' },
  atomic = { 'boolean' },
  mmap = { 'boolean' },
  info = { 'boolean' },
  keeporder = { 'boolean' },
  progress = { 'function' },
}

-- The options: a mode, or a table of options, and whether objects are referenced. Raises at the caller of the function that calls
-- this; `n` is the number of the argument.
local function options_of(name, n, mode, referenced, allowed)
  local options = { referenced = true, atomic = true }
  if type(mode) == 'table' then
    for key, value in pairs(mode) do
      if not (expected[key] and (' ' .. allowed .. ' '):find(' ' .. key .. ' ', 1, true)) then
        local known = allowed:gsub(' ', ', ')
        error(("bad argument #%d to '%s' (no option '%s': %s)"):format(n, name, tostring(key), known), 3)
      elseif type(value) ~= expected[key][1] then
        local text = "bad argument #%d to '%s' (option '%s': %s expected, got %s)"
        error(text:format(n, name, key, expected[key][1], class.type(value)), 3)
      end
      options[key] = value
    end
  elseif type(mode) == 'string' then
    options.mode = mode
  elseif mode ~= nil then
    local text =
      "bad argument #%d to '%s' (mode expected, 'binary', 'ascii', 'b32' or 'b64', or a table of options, got %s)"
    error(text:format(n, name, class.type(mode)), 3)
  end
  if referenced ~= nil then
    if type(referenced) ~= 'boolean' then
      error(("bad argument #%d to '%s' (boolean expected, got %s)"):format(n + 1, name, class.type(referenced)), 3)
    end
    options.referenced = referenced
  end
  local known = options.mode
  if not (known == nil or known == 'binary' or known == 'ascii' or known == 'b32' or known == 'b64') then
    local text = "bad argument #%d to '%s' ('binary', 'ascii', 'b32' or 'b64' expected as mode, got '%s')"
    error(text:format(n, name, known), 3)
  end
  return options
end

local function check_string(name, what, value, count)
  if type(value) ~= 'string' then
    local got = count == 0 and 'no value' or class.type(value)
    error(("bad argument #1 to '%s' (%s expected, got %s)"):format(name, what, got), 3)
  end
end

-- Raising ---------------------------------------------------------------------------------------------------------------

-- Closes the file, and raises what went wrong: what the file itself says with the position of the caller that is `level` calls
-- away, what Lua code of a class raised as it is.
local function fail(file, message, prefix, level)
  local own = core.t7failed(file)
  core.t7close(file)
  if own then
    error(prefix .. message, level + 1)
  end
  error(message, 0)
end

-- Loading ---------------------------------------------------------------------------------------------------------------

local function describe(file)
  local mode, long, little = core.t7encoding(file)
  if mode == 'ascii' then
    return { mode = mode }
  end
  return { mode = mode, longsize = long, byteorder = little and 'little' or 'big' }
end

-- Loads the object of a file or string. `what` names it in messages.
local function load_from(source, is_file, options, what)
  local prefix = ('cannot load %s: '):format(what)
  local values = { {}, {}, records.loading, options.progress, orders, weak }
  local opened, file = pcall(
    core.t7reader,
    values,
    source,
    is_file,
    options.mode,
    options.referenced,
    options.mmap or false,
    options.keeporder or false,
    records.own_ways()
  )
  if not opened then
    -- What the system says names the file.
    error(file:find '^at byte' and prefix .. file or file, 3)
  end
  local done, object = pcall(core.t7load, file)
  if not done then
    -- Files of 32-bit machines look the same until the first long. Taken for one, another file ends too early or too late.
    if not (options.mode == nil and core.t7failed(file)) then
      fail(file, object, prefix, 3)
    end
    local fits, other = core.t7restart(file)
    if fits then
      fits, other = pcall(core.t7load, file)
      fits = fits and core.t7atend(file)
    end
    if not fits then
      core.t7close(file)
      error(prefix .. object, 3)
    end
    object = other
  end
  local info = options.info and describe(file) or nil
  if options.progress then
    local total = core.t7total(file)
    local reported, message = pcall(options.progress, total, total)
    if not reported then
      core.t7close(file)
      error(message, 0)
    end
  end
  core.t7close(file)
  return object, info
end

local LOAD_OPTIONS = 'mode referenced mmap progress info keeporder'

function functions.load(...)
  local filename, mode, referenced = ...
  check_string('load', 'file name', filename, select('#', ...))
  local options = options_of('load', 2, mode, referenced, LOAD_OPTIONS)
  local object, info = load_from(filename, true, options, ("'%s'"):format(filename))
  if options.info then
    return object, info
  end
  return object
end
functions.loadobj = functions.load

local STRING_LOAD_OPTIONS = 'mode referenced progress info keeporder'

function functions.deserialize(...)
  local bytes, mode, referenced = ...
  check_string('deserialize', 'string', bytes, select('#', ...))
  local options = options_of('deserialize', 2, mode, referenced, STRING_LOAD_OPTIONS)
  local object, info = load_from(bytes, false, options, 'the string')
  if options.info then
    return object, info
  end
  return object
end

function functions.deserializeFromStorage(...)
  local storage, mode, referenced = ...
  if not core.isStorage(storage) then
    local got = select('#', ...) == 0 and 'no value' or class.type(storage)
    error(("bad argument #1 to 'deserializeFromStorage' (torch.*Storage expected, got %s)"):format(got), 2)
  end
  local options = options_of('deserializeFromStorage', 2, mode, referenced, STRING_LOAD_OPTIONS)
  local object, info = load_from(storage:string(), false, options, 'the storage')
  if options.info then
    return object, info
  end
  return object
end

-- Saving ----------------------------------------------------------------------------------------------------------------

local function writer(target, options, total)
  local values = { {}, {}, records.saving, options.progress, orders }
  return pcall(
    core.t7writer,
    values,
    target,
    options.mode,
    options.referenced,
    options.atomic,
    records.own_ways(),
    total
  )
end

-- Bytes that the object is going to take: written to nowhere, for the progress function to know how many there are in all.
local function count(object, options)
  local silent = { mode = options.mode, referenced = options.referenced, atomic = false }
  local opened, file = writer(false, silent, 0)
  if not opened then
    error(file, 4)
  end
  local done, message = pcall(core.t7save, file, object)
  if not done then
    fail(file, message, '', 4)
  end
  local bytes = core.t7finish(file, true)
  core.t7close(file)
  return bytes
end

-- Saves the object to a file, or gives what `finish` makes of it in memory.
local function save_to(filename, object, options, finish)
  local total = 0
  if options.progress then
    total = count(object, options)
  end
  local opened, file = writer(filename, options, total)
  if not opened then
    error(file, 3)
  end
  local done, message = pcall(core.t7save, file, object)
  if done and options.progress then
    done, message = pcall(options.progress, total, total)
  end
  if done then
    done, message = pcall(finish, file)
  end
  if not done then
    fail(file, message, '', 3)
  end
  core.t7close(file)
  return message
end

local SAVE_OPTIONS = 'mode referenced atomic progress'

function functions.save(...)
  local filename, object, mode, referenced = ...
  check_string('save', 'file name', filename, select('#', ...))
  local options = options_of('save', 3, mode, referenced, SAVE_OPTIONS)
  if select('#', ...) < 2 then
    error("bad argument #2 to 'save' (value expected, got no value)", 2)
  end
  save_to(filename, object, options, core.t7finish)
end
functions.saveobj = functions.save

local STRING_SAVE_OPTIONS = 'mode referenced progress'

function functions.serialize(...)
  local object, mode, referenced = ...
  local options = options_of('serialize', 2, mode, referenced, STRING_SAVE_OPTIONS)
  if select('#', ...) == 0 then
    error("bad argument #1 to 'serialize' (value expected, got no value)", 2)
  end
  local bytes = save_to(nil, object, options, core.t7finish)
  return bytes
end

function functions.serializeToStorage(...)
  local object, mode, referenced = ...
  local options = options_of('serializeToStorage', 2, mode, referenced, STRING_SAVE_OPTIONS)
  if select('#', ...) == 0 then
    error("bad argument #1 to 'serializeToStorage' (value expected, got no value)", 2)
  end
  local storage = save_to(nil, object, options, core.t7storage)
  return storage
end

-- What `readBool` and `writeBool` of a file do: Torch7 has them as ints.
function core.t7methods.readBool(file)
  return file:readInt() == 1
end

function core.t7methods.writeBool(file, value)
  return file:writeInt(value and 1 or 0)
end

return serialization
