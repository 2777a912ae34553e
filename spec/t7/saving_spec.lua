-- How torch.save replaces a file: completely or not at all, and without other files left. Pipes and devices are written
-- directly.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local path = support.temporary()
local name

-- An object that cannot be saved, which is noticed only after megabytes.
local function late()
  local t = {}
  for i = 1, 2e5 do
    t[i] = i
  end
  t[#t + 1] = print
  return t
end

-- The names in the test's directory, sorted, on one line.
local function files()
  return (support.sh('LC_ALL=C ls -A ' .. path()):gsub('\n', ' '))
end

before_each(function()
  name = path 'f.t7'
end)
after_each(function()
  support.sh('chmod 700 ' .. path())
end)

describe('saving', function()
  it('replaces a file', function()
    support.spit(name, ('old'):rep(1e5))
    torch.save(name, { 'new' })
    assert.same({ 'new' }, torch.load(name))
    assert.equal(torch.serialize { 'new' }, support.slurp(name))
    torch.save(name, { 'newer' }, { atomic = false })
    assert.equal(torch.serialize { 'newer' }, support.slurp(name))
    assert.equal('f.t7', files())
  end)

  it('that fails leaves the old file and no other file', function()
    support.spit(name, 'old')
    for _, options in ipairs { 'binary', 'ascii', { mode = 'b32' }, { atomic = true } } do
      assert.matches("f.t7': <function> at", support.failure(torch.save, name, late(), options), 1, true)
      assert.equal('old', support.slurp(name))
      assert.equal('f.t7', files())
    end
    os.remove(name)
    support.failure(torch.save, name, late())
    assert.equal('', files())
  end)

  it('of a class that Torch7 does not have says what to save instead', function()
    for _, T in ipairs(types.ALL) do
      local entry = types.ENTRY[T]
      if not entry.in_torch7 then
        local s = entry.constructor { 1, 0, 1 }
        local message = support.failure(torch.save, name, s)
        local instead = message:match("': a " .. entry.name .. ': Torch7 has no such class; save (s:.*) instead$')
        assert.is_truthy(instead, message)
        local saved = setfenv(assert(loadstring('return ' .. instead)), { s = s })()
        torch.save(name, saved)
        local loaded = torch.load(name)
        assert.is_true(loaded:equal(saved))
        -- The way back: the same bytes, or the values.
        local back = saved:nbytes() == s:nbytes() and loaded:view(entry.name) or loaded:type(entry.name)
        assert.is_true(back:equal(s), instead)
      end
    end
  end)

  it('that fails with a plain error raises that error', function()
    support.spit(name, 'old')
    support.failure(torch.save, name, late(), { atomic = false })
    assert.equal('f.t7', files())
    torch.save(name, 5)
    assert.equal(5, torch.load(name))
  end)

  it('leaves the old file to programs that have it open', function()
    torch.save(name, torch.IntStorage { 1, 2, 3 })
    local reader = assert(io.open(name, 'rb'))
    local map = torch.load(name, { mmap = true })
    torch.save(name, torch.IntStorage { 7 })
    assert.equal(torch.serialize(torch.IntStorage { 1, 2, 3 }), reader:read '*a')
    reader:close()
    assert.same({ 1, 2, 3 }, map:totable())
    assert.same({ 7 }, torch.load(name):totable())
  end)

  it('over the file from which the object was mapped is right', function()
    torch.save(name, { torch.DoubleStorage(1e5):fill(2), 'x' })
    local object = torch.load(name, { mmap = true })
    object[1][5] = 7
    torch.save(name, object)
    local back = torch.load(name)
    assert.equal(7, back[1][5])
    assert.equal(2, back[1][1e5])
  end)

  it('follows symbolic links', function()
    support.sh(('mkdir %s/far && echo old >%s/far/target && ln -s far/target %s'):format(path(), path(), name))
    torch.save(name, 'new')
    assert.equal('far/target', support.sh('readlink ' .. name))
    assert.equal(torch.serialize 'new', support.slurp(path('far/target')))
    assert.equal('f.t7 far', files())
    assert.equal('target', support.sh(('ls -A %s/far'):format(path())))
    support.failure(torch.save, name, late())
    assert.equal(torch.serialize 'new', support.slurp(path('far/target')))
    -- A link whose file does not exist yet.
    support.sh(('ln -s far/later %s/dangling'):format(path()))
    torch.save(path('dangling'), 'later')
    assert.equal(torch.serialize 'later', support.slurp(path('far/later')))
    assert.equal('far/later', support.sh('readlink ' .. path('dangling')))
    -- A link to itself.
    support.sh(('ln -s loop %s/loop'):format(path()))
    support.failure(torch.save, path('loop'), 1)
    assert.equal('loop', support.sh('readlink ' .. path('loop')))
  end)

  it('keeps the permissions of a file, and creates new files with the default permissions', function()
    for _, mode in ipairs { '600', '640', '644', '755' } do
      support.spit(name, 'old')
      support.sh(('chmod %s %s'):format(mode, name))
      torch.save(name, 1)
      assert.equal(mode, support.sh('stat -c %a ' .. name))
      os.remove(name)
    end
    torch.save(name, 1)
    local plain = support.spit(path('plain'), '')
    assert.equal(support.sh('stat -c %a ' .. plain), support.sh('stat -c %a ' .. name))
  end)

  it('takes names in the current folder, and long names', function()
    local script = [[
      local torch = require 'torch'
      torch.save('here.t7', 5)
      assert(torch.load 'here.t7' == 5)
      local long = ('x'):rep(255)
      torch.save(long, 6)
      assert(torch.load(long) == 6)
      torch.save('./' .. long, 7)
      assert(torch.load(long) == 7)
    ]]
    local file = support.spit(path('script.lua'), script)
    local here = support.sh 'pwd'
    local run = 'cd %s && LUA_PATH="%s/lua/?.lua;%s/lua/?/init.lua;;" %s %s'
    assert.equal('', support.sh(run:format(path(), here, here, support.interpreter, file)))
    assert.equal(('here.t7 script.lua %s'):format(('x'):rep(255)), files())
  end)
end)

describe('saving without space or permission', function()
  it('to a full device is an error', function()
    for _, options in ipairs { 'binary', 'ascii', { atomic = false } } do
      local message = support.failure(torch.save, '/dev/full', torch.DoubleStorage(1e5), options)
      assert.matches('/dev/full', message, 1, true)
      assert.matches('No space left', message, 1, true)
      support.failure(torch.save, '/dev/full', 5, options) -- an amount that fits in a buffer
    end
    assert.equal('character special file', support.sh 'stat -c %F /dev/full')
  end)

  it('leaves the old file where the new one does not fit #process', function()
    support.spit(name, 'old')
    local script = support.spit(
      path('script.lua'),
      ([[
        local torch = require 'torch'
        for _, object in ipairs { torch.DoubleStorage(1e5), ('x'):rep(1e6) } do
          for _, mode in ipairs { 'binary', 'ascii' } do
            print(pcall(torch.save, %q, object, mode))
          end
        end
      ]]):format(name)
    )
    -- 100 blocks of 512 or 1024 bytes. A write beyond them fails instead of killing the process.
    local output = support.sh(("trap '' XFSZ; ulimit -f 100; %s %s"):format(support.interpreter, script))
    local _, count = output:gsub('false\t[^\n]*File too large', '')
    assert.equal(4, count, output)
    assert.equal('old', support.slurp(name))
    assert.equal('f.t7 script.lua', files())
  end)

  it('to a folder without write permission is an error #process', function()
    support.spit(name, 'old')
    local script = support.spit(
      path('script.lua'),
      ([[
        local torch = require 'torch'
        print(pcall(torch.save, %q, 5))
        print(pcall(torch.save, %q, 5))
      ]]):format(name, path('new.t7'))
    )
    support.sh(('chmod 444 %s && chmod 555 %s'):format(name, path()))
    local output
    if support.sh 'id -u' == '0' then
      output =
        support.sh(('setpriv --reuid=65534 --regid=65534 --clear-groups %s %s'):format(support.interpreter, script))
      if output:find 'setpriv' or output:find "module 'torch" then
        pending('no right to give up a right: ' .. output)
      end
    else
      output = support.sh(('%s %s'):format(support.interpreter, script))
    end
    local _, count = output:gsub('false\t[^\n]*Permission denied', '')
    assert.equal(2, count, output)
    assert.equal('old', support.slurp(name))
    assert.equal('f.t7 script.lua', files())
  end)

  it('that is killed leaves the old file whole #process', function()
    support.spit(name, 'old')
    local output, status = support.run(([[
      local torch = require 'torch'
      torch.save(%q, { torch.DoubleStorage(1e6), 'x' }, { progress = function(done)
        if done > 4e6 then os.execute 'kill -9 $PPID' end
      end })
    ]]):format(name))
    assert.is_true(status == 137 or status == 9, output)
    assert.equal('old', support.slurp(name))
  end)
end)

describe('saving to something other than a regular file', function()
  it('writes a pipe and reads it #process', function()
    support.sh('mkfifo ' .. name)
    local object = { torch.IntStorage { 1, 2, 3 }, 'x', { 5 } }
    for _, mode in ipairs { 'binary', 'ascii' } do
      local copy = path('copy')
      support.sh(('(cat %s >%s.new && mv %s.new %s) >/dev/null 2>&1 &'):format(name, copy, copy, copy))
      torch.save(name, object, mode)
      support.sh(('i=0; while [ ! -e %s ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i + 1)); done'):format(copy))
      assert.equal(torch.serialize(object, mode), support.slurp(copy))
      support.sh(('(cat %s >%s) >/dev/null 2>&1 &'):format(copy, name))
      assert.equal('x', torch.load(name)[2])
      os.remove(copy)
    end
    assert.equal('fifo', support.sh('stat -c %F ' .. name))
    assert.equal('f.t7', files())
  end)

  it('writes /dev/stdout, as a pipe or as a file #process', function()
    local script = support.spit(
      path('script.lua'),
      [[
        local torch = require 'torch'
        torch.save('/dev/stdout', { 'x', torch.IntStorage { 1, 2, 3 } })
      ]]
    )
    local bytes = torch.serialize { 'x', torch.IntStorage { 1, 2, 3 } }
    support.sh(('%s %s | cat >%s'):format(support.interpreter, script, name))
    assert.equal(bytes, support.slurp(name))
    support.sh(('%s %s >%s'):format(support.interpreter, script, name))
    assert.equal(bytes, support.slurp(name))
    assert.equal('f.t7 script.lua', files())
  end)

  it('reads /dev/stdin #process', function()
    torch.save(name, { 'x', torch.IntStorage { 1, 2, 3 } })
    local script = support.spit(
      path('script.lua'),
      [[
        local torch = require 'torch'
        local t = torch.load '/dev/stdin'
        print(t[1], t[2][3])
      ]]
    )
    assert.equal('x\t3', support.sh(('cat %s | %s %s'):format(name, support.interpreter, script)))
    assert.equal('x\t3', support.sh(('%s %s <%s'):format(support.interpreter, script, name)))
  end)

  it('writes /dev/null, which reads as empty', function()
    torch.save('/dev/null', { torch.DoubleStorage(1e5) })
    support.failure(torch.load, '/dev/null')
    support.failure(torch.load, '/dev/null', { mmap = true })
    assert.equal('character special file', support.sh 'stat -c %F /dev/null')
  end)
end)

describe('descriptors', function()
  it('are all closed, whatever happens', function()
    torch.save(name, { 1 })
    local before = support.descriptors()
    for _ = 1, 50 do
      torch.save(name, { 1 })
      torch.load(name)
      torch.load(name, { mmap = true })
      pcall(torch.save, name, { print })
      pcall(torch.save, '/dev/full', 5)
      pcall(torch.load, name, 'ascii')
      pcall(torch.save, name, { 1 }, {
        progress = function()
          error 'stop'
        end,
      })
    end
    support.collect()
    assert.equal(before, support.descriptors())
    assert.equal('f.t7', files())
  end)
end)
