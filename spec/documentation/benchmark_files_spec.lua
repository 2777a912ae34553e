-- The files that benchmarks write if TSV names a folder (bench/tsv.lua and bench/tsv.py).
-- Interpreters: luajit
local support = require 'spec.support'
local path = support.temporary()

local HEADER = 'section case unit min median reference reference_min reference_median ratio'

-- Reads the only file of a folder: the facts of its first lines, and a row for each figure with the names of the columns as keys.
local function parse(folder)
  local names = support.sh(('ls "%s"'):format(folder))
  assert.is_nil(names:find '\n')
  local facts, columns, rows = {}, nil, {}
  for line in io.lines(folder .. '/' .. names) do
    local name, fact = line:match '^# (%l+): (.+)$'
    if name then
      assert.is_nil(columns)
      facts[name] = fact
    elseif not columns then
      columns = {}
      for column in line:gmatch '[^\t]+' do
        columns[#columns + 1] = column
      end
    else
      local row, number = {}, 0
      for cell in (line .. '\t'):gmatch '([^\t]*)\t' do
        number = number + 1
        row[columns[number]] = tonumber(cell) or cell
      end
      assert.equal(#columns, number)
      rows[#rows + 1] = row
    end
  end
  assert.equal(HEADER, table.concat(columns, ' '))
  for _, fact in ipairs { 'benchmark', 'date', 'machine', 'caches', 'versions', 'command' } do
    assert.is_string(facts[fact])
  end
  return names, facts, rows
end

describe('a folder in TSV', function()
  it('gets the figures of a benchmark in Lua', function()
    local folder = path "it's new"
    local command = ('TSV="%s" %s bench/tensors.lua shape'):format(folder, support.interpreter)
    local output, status = support.execute(command)
    assert.equal(0, status, output)
    local name, facts, rows = parse(folder)
    assert.truthy(name:find('^tensors%.lua.*%.tsv$'))
    assert.equal('tensors', facts.benchmark)
    assert.truthy(facts.command:find('bench/tensors.lua shape', 1, true))
    assert.equal(3, #rows)
    for index, case in ipairs { 'x:dim()', 'x:size(1)', 'x:nElement()' } do
      local row = rows[index]
      assert.same({ 'shape', case, 'ns/call', '#table' }, { row.section, row.case, row.unit, row.reference })
      assert.is_true(0 < row.min and row.min <= row.median and 0 < row.ratio)
      assert.is_true(0 < row.reference_min and row.reference_min <= row.reference_median)
      assert.truthy(output:find(case, 1, true))
    end
  end)

  it('gets the figures of a benchmark in Python', function()
    local folder = path 'figures'
    support.spit(
      path 'short.py',
      [[
import sys
sys.path.insert(0, "bench")
import tsv
tsv.Table("short", "none").row("a\tsection", "case", "ms", [3, 1, 2], "the other", [4.0, 8.0])
]]
    )
    local output, status = support.execute(("TSV='%s' python3 '%s' 1"):format(folder, path 'short.py'))
    if status == 127 then
      return pending 'there is no Python here'
    end
    assert.equal(0, status, output)
    local name, facts, rows = parse(folder)
    assert.equal('short.python.tsv', name)
    assert.truthy(facts.command:find '^python3.* 1$')
    assert.same({
      section = 'a section',
      case = 'case',
      unit = 'ms',
      min = 1,
      median = 2,
      reference = 'the other',
      reference_min = 4,
      reference_median = 6,
      ratio = 0.333333,
    }, rows[1])
  end)
end)
