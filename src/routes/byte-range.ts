/** Part of something with so many bytes: from the first to before the last. */
export interface ByteRange {
  readonly from: number
  readonly to: number
}

/**
 * The one range that a `Range` header asks for, of so many bytes; undefined for the whole: no header, several ranges, or
 * none that we know. RFC 9110 §14.1.2, §14.2.
 */
export function byteRangeOf(header: string, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header) ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { from: size - length, to: size }
  }
  const from = Number(first)
  const to = last === '' ? size : Math.min(Number(last) + 1, size)
  if (last !== '' && Number(last) < from) return undefined
  return from < size ? { from, to } : 'unsatisfiable'
}

/** Where a part that comes belongs: `null` asks how much there is. RFC 9110 §14.4. */
export interface ContentRange {
  readonly part: ByteRange | null
  /** Of the whole. */
  readonly size: number
}

/** Undefined for what is none, and for a whole of unknown length. */
export function contentRangeOf(header: string): ContentRange | undefined {
  const [, first, last, whole] = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/i.exec(header) ?? []
  if (whole === undefined) return undefined
  const size = Number(whole)
  if (first === undefined || last === undefined) return { part: null, size }
  const part = { from: Number(first), to: Number(last) + 1 }
  return part.from < part.to && part.to <= size ? { part, size } : undefined
}
