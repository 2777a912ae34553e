-- Busted loads this before a spec file. It skips the tests that skipped.txt lists, and gives the reasons.
local busted = require 'busted'

local spec = rawget(_G, 'host').script
local rows = {}
for line in io.lines 'tools/platforms/windows/skipped.txt' do
  local file, title, reason = line:match '^(%S+) | (.+) | (.+)$'
  if file and spec:find(file, 1, true) then
    rows[#rows + 1] = { title = title, reason = reason }
  end
end

local function skip_listed(name, _, ...)
  for _, row in ipairs(rows) do
    -- A row has a pattern, or the whole title, which begins with those of the groups that the test is in.
    if name:find(row.title) or row.title:sub(-#name) == name then
      -- tools/test takes the last line of what busted says about a skipped test for the reason.
      busted.publish({ 'register', 'pending' }, name .. '\n' .. row.reason, function() end, ...)
      return nil, false
    end
  end
  return nil, true
end
busted.subscribe({ 'register', 'it' }, skip_listed, { priority = 1 })
