import { afterEach, expect, test } from 'vitest'
import type { RunningServer } from '#app/running-server'
import { administrator, readToken } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { type TemporaryFolder, temporaryFolder } from '#bench/harness/temporary-folder'
import type { HttpAnswer } from '#bench/http'
import { openFolder } from '#bench/proof/opened-folder'
import { accountsWorkload } from '#bench/proof/workloads/accounts'
import { ExpectedState, type Workload } from '#bench/proof/workloads/expected-state'
import { imagesWorkload } from '#bench/proof/workloads/images'
import { ProofApi, type RequestOptions } from '#bench/proof/workloads/proof-api'
import { createReferenced, resourceWorkloads } from '#bench/proof/workloads/resources'
import { SeededRandom } from '#bench/random'

const turnsMax = 150
const checkEvery = 3
// Cheap password hashes.
process.env.NODE_OPTIONS = loadedBefore('harness/cheap-passwords').join(' ')

/** The falsified fields of an answer; undefined for a correct answer. */
type Falsification = (path: string, answer: HttpAnswer, method: string) => Partial<HttpAnswer> | undefined

class FalsifiedApi extends ProofApi {
  falsify: Falsification | undefined
  /** Sends half of a part of an image, and loses the answer. */
  isCut = false

  override async ask(method: string, path: string, asking?: RequestOptions): Promise<HttpAnswer> {
    if (this.isCut && asking?.body instanceof Uint8Array) {
      await super.ask(method, path, halfOf(asking.body, asking.headers?.['content-range']))
      throw new Error('killed before it answered')
    }
    const answer = await super.ask(method, path, asking)
    return { ...answer, ...this.falsify?.(path, answer, method) }
  }
}

let folder: TemporaryFolder | undefined
let running: RunningServer | undefined

afterEach(async () => {
  await running?.stop()
  await folder?.remove()
})

async function start(path: string): Promise<string> {
  running = await openFolder(path, { DURABILITY: 'process' })
  return `http://127.0.0.1:${running.port}`
}

type WorkloadMaker = (api: ProofApi) => Promise<Workload>

const accounts: WorkloadMaker = async () => accountsWorkload()
const imageParts: WorkloadMaker = async () => imagesWorkload()
const resource = (name: string) => async (api: ProofApi) => {
  await createReferenced(api)
  return resourceWorkloads([]).find((each) => each.name === name) as Workload
}

async function open(make: WorkloadMaker): Promise<{ api: FalsifiedApi; workload: Workload; state: ExpectedState }> {
  folder = temporaryFolder('workloads-')
  const url = await start(folder.path)
  const authorization = `Bearer ${await readToken(Number(running?.port), administrator)}`
  const api = new FalsifiedApi(url, authorization, folder.path)
  const workload = await make(api)
  let number = 0
  const state = new ExpectedState(workload, api, new SeededRandom(7), () => ++number)
  expect(await state.check()).toEqual([])
  return { api, workload, state }
}

test.each([
  ['accounts', accounts],
  ['images', imageParts],
  ['rollouts', resource('rollouts')],
])('%s are as expected, also in a copy of the folder', { timeout: 240_000 }, async (_, make) => {
  const { api, state } = await open(make)
  for (let count = 1; count <= turnsMax; count++) {
    await state.changeEach()
    if (count % checkEvery === 0) expect(await state.check()).toEqual([])
  }
  for (const [operation, { acknowledged }] of Object.entries(state.counts))
    expect(acknowledged, operation).toBeGreaterThan(0)
  await running?.stop()
  const copy = new ProofApi(await start(api.dataFolder), api.authorization, api.dataFolder, { isCopy: true })
  expect(await state.faultsAt(Number.MAX_SAFE_INTEGER, copy)).toEqual([])
})

test('accounts change after a restart that no check follows', { timeout: 240_000 }, async () => {
  const { api, state } = await open(accounts)
  for (let count = 0; count < checkEvery * 5; count++) await state.changeEach()
  await running?.stop()
  Object.assign(api, { url: await start(api.dataFolder) })
  const end = performance.now() + 2_000
  await state.run(() => performance.now() > end)
  expect(await state.check()).toEqual([])
})

test('an interrupted part continues at the offset of the server', { timeout: 240_000 }, async () => {
  const { api, state, workload } = await open(imageParts)
  for (let count = 1; count <= turnsMax; count++) {
    api.isCut = count % 2 === 0
    await state.changeEach()
    api.isCut = false
    expect(await state.check()).toEqual([])
  }
  expect(state.counts[workload.name]?.landed).toBeGreaterThan(turnsMax / 2)
})

const answers = (matches: (path: string, method: string) => boolean, from: number, to: number): Falsification => {
  return (path, { status }, method) => (matches(path, method) && status === from ? { status: to } : undefined)
}
const rewrites = (
  matches: (path: string, method: string) => boolean,
  from: string | RegExp,
  to: string,
): Falsification => {
  return (path, { text }, method) => (matches(path, method) ? { text: text.replace(from, to) } : undefined)
}
const isPart = (path: string, method: string) => method === 'PUT' && isRelease(path, 'GET')
const isRelease = (path: string, method: string) => method === 'GET' && /\/parts\/releases\//.test(path)
const isProjects = (path: string) => path === '/updates/projects'

test.each<[string, WorkloadMaker, Falsification, RegExp]>([
  [
    'has a session that ended',
    accounts,
    answers((path) => path === '/iam/me', 401, 200),
    /an access token of an ended/,
  ],
  ['has lost a session', accounts, answers((path) => path === '/iam/me', 200, 401), /the access token of the session/],
  ['lists no session', accounts, rewrites((path) => path.endsWith('/sessions'), /.*/, '[]'), /was acknowledged/],
  [
    'lists a session that ended',
    accounts,
    rewrites((path) => path.endsWith('/sessions'), /^\[\]$/, '[{"id":"AbcdEfgh12"}]'),
    /and the sessions AbcdEfgh12", and/,
  ],
  [
    'renews an ended session',
    accounts,
    answers((path) => path === '/auth/token' || path.includes('grant_type'), 401, 200),
    /(a refresh token of an ended session|grant_type|auth.token).* was answered 200/,
  ],
  ['does not renew a session', accounts, answers((path) => path === '/auth/token', 200, 401), /was answered 401/],
  ['accepts a used code', accounts, answers((path) => path === '/iam/signup', 401, 201), /was answered 201/],
  ['has lost a password', accounts, answers((path) => path === '/iam/token', 200, 401), /0 passwords of account-\d/],
  [
    'has lost a part of an image',
    imageParts,
    (path, { status }, method) => (isPart(path, method) && status === 202 ? { text: '{"received":0}' } : undefined),
    /contains nothing, and "image \d+: \d+ bytes" was acknowledged/,
  ],
  [
    'has lost the end of a part',
    imageParts,
    (path, { status, text }, method) =>
      isPart(path, method) && status === 202
        ? { text: text.replace(/\d+/, (bytes) => `${Math.max(0, Number(bytes) - 1)}`) }
        : undefined,
    /contains "image \d+: \d+ bytes", and "image \d+: \d+ bytes" was acknowledged/,
  ],
  ['has lost a whole release', imageParts, answers(isRelease, 200, 404), /complete, but there is no release/],
  [
    'made another image of the parts',
    imageParts,
    rewrites(isRelease, /"sha256":"[0-9a-f]{8}/, '"sha256":"00000000'),
    /is not the image that was sent in parts/,
  ],
  ['has lost a rollout', resource('rollouts'), rewrites(isProjects, /.*/, '[]'), /contains nothing, and "2.0.\d+ \w+"/],
  ['continues a paused rollout', resource('rollouts'), rewrites(isProjects, '"paused"', '"running"'), /2.0.\d+ paused/],
])('a server that %s is found', { timeout: 240_000 }, async (_, make, falsify, message) => {
  const { api, state } = await open(make)
  await state.changeEach()
  const found: string[] = []
  for (let count = 0; count < turnsMax && found.length === 0; count++) {
    await state.changeEach()
    if (count % checkEvery > 0) continue
    api.falsify = falsify
    found.push(...(await state.check()))
    // Some answers only matter to changes.
    if (found.length === 0) {
      await state.changeEach()
      found.push(...(await state.check()))
    }
    api.falsify = undefined
  }
  expect(found.join('\n')).toMatch(message)
})

function halfOf(body: Uint8Array, range = ''): RequestOptions {
  const half = body.subarray(0, Math.ceil(body.length / 2))
  const [, from, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(range) ?? []
  const last = Number(from) + half.length - 1
  return { body: half, headers: { 'content-range': `bytes ${from}-${last}/${size}` } }
}
