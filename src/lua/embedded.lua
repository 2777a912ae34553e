-- Loads the Lua files of the library, which src/lua/embedded.rs has, into a Lua state, and returns the table of `torch`.
--
-- The files see `require`, `debug` and `package` as local variables. So they find each other and the FFI library, which scripts
-- do not, even where the program has left out the libraries `package`, `ffi` and `debug`. `setfenv` would not do: `getfenv`
-- shows scripts the environment of a function.
local core, sources, ffi, getmetatable_of_any = ...
local _G, error, pairs, require, rawget, type = _G, error, pairs, require, rawget, type
local compile = loadstring or load

local function global(name)
  return rawget(_G, name)
end

local jit, bit, package, debug = global 'jit', global 'bit', global 'package', global 'debug'

for _, name in pairs { 'string', 'table', 'math' } do
  if type(global(name)) ~= 'table' then
    error("torch needs the library '" .. name .. "', which this Lua state does not have", 0)
  end
end

local loaded = { ['torch.core'] = core }
-- Compiled access needs the libraries `jit` and `bit`, too.
if ffi and jit and bit then
  loaded.ffi, loaded.bit = ffi, bit
end

local packages = type(package) == 'table' and type(package.loaded) == 'table' and package.loaded or {}
local own_packages = {
  loaded = setmetatable({}, {
    __index = function(_, name)
      return name == 'torch.storage' and loaded[name] or packages[name]
    end,
  }),
}
local own_debug = type(debug) == 'table' and debug or { getmetatable = getmetatable_of_any }

local own_require

-- Compiles a file of the library. Its lines keep their numbers.
local function chunk_of(name)
  local file = name == 'torch' and 'torch.init' or name
  local text = 'local require, debug, package = ...; ' .. sources[name]
  local chunk, problem = compile(text, '@' .. file:gsub('%.', '/') .. '.lua')
  if not chunk then
    error(problem, 0)
  end
  return function()
    return chunk(own_require, own_debug, own_packages)
  end
end

function own_require(name)
  if loaded[name] == nil then
    if sources[name] then
      loaded[name] = chunk_of(name)() or true
    elseif name ~= 'ffi' and not name:find '^torch%.' and type(require) == 'function' then
      return require(name)
    else
      error(("there is no module '%s'"):format(name), 2)
    end
  end
  return loaded[name]
end

local torch = own_require 'torch.storage'

-- `require 'torch'` in a script sets the global variable `torch`, as it does elsewhere.
if type(package) == 'table' and type(package.preload) == 'table' then
  package.preload.torch = chunk_of 'torch'
  package.preload['torch.storage'] = function()
    return torch
  end
end
return torch
