-- torch.save, load, serialize and deserialize: their arguments and results, and the errors for wrong arguments, modes and
-- files.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local types = require 'spec.support.types'

local function fails(fragments, f, ...)
  local message = support.failure(f, ...)
  for _, fragment in ipairs(type(fragments) == 'table' and fragments or { fragments }) do
    assert.matches(fragment, message, 1, true)
  end
  return message
end

local s = torch.IntStorage { 1, -2, 3 }
local path = support.temporary()
local name

before_each(function()
  name = path 'f.t7'
end)

describe('saving and loading', function()
  it('have the names and the results of Torch7', function()
    assert.equal(torch.save, torch.saveobj)
    assert.equal(torch.load, torch.loadobj)
    assert.equal(0, select('#', torch.save(name, s)))
    assert.equal(support.slurp(name), torch.serialize(s))
    assert.equal(1, select('#', torch.load(name)))
    assert.equal(1, select('#', torch.serialize(s)))
    assert.equal(1, select('#', torch.deserialize(torch.serialize(s))))
    assert.equal(1, select('#', torch.deserialize(torch.serialize(nil))))
    assert.is_true(torch.load(name):equal(s))
    assert.equal('string', type(torch.serialize(s)))
    assert.equal('torch.CharStorage', torch.typename(torch.serializeToStorage(s)))
    assert.equal(torch.serialize(s), torch.serializeToStorage(s):string())
    assert.equal(torch.serialize(s, 'ascii'), torch.serializeToStorage(s, 'ascii'):string())
  end)

  it('read from the bytes of any storage', function()
    local bytes = torch.serialize { 'x', s } .. ('\0'):rep(7)
    for _, T in ipairs(types.TORCH7) do
      local whole = bytes:sub(1, math.floor(#bytes / types.WIDTH[T]) * types.WIDTH[T])
      local back = torch.deserializeFromStorage(torch[T .. 'Storage'].fromstring(whole))
      assert.equal('x', back[1])
      assert.is_true(back[2]:equal(s))
    end
    local view = torch.ByteStorage(torch.ByteStorage.fromstring('junk' .. bytes), 5)
    assert.equal('x', torch.deserializeFromStorage(view, 'binary')[1])
    support.spit(name, bytes)
    assert.equal('x', torch.deserializeFromStorage(torch.ByteStorage { filename = name, readonly = true })[1])
    assert.equal('x', torch.deserializeFromStorage(torch.serializeToStorage({ 'x' }, 'ascii'), 'ascii')[1])
  end)

  it('ignore bytes after the object', function()
    assert.same({ 1, -2, 3 }, torch.deserialize(torch.serialize(s) .. 'trailing'):totable())
    assert.same({ 1, -2, 3 }, torch.deserialize(torch.serialize(s, 'ascii') .. 'trailing', 'ascii'):totable())
  end)

  it('refuse unknown modes', function()
    torch.save(name, s)
    fails({ 'xml', 'binary', 'ascii' }, torch.save, name, s, 'xml')
    fails({ 'xml', 'binary', 'ascii' }, torch.save, name, s, { mode = 'xml' })
    fails({ 'xml', 'binary', 'ascii' }, torch.load, name, 'xml')
    fails({ 'xml', 'binary', 'ascii' }, torch.load, name, { mode = 'xml' })
    fails({ 'xml', 'binary', 'ascii' }, torch.serialize, s, 'xml')
    fails({ 'xml', 'binary', 'ascii' }, torch.serializeToStorage, s, 'xml')
    fails({ 'xml', 'binary', 'ascii' }, torch.deserialize, 'x', 'xml')
    fails({ 'xml', 'binary', 'ascii' }, torch.deserializeFromStorage, s, 'xml')
    for _, bad in ipairs { 5, true, print, s } do
      fails('', torch.save, name, s, bad)
      fails('', torch.load, name, bad)
      fails('', torch.serialize, s, bad)
      fails('', torch.deserialize, torch.serialize(s), bad)
    end
    assert.equal(torch.serialize(s), support.slurp(name))
  end)

  it('refuse unknown options', function()
    torch.save(name, s)
    for _, option in ipairs { 'mod', 'nmap', 1, 'Atomic' } do
      fails(tostring(option), torch.save, name, s, { [option] = true })
      fails(tostring(option), torch.load, name, { [option] = true })
    end
    fails('boolean expected', torch.save, name, s, 'binary', 1)
    fails('boolean expected', torch.load, name, 'binary', 1)
    fails('referenced', torch.save, name, s, { referenced = 'yes' })
    fails('progress', torch.save, name, s, { progress = 1 })
    fails('progress', torch.load, name, { progress = {} })
    fails('atomic', torch.save, name, s, { atomic = 1 })
    for _, option in ipairs { 'mmap', 'info', 'keeporder' } do
      fails(option, torch.load, name, { [option] = 1 })
    end
    assert.equal(torch.serialize(s), support.slurp(name))
  end)

  it('need their arguments', function()
    for _, f in ipairs { torch.save, torch.load, torch.deserialize, torch.deserializeFromStorage } do
      fails('', f)
      for _, bad in ipairs { true, {}, print } do
        fails('', f, bad)
      end
    end
    fails('', torch.deserializeFromStorage, 'string')
    fails('', torch.deserialize, nil)
    fails('', torch.load, 'a\0b')
    fails('', torch.save, 'a\0b', s)
  end)

  it('name the file that cannot be opened, and the reason', function()
    fails({ path('none.t7'), 'No such file' }, torch.load, path('none.t7'))
    fails({ path('none.t7'), 'No such file' }, torch.load, path('none.t7'), { mmap = true })
    local message = fails({ path('nodir/f.t7'), 'No such file' }, torch.save, path('nodir/f.t7'), s)
    assert.not_matches('cannot load', message, 1, true)
    message = fails({ path('none.t7'), 'No such file' }, torch.load, path('none.t7'))
    assert.not_matches('cannot load', message, 1, true)
    fails({ path(), 'irectory' }, torch.load, path())
    fails({ path(), 'irectory' }, torch.save, path(), s)
    fails({ 'No such file' }, torch.load, '')
    assert.equal('', support.sh('ls -A ' .. path()))
  end)

  it('raise strings with the position of the call', function()
    local ok, message = pcall(function()
      local object = torch.load '/nonexistent/f.t7'
      return object
    end)
    assert.is_false(ok)
    assert.matches('^[^\n]*serialization_arguments_spec%.lua:%d+: ', message)
    ok, message = pcall(function()
      torch.save(name, { print })
    end)
    assert.is_false(ok)
    assert.matches('^[^\n]*serialization_arguments_spec%.lua:%d+: ', message)
    ok, message = coroutine.resume(coroutine.create(function()
      local object = torch.deserialize 'x'
      return object
    end))
    assert.is_false(ok)
    assert.matches('^[^\n]*serialization_arguments_spec%.lua:%d+: ', message)
  end)

  it('take file names with % signs, and names of any length', function()
    fails('%s%n%d', torch.load, path('%s%n%d'))
    fails('', torch.load, ('x'):rep(1e5))
    local odd = path('%s %d.t7')
    torch.save(odd, 5)
    assert.equal(5, torch.load(odd))
  end)

  it('take file names with line breaks and quotation marks', function()
    local odd = path('%s \n"x".t7')
    torch.save(odd, 5)
    assert.equal(5, torch.load(odd))
  end)
end)

describe('a value that cannot be saved', function()
  local function bad(where, object)
    local value = fails({ 'cannot save', where }, torch.serialize, object)
    fails({ 'cannot save', where }, torch.save, name, object)
    fails({ 'cannot save', where }, torch.serialize, object, 'ascii')
    fails({ 'cannot save', where }, torch.serializeToStorage, object)
    assert.equal('', support.sh('ls -A ' .. path()))
    return value
  end

  it('is named in the error, with its path', function()
    local thread = coroutine.create(function() end)
    for kind, value in pairs { ['function'] = print, userdata = io.stdout, thread = thread } do
      assert.matches('<' .. kind .. '>', bad('', value), 1, true)
      bad('<' .. kind .. '> at', { value })
      bad('x.y', { x = { y = value } })
      bad('layers.3.io', { layers = { 1, 2, { io = value } } })
      bad('', { [value] = 1 })
    end
    if support.luajit then
      bad('n.c', { n = { c = require('ffi').new 'int[2]' } })
    end
  end)

  it('may be a freed storage', function()
    local dead = torch.IntStorage(3)
    dead:free()
    bad('a.b', { a = { b = dead } })
  end)

  it('has a path of readable length even when it is deep', function()
    local inner = { print }
    for _ = 1, 1e4 do
      inner = { inner }
    end
    local message = bad('<function>', inner)
    assert.is_true(#message < 3000, #message)
  end)

  it('has a path without the bytes of unprintable keys', function()
    local inner = { ['a\0\n\27b'] = { [1.5] = { [true] = { [{}] = print } } } }
    local message = bad('<function>', { [('k'):rep(1e6)] = inner })
    assert.is_true(#message < 3000, #message)
    assert.is_nil(message:find '[%z\n\27]')
  end)
end)
