/**
 * Loaded into a server before its own program: the time is an hour later than it is, so that nobody has to wait for what
 * happens once an hour.
 */
const laterMs = 61 * 60_000

const now = Date.now.bind(Date)

Date.now = () => now() + laterMs
