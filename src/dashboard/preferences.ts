/** Preferences that this browser stores. If the browser forbids storage, there are no preferences. */

export function readPreference(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** `text` undefined: removes the preference. */
export function storePreference(key: string, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, text)
  } catch {
    // The value applies until the page is closed.
  }
}
