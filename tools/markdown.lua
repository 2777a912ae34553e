-- Reads the project's Markdown pages: their headings, code blocks and links.
local markdown = {}

-- The anchor that GitHub gives a heading: lower case, without punctuation, hyphens for spaces.
function markdown.anchor(heading)
  return (heading:lower():gsub('[^%w_ -]', ''):gsub(' ', '-'))
end

-- Calls prose(line, number) for every line outside of code blocks, and block(info, lines, number) for every code block.
-- `info` is what follows the opening fence; `number` is the line of the fence. Either function may be nil.
function markdown.walk(text, prose, block)
  local number, opened = 0, nil
  for line in (text:gsub('\n?$', '\n')):gmatch '(.-)\n' do
    number = number + 1
    local info = line:match '^```(.*)$'
    if opened and info then
      if block then
        block(opened.info, opened.lines, opened.number)
      end
      opened = nil
    elseif opened then
      opened.lines[#opened.lines + 1] = line
    elseif info then
      opened = { info = info, lines = {}, number = number }
    elseif prose then
      prose(line, number)
    end
  end
  assert(not opened, 'the last code block is not closed')
end

-- The set of anchors of a page. A heading that occurs again gets a number, as on GitHub.
function markdown.anchors(text)
  local anchors = {}
  markdown.walk(text, function(line)
    local heading = line:match '^#+ +(.*)$'
    if heading then
      local anchor = markdown.anchor(heading)
      local free, n = anchor, 0
      while anchors[free] do
        n = n + 1
        free = anchor .. '-' .. n
      end
      anchors[free] = true
    end
  end)
  return anchors
end

return markdown
