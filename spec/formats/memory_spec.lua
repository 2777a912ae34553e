-- Headers of files, and names and texts that are saved, for which there is not enough memory: an error, whatever the limit is.
-- Interpreters: luajit, lua5.4
local torch = require 'torch'
local support = require 'spec.support'
local formats = require 'spec.support.formats'

local path = support.temporary()

-- A safetensors file with this header and no elements.
local function safetensors(header)
  return formats.number(#header, 8) .. header
end

-- The results of make(1) to make(count), with commas between them.
local function list(count, make)
  local parts = {}
  for n = 1, count do
    parts[n] = make(n)
  end
  return table.concat(parts, ',')
end

local function empty_tensor(n)
  return ('"tensor.%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'):format(n)
end

-- What may run out of memory: the bytes of a file, if it needs one, and Lua code with the name of the file as `name`.
local CASES = {
  ['a large text in metadata'] = {
    file = function()
      return safetensors(('{"__metadata__":{"a":"%s"}}'):format(('x'):rep(30e6)))
    end,
    code = 'torch.safetensors.load(name)',
  },
  ['a large text with escapes in metadata'] = {
    file = function()
      return safetensors(('{"__metadata__":{"a":"%s"}}'):format(('\\u00e4bcdef'):rep(3e6)))
    end,
    code = 'torch.safetensors.load(name)',
  },
  ['many texts in metadata'] = {
    file = function()
      return safetensors(('{"__metadata__":{%s}}'):format(list(200000, function(n)
        return ('"key.%d":"a text that is not so short any more, but not long either"'):format(n)
      end)))
    end,
    code = 'torch.safetensors.load(name)',
  },
  ['many tensors'] = {
    file = function()
      return safetensors('{' .. list(200000, empty_tensor) .. '}')
    end,
    code = 'torch.safetensors.load(name)',
  },
  ['many tensors of many dimensions'] = {
    file = function()
      return safetensors('{' .. list(100000, function(n)
        return ('"%d":{"dtype":"U8","shape":[0,0,0,0,0,0,0,0],"data_offsets":[0,0]}'):format(n)
      end) .. '}')
    end,
    code = 'torch.safetensors.open(name)',
  },
  ['large names that cannot be right'] = {
    file = function()
      local long = ('x'):rep(30e6)
      return safetensors(('{"%s":{"dtype":"%s"}}'):format(long, long))
    end,
    code = 'torch.safetensors.load(name)',
  },
  ['a large value of the wrong type'] = {
    file = function()
      return safetensors(('{"a":"%s"}'):format(('x'):rep(30e6)))
    end,
    code = 'torch.safetensors.load(name)',
  },
  ['an index of many tensors'] = {
    file = function()
      support.spit(path 'shard', safetensors('{' .. list(100000, empty_tensor) .. '}'))
      return ('{"weight_map":{%s}}'):format(list(100000, function(n)
        return ('"tensor.%d":"shard"'):format(n)
      end))
    end,
    name = 'x.safetensors.index.json',
    code = 'torch.safetensors.load(name)',
  },
  ['an archive of many arrays'] = {
    file = function()
      local arrays, x = {}, torch.ByteTensor(1, 1, 1, 1, 1, 1, 0)
      for n = 1, 60000 do
        arrays['array.' .. n] = x
      end
      torch.npz.save(path 'x', arrays)
      return support.slurp(path 'x')
    end,
    code = 'torch.npz.load(name)',
  },
  ['saving many names'] = {
    code = [[
      local tensors, x = {}, torch.ByteTensor(0)
      for n = 1, 60000 do
        tensors['a name that is not so short any more.' .. n] = x
      end
      torch.safetensors.save(name, tensors)
      torch.npz.save(name, tensors)
    ]],
  },
  ['saving large names'] = {
    code = [[
      local long = ('x'):rep(15e6)
      torch.safetensors.save(name, { [long .. 'a'] = torch.ByteTensor(0), [long .. 'b'] = torch.ByteTensor(0) })
    ]],
  },
  ['saving large metadata'] = {
    code = [[
      local long = ('\n'):rep(15e6)
      torch.safetensors.save(name, {}, { a = long, b = long .. 'b' })
    ]],
  },
}

describe('memory that runs out', function()
  support.cases('is an error: %s #process', CASES, function(case)
    local name = path(case.name or 'x')
    if case.file then
      support.spit(name, case.file())
    end
    local script = support.spit(
      path 'script.lua',
      ([[
        local ok, torch = pcall(require, 'torch')
        if not ok then
          return print 'too early'
        end
        local name = %q
        local ok, message = pcall(function()
          %s
        end)
        print(ok and 'enough' or message)
      ]]):format(name, case.code)
    )
    local refused, enough = 0, 0
    for limit = 20000, 400000, 24000 do
      local output, status = support.execute(('ulimit -v %d; %s %s'):format(limit, support.interpreter, script))
      assert(status == 0 or output:find 'cannot load shared object', limit .. ': ' .. status .. ': ' .. output)
      if output == 'enough' or output:find 'x.*does not exist' or output:find 'invalid type: string' then
        enough = enough + 1
        break
      elseif output ~= 'too early' then
        refused = refused + (output:find 'not enough memory' and 1 or 0)
        -- The third text is that of musl.
        local is_refused = output:find 'not enough memory'
          or output:find 'annot allocate memory'
          or output:find 'Out of memory'
        assert(is_refused, limit .. ': ' .. output)
      end
    end
    assert.is_true(refused > 0 and enough > 0, refused .. ', ' .. enough)
  end)
end)
