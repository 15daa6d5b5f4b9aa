/** Where the server is, as the page sees it: also behind a proxy, with a path of its own in front. */

/** Without a slash at its end. */
export function serverUrl(): string {
  return location.origin + location.pathname.replace(/\/[^/]*$/, '')
}

/** The base path of the API. Contract 1.1. */
export function apiUrl(): string {
  return `${serverUrl()}/api/v1`
}

/** What a part of an address stands for; itself where that cannot be said, as of `%` alone. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
