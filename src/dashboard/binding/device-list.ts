/**
 * Parses typed or pasted device identifiers: in upper case, each once. Separators are commas, line ends and spaces,
 * unless a space is the second character of an identifier. §2.1, contract 1.8.
 */
export function devicesIn(text: string): readonly string[] {
  const pieces = text
    .split(/[,\n\r\t]+/)
    .map((piece) => piece.trim())
    .flatMap((piece) => (/^\S \S+$/.test(piece) ? [piece] : piece.split(/ +/)))
  return [...new Set(pieces.filter((piece) => piece !== '').map((piece) => piece.toUpperCase()))]
}

/** A browser's own suggestion list is slow with more, and unusable. */
const suggestedMax = 200

/**
 * The first devices that are not chosen yet and whose identifier or name contains `typed`, a text in upper case. Stops at
 * the limit, because there may be a hundred thousand devices.
 */
export function suggestedDevices(
  all: Iterable<string>,
  typed: string,
  chosen: ReadonlySet<string>,
  nameOf: (device: string) => string | undefined = () => undefined,
): readonly string[] {
  const suggested: string[] = []
  for (const device of all) {
    if (suggested.length === suggestedMax) break
    if (chosen.has(device)) continue
    if (device.includes(typed) || nameOf(device)?.toUpperCase().includes(typed)) suggested.push(device)
  }
  return suggested
}
