/** Codings of the built pages, best first: `name.br` and `name.gz` for `name`. RFC 9110 §8.4.1. */
export const codings = ['br', 'gzip', 'identity'] as const
export type Coding = (typeof codings)[number]

/** File suffix of each coding. */
export const endingOf: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz', identity: '' }

/**
 * The best available coding that the client accepts: the smallest first, independent of the client's order, unless the
 * client refuses it. RFC 9110 §12.5.3. If the client accepts none, `identity`: that is more useful than an error.
 */
export function chooseCoding(acceptEncoding: string, isAvailable: (coding: Coding) => boolean): Coding {
  const weights = weightsOf(acceptEncoding)
  const isTaken = (coding: Coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0
  return codings.find((coding) => coding !== 'identity' && isAvailable(coding) && isTaken(coding)) ?? 'identity'
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
