import { signal } from '@preact/signals'
import { connect, may } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { GatheringSocket } from '#dashboard/gathering-socket'
import type { Action, Resource } from '#model/scope'

/** Who looks: one client for the whole page, and its session as a signal. */

export const client = connect({
  url: serverUrl(),
  WebSocket: GatheringSocket,
})

/** Changes when somebody signs in or out, and when his rights are other ones. */
export const session = signal(client.session.value)
/** The session ended, and not by who had it here: it ran out, or was ended elsewhere. */
export const isEnded = signal(false)
let isLeaving = false

client.session.subscribe(() => {
  const wasIn = isIn()
  session.value = client.session.value
  if (wasIn && session.value.state === 'signed out') isEnded.value = !isLeaving
  else if (isIn()) isEnded.value = false
})

/** Here, or with `all` everywhere. */
export async function signOut(options: { readonly all?: boolean } = {}): Promise<void> {
  isLeaving = true
  try {
    await client.signOut(options)
  } finally {
    isLeaving = false
  }
}

/** Whether pages may be shown: somebody is signed in, or nobody has to be. */
export function isIn(): boolean {
  return session.value.state === 'signed in' || session.value.state === 'IAM off'
}

/**
 * Whether some grant gives this at all, or on this device and service: what would be refused anyway is not offered. The
 * server decides by the roles of then.
 */
export function mayI(resource: Resource, action: Action, where?: Parameters<typeof may>[3]): boolean {
  return may(session.value, resource, action, where)
}
