-- Reads the words after the name of a program, runs it, and reports errors in one line.
local arguments = {}

-- Raises an error whose message is printed as it is.
function arguments.fail(message, ...)
  error(select('#', ...) > 0 and message:format(...) or message, 0)
end

-- Raises an error about the words after the name of the program.
local function wrong(message, ...)
  error({ usage = message:format(...) }, 0)
end
arguments.wrong = wrong

local function whole_number(word, option)
  local number = tonumber(word)
  if not number or number < 0 or number % 1 ~= 0 then
    wrong('%s needs a whole number from 0 up, got %s', option, word or 'nothing')
  end
  return number
end

-- Returns a table of the options and the other words. `known` has for each option what follows it: nothing (''), 'a number', or
-- the name of what it is, such as 'a folder'.
function arguments.read(words, known)
  local options, position = {}, 1
  while words[position] do
    local word = words[position]
    local option = word:match '^%-%-(.*)$'
    local follows = option and known[option]
    if option and not follows then
      wrong('there is no option %s: see --help', word)
    elseif not option then
      options[#options + 1] = word
    elseif follows == '' then
      options[option] = true
    else
      position = position + 1
      local value = words[position]
      options[option] = follows == 'a number' and whole_number(value, word)
        or value
        or wrong('%s needs %s', word, follows)
    end
    position = position + 1
  end
  return options
end

-- Runs `main(options)`, and ends the process: with status 1 after an error, and 2 if the words are wrong. `help` is what the
-- option --help prints.
function arguments.run(program, known, help, main)
  io.stdout:setvbuf 'full'
  known.help = ''
  local done, problem = pcall(function()
    local options = arguments.read(arg, known)
    if options.help then
      io.write(help)
    else
      main(options)
    end
    local written, reason = io.stdout:flush()
    if not written then
      arguments.fail('cannot write the output: %s', reason)
    end
  end)
  if done then
    os.exit(0)
  end
  local status = 1
  if type(problem) == 'table' then
    problem, status = problem.usage, 2
  end
  -- The library's errors begin with the position of the program.
  problem = tostring(problem):gsub('^[^\n]-%.lua:%d+: ', '', 1):gsub('%s*\n%s*', ' ')
  io.stdout:flush()
  io.stderr:write(program, ': ', problem, '\n')
  os.exit(status)
end

return arguments
