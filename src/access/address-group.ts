/** A longer text is not an address; a proxy may pass on any text. */
const addressCharactersMax = 64

/**
 * The unit by which attempts are counted: for IPv6 its /64, because one customer can use all addresses in it; for any
 * other text the text itself.
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
