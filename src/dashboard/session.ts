import { signal } from '@preact/signals'
import { connect, may, type Session } from '#client/client'
import { serverUrl } from '#dashboard/address'
import { GatheringSocket } from '#dashboard/gathering-socket'
import { holdsWork } from '#dashboard/parts/unsaved'
import type { Action, Resource } from '#model/scope'

/** Who looks: one client for the whole page, and its session as a signal. */

export const client = connect({
  url: serverUrl(),
  WebSocket: GatheringSocket,
})

/** Who is signed in, or how far signing in is. */
export const present = signal(client.session.value)
/**
 * Whose pages these are: the same, but for pages that are kept for who comes back (`isKept`). Changes when somebody signs in
 * or out, and when his rights are other ones.
 */
export const session = signal(client.session.value)
/** Another number whenever they are somebody else's: nothing of the pages of before is shown to him. */
export const visit = signal(0)
/** The session ended, and not by who had it here: it ran out, or was ended elsewhere. */
export const isEnded = signal(false)
let isLeaving = false

client.session.subscribe(() => {
  const wasIn = isIn()
  const next = client.session.value
  present.value = next
  if (wasIn && next.state === 'signed out') isEnded.value = !isLeaving
  else if (isIn()) isEnded.value = false
  const isToKeep = wasIn ? isEnded.value && holdsWork() : isKept()
  if (isIn() && isSomebodyElse(next)) visit.value += 1
  if (isIn() || !isToKeep) session.value = next
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
  return isOfSomebody(present.value)
}

/**
 * The session ended under something that was filled in: the page stays, out of sight, until the same user signs in again.
 * Whoever else does gets a page of his own.
 */
export function isKept(): boolean {
  return !isIn() && isOfSomebody(session.value)
}

/** Whoever signed in and is not known yet may be. */
function isSomebodyElse({ tenant, name }: Session): boolean {
  const before = session.value
  return isOfSomebody(before) && before.name !== undefined && (before.name !== name || before.tenant !== tenant)
}

function isOfSomebody({ state }: Session): boolean {
  return state === 'signed in' || state === 'IAM off'
}

/**
 * Whether some grant gives this at all, or on this device and service: what would be refused anyway is not offered. The
 * server decides by the roles of then.
 */
export function mayI(resource: Resource, action: Action, where?: Parameters<typeof may>[3]): boolean {
  return may(session.value, resource, action, where)
}
