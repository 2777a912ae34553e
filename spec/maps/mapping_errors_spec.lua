-- Files that cannot be mapped: the text of the error, and that nothing is left behind or changed.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'

local path = support.temporary()

local function globals()
  local names = { f0 = '', f7 = 'ABCDEFG', f8 = 'ABCDEFGH', none = false, d = false, fifo = false }
  for name, bytes in pairs(names) do
    names[name] = path(name)
    if bytes then
      support.spit(path(name), bytes)
    end
  end
  assert.equal('', support.sh(("mkdir '%s' && mkfifo '%s'"):format(names.d, names.fifo)))
  names.slurp, names.spit = support.slurp, support.spit
  names.list = function()
    return (support.sh(("ls -A '%s'"):format(path())):gsub('%s+', ' '))
  end
  return names
end

-- Every message names the file, quotes no source file, and is a string with the position of the call.
local function refused(name, reason, ...)
  local message = support.failure(function(T, ...)
    torch[T .. 'Storage'](...) -- no tail call, which would have no position
  end, 'Byte', name, ...)
  assert.is_truthy(message:find('^[^\n]*mapping_errors_spec%.lua:%d+: '), message)
  assert.is_truthy(message:find(reason, 1, true), message)
  assert.is_truthy(message:find("'" .. name .. "'", 1, true), message)
  assert.is_nil(message:find '%.c:%d' or message:find '%.rs', message)
end

describe('mapping', function()
  it('checks its arguments', function()
    recorded.check(
      [[
      torch.ByteStorage(f8, false, 9)   --> ERROR it has 8 bytes, 9 are needed
      torch.IntStorage(f8, false, 3)   --> ERROR it has 8 bytes, 12 are needed
      torch.IntStorage(f7, false, 2)   --> ERROR it has 7 bytes, 8 are needed
      torch.ByteStorage(f0, false, 1)   --> ERROR it has 0 bytes, 1 are needed
      torch.ByteStorage(f7, false, 2^62)   --> ERROR it has 7 bytes, 4611686018427387904 are needed
      torch.ByteStorage(f8, false, -5)   --> ERROR got -5
      torch.ByteStorage(f8, true, -1)   --> ERROR got -1
      torch.ByteStorage(f8, false, 0/0)   --> ERROR got nan
      torch.ByteStorage(f8, false, 1/0)   --> ERROR got inf
      torch.ByteStorage(f8, true, 1e300)   --> ERROR got 1e300
      torch.ByteStorage(f8, false, 'x')   --> ERROR number expected, got string
      torch.ByteStorage(f8, false, {})   --> ERROR number expected, got table
      torch.ByteStorage(f8, false, true)   --> ERROR number expected, got boolean
      torch.ByteStorage(f8, 1)   --> ERROR boolean expected, got number
      torch.ByteStorage(f8, 'true')   --> ERROR boolean expected, got string
      torch.ByteStorage(f8, {})   --> ERROR boolean expected, got table
      torch.ByteStorage(f8, torch.IntStorage())   --> ERROR boolean expected, got torch.IntStorage
      torch.ByteStorage(f8, true, 4, 1)   --> ERROR boolean expected, got number
      [luajit] torch.ByteStorage(f8, false, -2LL)   --> ERROR got -2
      torch.DoubleStorage(f8, false, 2^61)   --> ERROR 2305843009213693952 elements of 8 bytes
      torch.DoubleStorage(f8, true, 2^61)   --> ERROR 2305843009213693952 elements of 8 bytes
      torch.DoubleStorage(f8, true, 2^60)   --> ERROR 1152921504606846976 elements of 8 bytes
      torch.ShortStorage(f8, true, 2^62)   --> ERROR 4611686018427387904 elements of 2 bytes
      torch.ByteStorage(f8, true, 4, true)   --> ERROR shared memory
      torch.ByteStorage(none, true, 4, true)   --> ERROR shared memory
      slurp(f8) .. list()   --> "ABCDEFGHd f0 f7 f8 fifo"
    ]],
      globals()
    )
  end)

  it('reports why a file cannot be opened, and creates none', function()
    recorded.check(
      [[
      torch.ByteStorage(none)   --> ERROR No such file or directory
      torch.ByteStorage(none, false, 10)   --> ERROR No such file or directory
      torch.ByteStorage(none, true)   --> ERROR No such file or directory
      torch.ByteStorage(none, true, nil)   --> ERROR No such file or directory
      torch.ByteStorage(none, false, 0)   --> ERROR No such file or directory
      torch.ByteStorage(none, true, -3)   --> ERROR got -3
      torch.ByteStorage(none, true, 2^62)   --> ERROR none'
      torch.ByteStorage(none, true, 2^63)   --> ERROR from 0 to 2^63-1, got 9
      torch.LongStorage(none, true, 2^60)   --> ERROR 1152921504606846976 elements of 8 bytes
      torch.ByteStorage(none .. '/x', true, 10)   --> ERROR No such file or directory
      torch.ByteStorage(none .. '/', true, 10)   --> ERROR none/'
      torch.ByteStorage(f8 .. '/x', true, 10)   --> ERROR Not a directory
      torch.ByteStorage(f8 .. '/', true, 10)   --> ERROR Not a directory
      torch.ByteStorage('')   --> ERROR No such file or directory
      torch.ByteStorage('', true, 10)   --> ERROR No such file or directory
      torch.ByteStorage(d)   --> ERROR a directory
      torch.ByteStorage(d, false, 4)   --> ERROR a directory
      torch.ByteStorage(d, true)   --> ERROR s a directory
      torch.ByteStorage(d, true, 10)   --> ERROR s a directory
      list()   --> "d f0 f7 f8 fifo"
    ]],
      globals()
    )
  end)

  it('names the file in the error, whatever its name', function()
    for _, name in ipairs { '100%', '%d', '%s%s%s', '%n%n%n%n', "it's", '\27[1m', 'caf\195\169', ('n'):rep(255) } do
      refused(path(name), 'No such file or directory')
      refused(path(name), 'No such file or directory', true)
      refused(path(name .. '/x'), 'No such file or directory', true, 4)
    end
    refused(path(('n'):rep(256)), 'name too long', true, 4)
    -- Bytes that are not UTF-8 are escaped; nothing else is lost.
    local message = support.failure(torch.ByteStorage, path '\255\254x')
    assert.is_truthy(message:find('x', 1, true) and message:find('No such file or directory', 1, true), message)
  end)

  it('leaves out the middle of a name of thousands of characters', function()
    local name = ('x'):rep(2500) .. '%s' .. ('y'):rep(2498)
    for _, shared in ipairs { false, true } do
      local message = support.failure(torch.ByteStorage, name, shared, 4)
      assert.is_truthy(message:find('xxx', 1, true) and message:find('yyy', 1, true), message)
      assert.is_truthy(message:find('name too long', 1, true), message)
      assert.is_true(#message < 1000, #message)
    end
  end)

  -- Torch7 mapped 'f8' instead of 'f8\0junk'.
  it('refuses a name with a zero byte', function()
    local names = globals()
    for _, name in ipairs { names.f8 .. '\0junk', names.none .. '\0', '\0', '\0' .. names.f8 } do
      for _, shared in ipairs { false, true } do
        local message = support.failure(torch.ByteStorage, name, shared, 8)
        assert.is_truthy(message:find('zero byte', 1, true), message)
        assert.is_truthy(message:find(name:gsub('%z', '\\0'), 1, true), message)
      end
    end
    assert.equal('d f0 f7 f8 fifo', names.list())
  end)

  it('takes regular files only, and does not wait for a pipe', function()
    local names = globals()
    refused(names.fifo, 'a pipe')
    refused(names.fifo, 'a pipe', false, 4)
    refused(names.fifo, 'a pipe', true)
    refused(names.fifo, 'a pipe', true, 4)
    for _, device in ipairs { '/dev/zero', '/dev/null', '/dev/full' } do
      refused(device, 'a device')
      refused(device, 'a device', false, 4)
      refused(device, 'a device', true)
      refused(device, 'a device', true, 4)
    end
  end)

  it('refuses a socket', function()
    local source = [[import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])]]
    local perl = [[use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un($ARGV[0])) or die]]
    local name = path 'socket'
    support.sh(("python3 -c '%s' '%s' || perl -e '%s' '%s'"):format(source, name, perl, name))
    if support.sh(("test -S '%s' && echo yes"):format(name)) ~= 'yes' then
      pending 'neither python3 nor perl is here to make a socket'
      return
    end
    refused(name, 'No such device or address')
    refused(name, 'No such device or address', true, 4)
  end)

  -- These files have a length of 0, or a page without memory behind it, whatever reading them gives.
  it("maps as much of the kernel's own files as can be mapped", function()
    assert.equal(0, #torch.ByteStorage '/proc/self/status')
    refused('/proc/self/status', '0 bytes, 4 are needed', false, 4)
    local name = '/sys/kernel/uevent_seqnum'
    if not io.open(name) then
      pending('no ' .. name)
      return
    end
    refused(name, 'No such device')
  end)
end)

describe('a shared open that fails', function()
  it('removes the file that it created', function()
    local names = globals()
    refused(names.none, 'extend', true, 2 ^ 62)
    refused(names.none, 'extend', true, 2 ^ 60 + 1)
    assert.equal('d f0 f7 f8 fifo', names.list())
  end)

  it('leaves an existing file unchanged', function()
    local names = globals()
    local function state()
      return support.sh(("stat -c '%%n %%a %%s %%i %%y' '%s'/f*"):format(path()))
    end
    local before = state()
    refused(names.f8, 'extend', true, 2 ^ 62)
    refused(names.f0, 'extend', true, 2 ^ 62)
    refused(names.f7, 'extend', true, 2 ^ 60 + 1)
    assert.equal(before, state())
    assert.equal('ABCDEFGHABCDEFG', support.slurp(names.f8) .. support.slurp(names.f7))
  end)

  it('removes the file that it created through a dangling link', function()
    support.sh(("ln -s none '%s'"):format(path 'link'))
    refused(path 'link', 'No such file or directory', true)
    refused(path 'link', "link'", true, 2 ^ 62)
    assert.equal('link', support.sh(("ls -A '%s'"):format(path())))
  end)

  -- Runs the body with a directory that has room for 1 MB, mounted by root or, where allowed, in a namespace of our own.
  local function on_a_full_disk(source)
    local mount = path 'mount'
    local script = support.spit(path 'source.lua', source)
    local inside = [[
      mkdir "$1" && mount -t tmpfs -o size=1m none "$1" || exit 77
      %s "$2"; status=$?
      umount "$1"; exit $status]]
    inside = inside:format(support.interpreter)
    local file = support.spit(path 'run.sh', inside)
    for _, unshare in ipairs { 'unshare -m', 'unshare -rm' } do
      local text, status = support.execute(("%s sh '%s' '%s' '%s'"):format(unshare, file, mount, script))
      if status ~= 77 and not text:find 'unshare' then
        return text
      end
      support.sh(("rmdir '%s'"):format(mount))
    end
  end

  it('reports that the disk is full, and leaves everything unchanged #process', function()
    local output = on_a_full_disk(([[
      local torch, support = require 'torch', require 'spec.support'
      local dir = '%s/mount/'
      support.spit(dir .. 'old', 'abcdefg')
      for _, name in ipairs { 'old', 'new' } do
        local ok, message = pcall(torch.IntStorage, dir .. name, true, 2 ^ 20)
        print(ok, message:match 'No space left on device', message:find(dir .. name, 1, true) ~= nil)
      end
      print(support.sh('ls -A ' .. dir), support.slurp(dir .. 'old'), support.sh('stat -c %%b ' .. dir .. 'old'))
      local s = torch.ByteStorage(dir .. 'old', true, 2 ^ 19):fill(120)
      print(#s, s[2 ^ 19], support.slurp(dir .. 'old') == ('x'):rep(2 ^ 19))
    ]]):format(path()))
    if not output then
      pending 'no right to mount a small file system here'
      return
    end
    assert.equal(
      'false\tNo space left on device\ttrue\nfalse\tNo space left on device\ttrue\n'
        .. 'old\tabcdefg\t8\n524288\t120\ttrue',
      output
    )
  end)
end)

describe('permissions #process', function()
  local root = support.sh 'id -u' == '0'

  -- Runs Lua source as a user who is not root. The library is copied to a directory that everybody may read.
  local function as_another(source)
    local folders = { lua = package.path, core = package.cpath }
    for kind, templates in pairs(folders) do
      local name = kind == 'lua' and 'torch/init' or 'torch/core'
      for template in templates:gmatch '[^;]+' do
        local file = template:gsub('%?', name)
        if io.open(file) then
          folders[kind] = file:match '^(.*)/[^/]+$'
          break
        end
      end
    end
    support.sh(
      ("mkdir '%s' && cp '%s'/* '%s' && cp '%s/core.so' '%s'"):format(
        path 'torch',
        folders.lua,
        path 'torch',
        folders.core,
        path 'torch'
      )
    )
    local script = support.spit(path 'source.lua', source)
    support.sh(("chmod -R a+rX '%s' && chmod 755 '%s'"):format(path 'torch', path()))
    support.sh(("chmod 644 '%s'"):format(script))
    return support.sh(
      ("cd '%s'; LUA_PATH='%s/?.lua;%s/?/init.lua' LUA_CPATH='%s/?.so' %s %s source.lua"):format(
        path(),
        path(),
        path(),
        path(),
        root and 'setpriv --reuid=65534 --regid=65534 --clear-groups' or '',
        support.interpreter
      )
    )
  end

  it('that are missing are named in the error', function()
    support.spit(path 'secret', 'ABC')
    support.spit(path 'readable', 'ABC')
    support.sh(("cd '%s' && chmod 000 secret && chmod 444 readable && mkdir closed && chmod 555 closed"):format(path()))
    local output = as_another [[
      local torch = require 'torch'
      local function try(...)
        local ok, result = pcall(torch.ByteStorage, ...)
        local name = ...
        print(ok and result:fill(49):string() or result:match 'Permission denied',
          ok or result:find("'" .. name .. "'", 1, true) ~= nil)
      end
      try('secret')
      try('secret', false, 3)
      try('secret', true)
      try('secret', true, 9)
      try('readable', true)
      try('readable', true, 9)
      try('readable')
      try('closed/new', true, 3)
    ]]
    local denied = 'Permission denied\ttrue\n'
    assert.equal(denied:rep(6) .. '111\ttrue\n' .. denied, output .. '\n')
    assert.equal('ABC', support.slurp(path 'readable'))
    assert.equal('', support.sh(("ls -A '%s'"):format(path 'closed')))
  end)
end)
