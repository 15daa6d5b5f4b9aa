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
