-- Embeddings in a real Redis, served by a real nginx: examples/nginx/vectors.lua.
-- Interpreters: luajit
local torch = require 'torch'
local support = require 'spec.support'
local nginx_host = require 'spec.support.nginx_host'
local program = require 'spec.support.program'

local tools = support.sh 'pwd' .. '/.tools'
local redis = tools .. '/bin/redis'

local function missing()
  if support.sh(("test -x '%s' && echo there"):format(redis)) ~= 'there' then
    return 'Redis is missing: tools/need --try redis'
  end
  return nginx_host.missing()
end

local test = program.tests(missing)

local SIZE = 768
local directory, server

-- The similarity that the server must find, computed by plain Lua from the numbers as float32.
local function similarity(one, other)
  local dot, left, right = 0, 0, 0
  for i = 1, #one do
    dot, left, right = dot + one[i] * other[i], left + one[i] ^ 2, right + other[i] ^ 2
  end
  return dot / math.sqrt(left * right)
end

local function vector(seed)
  local v = torch.FloatStorage(SIZE)
  for i = 1, SIZE do
    v[i] = math.sin(seed * i) * 3
  end
  return v
end

local function put(path, body)
  support.spit(directory .. '/body', body)
  return support.sh(
    ("curl -s -m 20 -X PUT --data-binary '@%s/body' 'http://127.0.0.1:%d%s'"):format(directory, server.port, path)
  )
end

-- The elements, each as LuaJIT writes a number, because nginx answers with that.
local function as_text(v)
  local texts = {}
  for i = 1, #v do
    texts[i] = ('%.14g'):format(v[i])
  end
  return '[' .. table.concat(texts, ', ') .. ']'
end

-- A command to Redis; its answer as text.
local function command(...)
  return support.sh(
    ("printf '%s\\n' | timeout 5 curl -s -m 2 --unix-socket '%s/socket' telnet://localhost"):format(..., directory)
  )
end

describe('embeddings in Redis #process', function()
  after_each(function()
    if server then
      server:stop()
      support.sh(("kill $(cat '%s/pid')"):format(directory))
      nginx_host.wait('the end of Redis', function()
        return not io.open(directory .. '/socket')
      end)
      support.remove(directory)
      server = nil
    end
  end)

  test('are stored as bytes, read in parts, changed in parts and compared', function()
    directory = support.directory()
    support.sh(("chmod 755 '%s'"):format(directory)) -- the workers of nginx run as another user
    local options =
      "--port 0 --save '' --unixsocket '%s/socket' --unixsocketperm 777 --pidfile '%s/pid' --daemonize yes --dir '%s'"
    support.sh(redis .. ' ' .. options:gsub('%%s', directory))
    nginx_host.wait('Redis', function()
      return support.sh(("test -S '%s/socket' && echo there"):format(directory)) == 'there'
    end)
    local configuration = support.slurp 'examples/nginx/vectors.conf'
    configuration = configuration:gsub("lua_package_path '", '%0' .. tools .. '/redis/usr/share/lua/5.1/?.lua;')
    configuration = configuration:gsub('env REDIS;', ('env REDIS=unix:%s/socket;'):format(directory))
    configuration = configuration:gsub('error_log stderr', 'error_log error.log')
    server = nginx_host.start(nil, configuration)

    -- Vectors with a few known neighbours.
    local all = {}
    for k = 1, 30 do
      all[k] = vector(k)
      assert.equal(tostring(SIZE), put('/vectors/v' .. k, as_text(all[k])))
    end
    -- Redis holds the bytes of the elements.
    assert.equal('$' .. SIZE * 4, command 'GET vector:v7':match '^%$%d+')
    assert.equal(as_text(all[7]), server:get '/vectors/v7')
    -- A part is read by GETRANGE, and replaced by SETRANGE.
    assert.equal(as_text(torch.FloatStorage(all[7], 100, 5)), server:get '/vectors/v7?from=100&to=104')
    assert.equal(tostring(SIZE), put('/vectors/v7?from=767', '[0.25, -0.5]'))
    all[7][767], all[7][768] = 0.25, -0.5
    assert.equal(as_text(all[7]), server:get '/vectors/v7')

    local expected = {}
    for k, v in ipairs(all) do
      if k ~= 3 then
        expected[#expected + 1] = { k = k, similarity = similarity(all[3], v) }
      end
    end
    table.sort(expected, function(a, b)
      return a.similarity > b.similarity
    end)
    local lines = {}
    for i = 1, 4 do
      lines[i] = ('v%d %.4f'):format(expected[i].k, expected[i].similarity)
    end
    assert.equal(table.concat(lines, '\n'), server:get '/nearest/v3?count=4')

    -- What is wrong is said, and changes nothing.
    assert.equal('not a number: x', put('/vectors/v1', '[1, x]'))
    assert.equal('a vector has 1 to 16384 numbers, not 0', put('/vectors/v1', '[]'))
    assert.equal('v1 has 768 elements: there is no room for 2 from 768 on', put('/vectors/v1?from=768', '1 2'))
    assert.equal('from is a whole number from 1 to 16384, not 0', server:get '/vectors/v1?from=0')
    assert.equal('no vector none with an element 1', server:get '/vectors/none')
    assert.equal('no vector none', server:get '/nearest/none')
    assert.equal('there are /vectors/NAME and /nearest/NAME', server:get '/other')
    assert.equal(as_text(all[1]), server:get '/vectors/v1')

    -- Redis is gone: the answer says so.
    support.sh(("kill $(cat '%s/pid')"):format(directory))
    nginx_host.wait('the end of Redis', function()
      return not io.open(directory .. '/pid')
    end)
    assert.matches('^Redis: ', server:get '/vectors/v1')
  end)
end)
