/** The address of the server, as the page sees it. Also works behind a proxy with a path prefix. */

/** Without a slash at the end. */
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
