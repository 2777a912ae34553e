-- Starts nginx for specs, on a free port and in its own directory, and sends it requests, reloads, kills and stops it.
local support = require 'spec.support'

local root = support.sh 'pwd'

local nginx_host = {}
local Server = {}
Server.__index = Server

-- Finds nginx with its Lua module, installed by tools/need or by the system. Returns the program, its modules and its Lua
-- files.
local function find()
  local unpacked = root .. '/.tools/nginx/usr'
  local installations = {
    { root .. '/.tools/bin/nginx', unpacked .. '/lib/nginx/modules', unpacked .. '/share/lua/5.1' },
    { '/usr/sbin/nginx', '/usr/lib/nginx/modules', '/usr/share/lua/5.1' },
  }
  for _, installation in ipairs(installations) do
    local program, modules, lua = unpack(installation)
    local command = "test -x '%s' && test -e '%s/ngx_http_lua_module.so' && '%s' -v"
    if support.sh(command:format(program, modules, program)):find 'nginx version' then
      return program, modules, lua
    end
  end
end
local program, modules, lua = find()

-- The reason why the specs of nginx cannot run here; nil if they can.
function nginx_host.missing()
  if not program then
    return 'nginx with its Lua module is missing: tools/need --try nginx'
  elseif support.sh 'command -v curl' == '' then
    return 'curl is missing: tools/need --try curl'
  end
end

-- Calls f until it returns a true value, and returns that value. Raises an error after `seconds` (15 by default).
function nginx_host.wait(what, f, seconds)
  local deadline = os.time() + (seconds or 15)
  repeat
    local result = f()
    if result then
      return result
    end
    os.execute 'sleep 0.02'
  until os.time() > deadline
  error('waited too long: ' .. what, 2)
end
local wait = nginx_host.wait

local function alive(pid)
  local stat = io.open('/proc/' .. pid .. '/stat')
  if not stat then
    return false
  end
  local state = (stat:read '*a' or ''):match '%) (%u)'
  stat:close()
  return state ~= nil and state ~= 'Z'
end

-- The configuration of nginx. It runs Lua code in init_by_lua; the workers run code on request (`Server:eval`).
nginx_host.CONFIGURATION = [[
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off;
worker_processes 3;
error_log error.log;
pid temp/nginx.pid;
events {}
http {
  access_log off;
  client_body_temp_path temp;
  proxy_temp_path temp;
  fastcgi_temp_path temp;
  uwsgi_temp_path temp;
  scgi_temp_path temp;
  lua_package_path '${prefix}../../lua/?.lua;${prefix}../../lua/?/init.lua;;';
  lua_package_cpath '${prefix}../../build/?.so;;';
  init_by_lua_file init.lua;
  server {
    listen 127.0.0.1:8080 reuseport;
    location = / {
      return 200;
    }
    location = /eval {
      content_by_lua_block {
        ngx.req.read_body()
        local wanted = ngx.var.arg_worker
        if wanted and tonumber(wanted) ~= ngx.worker.id() then
          return ngx.say 'another'
        end
        local f, problem = loadstring(ngx.req.get_body_data(), '=request')
        local ok, result = false, problem
        if f then
          ok, result = pcall(f)
        end
        ngx.say(ok and 'ok ' or 'error ', tostring(result))
      }
    }
  }
}
]]

-- Fills a configuration with the port and the directories of this server.
local function at_home(configuration, port)
  configuration = configuration:gsub('127%.0%.0%.1:8080', '127.0.0.1:' .. port)
  configuration = configuration:gsub('/usr/lib/nginx/modules', modules)
  configuration = configuration:gsub('%${prefix}../../', root .. '/')
  return (configuration:gsub("%?/init%.lua;;'", '?/init.lua;' .. lua .. "/?.lua;;'"))
end

local ports = 20000 + (os.time() * 7 + tonumber(tostring({}):match '0x(%x+)', 16)) % 12000

local function launch(server, configuration)
  ports = ports + 1
  server.port = ports
  support.spit(server.directory .. '/nginx.conf', at_home(configuration, server.port))
  -- Runs in the background, because the configuration may keep nginx in the foreground.
  local command = "%s -p '%s' -c nginx.conf </dev/null >'%s/output' 2>&1; echo \"ended:$?\" >>'%s/output'"
  command = command:format(program, server.directory, server.directory, server.directory)
  -- When the server is stopped, its directory may be gone before the shell writes how it ended.
  os.execute('{ ' .. command .. '; } 2>/dev/null &')
  return wait('nginx to start or to fail', function()
    local output = support.slurp(server.directory .. '/output')
    if output:find('Address already in use', 1, true) then
      wait('nginx to give up', function()
        return support.slurp(server.directory .. '/output'):find 'ended:%d'
      end)
      return 'in use'
    elseif output:find 'ended:[1-9]' then
      server.master = nil
      error('nginx did not start: ' .. output, 3)
    end
    local pid = support.sh(("cat '%s/temp/nginx.pid' 2>/dev/null"):format(server.directory)):match '^%d+$'
    server.master = tonumber(pid) -- the server is stopped even if it does not answer
    local code = "curl -s -m 5 -o /dev/null -w '%%{http_code}' http://127.0.0.1:%d/"
    return pid and support.sh(code:format(server.port)) ~= '000' and 'started'
  end)
end

-- Starts nginx with Lua code for init_by_lua and the configuration above, or another one. The caller has to stop it.
function nginx_host.start(init, configuration)
  local server = setmetatable({ directory = support.directory() }, Server)
  -- The workers run as another user.
  support.sh(("chmod 755 '%s'"):format(server.directory))
  support.spit(server.directory .. '/init.lua', init or '')
  support.spit(server.directory .. '/output', '')
  local ok, result
  for _ = 1, 5 do
    ok, result = pcall(launch, server, configuration or nginx_host.CONFIGURATION)
    if not ok or result == 'started' then
      break
    end
  end
  if not ok or result ~= 'started' then
    server:stop()
    error(result, 2)
  end
  return server
end

-- Sends a request and returns the answer. With a count, sends that many, each over its own connection.
function Server:get(path, count)
  local command = "curl -s -m 20 -H 'Connection: close' 'http://127.0.0.1:%d%s%s'"
  return support.sh(command:format(self.port, path, count and '?[1-' .. count .. ']' or ''))
end

-- Runs Lua code in a worker, any or the one with this id (from 0), and returns the result as text.
function Server:eval(code, worker)
  local name = support.spit(self.directory .. '/request', code)
  local command = "curl -s -m 20 -H 'Connection: close' --data-binary '@%s' 'http://127.0.0.1:%d/eval%s'"
  command = command:format(name, self.port, worker and '?worker=' .. worker or '')
  local answer = wait('an answer of worker ' .. tostring(worker), function()
    local text = support.sh(command)
    return text ~= 'another' and text
  end)
  local status, result = answer:match '^(%l+) (.*)$'
  if status ~= 'ok' then
    error('the worker says: ' .. answer, 2)
  end
  return result
end

-- The process ids of the current workers, including those that are about to end.
function Server:workers()
  local pids = {}
  for pid in support.sh(('cat /proc/%d/task/%d/children 2>/dev/null'):format(self.master, self.master)):gmatch '%d+' do
    pids[#pids + 1] = tonumber(pid)
  end
  table.sort(pids)
  return pids
end

function Server:signal(signal, pid)
  support.sh(('kill -%s %d'):format(signal, pid or self.master))
end

-- Reloads the configuration. Returns when the old workers have ended and as many new ones run.
function Server:reload()
  local old = {}
  local before = self:workers()
  for _, pid in ipairs(before) do
    old[pid] = true
  end
  self:signal 'HUP'
  wait('the reload', function()
    local now = self:workers()
    for _, pid in ipairs(now) do
      if old[pid] then
        return false
      end
    end
    return #now == #before
  end)
end

-- Stops nginx, waits for its processes and kills those that remain. Returns the error log.
function Server:stop(signal)
  if self.stopped then
    return self.stopped
  end
  self.stopped = ''
  local all = self.master and self:workers() or {}
  all[#all + 1] = self.master
  local function ended()
    for _, pid in ipairs(all) do
      if alive(pid) then
        return false
      end
    end
    return true
  end
  if self.master then
    self:signal(signal or 'QUIT')
  end
  if not pcall(wait, 'the end', ended, 10) then
    for _, pid in ipairs(all) do
      self:signal('KILL', pid)
    end
  end
  local log = io.open(self.directory .. '/error.log')
  if log then
    self.stopped = log:read '*a'
    log:close()
  end
  support.remove(self.directory)
  return self.stopped
end

-- A field of a process's memory use in bytes: 'Rss' or 'Pss'.
function nginx_host.memory(pid, field)
  return tonumber(support.slurp('/proc/' .. pid .. '/smaps_rollup'):match(field .. ':%s*(%d+)')) * 1024
end

return nginx_host
