import { client } from '#dashboard/session'

/** The live state of what the page shows: one for the whole page, while a user is signed in. */

let current: ReturnType<typeof client.state> | undefined

/** Created on first use, by pages of a signed-in user. */
export function liveState(): ReturnType<typeof client.state> {
  current ??= client.state({ devices: 'watched' })
  return current
}

/** Drops all data, which the next user may not see. */
export function closeState(): void {
  current?.close()
  current = undefined
}
