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

interface Node<Value> {
  readonly below: Map<string, Node<Value>>
  readonly values: Set<Value>
}

/** Values by topic filter. A search takes time for the levels of its topic, and for the levels of filters with `+`. */
export class TopicTree<Value> {
  readonly #root: Node<Value> = emptyNode()
  size = 0
  /**
   * The number of levels of all filters. Levels with which several filters begin count once. A level takes half a
   * kilobyte.
   */
  levels = 0
  /**
   * The number of levels of all filters from their first `+` on. Levels with which several filters begin count once. A
   * search may visit all these levels.
   */
  openLevels = 0

  add(filter: string, value: Value): void {
    let node = this.#root
    let isOpen = false
    for (const level of filter.split('/')) {
      isOpen ||= level === '+'
      let next = node.below.get(level)
      if (!next) {
        next = emptyNode()
        node.below.set(level, next)
        this.levels++
        if (isOpen) this.openLevels++
      }
      node = next
    }
    if (!node.values.has(value)) this.size++
    node.values.add(value)
  }

  delete(filter: string, value: Value): void {
    const levels = filter.split('/')
    const path = [this.#root]
    for (const level of levels) {
      const next = path.at(-1)?.below.get(level)
      if (!next) return
      path.push(next)
    }
    if (path.at(-1)?.values.delete(value)) this.size--
    const open = levels.indexOf('+')
    for (let depth = levels.length; depth > 0; depth--) {
      const { below, values } = path[depth] as Node<Value>
      if (below.size > 0 || values.size > 0) return
      path[depth - 1]?.below.delete(levels[depth - 1] as string)
      this.levels--
      if (open >= 0 && depth > open) this.openLevels--
    }
  }

  /** The values of all filters that match. MQTT 5.0 §4.7. */
  matching(topic: string): Value[] {
    const found: Value[] = []
    collect(this.#root, topic.split('/'), 0, found)
    return found
  }
}

function emptyNode<Value>(): Node<Value> {
  return { below: new Map(), values: new Set() }
}

function collect<Value>(node: Node<Value>, levels: readonly string[], place: number, found: Value[]): void {
  const isHidden = place === 0 && levels[0]?.startsWith('$')
  if (!isHidden) found.push(...(node.below.get('#')?.values ?? []))
  const level = levels[place]
  if (level === undefined) {
    found.push(...node.values)
    return
  }
  const exact = node.below.get(level)
  if (exact) collect(exact, levels, place + 1, found)
  const any = isHidden ? undefined : node.below.get('+')
  if (any) collect(any, levels, place + 1, found)
}
