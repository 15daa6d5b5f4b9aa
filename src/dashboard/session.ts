import { signal } from '@preact/signals'
import { connect } from '#client/client'
import type { Action, Resource } from '#model/scope'

/** Who looks: one client for the whole page, and its session as a signal. */

export const client = connect()

/** Changes when somebody signs in or out, and when his rights are other ones. */
export const session = signal(client.session.value)
client.session.subscribe(() => {
  session.value = client.session.value
})

/** Whether pages may be shown: somebody is signed in, or nobody has to be. */
export function isIn(): boolean {
  return session.value.state === 'signed in' || session.value.state === 'IAM off'
}

/**
 * Whether any grant gives this at all: what nobody would be let do is not offered. Where it reaches is the server's to
 * say.
 */
export function mayI(resource: Resource, action: Action): boolean {
  return (session.value.permissions ?? []).some(({ permissions }) =>
    [resource, '*' as const].some((name) => permissions[name]?.some((each) => each === action || each === '*')),
  )
}
