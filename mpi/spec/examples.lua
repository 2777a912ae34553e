-- Runs the examples of docs/api-mpi.md, each as a job of its own on 2 ranks: they have to print what their `-->` comments say.
-- The first block of the page is the beginning of all of them.
local jobs = require 'jobs'
local files = require 'tools.files'
local markdown = require 'tools.markdown'

local PAGE = 'docs/api-mpi.md'
local RANKS = 2

-- What an example prints goes into a file for each rank, because mpirun prints too, and mixes the ranks. A rank that comes to the
-- end of the example writes a line about that.
local BEFORE = [[
local file = assert(io.open(tostring(rank), 'w'))
file:setvbuf 'no'
local function print(...)
  local texts = {}
  for i = 1, select('#', ...) do
    texts[i] = tostring((select(i, ...)))
  end
  file:write(table.concat(texts, '\t'), '\n')
end
]]
local AFTER = "\nfile:write '== end ==\\n'\n"

-- Runs an example. Returns what its ranks have printed, rank 0 first, how many came to its end, and what the job has printed.
local function run(interpreter, text)
  local directory = jobs.directory()
  local name = jobs.file(text)
  local output = jobs.run {
    ranks = RANKS,
    command = ("-wdir '%s' %s %s"):format(directory, interpreter, name),
  }
  os.remove(name)
  local texts = {}
  for rank = 0, RANKS - 1 do
    local file = io.open(directory .. '/' .. rank)
    texts[#texts + 1] = file and file:read '*a' or 'nothing\n'
    if file then
      file:close()
    end
  end
  os.execute(("rm -rf '%s'"):format(directory))
  local printed, ends = table.concat(texts):gsub('== end ==\n', '')
  return printed, ends, output
end

return function(interpreter)
  local tests, beginning = {}, nil
  markdown.walk(files.read(PAGE), nil, function(info, lines, number)
    local where = ('%s:%d'):format(PAGE, number)
    assert(info == 'lua (2 ranks)', where .. ': the block begins with ```' .. info)
    local text = table.concat(lines, '\n') .. '\n'
    if not beginning then
      beginning = text .. BEFORE
      return
    end
    local promise = {}
    for _, line in ipairs(lines) do
      local shown = line:match '%-%-> ?(.*)$'
      promise[#promise + 1] = shown and shown .. '\n'
    end
    assert(#promise > 0, where .. ': the example does not say what it prints')
    table.insert(tests, {
      name = 'the example at ' .. where,
      body = function()
        local printed, ends, output = run(interpreter, beginning .. text .. AFTER)
        local wanted = table.concat(promise)
        if printed ~= wanted then
          error(('%q expected, got %q. Output:\n%s'):format(wanted, printed, output), 2)
        end
        local wanted_ends = text:find(':abort(', 1, true) and 0 or RANKS
        if ends ~= wanted_ends then
          error(('%d ranks came to the end, and not %d. Output:\n%s'):format(ends, wanted_ends, output), 2)
        end
      end,
    })
  end)
  return tests
end
