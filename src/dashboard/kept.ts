/** What this browser keeps from one visit to the next; nothing where it was told to keep nothing: then asking throws. */

export function readKept(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** Undefined: it is kept no more. */
export function keep(key: string, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(key)
    else localStorage.setItem(key, text)
  } catch {
    // It holds as long as the page does.
  }
}
