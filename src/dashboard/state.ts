import { client } from '#dashboard/session'

/** The live state of what the page shows: one for the whole page, while a user is signed in. */

let current: ReturnType<typeof client.state> | undefined

/** Created on first use, by pages of a signed-in user. */
export function liveState(): ReturnType<typeof client.state> {
  current ??= client.state({ devices: 'watched' })
  return current
}

/** Calls the listener when the connection is live again, until the returned function is called. */
export function onReconnect(listener: () => void): () => void {
  const { connection } = liveState()
  let wasLive = connection.value.state === 'live'
  return connection.subscribe(() => {
    const isLive = connection.value.state === 'live'
    if (isLive && !wasLive) listener()
    wasLive = isLive
  })
}

/** Drops all data, which the next user may not see. */
export function closeState(): void {
  current?.close()
  current = undefined
}
