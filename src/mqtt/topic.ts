/** The limit of levels of a topic or a filter. Each level costs time in every comparison. */
export const topicLevelsMax = 64
const topicBytesMax = 1_024

/** A name that can be published to. MQTT 5.0 §4.7. */
export function isTopicName(text: string): boolean {
  return text !== '' && !text.includes('+') && !text.includes('#') && isWithinLimits(text)
}

/** `+` and `#` take a whole level, `#` only the last level. MQTT-4.7.1-1, MQTT-4.7.1-2. */
export function isTopicFilter(text: string): boolean {
  if (text === '' || !isWithinLimits(text)) return false
  const levels = text.split('/')
  return levels.every((level, place) => {
    if (level === '+') return true
    if (level === '#') return place === levels.length - 1
    return !level.includes('+') && !level.includes('#')
  })
}

function isWithinLimits(text: string): boolean {
  return text.length <= topicBytesMax && Buffer.byteLength(text) <= topicBytesMax && levelCount(text) <= topicLevelsMax
}

function levelCount(text: string): number {
  let count = 1
  for (let at = text.indexOf('/'); at >= 0; at = text.indexOf('/', at + 1)) count++
  return count
}

/**
 * Whether a valid topic matches a valid filter. A wildcard at the beginning matches no topic that begins with `$`.
 * MQTT 5.0 §4.7.
 */
export function isMatching(filter: string, topic: string): boolean {
  return isMatchingLevels(filter.split('/'), topic.split('/'))
}

/** Like `isMatching`, for the levels of the filter and the topic. */
export function isMatchingLevels(filter: readonly string[], topic: readonly string[]): boolean {
  if (topic[0]?.startsWith('$') && (filter[0] === '+' || filter[0] === '#')) return false
  for (const [place, level] of filter.entries()) {
    if (level === '#') return true
    if (place >= topic.length || (level !== '+' && level !== topic[place])) return false
  }
  return filter.length === topic.length
}
