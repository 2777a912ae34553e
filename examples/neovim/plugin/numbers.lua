-- The command :Numbers, which shows a binary file as numbers. To have it, add this directory to 'runtimepath', or copy it to
-- ~/.local/share/nvim/site/pack/torch/start/numbers.
vim.api.nvim_create_user_command('Numbers', function(command)
  require('numbers').run(command.fargs)
end, { nargs = '*', complete = 'file' })
