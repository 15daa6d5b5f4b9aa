import { basic } from '#bench/harness/identity'
import type { HttpAnswer } from '#bench/http'
import type { Found, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { madeIdOf } from '#bench/proof/clerks/ledger'
import { slotsOf } from '#bench/proof/clerks/named'

/** Writes about people: roles, users, invitations, passwords, sessions of the Basic scheme, tenants. */

export const changedPasswords = slotsOf('changing', 2)
export const seats = slotsOf('seat', 3)
export const firstPassword = 'first password'

interface Pair {
  readonly token: string
  readonly refreshToken: string
}

export function rolesKind(): LedgerKind {
  const slots = slotsOf('role', 3)
  return {
    name: 'roles',
    slots,
    wish(slot, before, number, random): Wish {
      const path = `/iam/roles/${slot}`
      if (before && random.below(3) === 0) return { method: 'DELETE', path, held: undefined }
      const body = { permissions: { meta: ['read'] }, devices: [`D-${number}`], services: ['*'] }
      return { method: 'PUT', path, body, held: `D-${number}` }
    },
    async look(api) {
      const rows = await api.rows<{ name: string; grants: { devices: string[] }[] }>('/iam/roles')
      return new Map(rows.map(({ name, grants }) => [name, { held: grants[0]?.devices[0] ?? 'none' }]))
    },
  }
}

export function usersKind(): LedgerKind {
  const slots = slotsOf('user', 3)
  return {
    name: 'users',
    slots,
    wish(slot, before, number, random): Wish {
      const email = `${slot}.${number}@proof.example`
      if (!before) {
        const body = { name: slot, email, roles: ['viewer'] }
        return { method: 'POST', path: '/iam/users', body, held: email, isOnceOnly: true }
      }
      const path = `/iam/users/${slot}`
      if (random.below(3) === 0) return { method: 'DELETE', path, held: undefined }
      return { method: 'PATCH', path, body: { email }, held: email }
    },
    async look(api) {
      const rows = await api.rows<{ name: string; email?: string; resourceIdentifier: string }>('/iam/users')
      return new Map(
        rows.map(({ name, email = 'none', resourceIdentifier }) => {
          const id = madeIdOf(resourceIdentifier)
          return [name, { held: email, ...(id !== undefined && { id }) }]
        }),
      )
    },
  }
}

/** The password that was answered for is the one that lets in, and the one before it is not. */
export function passwordsKind(): LedgerKind {
  const tokens = new Map<string, string>()
  return {
    name: 'passwords',
    slots: changedPasswords,
    pauseMs: 300,
    // The session it is done with ends with it, should it have been done.
    wish: (slot, before, number) => ({
      method: 'PUT',
      path: '/auth/password',
      headers: { authorization: `Bearer ${tokens.get(slot)}` },
      body: { current: before?.held ?? firstPassword, password: `password ${number}` },
      held: `password ${number}`,
      isOnceOnly: true,
    }),
    async look(api, entries) {
      const found = new Map<string, Found>()
      for (const [slot, { found: before, pending }] of entries) {
        const candidates = [before?.held ?? firstPassword, ...(pending ? [String(pending.wish.held)] : [])]
        const good: string[] = []
        for (const password of candidates) {
          const { status, text } = await api.ask('GET', '/iam/token', {
            headers: { authorization: basic({ name: slot, password }) },
          })
          if (status !== 200) continue
          good.push(password)
          tokens.set(slot, (JSON.parse(text) as Pair).token)
        }
        if (good.length !== 1) throw new Error(`${good.length} passwords of ${slot} are good`)
        if (good[0] !== firstPassword) found.set(slot, { held: good[0] as string })
      }
      return found
    },
  }
}

/** Somebody is invited, signs up with the code that was answered, and is removed. A code that was used is good no more. */
export function invitationsKind(): LedgerKind {
  /** By slot. */
  const used = new Map<string, string>()
  const codeIn = ({ text }: HttpAnswer) => `invited ${(JSON.parse(text) as { code: string }).code}`
  return {
    name: 'invitations',
    slots: slotsOf('guest', 3),
    unknown: 'invited, and nobody heard the code',
    wish(slot, before, number, random): Wish {
      const only = { isOnceOnly: true }
      if (!before) {
        const body = { name: slot, roles: ['viewer'] }
        return { method: 'POST', path: '/iam/users', body, held: codeIn, ...only }
      }
      const path = `/iam/users/${slot}`
      const [state, code = ''] = before.held.split(' ')
      if (before.held === this.unknown) return { method: 'POST', path: `${path}/code`, held: codeIn, ...only }
      if (state !== 'invited' || random.below(4) === 0) return { method: 'DELETE', path, held: undefined }
      used.set(slot, code)
      const password = `password ${number}`
      const body = { name: slot, code, password }
      return { method: 'POST', path: signUpPath, headers: nobody, body, held: `active ${password}`, ...only }
    },
    async look(api, entries) {
      const found = new Map<string, Found>()
      for (const [slot, { found: before, pending }] of entries) {
        const { status, text } = await api.ask('GET', `/iam/users/${slot}`)
        if (status === 404) continue
        const { state } = JSON.parse(text) as { state: string }
        if (state === 'invited') {
          const isKnown = before?.held.startsWith('invited ') === true && !pending?.wish.path.endsWith('/code')
          found.set(slot, { held: isKnown ? before.held : String(this.unknown) })
          continue
        }
        const held = [before?.held, pending?.wish.held].find((each) => String(each).startsWith('active '))
        const password = String(held).slice('active '.length)
        const headers = { authorization: basic({ name: slot, password }) }
        const asked = await api.ask('GET', '/iam/token', { headers })
        if (asked.status !== 200) throw new Error(`${slot} is ${state}, and not let in by "${password}"`)
        found.set(slot, { held: String(held) })
        if (api.isCopy) continue
        const body = { name: slot, code: used.get(slot), password: 'another password' }
        const again = await api.ask('POST', signUpPath, { headers: nobody, body })
        if (again.status !== 401) throw new Error(`the code of ${slot} was used, and answered ${again.status} again`)
      }
      return found
    },
  }
}

export const signUpPath = '/iam/signup'
export const nobody = { authorization: '' }

/** A session whose sign-in was answered is there, and one whose end was answered is not. */
export function sessionsKind(): LedgerKind {
  /** By access token. Used once each: whether a refresh without an answer was done nobody knows. */
  const refreshes = new Map<string, string>()
  const take = (text: string) => {
    const { token, refreshToken } = JSON.parse(text) as Pair
    refreshes.set(token, refreshToken)
    return token
  }
  return {
    name: 'sessions',
    slots: seats,
    wish(slot, before, _, random): Wish {
      if (!before) {
        const headers = { authorization: basic({ name: slot, password: firstPassword }) }
        return {
          method: 'GET',
          path: '/iam/token?scope=offline',
          headers,
          held: ({ text }) => take(text),
          isOnceOnly: true,
        }
      }
      const refreshToken = refreshes.get(before.held)
      const headers = { authorization: `Bearer ${before.held}` }
      if (random.below(4) === 0)
        return {
          method: 'DELETE',
          path: `/auth/sessions/${sessionIn(before.held)}`,
          headers,
          held: undefined,
          isOnceOnly: true,
        }
      if (refreshToken === undefined || random.below(2) === 0)
        return { method: 'POST', path: '/auth/logout', headers, held: undefined, isOnceOnly: true }
      refreshes.delete(before.held)
      return {
        method: 'POST',
        path: '/iam/token?grant_type=refresh_token&scope=offline',
        headers: { authorization: '' },
        body: { refreshToken },
        held: ({ text }) => take(text),
        isOnceOnly: true,
      }
    },
    async look(api, entries) {
      const found = new Map<string, Found>()
      for (const [slot, { found: before }] of entries) {
        if (!before) continue
        const { status } = await api.ask('GET', '/iam/me', { headers: { authorization: `Bearer ${before.held}` } })
        if (status === 200) found.set(slot, before)
      }
      return found
    },
  }
}

/** Access tokens are JWTs that say their session. Contract 2, Tokens. */
export function sessionIn(accessToken: string): string {
  const [, payload = ''] = accessToken.split('.')
  return (JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sid: string }).sid
}

export function tenantsKind(): LedgerKind {
  return {
    name: 'tenants',
    slots: slotsOf('tenant', 2),
    // It may still be on its way out.
    busy: [409],
    wish(slot, before, number, random): Wish {
      const held = `Tenant ${number}`
      if (!before) return { method: 'POST', path: '/iam/tenants', body: { tenantIdentifier: slot, name: held }, held }
      const path = `/iam/tenants/${slot}`
      if (random.below(3) === 0) return { method: 'DELETE', path, held: undefined }
      return { method: 'PATCH', path, body: { name: held }, held }
    },
    async look(api) {
      const rows = await api.rows<{ tenantIdentifier: string; name: string }>('/iam/tenants')
      return new Map(rows.map(({ tenantIdentifier, name }) => [tenantIdentifier, { held: name }]))
    },
  }
}
