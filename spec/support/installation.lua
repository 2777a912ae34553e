-- What the specs of installations share: an environment without the settings of `make test`, and what an installation has to
-- have: all files, documents whose links lead somewhere, and a library that works with nothing else on the paths.
local assert = require 'luassert'
local files = require 'tools.files'
local markdown = require 'tools.markdown'
local support = require 'spec.support'

local installation = {}

-- Prints results of a file map, a conversion and a store, which only the real library gives, and where it was loaded from.
local PROGRAM = [[
local torch = require 'torch'
local bytes = torch.ByteStorage(arg[1])
local sum = 0
for i = 1, #bytes do
  sum = sum + bytes[i]
end
local doubles = torch.DoubleStorage(#bytes):copy(bytes)
doubles[1] = -1
print(sum, torch.type(doubles), doubles[1], doubles[2], torch.ByteStorage(1):fill(doubles[1])[1])
for line in io.lines('/proc/self/maps') do
  local library = line:match('%s(/%S*/torch/core%.so)$')
  if library then
    print(library)
    break
  end
end
]]
local RESULT = '512\ttorch.DoubleStorage\t-1\t111\t255\n' -- 512 = T + o + r + c + h

-- The version of Lua, and the interpreters that share its files.
local version = _VERSION:match '[%d.]+'
installation.version = version
installation.interpreters = version == '5.1' and { 'lua5.1', 'luajit', 'luajit -joff' } or { support.interpreter }

-- Removes the settings of `make test` from the environment.
local CLEAR = 'unset LUA_PATH LUA_CPATH LUA_INIT MAKEFLAGS'
for _, suffix in ipairs { '5_2', '5_3', '5_4', '5_5' } do
  CLEAR = ('%s LUA_CPATH_%s LUA_INIT_%s'):format(CLEAR, suffix, suffix)
end

-- Runs a command in an environment without the settings of `make test`. Returns its output and its exit status.
function installation.execute(command)
  return support.execute(CLEAR .. '; ' .. command)
end

-- Runs a command that has to succeed. Returns its output.
function installation.run(command)
  local output, status = installation.execute(command)
  assert(status == 0, output)
  return output
end

-- LuaRocks for the version of Lua of this spec, and a tree of its own.
function installation.luarocks(tree)
  return ("luarocks --lua-version=%s --tree '%s' "):format(version, tree)
end

local function listing(directory)
  return support.sh("cd '" .. directory .. "' && find . -type f | LC_ALL=C sort")
end

-- The first example in README.md, and what it promises to print.
local function first_example()
  local source
  markdown.walk(files.read 'README.md', nil, function(info, lines)
    source = source or info == 'lua' and table.concat(lines, '\n')
  end)
  local promise = {}
  for line in assert(source, 'README.md has an example'):gmatch '%-%-> ?([^\n]*)' do
    promise[#promise + 1] = line
  end
  assert(#promise > 0, 'the first example promises something')
  return source, table.concat(promise, '\n')
end

-- Runs programs in another directory with only the installed files on the paths.
local function check_library(directory, share, lib)
  local example, promise = first_example()
  support.spit(directory .. '/program.lua', PROGRAM)
  support.spit(directory .. '/input', 'Torch')
  support.spit(directory .. '/example.lua', example)
  local paths = ("LUA_PATH='%s/?.lua;%s/?/init.lua' LUA_CPATH='%s/?.so'"):format(share, share, lib)
  for _, interpreter in ipairs(installation.interpreters) do
    local run = ("cd '%s' && %s %s "):format(directory, paths, interpreter)
    assert.equal(RESULT .. lib .. '/torch/core.so', support.plain(installation.run(run .. 'program.lua input')))
    assert.equal(promise, support.plain(installation.run(run .. 'example.lua')))
  end
end

-- Every link of a page leads to a file that was installed.
local function check_documents(directory)
  local links = 0
  for page in listing(directory):gmatch '%./([^\n]+%.md)' do
    local folder = (directory .. '/' .. page):match '^(.*/)'
    markdown.walk(files.read(directory .. '/' .. page), function(line, number)
      for target in line:gmatch '%]%(([^)#]+)[^)]*%)' do
        if not target:find '^%a+:' then
          local file = io.open(folder .. target)
          assert(file, ('%s:%d: %s is not installed'):format(page, number, target))
          file:close()
          links = links + 1
        end
      end
    end)
  end
  assert.is_true(links > 50, links .. ' links')
  assert.equal(support.slurp 'examples/tour.lua', support.slurp(directory .. '/examples/tour.lua'))
end

-- Checks an installation under a prefix. `header` is the folder of the header for C, `documents` that of the documents.
-- `directory` is a folder for files of the check.
function installation.check(directory, prefix, header, documents)
  local share, lib = prefix .. '/share/lua/' .. version, prefix .. '/lib/lua/' .. version
  assert.equal(listing 'lua', listing(share))
  assert.equal('./torch/core.so', listing(lib))
  assert.equal(support.slurp 'include/torch_storage.h', support.slurp(header .. '/torch_storage.h'))
  check_documents(documents)
  check_library(directory, share, lib)
end

-- Checks an installation by LuaRocks in `tree`.
function installation.check_rock(directory, tree)
  local rock = support.sh(installation.luarocks(tree) .. 'show --rock-dir torch-storage')
  installation.check(directory, tree, rock .. '/include', rock .. '/doc')
end

return installation
