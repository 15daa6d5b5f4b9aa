import { signal } from '@preact/signals'
import { connect, may, type Session } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { BatchingSocket } from '#dashboard/batching-socket'
import { hasUnsavedInput } from '#dashboard/parts/unsaved'
import type { Action, Resource } from '#model/scope'

/** One client for the whole page, and its session as a signal. */

export const client = connect({
  url: serverUrl(),
  WebSocket: BatchingSocket,
})

/** The current session. */
export const present = signal(client.session.value)
/**
 * The session whose pages are shown: the current one, except while pages are kept for a later sign-in (`isKept`).
 * Changes with the user and with permissions.
 */
export const session = signal(client.session.value)
/** Changes with the user, so that no page of the previous user remains. */
export const visit = signal(0)
/** The session ended by itself: it expired, or was ended elsewhere. */
export const isEnded = signal(false)
let isLeaving = false

client.session.subscribe(() => {
  const wasIn = isIn()
  const next = client.session.value
  present.value = next
  if (wasIn && next.state === 'signed out') isEnded.value = !isLeaving
  else if (isIn()) isEnded.value = false
  const isToKeep = wasIn ? isEnded.value && hasUnsavedInput() : isKept()
  if (isIn() && isSomebodyElse(next)) visit.value += 1
  if (isIn() || !isToKeep) session.value = next
})

/** Ends this session, or with `all` every session. */
export async function signOut(options: { readonly all?: boolean } = {}): Promise<void> {
  isLeaving = true
  try {
    await client.signOut(options)
  } finally {
    isLeaving = false
  }
}

/** Whether pages may be shown: a user is signed in, or authentication is off. */
export function isIn(): boolean {
  return isOfSomebody(present.value)
}

/**
 * The session ended while there was unsaved input: the page stays, hidden, until the same user signs in again. Another
 * user gets a new page.
 */
export function isKept(): boolean {
  return !isIn() && isOfSomebody(session.value)
}

/** A user who is not known yet may be another one. */
function isSomebodyElse({ tenant, name }: Session): boolean {
  const before = session.value
  return isOfSomebody(before) && before.name !== undefined && (before.name !== name || before.tenant !== tenant)
}

function isOfSomebody({ state }: Session): boolean {
  return state === 'signed in' || state === 'IAM off'
}

/**
 * Whether a grant permits this at all, or on this device and service. The page does not offer other actions; the server
 * decides.
 */
export function mayI(resource: Resource, action: Action, where?: Parameters<typeof may>[3]): boolean {
  return may(session.value, resource, action, where)
}
