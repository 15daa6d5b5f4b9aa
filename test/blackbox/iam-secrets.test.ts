import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Level } from 'level'
import { TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import { DpopClient, type SecondFactorNeeded } from '#test/blackbox/dpop-client'
import { EventClient } from '#test/blackbox/event-client'
import { basicHeader, codeIn, Person, report, root, startWithIdentity } from '#test/blackbox/people'
import type { Answer, StartedServer } from '#test/blackbox/started-server'

/** Whatever opens something is kept by nobody but who it was given to. Contract 2, Tokens; 8. */
test('no secret is in what the server prints, nor in what it stores', async () => {
  const server = await startWithIdentity({ LOG_LEVEL: 'trace' })
  const secrets = new Map<string, string>([['the password of root', root.password]])
  const keep = (what: string, text: string | undefined) => {
    expect(text, what).toMatch(/^.{10,}$/)
    secrets.set(`${what} ${secrets.size}`, text ?? '')
  }
  try {
    await useEverything(server, keep)
    await fail(server, [...secrets.values()])
    expect(secrets.size).toBeGreaterThan(25)
    expect(await server.stop()).toBe(0)

    const stored = await storedIn(server.dataFolder)
    // It looks where things are, and finds what may be found.
    for (const known of ['ann@acme.example', 'Reporting', '$argon2id$']) expect(stored).toContain(known)
    expect(server.run.output).toContain('/api/v1/events/[redacted]')
    const places = { 'what it prints': server.run.output, 'what it stores': stored }
    const found = [...secrets].flatMap(([what, secret]) =>
      Object.entries(places).flatMap(([place, text]) =>
        formsOf(secret)
          .filter((form) => text.includes(form))
          .map(() => `${what} in ${place}`),
      ),
    )
    expect(found).toEqual([])
  } finally {
    await server.discard()
  }
})

/** Everything that gives or takes a secret, once. */
async function useEverything(
  server: StartedServer,
  keep: (what: string, text: string | undefined) => void,
): Promise<void> {
  const admin = await Person.signIn(server)
  keepAll(admin.tokens, 'a Basic token', keep)
  const refreshed = await server.ask('/iam/token?grant_type=refresh_token', {
    method: 'POST',
    body: { refreshToken: admin.tokens.refreshToken },
  })
  keepAll(refreshed.json as object, 'a refreshed token', keep)

  const invited = await admin.post('/iam/users', { name: 'ann', email: 'ann@acme.example', roles: ['viewer'] })
  keep('a code', codeIn(invited))
  const who = { name: 'ann', password: 'the password of ann, and nobody else' }
  keep('a password', who.password)
  await server.ask('/iam/signup', { method: 'POST', body: { ...who, code: codeIn(invited) } })
  keep('an unused code', codeIn(await admin.post('/iam/users/ann/code')))

  for (const kind of ['api-keys', 'provisioning-keys']) {
    const made = await admin.post(`/iam/${kind}`, {
      name: 'Reporting',
      ...(kind === 'api-keys' && { roles: ['viewer'] }),
    })
    const { key } = made.json as { key: string }
    keep(`one of the ${kind}`, key)
    keep(`what is secret of one of the ${kind}`, key.split('.').at(-1))
    await server.get('/iam/me', { 'x-api-key': key })
  }
  for (const path of ['/devices', '/devices/SECRET-1/secret']) {
    const made = await admin.post(path, path === '/devices' ? { deviceIdentifier: 'SECRET-1' } : undefined)
    const { secret } = made.json as { secret: string }
    keep('the secret of a device', secret)
    if (path !== '/devices') await report(server, { name: 'SECRET-1', password: secret }, 1)
  }
  for (let count = 0; count < 2; count++) {
    const { ticket } = (await admin.get('/events/ticket')).json as { ticket: string }
    keep('a ticket', ticket)
    if (count === 0) await (await EventClient.with(server, ticket).opened()).close()
    else await EventClient.with(server, ticket, { offset: 'wrong' }).refused()
  }
  await useSecondFactor(server, who, keep)
}

async function useSecondFactor(
  server: StartedServer,
  who: { name: string; password: string },
  keep: (what: string, text: string | undefined) => void,
): Promise<void> {
  const client = await DpopClient.signIn(server, who)
  keepAll(client.signedIn, 'a DPoP token', keep)
  const enrolled = await client.post('/auth/2fa/totp/enroll', { password: who.password })
  expect(enrolled.status).toBe(200)
  const { secret, otpauthUri } = enrolled.json as { secret: string; otpauthUri: string }
  keep('a TOTP secret', secret)
  keep('a TOTP address', otpauthUri)
  const code = new TOTP({ secret }).generate()
  const activated = await client.post('/auth/2fa/totp/activate', { code, password: who.password })
  expect(activated.status).toBe(200)
  const { recoveryCodes } = activated.json as { recoveryCodes: string[] }
  for (const recovery of recoveryCodes) keep('a recovery code', recovery)
  const login = await client.logIn(who)
  const { token, status } = login.json as SecondFactorNeeded
  expect(status).toBe('2fa_required')
  keep('a token for the second factor', token)
  const done = client.keep(
    await client.prove('/auth/2fa/recovery', { method: 'POST', body: { token, code: recoveryCodes[0] } }),
  )
  expect(done.status).toBe(200)
  keepAll(client.signedIn, 'a DPoP token', keep)
  await client.refresh()
  keepAll(client.signedIn, 'a DPoP token', keep)
  keep('a proof', (await client.headersFor('GET', '/iam/me', client.signedIn.accessToken)).dpop)
  await client.get('/iam/me')
}

/** Shown where they do not belong: what is refused is told to nobody either. */
async function fail(server: StartedServer, secrets: readonly string[]): Promise<void> {
  for (const secret of secrets) {
    const signUp = (body: unknown) => server.ask('/iam/signup', { method: 'POST', body })
    const headers = basicHeader({ name: '*', password: secret })
    const refused: Answer[] = [
      await server.get('/iam/token', basicHeader({ name: 'root', password: `${secret}x` })),
      await server.get('/iam/me', { authorization: `Bearer ${encodeURIComponent(`${secret}x`)}` }),
      await signUp({ name: 'ann', code: secret, password: 'short', more: secret }),
      await signUp(`{"code":"${secret}`),
      await server.ask('/link', { method: 'POST', body: { secret }, headers }),
    ]
    for (const { text, status } of refused) {
      expect(status).toBeGreaterThanOrEqual(400)
      for (const one of secrets) expect(text).not.toContain(one)
    }
  }
}

function keepAll(of: object, what: string, keep: (what: string, text: string | undefined) => void): void {
  for (const [name, text] of Object.entries(of)) keep(`${what} (${name})`, text as string)
}

/** As it is, and as it would be in other spellings. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  // Of Base64 what is the same wherever in a text it begins would be three; who encodes it encodes it by itself.
  return [secret, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex'), encodeURIComponent(secret)]
}

/** Every row of the store, keys and values, and every other file that lies beside it. */
async function storedIn(folder: string): Promise<string> {
  const pieces: string[] = []
  const database = new Level<Buffer, Buffer>(join(folder, 'db'), { keyEncoding: 'buffer', valueEncoding: 'buffer' })
  for await (const [key, value] of database.iterator()) pieces.push(key.toString('latin1'), value.toString('latin1'))
  await database.close()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })) {
    if (name.isFile()) pieces.push(readFileSync(join(name.parentPath, name.name), 'latin1'))
  }
  return pieces.join('\n')
}
