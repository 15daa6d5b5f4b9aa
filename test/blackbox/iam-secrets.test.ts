import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Level } from 'level'
import { TOTP } from 'otpauth'
import { expect, test } from 'vitest'
import { DpopClient, type SecondFactorNeeded } from '#test/blackbox/dpop-client'
import { EventClient } from '#test/blackbox/event-client'
import { basicHeader, codeIn, report, root, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { Answer, StartedServer } from '#test/blackbox/started-server'

/** Contract 2, Tokens; 8. */
test('no secret is in the output or in the stored files', async () => {
  const server = await startWithIdentity({ LOG_LEVEL: 'trace' })
  const secrets = new Map<string, string>([['the password of root', root.password]])
  const addSecret: AddSecret = (what, text) => {
    expect(text, what).toMatch(/^.{10,}$/)
    secrets.set(`${what} ${secrets.size}`, text ?? '')
  }
  try {
    await useAllSecrets(server, addSecret)
    await expectRefusalsWithoutSecrets(server, [...secrets.values()])
    expect(secrets.size).toBeGreaterThan(25)
    expect(await server.stop()).toBe(0)

    const stored = await storedIn(server.dataFolder)
    // This shows that the search finds texts that are stored.
    for (const known of ['ann@acme.example', 'Reporting', '$argon2id$']) expect(stored).toContain(known)
    expect(server.run.output).toContain('/api/v1/events/[redacted]')
    const places = { 'the output': server.run.output, 'the stored files': stored }
    const found = [...secrets].flatMap(([what, secret]) =>
      Object.entries(places).flatMap(([place, text]) =>
        encodingsOf(secret)
          .filter((form) => text.includes(form))
          .map(() => `${what} in ${place}`),
      ),
    )
    expect(found).toEqual([])
  } finally {
    await server.discard()
  }
})

type AddSecret = (name: string, text: string | undefined) => void

/** Sends one request of each kind that creates or uses a secret. */
async function useAllSecrets(server: StartedServer, addSecret: AddSecret): Promise<void> {
  const admin = await SignedInUser.signIn(server)
  addAll(admin.tokens, 'a Basic token', addSecret)
  const refreshed = await server.ask('/iam/token?grant_type=refresh_token', {
    method: 'POST',
    body: { refreshToken: admin.tokens.refreshToken },
  })
  addAll(refreshed.json as object, 'a refreshed token', addSecret)

  const invited = await admin.post('/iam/users', { name: 'ann', email: 'ann@acme.example', roles: ['viewer'] })
  addSecret('a code', codeIn(invited))
  const user = { name: 'ann', password: 'the password of ann' }
  addSecret('a password', user.password)
  await server.ask('/iam/signup', { method: 'POST', body: { ...user, code: codeIn(invited) } })
  addSecret('an unused code', codeIn(await admin.post('/iam/users/ann/code')))

  for (const kind of ['api-keys', 'provisioning-keys']) {
    const made = await admin.post(`/iam/${kind}`, {
      name: 'Reporting',
      ...(kind === 'api-keys' && { roles: ['viewer'] }),
    })
    const { key } = made.json as { key: string }
    addSecret(`one of the ${kind}`, key)
    addSecret(`the secret part of one of the ${kind}`, key.split('.').at(-1))
    await server.get('/iam/me', { 'x-api-key': key })
  }
  for (const path of ['/devices', '/devices/SECRET-1/secret']) {
    const made = await admin.post(path, path === '/devices' ? { deviceIdentifier: 'SECRET-1' } : undefined)
    const { secret } = made.json as { secret: string }
    addSecret('the secret of a device', secret)
    if (path !== '/devices') await report(server, { name: 'SECRET-1', password: secret }, 1)
  }
  for (let count = 0; count < 2; count++) {
    const { ticket } = (await admin.get('/events/ticket')).json as { ticket: string }
    addSecret('a ticket', ticket)
    if (count === 0) await (await EventClient.with(server, ticket).opened()).close()
    else await EventClient.with(server, ticket, { offset: 'wrong' }).refused()
  }
  await useSecondFactor(server, user, addSecret)
}

async function useSecondFactor(
  server: StartedServer,
  user: { name: string; password: string },
  addSecret: AddSecret,
): Promise<void> {
  const client = await DpopClient.signIn(server, user)
  addAll(client.signedIn, 'a DPoP token', addSecret)
  const enrolled = await client.post('/auth/2fa/totp/enroll', { password: user.password })
  expect(enrolled.status).toBe(200)
  const { secret, otpauthUri } = enrolled.json as { secret: string; otpauthUri: string }
  addSecret('a TOTP secret', secret)
  addSecret('a TOTP address', otpauthUri)
  const code = new TOTP({ secret }).generate()
  const activated = await client.post('/auth/2fa/totp/activate', { code, password: user.password })
  expect(activated.status).toBe(200)
  const { recoveryCodes } = activated.json as { recoveryCodes: string[] }
  for (const recovery of recoveryCodes) addSecret('a recovery code', recovery)
  const login = await client.logIn(user)
  const { token, status } = login.json as SecondFactorNeeded
  expect(status).toBe('2fa_required')
  addSecret('a token for the second factor', token)
  const done = client.keep(
    await client.prove('/auth/2fa/recovery', { method: 'POST', body: { token, code: recoveryCodes[0] } }),
  )
  expect(done.status).toBe(200)
  addAll(client.signedIn, 'a DPoP token', addSecret)
  await client.refresh()
  addAll(client.signedIn, 'a DPoP token', addSecret)
  addSecret('a proof', (await client.headersFor('GET', '/iam/me', client.signedIn.accessToken)).dpop)
  await client.get('/iam/me')
}

/** Sends the secrets in bad requests, and expects that no refusal contains them. */
async function expectRefusalsWithoutSecrets(server: StartedServer, secrets: readonly string[]): Promise<void> {
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

function addAll(secrets: object, what: string, addSecret: AddSecret): void {
  for (const [name, text] of Object.entries(secrets)) addSecret(`${what} (${name})`, text as string)
}

/** The secret in several encodings. */
function encodingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  // The Base64 text of the secret alone. It is another text if the secret is a part of a longer text.
  return [secret, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex'), encodeURIComponent(secret)]
}

/** All keys and values of the store, and all other files of the folder. */
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
