import type { Seen } from '#model/seen'

const pattern = /^(https?):\/\/(\[[^\]/?#@]*\]|[^/?#@:[\]]*)(?::([0-9]*))?(\/[^?#]*)?(?:[?#].*)?$/is
const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' }

/**
 * Whether a proof was made for this place: scheme, host, port and path of its `htu` as the request was seen. Query and
 * fragment do not count; nor do the case of scheme and host and a default port written out (RFC 3986 §6.2.2 and §6.2.3,
 * as RFC 9449 §4.3 wants). The path is compared byte for byte: two spellings of it are two paths to whoever stands in
 * front of us.
 */
export function isSeenAt(htu: string, { origins }: Seen, path: string): boolean {
  // As nearly every client writes it.
  if (origins.some((origin) => htu.length === origin.length + path.length && htu === origin + path)) return true
  const claimed = normalOf(htu)
  return claimed !== undefined && origins.some((origin) => normalOf(origin + path) === claimed)
}

/** Undefined for what is no http address, and for one with a user in it. */
function normalOf(address: string): string | undefined {
  const [, scheme = '', host = '', port = '', path = ''] = pattern.exec(address) ?? []
  if (host === '') return undefined
  const lowerScheme = scheme.toLowerCase()
  const isDefault = port === '' || port === defaultPorts[lowerScheme]
  return `${lowerScheme}://${host.toLowerCase()}${isDefault ? '' : `:${port}`}${path}`
}
