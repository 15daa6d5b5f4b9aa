/**
 * The devices in what somebody typed or pasted, in upper case, each once: between commas and line ends, and between
 * spaces, unless one is the second character of an identifier. §2.1, contract 1.8.
 */
export function devicesIn(text: string): readonly string[] {
  const pieces = text
    .split(/[,\n\r\t]+/)
    .map((piece) => piece.trim())
    .flatMap((piece) => (/^\S \S+$/.test(piece) ? [piece] : piece.split(/ +/)))
  return [...new Set(pieces.filter((piece) => piece !== '').map((piece) => piece.toUpperCase()))]
}

/** A browser's own list takes long for more, and nobody reads it. */
const suggestedMax = 200

/**
 * The first that hold what was typed, without those that are chosen: no more are looked for than are shown, of a hundred
 * thousand that may be there.
 */
export function fittingOf(all: Iterable<string>, typed: string, chosen: ReadonlySet<string>): readonly string[] {
  const fitting: string[] = []
  for (const device of all) {
    if (fitting.length === suggestedMax) break
    if (device.includes(typed) && !chosen.has(device)) fitting.push(device)
  }
  return fitting
}
