/**
 * A part of content, in bytes: the byte at `from` is the first one, the byte at `to` is the first one after the part.
 */
export interface ByteRange {
  readonly from: number
  readonly to: number
}

/**
 * The single range of a `Range` header for content of this size; undefined for the whole: no header, several ranges, an
 * unknown unit, or an invalid range. RFC 9110 §14.1.2, §14.2.
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

/** Position of an uploaded part; `null` asks how much is stored. RFC 9110 §14.4. */
export interface ContentRange {
  readonly part: ByteRange | null
  /** Size of the whole. */
  readonly size: number
}

/** Undefined for an invalid header, and for a whole of unknown length. */
export function contentRangeOf(header: string): ContentRange | undefined {
  const [, first, last, whole] = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15})$/i.exec(header) ?? []
  if (whole === undefined) return undefined
  const size = Number(whole)
  if (first === undefined || last === undefined) return { part: null, size }
  const part = { from: Number(first), to: Number(last) + 1 }
  return part.from < part.to && part.to <= size ? { part, size } : undefined
}
