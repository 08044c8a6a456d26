-- Requests of a file, in turn, each with an id that no other has; what wrk measured, as JSON.
-- usage: wrk -t1 ... -s bench/wrk.lua URL -- FILE
-- FILE has whole requests, one after the other, each followed by a NUL; "7000000" is the id.
local heads, tails, count, turn, id = {}, {}, 0, 0, 7000000

function init(args)
    local file = assert(io.open(args[1], "rb"))
    for text in file:read("*a"):gmatch("([^%z]+)%z") do
        local at = assert(text:find("7000000", 1, true))
        count = count + 1
        heads[count], tails[count] = text:sub(1, at - 1), text:sub(at + 7)
    end
    file:close()
end

function request()
    turn, id = turn % count + 1, id + 1
    return heads[turn] .. id .. tails[turn]
end

function done(summary, latency)
    local e = summary.errors
    io.write(string.format('{"requests": %d, "per_second": %.1f, "p50": %.9f, "p99": %.9f, "errors": %d}\n',
        summary.requests, summary.requests / summary.duration * 1e6, latency:percentile(50) / 1e6,
        latency:percentile(99) / 1e6, e.connect + e.read + e.write + e.status + e.timeout))
end
