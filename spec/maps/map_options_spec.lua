-- The options of a mapped file: their values and effects, and which tables count as options. Unaligned offsets are in
-- unaligned_spec.lua, `readonly` is in read_only_spec.lua.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'

local path = support.temporary()
local file

before_each(function()
  file = support.spit(path 'file', ('0123456789'):rep(1000))
end)

local function cases(text, globals)
  globals = globals or {}
  globals.file, globals.missing, globals.collect = file, path 'missing', support.collect
  globals.slurp, globals.spit = support.slurp, support.spit
  recorded.check(text, globals)
end

-- The fields of /proc/self/smaps for the first map of a file, and its flags.
local function smaps(name)
  local fields, ours
  for line in io.lines '/proc/self/smaps' do
    if line:find '^%x+%-%x+ ' then
      if fields then
        break
      end
      ours = line:sub(-#name) == name
    elseif ours then
      fields = fields or {}
      local field, value = line:match '^([%w_]+):%s*(.-)%s*$'
      fields[field] = value
    end
  end
  assert(fields, 'there is no map of ' .. name)
  return fields, ' ' .. (fields.VmFlags or '') .. ' '
end

describe('a table of options', function()
  it('maps the part of the file that it describes', function()
    cases [[
      torch.ByteStorage{filename = file}:string() == slurp(file)   --> true
      #torch.FloatStorage{filename = file}   --> 2500
      #torch.DoubleStorage{filename = file, offset = 1}   --> 1249
      torch.ByteStorage{filename = file, offset = 9997}:string()   --> "789"
      torch.ByteStorage{filename = file, offset = 4099, size = 3}:string()   --> "901"
      torch.ByteStorage{filename = file, size = 3}:string()   --> "012"
      torch.ByteStorage{filename = file, offset = '9998', size = '1'}:string()   --> "8"
      torch.ByteStorage{filename = file, offset = 2.9, size = 2.9}:string()   --> "23"
      torch.ByteStorage{filename = file, offset = -0.5, size = 1}:string()   --> "0"
      torch.ByteStorage{filename = file, size = 0}   --> <torch.ByteStorage #0: >
      torch.ByteStorage{filename = file, offset = 10000}   --> <torch.ByteStorage #0: >
      torch.ByteStorage{filename = file, offset = 10000, size = 0}   --> <torch.ByteStorage #0: >
      torch.LongStorage{filename = file, offset = 9993}   --> <torch.LongStorage #0: >
      torch.ByteStorage{filename = file}:filename() == file   --> true
      torch.ByteStorage.new{filename = file, size = 1}   --> <torch.ByteStorage #1: 48>
      torch.ByteStorage({filename = file, size = 1}, 5, 'x', {})   --> <torch.ByteStorage #1: 48>
      [luajit] torch.ByteStorage{filename = file, offset = 9999LL}:string()   --> "9"
      [luajit] torch.ByteStorage{filename = file, offset = 9999ULL, size = 1LL}:string()   --> "9"
      > s = torch.ByteStorage{filename = file, offset = 2, size = 2}
      s:isMapped(), s:isShared(), s:isReadOnly(), s:isView(), s:resizable()   --> true, false, false, false, false
      > s:fill(120)
      slurp(file) == ('0123456789'):rep(1000)   --> true
      > s = torch.ByteStorage{filename = file, offset = 2, size = 2, shared = true}
      s:isMapped(), s:isShared(), s:isReadOnly(), s:isView(), s:resizable()   --> true, true, false, false, false
      > s:fill(120)
      slurp(file):sub(1, 6)   --> "01xx45"
      #slurp(file)   --> 10000
      > s = torch.ByteStorage{filename = file, shared = false, readonly = false, lock = false, hugepages = false}
      s:isShared(), s:isReadOnly()   --> false, false
    ]]
  end)

  it('creates and extends shared files, with a hole before the offset', function()
    cases [[
      torch.IntStorage{filename = missing}   --> ERROR No such file or directory
      torch.IntStorage{filename = missing, size = 3}   --> ERROR No such file or directory
      torch.IntStorage{filename = missing, shared = true}   --> ERROR (give a size to create it)
      torch.IntStorage{filename = missing, shared = true, readonly = true, size = 3}   --> ERROR No such file or directory
      torch.IntStorage{filename = missing, shared = true, size = 2, offset = 3}   --> <torch.IntStorage #2: 0 0>
      #slurp(missing)   --> 11
      torch.IntStorage{filename = missing, shared = true, size = 1, offset = 4}:fill(-1)   --> <torch.IntStorage #1: -1>
      slurp(missing)   --> "\000\000\000\000\255\255\255\255\000\000\000"
      torch.ByteStorage{filename = missing, shared = true, size = 2, offset = 10}   --> <torch.ByteStorage #2: 0 0>
      #slurp(missing)   --> 12
      torch.ByteStorage{filename = missing, shared = true, size = 0, offset = 12}   --> <torch.ByteStorage #0: >
      torch.ByteStorage{filename = missing, size = 3, offset = 10}   --> ERROR it has 12 bytes, 13 are needed (3 from byte offset 10 on)
      torch.ByteStorage{filename = missing, size = 1, offset = 13}   --> ERROR byte offset 13 is beyond its end (it has 12 bytes)
      torch.ByteStorage{filename = missing, offset = 13}   --> ERROR byte offset 13 is beyond its end (it has 12 bytes)
      torch.ByteStorage{filename = missing, offset = 13, shared = true}   --> ERROR byte offset 13 is beyond its end (it has 12 bytes)
      torch.ByteStorage{filename = missing, offset = 13, shared = true, readonly = true, size = 1}   --> ERROR is beyond its end
      #slurp(missing)   --> 12
    ]]
  end)

  it('with a wrong option raises an error with its name, its valid values and the value given', function()
    local function wrong(option, value, message)
      if option == 'shared' and type(value) == 'string' then
        message = message .. "; shared memory has a name, and no 'filename'"
      end
      local got = support.failure(torch.FloatStorage, { filename = file, [option] = value })
      assert.is_truthy(got:find("(option '" .. option .. "': " .. message .. ')', 1, true), got)
    end
    for _, option in ipairs { 'shared', 'readonly', 'lock', 'hugepages' } do
      for _, value in ipairs { 1, 0, 'true', '', {}, print, torch.IntStorage(), io.stdout } do
        wrong(option, value, 'boolean expected, got ' .. torch.type(value))
      end
    end
    for option, unit in pairs { offset = 'bytes', size = 'elements' } do
      for _, value in ipairs { 'x', '', '1x', true, {}, print, torch.IntStorage(), io.stdout } do
        wrong(option, value, 'number expected, got ' .. torch.type(value))
      end
      local values = { [-1] = '-1', [-1e300] = '-1e300', [1 / 0] = 'inf', [-1 / 0] = '-inf' }
      values[2 ^ 63] = '9223372036854775808'
      for value, shown in pairs(values) do
        wrong(option, value, ('a whole number of %s from 0 to 2^63-1 expected, got %s'):format(unit, shown))
      end
      wrong(option, 0 / 0, ('a whole number of %s from 0 to 2^63-1 expected, got nan'):format(unit))
      if support.luajit then
        local ffi = require 'ffi'
        local largest = ffi.cast('uint64_t', ffi.new('int64_t', -1))
        wrong(option, ffi.new('int64_t', -1), ('a whole number of %s from 0 to 2^63-1 expected, got -1'):format(unit))
        wrong(
          option,
          largest,
          ('a whole number of %s from 0 to 2^63-1 expected, got 18446744073709551615'):format(unit)
        )
        wrong(option, ffi.new 'int[3]', 'number expected, got cdata')
        wrong(option, ffi.new('double', 3), 'number expected, got cdata')
      end
    end
    for _, value in ipairs { 5, true, {}, torch.IntStorage() } do
      wrong('advise', value, 'string expected, got ' .. torch.type(value))
    end
    cases [[
      torch.ByteStorage{filename = file, advise = 'Normal'}   --> ERROR option 'advise': 'normal', 'sequential', 'random' or 'willneed' expected, got 'Normal'
      torch.ByteStorage{filename = file, advise = ''}   --> ERROR option 'advise': 'normal', 'sequential', 'random' or 'willneed' expected, got ''
      torch.ByteStorage{filename = file, readonly = 1}   --> ERROR bad argument #1 to 'ByteStorage' (option 'readonly'
    ]]
  end)

  it('with an unknown key is refused', function()
    local known = 'the options are filename, offset, size, shared, readonly, advise, lock, hugepages, create'
    for key, shown in pairs { foo = "'foo'", Filename = "'Filename'", [''] = "''", ['%s'] = "'%s'" } do
      local message = support.failure(torch.FloatStorage, { filename = file, [key] = 1 })
      assert.is_truthy(message:find('no option ' .. shown .. ': ' .. known, 1, true), message)
    end
    for _, key in ipairs { 2, 0, -1, 1.5, true, print, {}, torch.IntStorage() } do
      local message = support.failure(torch.FloatStorage, { filename = file, [key] = 1 })
      assert.is_truthy(message:find('no option ', 1, true) and message:find(known, 1, true), message)
    end
  end)

  it('that asks for more than the file can have is refused', function()
    cases [[
      torch.DoubleStorage{filename = file, size = 2^61}   --> ERROR 2305843009213693952 elements of 8 bytes
      torch.DoubleStorage{filename = file, size = 2^61, shared = true}   --> ERROR 2305843009213693952 elements of 8 bytes
      torch.ByteStorage{filename = file, offset = 2^62, size = 2^62, shared = true}   --> ERROR end past 2^63-1
      torch.ByteStorage{filename = file, offset = 2^63 - 1024, size = 1024, shared = true}   --> ERROR end past 2^63-1
      torch.ByteStorage{filename = file, offset = 2^63 - 1024, size = 1024}   --> ERROR end past 2^63-1
      torch.ByteStorage{filename = file, offset = 2^53}   --> ERROR byte offset 9007199254740992 is beyond its end
      [luajit] torch.ByteStorage{filename = file, offset = 9223372036854775807LL}   --> ERROR 9223372036854775807
      [luajit] torch.ByteStorage{filename = file, offset = 9223372036854775807LL, size = 1, shared = true}   --> ERROR end past 2^63-1
      torch.ByteStorage{filename = file, offset = 1, size = 10000}   --> ERROR it has 10000 bytes, 10001 are needed
      torch.ByteStorage{filename = missing, shared = true, offset = 2^62, size = 1}   --> ERROR missing'
      torch.ByteStorage{filename = missing, shared = true, offset = 2^61, size = 2^61}   --> ERROR missing'
      #slurp(file)   --> 10000
      io.open(missing) == nil   --> true
      torch.ByteStorage{filename = ''}   --> ERROR No such file or directory
      torch.ByteStorage{filename = file .. '\0x'}   --> ERROR zero byte
      torch.ByteStorage{filename = '/dev/null'}   --> ERROR a device
    ]]
  end)
end)

describe('a table', function()
  it('with a first element, and an empty table, is data', function()
    cases [[
      torch.IntStorage{1, 2, filename = file}   --> <torch.IntStorage #2: 1 2>
      torch.IntStorage{1, filename = file, foo = 1, shared = 'x'}   --> <torch.IntStorage #1: 1>
      torch.IntStorage{'7', filename = file}   --> <torch.IntStorage #1: 7>
      torch.IntStorage{{}, filename = file}   --> ERROR element 1 of the table: number expected, got table
      torch.IntStorage{file}   --> ERROR element 1 of the table: number expected, got string
      torch.IntStorage{false, filename = file}   --> ERROR element 1 of the table: number expected, got boolean
      torch.IntStorage{}   --> <torch.IntStorage #0: >
      torch.IntStorage{1, 2, 3, n = 3}   --> <torch.IntStorage #3: 1 2 3>
      torch.IntStorage{n = 0}   --> <torch.IntStorage #0: >
      torch.IntStorage(setmetatable({n = 0}, {__index = {1}}))   --> <torch.IntStorage #0: >
      [gap1] torch.IntStorage{nil, 2, filename = file}   --> ERROR element 1 of the table: number expected, got nil
      [gap1] torch.IntStorage{nil, 2, n = 2}   --> ERROR element 1 of the table: number expected, got nil
      torch.ComplexFloatStorage{re = 1, im = 2}   --> ERROR the table is a complex number
      torch.ComplexFloatStorage{n = 0}   --> <torch.ComplexFloatStorage #0: >
    ]]
  end)

  it('with anything else is options, and wrong names and values are errors', function()
    cases [[
      torch.IntStorage{filename = 5}   --> ERROR (option 'filename': string expected, got number)
      torch.IntStorage{filename = true, shared = 1}   --> ERROR (option 'filename': string expected, got boolean)
      torch.IntStorage{filename = {}, foo = 1}   --> ERROR no option 'foo'
      torch.IntStorage{filenam = file}   --> ERROR bad argument #1 to 'IntStorage' (no option 'filenam': the options are filename, offset, size, shared, readonly, advise, lock, hugepages, create; a table of elements begins at index 1)
      torch.IntStorage{Filename = file}   --> ERROR no option 'Filename'
      torch.IntStorage{['filename\0'] = file}   --> ERROR no option 'filename\0'
      torch.IntStorage{size = 10}   --> ERROR bad argument #1 to 'IntStorage' (option 'filename' is missing; a storage of 10 elements is torch.IntStorage(10))
      torch.IntStorage{size = '3'}   --> ERROR a storage of 3 elements is torch.IntStorage(3)
      torch.IntStorage{size = {}}   --> ERROR option 'size': number expected, got table
      torch.IntStorage{shared = true}   --> ERROR (option 'filename' is missing; shared memory has its name in option 'shared')
      torch.IntStorage{n = 2}   --> ERROR no option 'n'
      torch.IntStorage{n = 0, filename = file}   --> ERROR no option 'n'
      torch.IntStorage{n = 0, [2] = 1}   --> ERROR no option
      torch.IntStorage{[2] = 5}   --> ERROR no option 2
      torch.IntStorage{[0] = 5}   --> ERROR no option 0: the options are filename, offset, size, shared, readonly, advise, lock, hugepages, create; a table of elements begins at index 1
      torch.IntStorage{[-1] = 5}   --> ERROR no option -1
      torch.IntStorage{[1.5] = 5}   --> ERROR no option 1.5
      torch.IntStorage{[true] = 5}   --> ERROR no option boolean
      torch.IntStorage{re = 1, im = 2}   --> ERROR no option
      torch.ComplexFloatStorage{re = 1}   --> ERROR no option 're'
      torch.IntStorage(torch.IntStorage)   --> ERROR got a class instead of elements: write torch.IntStorage(...) or torch.IntStorage.new(...)
      torch.IntStorage:new(5)   --> ERROR got a class instead of elements: write torch.IntStorage(...) or torch.IntStorage.new(...)
      torch.IntStorage:new()   --> ERROR got a class instead of elements
    ]]
  end)

  it('is read raw, whatever its metatable', function()
    local touched = 0
    local function touch()
      touched = touched + 1
      return 'x'
    end
    local events = {}
    for _, name in ipairs { '__index', '__newindex', '__len', '__call', '__eq', '__pairs', '__tostring' } do
      events[name] = touch
    end
    local s = torch.ByteStorage(setmetatable({ filename = file, size = 2 }, events))
    assert.equal('01', s:string())
    assert.equal(10000, #torch.ByteStorage(setmetatable({ filename = file }, { __index = { size = 2, offset = 'x' } })))
    assert.equal(0, #torch.ByteStorage(setmetatable({}, { __index = { filename = file } })))
    assert.equal(0, #torch.ByteStorage(setmetatable({}, events)))
    assert.equal(0, touched)
    assert.equal(3, #torch.ByteStorage(setmetatable({ filename = file, size = 3 }, { __metatable = 'locked' })))
  end)

  -- Reading an int64 runs Lua code and so perhaps a finalizer, which here changes the table.
  it('that changes while it is read counts as either version, never as a mixture', function()
    local seen = { mapped = 0, refused = 0 }
    local int64 = support.luajit and require('ffi').typeof 'int64_t'
    local pause, multiplier = collectgarbage('setpause', 0), collectgarbage('setstepmul', 1000)
    for i = 1, 500 do
      local t = { filename = file, shared = false, readonly = true }
      t.offset, t.size = int64 and int64(9990) or 9990, int64 and int64(4) or 4
      do
        local guard = newproxy(true)
        getmetatable(guard).__gc = function()
          t.filename, t.offset, t.size, t.foo = path 'missing', 'x', 'y', {}
          for n = 2, 40 do
            t[n] = n
          end
        end
      end
      for _ = 1, i % 50 do
        seen[1] = {} -- garbage drives the collector
      end
      local ok, result = pcall(torch.ByteStorage, t)
      if ok then
        assert.equal('0123', result:string())
        seen.mapped = seen.mapped + 1
      else
        assert.is_truthy(result:find('no option', 1, true) or result:find('element 1 of the table', 1, true), result)
        seen.refused = seen.refused + 1
      end
    end
    collectgarbage('setpause', pause)
    collectgarbage('setstepmul', multiplier)
    assert.equal(500, seen.mapped + seen.refused)
    assert.is_true(seen.mapped > 0)
  end)
end)

describe('the advice for a map', function()
  it('tells the system its use: sequential, random, normal', function()
    local flags = { sequential = 'sr', random = 'rr' }
    for advice, flag in pairs(flags) do
      local s = torch.ByteStorage { filename = file, advise = advice }
      local _, given = smaps(file)
      assert.is_truthy(given:find(' ' .. flag .. ' ', 1, true), given)
      assert.is_true(rawequal(s, s:advise 'normal'))
      _, given = smaps(file)
      assert.is_nil(given:find ' [sr]r ', given)
      torch.ByteStorage(s, 10, 5):advise(advice)
      _, given = smaps(file)
      assert.is_truthy(given:find(' ' .. flag .. ' ', 1, true), given)
      s:free()
      support.collect()
    end
    local s = torch.ByteStorage { filename = file, advise = 'willneed', shared = true, offset = 4097 }
    assert.equal(55, s:advise('willneed'):advise('normal')[1])
  end)

  it('locks it in memory', function()
    local s = torch.ByteStorage { filename = file, lock = true, offset = 4097, size = 10 }
    local fields, flags = smaps(file)
    assert.equal('4 kB', fields.Locked)
    assert.equal('4 kB', fields.Rss)
    assert.is_truthy(flags:find(' lo ', 1, true), flags)
    assert.equal(55, s[1])
  end)

  it('asks for huge pages, if the kernel has them', function()
    local s = torch.ByteStorage { filename = file, hugepages = true, shared = true }
    local _, flags = smaps(file)
    assert.equal(48, s[1])
    if not io.open '/sys/kernel/mm' then
      return pending 'nobody can tell what the kernel has'
    end
    assert.equal(io.open '/sys/kernel/mm/transparent_hugepage/enabled' ~= nil, flags:find(' hg ', 1, true) ~= nil)
  end)

  it('names the limit when there is too much to lock #process', function()
    local source = support.spit(
      path 'source.lua',
      ([[
      local torch = require 'torch'
      print(pcall(torch.ByteStorage, { filename = '%s', size = 100000, shared = true, lock = true }))
      print(torch.memory().mapped, #torch.ByteStorage { filename = '%s', size = 4096, lock = true })
      print(torch.memory().mapped)
    ]]):format(file, file)
    )
    local drop = support.sh 'id -u' == '0' and 'setpriv --bounding-set -ipc_lock' or ''
    local output = support.sh(('ulimit -l 16; %s %s %s'):format(drop, support.interpreter, source))
    if output:find 'setpriv' then
      pending('no right to give up a right: ' .. output)
      return
    end
    for _, text in ipairs {
      "false\tcannot lock 100000 bytes of file '" .. file .. "' in memory: ",
      'this process may lock 16384 bytes in total: raise the limit (ulimit -l), or do not lock',
      '\n0\t4096\n',
    } do
      assert.is_truthy(output:find(text, 1, true), output)
    end
  end)

  it('is advice only, and works on mapped files only', function()
    cases [[
      > s = torch.ByteStorage{filename = file}
      s:advise('random') == s   --> true
      s:advise('Random')   --> ERROR bad argument #1 to 'advise' ('normal', 'sequential', 'random' or 'willneed' expected, got 'Random'
      s:advise()   --> ERROR bad argument #1 to 'advise' (string expected, got no value)
      s:advise(1)   --> ERROR bad argument #1 to 'advise' (string expected, got number)
      torch.ByteStorage{filename = file, size = 0}:advise('random'):size()   --> 0
      torch.ByteStorage(s, 10000):advise('willneed'):size()   --> 1
      torch.ByteStorage(3):advise('random')   --> ERROR not a mapped file: the storage is heap memory; only a mapped file can be advised or checked
      torch.ByteStorage(torch.ByteStorage(3)):advise('random')   --> ERROR not a mapped file
      torch.ByteStorage(3):shareMemory():advise('random')   --> ERROR the storage is shared memory
      torch.ByteStorage(1, s:data()):advise('random')   --> ERROR the storage is memory of the caller
      > s:free()
      s:advise('random')   --> ERROR storage was freed
    ]]
  end)
end)
