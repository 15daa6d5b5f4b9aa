/** One mail about many happenings. Contract 5.7. */

/** Of one function, the last ones. */
export const digestLinesMax = 100

/** Of all lines together, in UTF-16 units: with headings a mail of 256 KiB at most, whatever the letters. */
export const digestCharactersMax = 64_000

export interface DigestLine {
  /** Unix ms. */
  readonly at: number
  /** As a mail about it alone would have it. */
  readonly subject: string
}

/** What one function found. */
export interface DigestSection {
  /** Of the function. */
  readonly name: string
  /** In the order in which it happened. */
  readonly lines: readonly DigestLine[]
  /** So many others. */
  readonly more: number
}

/** `origin`: where subscriptions can be ended, `https://host`; '' where that is not known. Sections in the order of names. */
export function digestOf(
  sections: readonly DigestSection[],
  origin: string,
): { readonly subject: string; readonly text: string } {
  const count = sections.reduce((sum, { lines, more }) => sum + lines.length + more, 0)
  const ended = origin === '' ? [] : [`You get this because you subscribed at ${origin}, where you can end that.\n`]
  const texts = [...sections].sort((a, b) => (a.name < b.name ? -1 : 1)).map(textOf)
  return { subject: count === 1 ? '1 notification' : `${count} notifications`, text: [...texts, ...ended].join('\n') }
}

function textOf({ name, lines, more }: DigestSection): string {
  const told = lines.map(({ at, subject }) => `  ${new Date(at).toISOString()} ${subject}`)
  const others = more === 0 ? [] : [lines.length === 0 ? `  ${more}, not listed` : `  and ${more} more`]
  return [name, ...told, ...others, ''].join('\n')
}
