-- Busted loads this before a spec file (tools/test) if the list WITHOUT has rows about single tests of the file, which is
-- the argument. Each test whose title matches a row counts as skipped, for the reason in the row.
local busted = require 'busted'

local rows = {}
for line in io.lines(os.getenv 'WITHOUT') do
  local file, pattern, reason = line:match '^(%S+) | (.+) | (.+)$'
  if file == arg[1] then
    rows[#rows + 1] = { pattern = pattern, reason = reason }
  end
end

-- The titles of the groups that the tests are in which are being made.
local groups = {}
local function begin(group)
  groups[#groups + 1] = group.name
  return nil, true
end
local function finish()
  groups[#groups] = nil
  return nil, true
end
busted.subscribe({ 'describe', 'start' }, begin, { priority = 1 })
busted.subscribe({ 'describe', 'end' }, finish, { priority = 1 })

local function skip_listed(name, _, ...)
  local title = table.concat(groups, ' ') .. ' ' .. name
  for _, row in ipairs(rows) do
    if title:find(row.pattern) then
      -- tools/test takes the last line of what busted says about a skipped test for the reason.
      busted.publish({ 'register', 'pending' }, name .. '\n' .. row.reason, function() end, ...)
      return nil, false
    end
  end
  return nil, true
end
busted.subscribe({ 'register', 'it' }, skip_listed, { priority = 1 })
