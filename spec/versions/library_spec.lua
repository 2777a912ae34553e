-- The library of another Lua is refused, and does not crash the process. All libraries that were built are tried.
local blocks = require 'tools.blocks'
local support = require 'spec.support'

local VERSION = _VERSION:match '[%d.]+'

-- The directories of the libraries, by version of Lua.
local DIRECTORIES = { ['5.1'] = 'build' }
for _, version in ipairs { '5.2', '5.3', '5.4', '5.5' } do
  DIRECTORIES[version] = 'build/' .. version
end

-- The environment variable that names the directory of the library for this Lua.
local VARIABLE = VERSION == '5.1' and 'LUA_CPATH' or 'LUA_CPATH_' .. VERSION:gsub('%.', '_')

local TRY = [[
  local path = %q
  package.path = 'lua/?.lua;lua/?/init.lua'
  package.cpath = path .. '/?.so'
  local ok, message = pcall(require, 'torch')
  print(ok, type(message), message)
  local open, message = package.loadlib(path .. '/torch/core.so', 'luaopen_torch_core')
  print(pcall(open or error, message))
  -- The state goes on.
  collectgarbage()
  print(#('x'):rep(100))
]]

describe('the library', function()
  for version, directory in pairs(DIRECTORIES) do
    it(('of Lua %s %s #process'):format(version, version == VERSION and 'is loaded' or 'is refused'), function()
      local file = io.open(directory .. '/torch/core.so')
      if not file then
        support.skip(debug.getinfo(1, 'f').func, 'the library of Lua ' .. version .. ' was not built')
      end
      file:close()
      local output = support.child(TRY:format(directory))
      if version == VERSION then
        assert.is_truthy(output:find('^true\ttable\t[^\n]*\ntrue\t'), output)
      else
        assert.is_truthy(output:find('^false\tstring\t.*\nfalse\t'), output)
        -- Either symbols are missing, or the library itself says which Lua it is for.
        local says = output:find('undefined symbol', 1, true) or output:find('version mismatch', 1, true)
        assert.is_truthy(says or output:find('different Lua versions', 1, true), output)
        -- The libraries for Lua 5.4 and 5.5 need the same functions.
        local named, made = output:match 'cannot load torch%.core: (%S+) is for Lua ([^,\n]*), and this is Lua'
        assert.equal(directory .. '/torch/core.so', named, output)
        assert.is_truthy(made:find(version, 1, true), output)
        local advice = ('lib/%s/torch/core.so of an archive '):format(VERSION)
        assert.is_truthy(
          output:find(advice, 1, true) and output:find('variable ' .. VARIABLE .. ' sets it', 1, true),
          output
        )
      end
      assert.is_truthy(output:find '\n100$', output)
    end)
  end

  it('is found with the exports of README.md in a new shell #process', function()
    local exports = {}
    for _, block in ipairs(blocks.of 'README.md') do
      for line in (block.info == 'console' and block.source or ''):gmatch '%$ (export LUA_[^\n]*)' do
        -- They show Lua 5.4 for all later Luas.
        exports[#exports + 1] = VERSION == '5.1' and line
          or line:gsub('5_4', VERSION:gsub('%.', '_')):gsub('5%.4', VERSION)
      end
    end
    assert.equal(3, #exports)
    local program = ('%s; %s -e "print((require [[torch]]))"'):format(table.concat(exports, '; '), support.interpreter)
    local output = support.sh(('env -i PATH="$PATH" sh -c \'%s\''):format(program))
    assert.equal('torch-storage ' .. require('torch')._VERSION, output)
  end)
end)
