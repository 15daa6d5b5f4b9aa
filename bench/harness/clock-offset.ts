/** Loaded into a server before its own program: shifts the clock by an hour, so that hourly work happens at once. */
const laterMs = 61 * 60_000

const now = Date.now.bind(Date)

Date.now = () => now() + laterMs
