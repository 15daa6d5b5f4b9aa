import { client } from '#dashboard/session'

/** The live state of everything that the session may read: one for the whole page, while a user is signed in. */

let current: ReturnType<typeof client.state> | undefined

/** Created on first use, by pages of a signed-in user. */
export function state(): ReturnType<typeof client.state> {
  current ??= client.state({ depth: 2 })
  return current
}

/** Drops all data: the next user may not see it. */
export function closeState(): void {
  current?.close()
  current = undefined
}
