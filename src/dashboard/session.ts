import { connect, may, type Session } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { BatchingSocket } from '#dashboard/batching-socket'
import { hasKeptInput } from '#dashboard/components/unsaved-input'
import { observable } from '#dashboard/components/use-observable'
import type { Action, Resource } from '#model/scope'

/**
 * One client for the whole page, its session, and its live state. The root follows the session, and renders everything
 * again.
 */

export const client = connect({
  url: serverUrl(),
  WebSocket: BatchingSocket,
})

export const currentSession = observable(client.session.value)
/**
 * The session whose pages are shown: the current one, except while pages are kept for a later sign-in (`isPageKept`).
 * Changes with the user and with permissions.
 */
export const session = observable(client.session.value)
/** Changes with the user, so that no page of the previous user remains. */
export const shellKey = observable(0)
/** Whether the last session expired, or was ended elsewhere. */
export const hasSessionEnded = observable(false)
let isSigningOut = false

client.session.subscribe(() => {
  const hadAccess = hasAccess()
  const next = client.session.value
  currentSession.set(next)
  if (hadAccess && next.state === 'signed out') hasSessionEnded.set(!isSigningOut)
  else if (hasAccess()) hasSessionEnded.set(false)
  const keepsPage = hadAccess ? hasSessionEnded.value && hasKeptInput() : isPageKept()
  if (hasAccess() && isOtherUser(next)) shellKey.set(shellKey.value + 1)
  if (hasAccess() || !keepsPage) session.set(next)
})

/** Ends this session, or with `all` every session. */
export async function signOut(options: { readonly all?: boolean } = {}): Promise<void> {
  isSigningOut = true
  try {
    await client.signOut(options)
  } finally {
    isSigningOut = false
  }
}

/** Whether a user is signed in, or authentication is off. */
export function hasAccess({ state }: Session = currentSession.value): boolean {
  return state === 'signed in' || state === 'IAM off'
}

/**
 * Whether the session ended while the page had input to keep. The page then stays, hidden, until the same user signs in
 * again. Another user gets a new page.
 */
export function isPageKept(): boolean {
  return !hasAccess() && hasAccess(session.value)
}

/** False if no user was known before. A user whose name is not known yet counts as another user. */
function isOtherUser({ tenant, name }: Session): boolean {
  const before = session.value
  return hasAccess(before) && before.name !== undefined && (before.name !== name || before.tenant !== tenant)
}

/** Names of devices in this tenant need no tenant. Only its users administer tenants. Contract 2, 7. */
export const defaultTenant = 'default'

/**
 * Whether a grant permits this at all, or on this device and service. The page does not offer other actions; the server
 * decides.
 */
export function mayUser(resource: Resource, action: Action, where?: Parameters<typeof may>[3]): boolean {
  return may(session.value, resource, action, where)
}

let current: ReturnType<typeof client.state> | undefined

/** The live state of what the page shows. Created on first use, by pages of a signed-in user. */
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
