/** Longer ones are no addresses; what a proxy passes on may be anything. */
const addressCharactersMax = 64

/**
 * What counts as one address where attempts are counted: for IPv6 its /64, because one customer has as many of them as
 * he likes; everything else as it is.
 */
export function addressGroupOf(address: string): string {
  const text = address.slice(0, addressCharactersMax).toLowerCase()
  if (!/^[0-9a-f:.]*$/.test(text) || !text.includes(':')) return text
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  if (mapped?.[1] !== undefined) return mapped[1]
  const [head = '', tail] = text.split('::')
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const zeros = Array.from({ length: Math.max(8 - before.length - after.length, 0) }, () => '0')
  const all = tail === undefined ? before : [...before, ...zeros, ...after]
  return `${all.slice(0, 4).map(withoutZeros).join(':')}::/64`
}

function groupsOf(text: string): string[] {
  return text === '' ? [] : text.split(':')
}

function withoutZeros(group: string): string {
  return group.replace(/^0+(?=.)/, '')
}
