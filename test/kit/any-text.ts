import fc from 'fast-check'

const surrogatesFrom = 0xd800
const surrogateCount = 0x800

/** Any code point except surrogates. The unit `binary` of fast-check is the same, but takes a second to be built. */
const character = fc
  .integer({ min: 0, max: 0x10ffff - surrogateCount })
  .map((number) => String.fromCodePoint(number < surrogatesFrom ? number : number + surrogateCount))

/** Any text that UTF-8 can encode. */
export function anyText(size: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  return fc.string({ ...size, unit: character })
}
