-- A terminal for specs: `script` (from bsdutils, on every Debian) runs an interactive shell on a pseudo-terminal that reads a
-- named pipe and writes a file. `lua` in that shell is the interpreter under test.
local assert = require 'luassert'
local support = require 'spec.support'

local terminal = {}
terminal.__index = terminal

local PROMPTS = { ['$'] = '$ ', ['>'] = '> ' }
local PATIENCE = 30 -- in seconds

function terminal.open(directory)
  local self = setmetatable({ screen = directory .. '/screen', seen = 0 }, terminal)
  local keys, start = directory .. '/keys', directory .. '/start'
  -- The first commands of the shell. The terminal is wide, because a line longer than it would be scrolled.
  support.spit(start, "PS1='$ '\nstty cols 200\nlua() { " .. support.interpreter .. ' "$@"; }\n')
  support.spit(self.screen, '')
  support.sh("mkfifo '" .. keys .. "'")
  -- readline sends no escape sequences to a dumb terminal.
  local shell = "cd '%s' && { TERM=dumb ENV='%s' script -qec 'sh -i' /dev/null >screen <keys 2>&1 & echo $! >process; }"
  assert(os.execute(shell:format(directory, start)))
  self.keys = assert(io.open(keys, 'wb')) -- waits until `script` reads
  self:wait '$'
  return self
end

function terminal:text()
  return (support.slurp(self.screen):gsub('\27%[[%d;?]*%a', ''):gsub('\r', ''))
end

-- Waits until new output ends with the prompt. Returns the text between `echo` and the prompt.
function terminal:wait(prompt, echo)
  local wanted = PROMPTS[prompt]
  for _ = 1, PATIENCE * 50 do
    local new = self:text():sub(self.seen + 1)
    local typed = echo and echo .. '\n' or ''
    if #new >= #typed + #wanted and new:sub(1, #typed) == typed and new:sub(-#wanted) == wanted then
      self.seen = self.seen + #new
      return new:sub(#typed + 1, -#wanted - 1)
    end
    os.execute 'sleep 0.02'
  end
  error(('no prompt %q; the screen shows:\n%s'):format(wanted, self:text()), 2)
end

-- Types a line at one prompt and waits for the next. An empty line at Lua's prompt means end of file.
function terminal:type(prompt, line, next_prompt)
  local leave = prompt == '>' and line == ''
  self.keys:write(leave and '\4' or line .. '\n')
  self.keys:flush()
  return self:wait(next_prompt, not leave and line or nil)
end

-- Closes the terminal, which ends the programs in it (an interactive shell ignores gentler signals).
function terminal.close(directory)
  support.sh("kill -KILL $(cat '" .. directory .. "/process')")
end

-- A transcript as steps: the prompt, the line typed at it, and the output of the terminal.
local function steps(transcript)
  local list = {}
  for line in transcript:gmatch '(.-)\n' do
    local prompt, typed = line:match '^([$>]) ?(.*)$'
    if prompt then
      list[#list + 1] = { prompt = prompt, typed = typed, shown = {} }
    else
      local shown = list[#list].shown
      shown[#shown + 1] = line
    end
  end
  return list
end

-- Plays a transcript in a directory: what each line shows has to be what the transcript says. With `is_error_short` it has no
-- tracebacks, whose lines differ between the interpreters.
function terminal.play(directory, transcript, is_error_short)
  local session = terminal.open(directory)
  local list = steps(transcript)
  for i, step in ipairs(list) do
    local following = list[i + 1] and list[i + 1].prompt or '$'
    local shown = session:type(step.prompt, step.typed, following):gsub('\n$', '')
    local free = step.typed == 'lua' or step.prompt == '>' and step.typed == '' -- a banner; the end
    if not free then
      if is_error_short then
        shown = shown:gsub('\nstack traceback:\n.*$', '')
      end
      local expected = table.concat(step.shown, '\n')
      assert.equal(support.plain(expected), support.plain(shown), 'after: ' .. step.prompt .. ' ' .. step.typed)
    end
  end
end

return terminal
