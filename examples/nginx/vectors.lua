-- Embeddings in Redis, as the bytes of their elements. nginx serves them: see vectors.conf, which also says how to start it.
--
--   PUT  /vectors/NAME           body [0.5, -1, 2]: stores the vector, or with ?from=I replaces its elements from I on
--   GET  /vectors/NAME           the vector; with ?from=I&to=J a part of it, and Redis sends only that part
--   GET  /nearest/NAME?count=N   the N other vectors with the highest cosine similarity, best first
--
-- A vector of 768 numbers is 3072 bytes in Redis. As JSON text it would be about 15,000, and every reader would have to parse it.
-- nginx's own client talks to Redis, so a worker serves other requests while it waits.
local torch = require 'torch'

-- OpenResty's name of the client, and Debian's (the package lua-nginx-redis).
local found, redis = pcall(require, 'resty.redis')
redis = found and redis or require 'nginx.redis'

local vectors = {}

local WIDTH = 4 -- bytes of a float32
local MOST = 16384 -- the most elements of a vector
local BATCH = 1000 -- vectors that one request to Redis asks for

-- Ends the request with a status and a line of text.
local function refuse(status, text, ...)
  ngx.status = status
  ngx.say(text:format(...))
  return ngx.exit(ngx.HTTP_OK)
end

-- The answer of a command, or the end of the request if there is none.
local function checked(answer, problem)
  if answer == nil or answer == false then
    refuse(502, 'Redis: %s', problem)
  end
  return answer ~= ngx.null and answer or nil
end

-- REDIS in the environment has the server's address: host:port, or unix:/path/of/the/socket.
local function connect()
  local server = os.getenv 'REDIS' or '127.0.0.1:6379'
  local client = redis:new()
  client:set_timeout(2000) -- milliseconds
  local host, port = server:match '^([^/]+):(%d+)$'
  checked(client:connect(host or server, tonumber(port)))
  return client
end

-- The elements of an answer of Redis. They are read where they are: nothing is copied.
local function elements_of(bytes)
  return torch.frombuffer(bytes, { dtype = 'float32' })
end

-- A number of the query, from 1 to `last`, or `default` if it is not given.
local function index_of(word, default, last)
  local value = ngx.var['arg_' .. word]
  local number = value == nil and default or tonumber(value)
  if not number or number % 1 ~= 0 or number < 1 or number > last then
    refuse(400, '%s is a whole number from 1 to %d, not %s', word, last, value)
  end
  return number
end

-- The numbers of the request's body, as a storage.
local function read_body()
  ngx.req.read_body()
  local body, values = ngx.req.get_body_data() or '', {}
  for word in body:gsub('^%s*%[(.*)%]%s*$', '%1'):gmatch '[^%s,]+' do
    values[#values + 1] = tonumber(word) or refuse(400, 'not a number: %s', word)
  end
  if #values == 0 or #values > MOST then
    refuse(400, 'a vector has 1 to %d numbers, not %d', MOST, #values)
  end
  return torch.FloatStorage(values)
end

local function put(client, name)
  local key, given = 'vector:' .. name, read_body()
  if not ngx.var.arg_from then
    checked(client:set(key, given:string()))
    checked(client:sadd('vectors', name))
    return ngx.say(#given)
  end
  local size = checked(client:strlen(key)) / WIDTH
  local from = index_of('from', 1, math.max(size, 1))
  if from + #given - 1 > size then
    refuse(400, '%s has %d elements: there is no room for %d from %d on', name, size, #given, from)
  end
  checked(client:setrange(key, (from - 1) * WIDTH, given:string()))
  ngx.say(size)
end

local function get(client, name)
  local from, to = index_of('from', 1, MOST), index_of('to', MOST, MOST)
  local bytes = checked(client:getrange('vector:' .. name, (from - 1) * WIDTH, to * WIDTH - 1))
  if bytes == '' then
    refuse(404, 'no vector %s with an element %d', name, from)
  end
  ngx.say('[', table.concat(elements_of(bytes):totable(), ', '), ']')
end

-- LuaJIT compiles this loop: an element takes about a nanosecond.
local function product(a, b)
  local sum = 0
  for i = 1, #a do
    sum = sum + a[i] * b[i]
  end
  return sum
end

local function nearest(client, name)
  local bytes = checked(client:get('vector:' .. name)) or refuse(404, 'no vector %s', name)
  local count = index_of('count', 5, 1000)
  local this, names, best = elements_of(bytes), checked(client:smembers 'vectors'), {}
  local length = math.sqrt(product(this, this))
  for first = 1, #names, BATCH do
    local keys = {}
    for i = first, math.min(first + BATCH - 1, #names) do
      keys[#keys + 1] = 'vector:' .. names[i]
    end
    for i, answer in ipairs(checked(client:mget(unpack(keys)))) do
      if names[first + i - 1] ~= name and answer ~= ngx.null and #answer == #bytes then
        local other = elements_of(answer)
        local similarity = product(this, other) / (length * math.sqrt(product(other, other)))
        best[#best + 1] = { name = names[first + i - 1], similarity = similarity }
      end
    end
  end
  table.sort(best, function(a, b)
    return a.similarity > b.similarity
  end)
  for i = 1, math.min(count, #best) do
    ngx.say(best[i].name, ' ', ('%.4f'):format(best[i].similarity))
  end
end

-- Serves a request: nginx calls this for every location of vectors.conf.
function vectors.serve()
  local client = connect()
  local kind, name = ngx.var.uri:match '^/(%l+)/([%w_.-]+)$'
  if kind == 'nearest' then
    nearest(client, name)
  elseif kind == 'vectors' then
    (ngx.req.get_method() == 'PUT' and put or get)(client, name)
  else
    refuse(404, 'there are /vectors/NAME and /nearest/NAME')
  end
  client:set_keepalive(10000, 16) -- the next request of this worker uses the connection again
end

return vectors
