-- Mapped files: what private and shared maps show, create, extend and keep. Errors are in mapping_errors_spec.lua.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'
local types = require 'spec.support.types'

local path = support.temporary()

local function mode_and_size(name)
  return support.sh("stat -c '%a %s' '" .. name .. "'")
end

-- The globals of the recorded cases: file names in a new directory, and functions.
local function globals()
  local names = { f0 = '', f3 = 'abc', f7 = 'ABCDEFG', f8 = 'ABCDEFGH', new = false }
  for name, bytes in pairs(names) do
    names[name] = path(name)
    if bytes then
      support.spit(path(name), bytes)
    end
  end
  names.spit, names.slurp, names.ls, names.collect = support.spit, support.slurp, mode_and_size, support.collect
  return names
end

describe('a mapped file', function()
  it('has as many whole elements as the file, or as many as asked for', function()
    recorded.check(
      [[
      torch.ByteStorage(f8)   --> <torch.ByteStorage #8: 65 66 67 68 69 70 71 72>
      torch.ByteStorage(f8):string()   --> "ABCDEFGH"
      torch.CharStorage(f8, false)   --> <torch.CharStorage #8: 65 66 67 68 69 70 71 72>
      torch.CharStorage(f8, nil, 3)   --> <torch.CharStorage #3: 65 66 67>
      torch.IntStorage(f8)   --> <torch.IntStorage #2: 1145258561 1212630597>
      torch.IntStorage(f7)   --> <torch.IntStorage #1: 1145258561>
      torch.IntStorage(f3)   --> <torch.IntStorage #0: >
      torch.IntStorage(f7, true)   --> <torch.IntStorage #1: 1145258561>
      torch.ShortStorage(f7)   --> <torch.ShortStorage #3: 16961 17475 17989>
      torch.HalfStorage(f3)   --> <torch.HalfStorage #1: 816.5>
      #torch.FloatStorage(f7)   --> 1
      #torch.LongStorage(f8)   --> 1
      #torch.DoubleStorage(f7)   --> 0
      torch.ByteStorage(f8, false, 8)   --> <torch.ByteStorage #8: 65 66 67 68 69 70 71 72>
      torch.ByteStorage(f8, false, 0)   --> <torch.ByteStorage #0: >
      torch.ByteStorage(f8, true, 0)   --> <torch.ByteStorage #0: >
      torch.ByteStorage.fromfile(f8, false, 0)   --> <torch.ByteStorage #0: >
      torch.ByteStorage{filename = f8, size = 0}   --> <torch.ByteStorage #0: >
      torch.ByteStorage(f8, false, -0.5)   --> <torch.ByteStorage #0: >
      torch.ByteStorage(f8, false, nil)   --> <torch.ByteStorage #8: 65 66 67 68 69 70 71 72>
      torch.ByteStorage(f8, false, 2.9)   --> <torch.ByteStorage #2: 65 66>
      torch.ByteStorage(f8, false, '2')   --> <torch.ByteStorage #2: 65 66>
      [luajit] torch.ByteStorage(f8, false, 2LL)   --> <torch.ByteStorage #2: 65 66>
      torch.ByteStorage(f8, false, 4, false)   --> <torch.ByteStorage #4: 65 66 67 68>
      torch.ByteStorage(f8, false, 4, 1)   --> ERROR bad argument #4 to 'ByteStorage' (boolean expected, got number
      torch.ByteStorage(f8, false, 4, true)   --> ERROR bad argument #4 to 'ByteStorage' (shared memory is always shared
      torch.ByteStorage.new(f8, false, 1)   --> <torch.ByteStorage #1: 65>
      torch.ByteStorage().new(f8, false, 1)   --> <torch.ByteStorage #1: 65>
      slurp(f8) .. slurp(f7)   --> "ABCDEFGHABCDEFG"
    ]],
      globals()
    )
  end)

  it('is an empty storage if the file is empty', function()
    recorded.check(
      [[
      torch.ByteStorage(f0)   --> <torch.ByteStorage #0: >
      torch.ByteStorage(f0, true)   --> <torch.ByteStorage #0: >
      torch.DoubleStorage(f0, true, 0)   --> <torch.DoubleStorage #0: >
      torch.ByteStorage(f0, true):isMapped()   --> true
      torch.ByteStorage(f0):resize(1)   --> ERROR not resizable
      torch.ByteStorage(f0, true):flush():fill(1):string()   --> ""
      torch.ByteStorage(f0)[1]   --> ERROR out of range: the storage is empty
      torch.ByteStorage(torch.ByteStorage(f0))   --> <torch.ByteStorage #0: >
      slurp(f0)   --> ""
      torch.ByteStorage(f0, true, 2)   --> <torch.ByteStorage #2: 0 0>
      slurp(f0)   --> "\000\000"
    ]],
      globals()
    )
  end)

  it('keeps its file name and shares it with its views', function()
    recorded.check(
      [[
      > s = torch.ShortStorage(f8)
      s:filename() == f8   --> true
      torch.ShortStorage(torch.ShortStorage(s, 2), 2):filename() == f8   --> true
      torch.ByteStorage(f0):filename() == f0   --> true
      torch.ShortStorage(2):filename()   --> nil
      s:clone():filename()   --> nil
      s:type('IntStorage'):filename()   --> nil
      s:isMapped()   --> true
      s:isView()   --> false
      s:resizable()   --> false
      torch.ShortStorage(s):isMapped()   --> true
      torch.ShortStorage(s):isView()   --> true
      s:clone():isMapped()   --> false
      s:clone():resizable()   --> true
      os.rename(f8, new)   --> true
      s:filename() == f8   --> true
    ]],
      globals()
    )
  end)

  it('stays valid in its views, and after its file is removed', function()
    local view = torch.ByteStorage(torch.ByteStorage(support.spit(path 'f', 'abcdef'), true), 3, 2)
    support.collect()
    os.remove(path 'f')
    assert.equal('cd', view:string())
    assert.equal(path 'f', view:filename())
    assert.equal('zz', view:fill(122):string())
  end)

  it('may have any name that the system allows', function()
    for _, name in ipairs { '100%', '%d%s%n', ' ', "it's", 'a\nb', '\255\254', '-f', 'caf\195\169', ('n'):rep(255) } do
      support.spit(path(name), 'abc')
      local s = torch.ByteStorage(path(name), true, 5)
      assert.equal('abc\0\0', s:string())
      assert.equal(path(name), s:filename())
    end
    local link = path 'link'
    assert.equal('', support.sh(("ln -s ' ' '%s'"):format(link)))
    assert.equal('abc\0\0', torch.ByteStorage(link):string())
  end)
end)

describe('a private map', function()
  it('does not change the file when it is written to', function()
    recorded.check(
      [[
      > p = torch.ByteStorage(f8)
      p:fill(65):string()   --> "AAAAAAAA"
      slurp(f8)   --> "ABCDEFGH"
      torch.ByteStorage(f8):string()   --> "ABCDEFGH"
      p:resize(8)   --> ERROR not resizable
      p:resize(2)   --> ERROR not resizable
      p:reserve(20)   --> ERROR not resizable
      p:string('xxxxxxxx')   --> ERROR not resizable
      p:string('')   --> ERROR not resizable
      p:string()   --> "AAAAAAAA"
      torch.ByteStorage(p, 3, 2)   --> <torch.ByteStorage #2: 65 65>
      p:copy(torch.ByteStorage():string('12345678')):string()   --> "12345678"
      torch.IntStorage(f8, false, 2):fill(-1)   --> <torch.IntStorage #2: -1 -1>
      p:zero()[8]   --> 0
      > p[1] = 7
      p[1]   --> 7
      p:flush()   --> ERROR nothing to flush
      > p = nil collect()
      slurp(f8)   --> "ABCDEFGH"
    ]],
      globals()
    )
  end)

  it('needs only the permission to read', function()
    local name = support.spit(path 'f', 'abc')
    assert.equal('', support.sh("chmod 400 '" .. name .. "'"))
    local before = support.sh("stat -c '%y %s %a' '" .. name .. "'")
    assert.equal('zzz', torch.ByteStorage(name):fill(122):string())
    assert.equal(before, support.sh("stat -c '%y %s %a' '" .. name .. "'"))
  end)
end)

describe('a shared map', function()
  it('creates and extends its file, and never shrinks it', function()
    recorded.check(
      [[
      > s = torch.IntStorage(new, true, 4)
      ls(new)   --> "600 16"
      s   --> <torch.IntStorage #4: 0 0 0 0>
      s:fill(5)   --> <torch.IntStorage #4: 5 5 5 5>
      slurp(new) == ('\5\0\0\0'):rep(4)   --> true
      > s = nil collect()
      ls(new)   --> "600 16"
      torch.IntStorage(new)   --> <torch.IntStorage #4: 5 5 5 5>
      torch.IntStorage(new, true)   --> <torch.IntStorage #4: 5 5 5 5>
      torch.IntStorage(new, true, 2):fill(6)   --> <torch.IntStorage #2: 6 6>
      ls(new)   --> "600 16"
      torch.IntStorage(new, true, 6)   --> <torch.IntStorage #6: 6 6 5 5 0 0>
      ls(new)   --> "600 24"
      slurp(new) == ('\6\0\0\0'):rep(2) .. ('\5\0\0\0'):rep(2) .. ('\0'):rep(8)   --> true
      torch.ByteStorage(f8, true, 8):string()   --> "ABCDEFGH"
      torch.ByteStorage(f8, true, 12):string()   --> "ABCDEFGH\000\000\000\000"
      slurp(f8)   --> "ABCDEFGH\000\000\000\000"
      torch.ByteStorage(f7, true):fill(66):string()   --> "BBBBBBB"
      slurp(f7)   --> "BBBBBBB"
      > m = torch.ByteStorage(f7, true)
      m:resize(7)   --> ERROR not resizable
      m:resize(8)   --> ERROR not resizable
      m:string('1234567')   --> ERROR not resizable
      > m:copy(torch.ByteStorage():string('7654321'))
      slurp(f7)   --> "7654321"
      m:flush() == m   --> true
      torch.IntStorage(f3, true, 1)   --> <torch.IntStorage #1: 6513249>
      ls(f3):match(' (%d+)')   --> "4"
    ]],
      globals()
    )
  end)

  -- For sizes around a page in every class. Torch7 lost the first byte.
  it('keeps every byte of a file that it extends, and adds zeros', function()
    for index, T in ipairs(types.NUMBERS) do
      for _, length in ipairs { 1, 7, 4095, 4096, 4097, 70001 } do
        local name, bytes = path(T .. length), (('abcdefghijk'):rep(7000)):sub(index, index + length - 1)
        support.spit(name, bytes)
        local size = math.ceil(length / types.WIDTH[T]) + 5000
        local s = torch[T .. 'Storage'](name, true, size)
        assert.equal(size, #s)
        local after = support.slurp(name)
        assert.equal(size * types.WIDTH[T], #after)
        assert.is_true(after == bytes .. ('\0'):rep(#after - length), name)
        assert.equal(0, s[size])
      end
    end
  end)

  it('leaves the rest of a longer file unchanged', function()
    local name = support.spit(path 'f', ('x'):rep(10000))
    torch.ByteStorage(name, true, 3):fill(97):flush()
    torch.DoubleStorage(name, true, 2):zero()
    assert.is_true(support.slurp(name) == ('\0'):rep(16) .. ('x'):rep(9984))
  end)

  it('shows what is written through another map, to the file, or by another process', function()
    local name = support.spit(path 'f', 'abcdef')
    local a, b, private = torch.ByteStorage(name, true), torch.ShortStorage(name, true), torch.ByteStorage(name)
    a[1] = 65
    assert.equal(65 + 256 * 98, b[1])
    assert.equal(65, private[1]) -- nothing was written to this page yet
    private[2] = 0
    local file = assert(io.open(name, 'r+b'))
    file:seek('set', 4)
    file:write 'EF'
    file:close()
    assert.equal('AbcdEF', a:string())
    support.sh(("printf CD | dd of='%s' bs=1 seek=2 conv=notrunc"):format(name))
    assert.equal('AbCDEF', a:string())
    b:fill(0x2121)
    assert.equal('!!!!!!', support.sh(("cat '%s'"):format(name)))
  end)

  it('creates a file with mode 0600, restricted by the umask #process', function()
    local names = { ['022'] = '600', ['000'] = '600', ['077'] = '600', ['277'] = '400', ['666'] = '0' }
    for umask, mode in pairs(names) do
      local name = path('u' .. umask)
      local source = support.spit(path 'source.lua', ("print(#require 'torch'.IntStorage('%s', true, 3))"):format(name))
      local output = support.sh(('umask %s; %s %s'):format(umask, support.interpreter, source))
      assert.equal('3', output)
      assert.equal(mode .. ' 12', mode_and_size(name))
    end
  end)

  it('does not change the mode of an existing file', function()
    local name = support.spit(path 'f', 'abc')
    support.sh("chmod 640 '" .. name .. "'")
    torch.ByteStorage(name, true, 10)
    assert.equal('640 10', mode_and_size(name))
  end)
end)

describe('flush', function()
  it('works on shared maps and their views', function()
    recorded.check(
      [[
      > s = torch.IntStorage(f8, true)
      s:flush() == s   --> true
      torch.IntStorage(s, 2):flush():fill(1):flush()   --> <torch.IntStorage #1: 1>
      torch.IntStorage(s, 3):flush()   --> <torch.IntStorage #0: >
      torch.IntStorage(f8):flush()   --> ERROR nothing to flush: the storage is a private map of a file; only a shared map writes to its file
      torch.IntStorage(torch.IntStorage(f8)):flush()   --> ERROR nothing to flush
      torch.IntStorage(3):flush()   --> ERROR nothing to flush
      torch.IntStorage(torch.IntStorage(3)):flush()   --> ERROR nothing to flush
      torch.IntStorage(1, s:data()):flush()   --> ERROR nothing to flush
      > s:free()
      s:flush()   --> ERROR storage was freed
    ]],
      globals()
    )
  end)

  -- The kilobytes of the file's map that were written to and are not yet written back.
  local function dirty(name)
    local total, ours = 0, false
    for line in io.lines '/proc/self/smaps' do
      if line:find '^%x+%-%x+ ' then
        ours = line:sub(-#name) == name
      elseif ours and (line:find '^Shared_Dirty:' or line:find '^Private_Dirty:') then
        total = total + tonumber(line:match '(%d+) kB')
      end
    end
    return total
  end

  it('writes the pages back, and for a view only those that it touches', function()
    local kind = support.sh("stat -f -c %T '" .. path() .. "'")
    if kind == 'tmpfs' or kind == 'ramfs' then
      pending('files in memory (' .. kind .. ') are never written back')
      return
    end
    local size = 2 ^ 24
    local s = torch.ByteStorage(path 'f', true, size):fill(1)
    assert.equal(size / 1024, dirty(path 'f'))
    torch.ByteStorage(s, size / 2 - 1, 4):flush() -- two pages, or what the file system writes together with them
    local left = dirty(path 'f')
    assert.is_true(left < size / 1024, 'the view wrote nothing back')
    assert.is_true(left > size / 2048, 'the view wrote back what is not its own')
    s:flush()
    assert.equal(0, dirty(path 'f'))
    assert.equal(1, s[size])
  end)

  it('is not needed for others to see the bytes, however the process ends #process', function()
    local name = path 'f'
    local output, status = support.run(([[
      local torch = require 'torch'
      local s = torch.IntStorage('%s', true, 3)
      s[1] = 11
      torch.IntStorage(s, 2):fill(22)
      s:flush()
      local pid = io.open '/proc/self/stat':read '*a':match '^%%d+'
      os.execute('kill -9 ' .. pid)
      while true do end
    ]]):format(name))
    assert.equal(137, status, output)
    assert.equal('11 22 22', recorded.show(torch.IntStorage(name)):match ': (.*)>')
  end)
end)
