import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { administrator, gateway, readToken } from '#bench/harness/identity'
import { type TemporaryFolder, temporaryFolder } from '#bench/harness/temporary-folder'
import type { HttpAnswer } from '#bench/http'
import { disabledUsersKind } from '#bench/proof/clerks/disabled-users'
import { endedSessionsKind } from '#bench/proof/clerks/ended-sessions'
import { freshCodesKind } from '#bench/proof/clerks/fresh-codes'
import { imagePartsKind } from '#bench/proof/clerks/image-parts'
import { Ledger, type LedgerKind } from '#bench/proof/clerks/ledger'
import { firstPassword, nobody, signUpPath } from '#bench/proof/clerks/people-kinds'
import { type Asking, ProofApi } from '#bench/proof/clerks/proof-api'
import { mailTemplate } from '#bench/proof/clerks/rule-kinds'
import { secondFactorsKind } from '#bench/proof/clerks/second-factors'
import { mailingTopics, unsubscribingKind } from '#bench/proof/clerks/unsubscribing'
import { openLeft } from '#bench/proof/left-folder'
import { SeededRandom } from '#bench/random'
import type { Running } from '#src/serve'

/** Clerks of accounts, and of what is gone on with, beside a server that is right, and one that seems to have forgotten: they must notice. */

/** Each is a change of every slot. */
const turnsMax = 60

/** What is heard instead of an answer; undefined: that answer. */
type Lie = (path: string, answer: HttpAnswer, method: string) => Partial<HttpAnswer> | undefined

class LiedToApi extends ProofApi {
  lie: Lie | undefined
  /** Of a part of an image half arrives, and nobody hears the answer. */
  isCut = false

  override async ask(method: string, path: string, asking?: Asking): Promise<HttpAnswer> {
    if (this.isCut && asking?.body instanceof Uint8Array) {
      await super.ask(method, path, halfOf(asking.body, asking.headers?.['content-range']))
      throw new Error('killed before it answered')
    }
    const answer = await super.ask(method, path, asking)
    return { ...answer, ...this.lie?.(path, answer, method) }
  }
}

class Place {
  readonly folder: TemporaryFolder = temporaryFolder('account-kinds-')
  running: Running | undefined
  authorization = ''

  async start(): Promise<number> {
    const { running } = await openLeft(this.folder.path, { DURABILITY: 'process' })
    this.running = running
    return Number(running?.port)
  }

  async api(port: number): Promise<LiedToApi> {
    if (this.authorization === '') this.authorization = `Bearer ${await readToken(port, administrator)}`
    return new LiedToApi(`http://127.0.0.1:${port}`, this.authorization, this.folder.path)
  }
}

let place: Place | undefined

afterEach(async () => {
  await place?.running?.stop()
  await place?.folder.remove()
})

type KindMaker = (api: ProofApi) => Promise<LedgerKind>

const secondFactors: KindMaker = async () => secondFactorsKind()
const freshCodes: KindMaker = async () => freshCodesKind()
const disabledUsers: KindMaker = async () => disabledUsersKind()
const endedSessions: KindMaker = async () => endedSessionsKind()
const imageParts: KindMaker = async () => imagePartsKind()
const ofNobody = [unsubscribing, imageParts]

async function unsubscribing(api: ProofApi): Promise<LedgerKind> {
  const { key } = await api.must<{ key: string }>('POST', '/iam/provisioning-keys', { body: { name: 'Clerks' } })
  const body = { locales: { en: { subject: '{{value}}', text: '{{value}}' } } }
  await api.must('PUT', `/templates/${mailTemplate}`, { body })
  return unsubscribingKind(await mailingTopics(api), gateway(key))
}

/** With those whom it is about. */
async function opened(make: KindMaker): Promise<{ place: Place; api: LiedToApi; kind: LedgerKind; ledger: Ledger }> {
  place = new Place()
  const api = await place.api(await place.start())
  const kind = await make(api)
  for (const name of ofNobody.includes(make) ? [] : kind.slots) {
    const { code } = await api.must<{ code: string }>('POST', '/iam/users', { body: { name, roles: ['viewer'] } })
    await api.must('POST', signUpPath, { headers: nobody, body: { name, code, password: firstPassword } })
  }
  await kind.begin?.(api)
  let number = 0
  return { place, api, kind, ledger: new Ledger(kind, api, new SeededRandom(7), () => ++number) }
}

/** Mails come a bit later. */
async function turn(ledger: Ledger): Promise<void> {
  await ledger.takeTurns(() => {})
  await new Promise((resolve) => setTimeout(resolve, 30))
}

test.each([
  ['second factors', secondFactors],
  ['fresh codes', freshCodes],
  ['disabled users', disabledUsers],
  ['ends of all sessions', endedSessions],
  ['images in parts', imageParts],
  ['subscriptions ended by a mail', unsubscribing],
])(
  '%s are what the books say of them, there and in what is left of the folder',
  { timeout: 240_000 },
  async (_, make) => {
    const { place, ledger, kind } = await opened(make)
    for (let count = 1; count <= turnsMax; count++) {
      await turn(ledger)
      if (count % 5 === 0) expect(await ledger.settle()).toEqual([])
    }
    expect(ledger.counts.acknowledged).toBe(turnsMax * kind.slots.length)
    await place.running?.stop()
    const copy = new ProofApi(`http://127.0.0.1:${await place.start()}`, place.authorization, place.folder.path, {
      isCopy: true,
    })
    expect(await ledger.faultsAt(Number.MAX_SAFE_INTEGER, copy)).toEqual([])
  },
)

test('of a part that was cut off the rest is sent from where the server says', { timeout: 240_000 }, async () => {
  const { api, ledger, kind } = await opened(imageParts)
  for (let count = 1; count <= turnsMax; count++) {
    api.isCut = count % 2 === 0
    await turn(ledger)
    api.isCut = false
    expect(await ledger.settle()).toEqual([])
  }
  // All but those that were deleted in such a turn.
  expect(ledger.counts.landed).toBeGreaterThan((turnsMax / 4) * kind.slots.length)
})

const isFactor = (path: string) => path === '/auth/2fa/totp' || path === '/auth/2fa/recovery'
const isUser = (path: string) => path.startsWith('/iam/users/')

test.each<[string, KindMaker, Lie, RegExp]>([
  [
    'takes a used code again',
    secondFactors,
    (path, { status }) => (isFactor(path) && status === 401 ? { status: 200 } : undefined),
    /a code that was used at \/auth\/2fa\/(totp|recovery) was answered 200/,
  ],
  [
    'asks for no second factor',
    secondFactors,
    (path, { text }) =>
      path === '/auth/login' && text.includes('2fa_required') ? { text: '{"accessToken":"a"}' } : undefined,
    /has a second factor, and a login was answered 200/,
  ],
  [
    'has lost a second factor',
    secondFactors,
    (path, { text }) => (isUser(path) ? { text: text.replace('["totp"]', '[]') } : undefined),
    /one-time codes are off/,
  ],
  [
    'has a second factor that was taken away',
    secondFactors,
    (path, { text }) => (isUser(path) ? { text: text.replace('"twoFactor":[]', '"twoFactor":["totp"]') } : undefined),
    /one-time codes are on/,
  ],
  [
    'has a session again that ended with a change of factors',
    secondFactors,
    (path, { status }) => (path === '/iam/me' && status === 401 ? { status: 200 } : undefined),
    /a session that ended was answered 200/,
  ],
  [
    'has lost a session',
    secondFactors,
    (path) => (path === '/iam/me' ? { status: 401 } : undefined),
    /a session that is there was answered 401/,
  ],
  [
    'takes a used code for a password again',
    freshCodes,
    (path, { status }) => (path === signUpPath && status === 401 ? { status: 201 } : undefined),
    /a code that was used or replaced was answered 201/,
  ],
  [
    'has lost a password',
    freshCodes,
    (path) => (path === '/iam/token' ? { status: 401 } : undefined),
    /0 passwords of forgetful-0 are good/,
  ],
  [
    'has a session again that a code ended',
    freshCodes,
    (path, { status }) => (path === '/iam/me' && status === 401 ? { status: 200 } : undefined),
    /a session that a fresh code ended was answered 200/,
  ],
  [
    'lets in who is disabled',
    disabledUsers,
    (path, { status }) => (path.startsWith('/iam/token?scope') && status === 401 ? { status: 200 } : undefined),
    /was answered 200 with his password, disabled/,
  ],
  [
    'does not let in who is enabled',
    disabledUsers,
    (path) => (path.startsWith('/iam/token?scope') ? { status: 401 } : undefined),
    /was answered 401 with his password, active/,
  ],
  [
    'has lost that somebody is disabled',
    disabledUsers,
    (path, { text }) => (isUser(path) ? { text: text.replace('"disabled"', '"active"') } : undefined),
    /holds "active as .*", and "barred-\d \d+" was acknowledged/,
  ],
  [
    'has a session again of who was disabled',
    disabledUsers,
    (path, { status }) => (path === '/iam/me' && status === 401 ? { status: 200 } : undefined),
    /was answered 200 by a session of before/,
  ],
  [
    'renews a session of who was disabled',
    disabledUsers,
    (path, { status }) => (path.includes('refresh_token') && status === 401 ? { status: 200 } : undefined),
    /was answered 200 by a refresh token of before/,
  ],
  [
    'takes a code of before',
    disabledUsers,
    (path, { status }) => (path === signUpPath && status === 401 ? { status: 201 } : undefined),
    /was answered 201 by a code of before/,
  ],
  [
    'has an access token again that ended with all sessions',
    endedSessions,
    (path, { status }) => (path === '/iam/me' && status === 401 ? { status: 200 } : undefined),
    /an access token of session \w+, which is over, was answered 200/,
  ],
  [
    'renews a session that ended with all of them',
    endedSessions,
    (path, { status }) => (path.includes('refresh_token') && status === 401 ? { status: 200 } : undefined),
    /a refresh token of session \w+, which is over, was answered 200/,
  ],
  [
    'renews a session by its key that ended with all of them',
    endedSessions,
    (path, { status }) => (path === '/auth/token' && status === 401 ? { status: 200 } : undefined),
    /a refresh token of session \w+, which is over, was answered 200/,
  ],
  [
    'lists a session again that ended with all of them',
    endedSessions,
    (path, { text }) => (path.endsWith('/sessions') && text === '[]' ? { text: '[{"id":"AbcdEfgh12"}]' } : undefined),
    /holds "the sessions AbcdEfgh12", and "signed-out-\d \d+" was acknowledged/,
  ],
  [
    'has lost a session that began behind the end of all',
    endedSessions,
    (path, { status }) => (path.endsWith('/sessions') && status === 200 ? { text: '[]' } : undefined),
    /holds "the sessions ", and "signed-out-\d \d+" was acknowledged/,
  ],
  [
    'does not take the access token of a session that is there',
    endedSessions,
    (path) => (path === '/iam/me' ? { status: 401 } : undefined),
    /an access token of session \w+, which is there, was answered 401/,
  ],
  [
    'does not renew a session that is there',
    endedSessions,
    (path) => (path.includes('refresh_token') ? { status: 401 } : undefined),
    /a refresh token of session \w+, which is there, was answered 401/,
  ],
  [
    'has lost a part of an image',
    imageParts,
    (path, { status }, method) => (isPart(path, method) && status === 202 ? { text: '{"received":0}' } : undefined),
    /holds nothing, and "image \d+: \d+ bytes" was acknowledged/,
  ],
  [
    'has lost the end of a part',
    imageParts,
    (path, { status, text }, method) =>
      isPart(path, method) && status === 202 ? { text: text.replace(/\d+/, lessByOne) } : undefined,
    /holds "image \d+: \d+ bytes", and "image \d+: \d+ bytes" was acknowledged/,
  ],
  [
    'has lost a release whose last part it took',
    imageParts,
    (path, { status }, method) => (isRelease(path, method) && status === 200 ? { status: 404 } : undefined),
    /all of it is there, and no release/,
  ],
  [
    'made another image of the parts',
    imageParts,
    (path, { text }, method) =>
      isRelease(path, method) ? { text: text.replace(/"sha256":"[0-9a-f]{8}/, '"sha256":"00000000') } : undefined,
    /is not the image that was sent in parts/,
  ],
  [
    'knows a link no more',
    unsubscribing,
    (path) => (isLink(path) ? { status: 403 } : undefined),
    /a link that was used before was answered 403/,
  ],
  [
    'has lost a subscription',
    unsubscribing,
    (path, _, method) => (method === 'GET' && path === '/notifications/subscribe' ? { text: '[]' } : undefined),
    /holds nothing, and ".*" was acknowledged/,
  ],
  [
    'has a subscription again',
    unsubscribing,
    saysTheOld(),
    /holds "[a-z]{2}-[A-Z]{2}", and (nothing|"[a-z]{2}-[A-Z]{2}") was acknowledged/,
  ],
])('a server that %s is found', { timeout: 240_000 }, async (_, make, lie, said) => {
  const { api, ledger } = await opened(make)
  const found: string[] = []
  for (let count = 0; count < turnsMax && found.length === 0; count++) {
    await turn(ledger)
    api.lie = lie
    found.push(...(await ledger.settle()))
    api.lie = undefined
  }
  expect(found.join('\n')).toMatch(said)
})

test('a server that mails of what was reported after the end of a subscription is found', {
  timeout: 240_000,
}, async () => {
  const { place, api, ledger } = await opened(unsubscribing)
  let isEnded = false
  api.lie = (path) => {
    isEnded ||= isLink(path)
    return undefined
  }
  for (let count = 0; count < turnsMax && !isEnded; count++) await turn(ledger)
  api.lie = (path) => {
    if (!isLink(path)) return undefined
    const mail = `Subject: 1000000\r\nList-Unsubscribe: <${api.url}/api/v1${path}>\r\n`
    writeFileSync(join(place.folder.path, 'outbox', 'late.eml'), mail)
    return undefined
  }
  expect((await ledger.settle()).join()).toMatch(/had ended, and there is a mail of 1000000, reported later/)
})

function halfOf(body: Uint8Array, range = ''): Asking {
  const half = body.subarray(0, Math.ceil(body.length / 2))
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(range) ?? []
  const last = Number(from) + half.length - 1
  return { body: half, headers: { 'content-range': `bytes ${from}-${last}/${size}` } }
}

function lessByOne(digits: string): string {
  return String(Math.max(0, Number(digits) - 1))
}

function isPart(path: string, method: string): boolean {
  return method === 'PUT' && isRelease(path, 'GET')
}

function isRelease(path: string, method: string): boolean {
  return method === 'GET' && path.startsWith('/updates/projects/parts/releases/')
}

function isLink(path: string): boolean {
  return path.startsWith('/notifications/unsubscribe/')
}

/** Says all that was there when it was asked first. */
function saysTheOld(): Lie {
  let old: string | undefined
  return (path, { text }, method) => {
    if (method !== 'GET' || path !== '/notifications/subscribe') return undefined
    if (text !== '[]') old ??= text
    return old === undefined ? undefined : { text: old }
  }
}
