-- The pictures of the documentation show figures that were measured: each line of figures in a description of a picture is a line
-- of a file in bench/results.
-- Interpreters: luajit
local files = require 'tools.files'

local ENTITIES = { lt = '<', gt = '>', amp = '&', quot = '"', apos = "'" }

-- The lines of figures in the description of a picture.
local function figures(picture)
  local description = assert(picture:match '<dc:description>(.-)</dc:description>', 'the picture has no description')
  local list = {}
  for line in description:gsub('&(%a+);', ENTITIES):gmatch '[^\n]+' do
    list[#list + 1] = line
  end
  table.remove(list, 1) -- the names of the columns
  return list
end

describe('the pictures', function()
  local pictures = files.list 'ls docs/pictures/*.svg'

  it('are there', function()
    assert.is_true(#pictures >= 4)
  end)

  for _, path in ipairs(pictures) do
    it(('show figures of bench/results in %s'):format(path), function()
      local list = figures(files.read(path))
      assert.is_true(#list > 5)
      local results = {}
      for _, line in ipairs(list) do
        local name, row = line:match '^([^\t]+)\t(.*)$'
        results[name] = results[name] or '\n' .. files.read('bench/results/' .. name)
        assert.is_truthy(results[name]:find('\n' .. row .. '\n', 1, true), line)
      end
    end)

    it(('are readable on light and dark pages in %s'):format(path), function()
      local picture = files.read(path)
      assert.is_truthy(picture:find('prefers-color-scheme:dark', 1, true))
      for name in picture:gmatch 'var%(%-%-([%l%d-]+)%)' do
        local _, count = picture:gsub('%-%-' .. name:gsub('%-', '%%-') .. ':#', '')
        assert.equal(2, count)
      end
    end)

    it(('are shown on a page, as is %s'):format(path), function()
      local name, shown = path:match '[^/]+$', false
      for _, page in ipairs(files.list 'ls docs/*.md') do
        shown = shown or files.read(page):find('pictures/' .. name, 1, true) ~= nil
      end
      assert.is_true(shown)
    end)
  end
end)
