---@meta _
-- Types and documentation of torch.mpi, for editors (LuaCATS). docs/mpi.md explains it. The file holds declarations only: the
-- library never loads it. torch.mpi is a library of its own, which `make mpi` builds.
-- luacheck: ignore 212 241

---Storages and contiguous tensors as buffers of MPI. `require 'torch.mpi'` returns this table, and begins MPI.
---@class torch.mpi
---@field world torch.mpi.Communicator all ranks of the program
local mpi = {}

---A storage of any class, or a tensor that is contiguous.
---@alias torch.mpi.Elements torch.Storage|torch.Tensor

---What a reduction does with two elements.
---@alias torch.mpi.Operation 'sum'|'prod'|'min'|'max'|'and'|'or'|'xor'

---Waits for all requests. Errors: what is no request; a request that fails: then the others are waited for too, and the error
---is that of the first one. Origin: MPI_Waitall.
---@param requests torch.mpi.Request[]
function mpi.waitall(requests) end

---Whether the ranks agree before each collective. With an argument it is changed, for all Lua states of this process; all ranks
---do that at the same time. Without the agreement, a difference in size or class is undefined: MPI may write past the end of a
---storage. Origin: this library.
---@param enable? boolean
---@return boolean former
function mpi.check(enable) end

---Ends MPI before the process ends, on all ranks. Afterwards all calls are errors. Errors: messages of this rank that nobody has
---received. Origin: MPI_Finalize.
function mpi.finalize() end

---The name and the version of the MPI library, `'Open MPI v4.1.4'` for example. Origin: MPI_Get_library_version.
---@return string
function mpi.library() end

---Calls `f(...)` and returns what it returns. After an error it prints the error, and ends all ranks. Only systems without glibc
---need it: elsewhere the exit status of the process does the same. Origin: this library.
---@param f function
---@return any ...
function mpi.main(f, ...) end

---Seconds since a moment in the past. Origin: MPI_Wtime.
---@return number
function mpi.time() end

---A group of ranks. `tostring` shows the rank and their number.
---@class torch.mpi.Communicator
local Communicator = {}

---The number of this rank, from 0. Origin: MPI_Comm_rank.
---@return integer
function Communicator:rank() end

---How many ranks there are. Origin: MPI_Comm_size.
---@return integer
function Communicator:size() end

---Waits until all ranks have called it. Origin: MPI_Barrier.
function Communicator:barrier() end

---Ends all ranks. What this one has printed is written first. Origin: MPI_Abort.
---@param code? integer the exit status, from 0 to 255; default 1
function Communicator:abort(code) end

---The communicator of the ranks that give the same color, in the order of their keys. All ranks call it. Origin:
---MPI_Comm_split.
---@param color? integer from 0; without one this rank gets nil
---@param key? integer default the rank
---@return torch.mpi.Communicator?
function Communicator:split(color, key) end

---Gives a communicator that `split` made back. All its ranks call it. Errors: `mpi.world`; messages of this communicator that are
---not complete. Origin: MPI_Comm_free.
function Communicator:free() end

---Sends all elements. Errors: no rank, or no tag, of that number. Origin: MPI_Send.
---@param s torch.mpi.Elements
---@param rank integer
---@param tag? integer default 0
function Communicator:send(s, rank, tag) end

---Waits for a message, and writes it into the first elements. Errors: a message with more elements, or with a part of one: it is
---dropped, and nothing is written; a storage that may not be written. The class is not part of a message, so a difference is not
---noticed. Origin: MPI_Mprobe and MPI_Mrecv.
---@param s torch.mpi.Elements
---@param source? integer default any rank
---@param tag? integer default any tag
---@return integer count how many elements came
---@return integer source
---@return integer tag
function Communicator:recv(s, source, tag) end

---Sends and receives at the same time. The two share no memory. Errors and results: as `send` and `recv`. Origin: MPI_Sendrecv.
---@param from torch.mpi.Elements
---@param rank integer
---@param to torch.mpi.Elements
---@param source? integer default any rank
---@param tag? integer of the message that is sent; default 0
---@param received? integer the tag of the message that is received; default any tag
---@return integer count
---@return integer source
---@return integer tag
function Communicator:sendrecv(from, rank, to, source, tag, received) end

---Begins to send. The storage is held until the message is complete. Errors: as `send`; memory that belongs to a Lua value, which
---cannot be held. Origin: MPI_Isend.
---@param s torch.mpi.Elements
---@param rank integer
---@param tag? integer default 0
---@return torch.mpi.Request
function Communicator:isend(s, rank, tag) end

---Begins to receive. The storage is held until the message is complete. Receives get messages in the order in which they were
---begun. Errors: as `recv`; memory that belongs to a Lua value. A message that does not fit is an error of `wait` and `test`.
---Origin: MPI_Improbe and MPI_Imrecv.
---@param s torch.mpi.Elements
---@param source? integer default any rank
---@param tag? integer default any tag
---@return torch.mpi.Request
function Communicator:irecv(s, source, tag) end

---The elements of the root go to all ranks. All have the same number. Origin: MPI_Bcast.
---@param s torch.mpi.Elements
---@param root? integer default 0
function Communicator:bcast(s, root) end

---The root gets, for each element, the sum (or another operation) of those of all ranks. Origin: MPI_Reduce.
---@param s torch.mpi.Elements in place: the root has the result here, and those of the other ranks stay as they are
---@param op torch.mpi.Operation
---@param root? integer default 0
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements?, op: torch.mpi.Operation, root?: integer)
function Communicator:reduce(s, op, root) end

---Does the same, and all ranks get the result. Errors: a class that does not have the operation. Origin: MPI_Allreduce.
---@param s torch.mpi.Elements in place
---@param op torch.mpi.Operation
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements, op: torch.mpi.Operation)
function Communicator:allreduce(s, op) end

---The root gets the elements of all ranks, those of rank 0 first. Origin: MPI_Gather.
---@param s torch.mpi.Elements in place: at the root the whole, with its own part where it belongs; at the others their part
---@param root? integer default 0
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements?, root?: integer)
function Communicator:gather(s, root) end

---Does the same, and all ranks get the whole. Origin: MPI_Allgather.
---@param s torch.mpi.Elements in place: the whole, with the part of this rank where it belongs
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements)
function Communicator:allgather(s) end

---Each rank gets its part of the root's elements. Origin: MPI_Scatter.
---@param s torch.mpi.Elements in place: at the root the whole; the others get their part here
---@param root? integer default 0
---@overload fun(self, from: torch.mpi.Elements?, to: torch.mpi.Elements, root?: integer)
function Communicator:scatter(s, root) end

---Part r of each rank goes to rank r, which gets the parts in the order of the ranks. Origin: MPI_Alltoall.
---@param s torch.mpi.Elements in place
---@overload fun(self, from: torch.mpi.Elements, to: torch.mpi.Elements)
function Communicator:alltoall(s) end

---Sends a value through `torch.serialize`. Errors: as that. Origin: mpi4py, where it is `send`.
---@param value any
---@param rank integer
---@param tag? integer default 0
function Communicator:sendobject(value, rank, tag) end

---Receives a value. Errors: a message that is no value. Origin: mpi4py, where it is `recv`.
---@param source? integer default any rank
---@param tag? integer default any tag
---@return any value
---@return integer source
---@return integer tag
function Communicator:recvobject(source, tag) end

---Returns the value of the root on all ranks. Errors: as `torch.serialize`, on all ranks. Origin: mpi4py, where it is `bcast`.
---@param value any
---@param root? integer default 0
---@return any value
function Communicator:bcastobject(value, root) end

---A message that was begun.
---@class torch.mpi.Request
local Request = {}

---Waits until the message is complete. A second call returns the same. Errors: a message that did not fit; what MPI reports.
---Origin: MPI_Wait.
---@return integer? count of a message that was received, how many elements came
---@return integer? source
---@return integer? tag
function Request:wait() end

---Looks whether the message is complete. Errors: as `wait`. Origin: MPI_Test.
---@return boolean complete
---@return integer? count
---@return integer? source
---@return integer? tag
function Request:test() end
