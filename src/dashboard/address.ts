import { observable } from '#dashboard/components/use-observable'

/** Addresses of the server and of pages. They also work behind a proxy with a path prefix. */

/** The address of the server, without a slash at the end. */
export function serverUrl(): string {
  return location.origin + location.pathname.replace(/\/[^/]*$/, '')
}

/** The base path of the API. Contract 1.1. */
export function apiUrl(): string {
  return `${serverUrl()}/api/v1`
}

/** Decodes a part of an address. Returns the text unchanged if it is not valid, such as a single `%`. */
export function decodeUriPart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The path of the page after `#`, with its query: `/devices/PUMP-7`. */
export const address = observable(pathInHash())
addEventListener('hashchange', () => address.set(pathInHash()))

function pathInHash(): string {
  return location.hash.replace(/^#?\/?/, '/')
}

/** The decoded parameters of a path of this form; undefined for another path. A part such as `/:tab?` may be absent. */
export function parametersIn(path: string, form: string): Readonly<Record<string, string>> | undefined {
  const pattern = form.replace(/\/:(\w+)(\??)/g, '(?:/(?<$1>[^/]+))$2')
  const match = new RegExp(`^${pattern}/?$`, 'i').exec(path)
  if (!match) return undefined
  const parts = Object.entries(match.groups ?? {}).filter(([, text]) => text !== undefined)
  return Object.fromEntries(parts.map(([name, text]) => [name, decodeUriPart(text)]))
}
