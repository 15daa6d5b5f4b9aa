/** One mail about many events. Contract 5.7. */

/** The limit of lines of one function. The newest lines are shown. */
export const digestLinesMax = 100

/** The limit of all lines together, in UTF-16 units. With headings the mail stays under 256 KiB, in any script. */
export const digestCharactersMax = 64_000

export interface DigestLine {
  /** Unix ms. */
  readonly at: number
  /** The subject of a mail about this event alone. */
  readonly subject: string
}

/** The events of one function. */
export interface DigestSection {
  /** The function's name. */
  readonly name: string
  /** In order of time. */
  readonly lines: readonly DigestLine[]
  /** The number of further events without a line. */
  readonly more: number
}

/** `origin`: where subscriptions can be ended, `https://host`, or '' if unknown. Sections are ordered by name. */
export function digestOf(
  sections: readonly DigestSection[],
  origin: string,
): { readonly subject: string; readonly text: string } {
  const count = sections.reduce((sum, { lines, more }) => sum + lines.length + more, 0)
  const ended =
    origin === '' ? [] : [`You get this mail because you subscribed at ${origin}, where you can unsubscribe.\n`]
  const texts = [...sections].sort((a, b) => (a.name < b.name ? -1 : 1)).map(textOf)
  return { subject: count === 1 ? '1 notification' : `${count} notifications`, text: [...texts, ...ended].join('\n') }
}

function textOf({ name, lines, more }: DigestSection): string {
  const listed = lines.map(({ at, subject }) => `  ${new Date(at).toISOString()} ${subject}`)
  const others = more === 0 ? [] : [lines.length === 0 ? `  ${more}, not listed` : `  and ${more} more`]
  return [name, ...listed, ...others, ''].join('\n')
}
