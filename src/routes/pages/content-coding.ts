/** In which forms pages are kept, best first; made at build, `name.br` and `name.gz` beside `name`. RFC 9110 §8.4.1. */
export const codings = ['br', 'gzip', 'identity'] as const
export type Coding = (typeof codings)[number]

/** What the name of a file in a coding ends with. */
export const endingOf: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz', identity: '' }

/**
 * The best of what is there that is also taken: smaller first, whatever order the client prefers, unless it refuses one.
 * RFC 9110 §12.5.3. Without anything that is taken, `identity`: a page in a coding that somebody did not ask for is of
 * more use to him than none.
 */
export function chooseCoding(acceptEncoding: string, there: (coding: Coding) => boolean): Coding {
  const weights = weightsOf(acceptEncoding)
  const isTaken = (coding: Coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0
  return codings.find((coding) => coding !== 'identity' && there(coding) && isTaken(coding)) ?? 'identity'
}

function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    if (name !== '') weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return weights
}
