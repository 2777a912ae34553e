-- check() tells whether a mapped file is still complete; flush(true) does not wait.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local recorded = require 'spec.support.recorded'

local path = support.temporary()
local file

before_each(function()
  file = support.spit(path 'file', ('x'):rep(10000))
end)

local function cut(length)
  assert.equal('', support.sh(("truncate -s %d '%s'"):format(length, file)))
end

describe('check', function()
  it('is true until the file ends before the map', function()
    for _, options in ipairs { {}, { shared = true }, { readonly = true }, { shared = true, readonly = true } } do
      support.spit(file, ('x'):rep(10000))
      options.filename, options.offset, options.size = file, 4099, 100
      local s = torch.IntStorage(options) -- bytes 4099 to 4498
      local head, tail, none = torch.IntStorage(s, 1, 50), torch.IntStorage(s, 51), torch.IntStorage(s, 101)
      local empty = torch.IntStorage { filename = file, offset = 10000, shared = options.shared }
      local function all()
        local texts = {}
        for i, one in ipairs { s, head, tail, none, empty } do
          texts[i] = tostring(one:check())
        end
        return table.concat(texts, ' ')
      end
      assert.equal('true true true true true', all())
      cut(20000)
      assert.equal('true true true true true', all())
      cut(4499)
      assert.equal('true true true true true', all())
      cut(4498)
      assert.equal('false true false true true', all())
      cut(4298)
      assert.equal('false false false true true', all())
      cut(0)
      assert.equal('false false false true true', all())
      cut(4499)
      assert.equal('true true true true true', all())
      assert.equal(0, s[100]) -- they exist again, as zeros
    end
  end)

  it('checks the file itself, not its name', function()
    local text = [[
      > s = torch.ByteStorage{filename = file, shared = true, offset = 5, size = 5}
      > v = torch.ByteStorage(s, 2, 2)
      s:check(), v:check()   --> true, true
      os.rename(file, file .. '2')   --> true
      s:check()   --> ERROR cannot check file '$file': No such file or directory
      v:check()   --> ERROR cannot check file '$file': No such file or directory
      spit(file, 'another') == file   --> true
      s:check()   --> ERROR cannot check file '$file': another file has its name now; the storage still shows the file it mapped
      v:check()   --> ERROR another file has its name now
      s:string()   --> "xxxxx"
      os.rename(file .. '2', file)   --> true
      s:check(), v:check()   --> true, true
      os.remove(file)   --> true
      s:check()   --> ERROR No such file or directory
      s:fill(121):string()   --> "yyyyy"
      spit(file .. '3', 'x') == file .. '3'   --> true
      os.rename(file .. '3', file)   --> true
      s:check()   --> ERROR another file has its name now
    ]]
    recorded.check((text:gsub('%$file', file)), { file = file, spit = support.spit })
  end)

  it('follows links, as opening the file did', function()
    local link = path 'link'
    support.sh(("ln -s file '%s'"):format(link))
    local s = torch.ByteStorage { filename = link, shared = true }
    assert.is_true(s:check())
    cut(9999)
    assert.is_false(s:check())
    support.spit(path 'other', ('x'):rep(10000))
    support.sh(("ln -sf other '%s'"):format(link))
    assert.is_truthy(support.failure(s.check, s):find('another file has its name', 1, true))
  end)

  it('works on maps only', function()
    recorded.check(
      [[
      torch.IntStorage(3):check()   --> ERROR not a mapped file: the storage is heap memory; only a mapped file can be advised or checked
      torch.IntStorage(torch.IntStorage(3)):check()   --> ERROR not a mapped file
      torch.IntStorage(3):shareMemory():check()   --> ERROR the storage is shared memory
      torch.IntStorage():check()   --> ERROR the storage is heap memory
      > s = torch.ByteStorage(file)
      torch.ByteStorage(1, s:data()):check()   --> ERROR the storage is memory of the caller
      s:clone():check()   --> ERROR the storage is heap memory
      s:check(1, 2, 3)   --> true
      > s:free()
      s:check()   --> ERROR storage was freed
    ]],
      { file = file }
    )
  end)

  -- The purpose of check(): access to a page that it reports as missing ends the process, and a program that checks first
  -- continues.
  it('reports what would end the process #process', function()
    local source = [[
      local torch = require 'torch'
      local s = torch.ByteStorage('%s', true)
      os.execute "truncate -s 1 '%s'"
      print(s:check(), torch.ByteStorage(s, 1, 1):check(), s[1])
      if %s then
        print(s[10000])
      end
      print 'end'
    ]]
    local output, status = support.run(source:format(file, file, 'false'))
    assert.equal('false\ttrue\t120\nend', output)
    assert.equal(0, status)
    support.spit(file, ('x'):rep(10000))
    output, status = support.run(source:format(file, file, 'true'))
    assert.is_nil(output:find('end', 1, true))
    assert.equal(128 + 7, status) -- SIGBUS
  end)
end)

describe('flush(true)', function()
  it('works on shared maps and takes a boolean', function()
    recorded.check(
      [[
      > s = torch.ByteStorage{filename = file, shared = true, offset = 4095, size = 3}
      > v = torch.ByteStorage(s, 2, 1)
      s:fill(121):flush(true) == s, v:flush(true) == v, s:flush(false) == s, s:flush(nil) == s   --> true, true, true, true
      slurp(file):sub(4095, 4099)   --> "xyyyx"
      s:flush(1)   --> ERROR bad argument #1 to 'flush' (boolean expected, got number)
      s:flush('async')   --> ERROR boolean expected, got string
      torch.ByteStorage(s, 4):flush(true):size()   --> 0
      torch.ByteStorage(file):flush(true)   --> ERROR nothing to flush: the storage is a private map of a file; only a shared map writes to its file
      torch.ByteStorage(3):flush(true)   --> ERROR the storage is heap memory
      torch.ByteStorage(3):shareMemory():flush(true)   --> ERROR the storage is shared memory
      > s:free()
      s:flush(true)   --> ERROR storage was freed
    ]],
      { file = file, slurp = support.slurp }
    )
  end)
end)
