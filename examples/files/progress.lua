-- A progress bar on standard error.
local progress = {}

local WIDTH = 40
local LARGE = 2 ^ 26 -- bytes from which a file is large

-- Returns a function to be called with the bytes that are done and their total, and one that removes the bar. The bar is shown
-- for large files if standard error is a terminal, and always if `always` is true. If there is no bar to show, the first function
-- is nil.
function progress.bar(always)
  local answer = os.execute 'test -t 2'
  local terminal = answer == 0 or answer == true -- Lua 5.1, or later versions
  local last, longest = nil, 0
  local function show(done, total)
    if not always and total < LARGE then
      return
    end
    local part = total > 0 and done / total or 1
    local marks = math.floor(part * WIDTH)
    local bar = ('#'):rep(marks) .. ('.'):rep(WIDTH - marks)
    local line = ('\r[%s] %3.0f%% of %.1f MiB'):format(bar, math.floor(part * 100), total / 2 ^ 20)
    if line ~= last then
      io.stderr:write(line)
      last, longest = line, math.max(longest, #line)
    end
  end
  local function remove()
    if last then
      io.stderr:write(terminal and '\r' .. (' '):rep(longest) .. '\r' or '\n')
    end
  end
  return (always or terminal) and show or nil, remove
end

return progress
