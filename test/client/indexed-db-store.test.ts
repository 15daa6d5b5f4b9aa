import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { KeyPair, SessionStore, StoredSession } from '#client/options'
import { indexedDbStore } from '#client/session-store'

/** Where browsers keep a session. That keys are kept without being read only a browser shows. */

const session: StoredSession = { keys: { privateKey: {} } as KeyPair, accessToken: 'a', refreshToken: 'r' }

beforeEach(() => vi.stubGlobal('indexedDB', new IDBFactory()))
afterEach(() => vi.unstubAllGlobals())

function store(name = 'http://a/api/v1'): SessionStore {
  const made = indexedDbStore(name)
  if (!made) throw new Error('there is no IndexedDB')
  return made
}

test('keeps a session for all that have its name, and for no other', async () => {
  await store().write(session)
  expect(await store().read()).toEqual(session)
  expect(await store('http://b/api/v1').read()).toBeUndefined()
  await store().remove()
  expect(await store().read()).toBeUndefined()
})

test('does not take what is no session', async () => {
  await store().write({ ...session, refreshToken: undefined as unknown as string })
  expect(await store().read()).toBeUndefined()
})

test('keeps it for as long as the page is there where nothing can be stored', async () => {
  const refuse = () => {
    throw new DOMException('not here', 'SecurityError')
  }
  vi.stubGlobal('indexedDB', { open: refuse })
  const kept = store()
  await kept.write(session)
  expect(await kept.read()).toEqual(session)
  await kept.remove()
  expect(await kept.read()).toBeUndefined()
})

test('lets one at a time, by the locks of the browser where it has them, and after one that failed', async () => {
  const asked: string[] = []
  const request = (name: string, run: () => Promise<unknown>) => {
    asked.push(name)
    return run()
  }
  vi.stubGlobal('navigator', { locks: { request } })
  const kept = store()
  const order: number[] = []
  const slow = kept.exclusively(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    order.push(1)
    throw new Error('failed')
  })
  const next = kept.exclusively(async () => order.push(2))
  await expect(slow).rejects.toThrow('failed')
  await next
  expect(order).toEqual([1, 2])
  expect(asked).toEqual(Array(2).fill('device-data-backend http://a/api/v1'))
})

test('is none where there is no IndexedDB', () => {
  vi.stubGlobal('indexedDB', undefined)
  expect(indexedDbStore('http://a')).toBeUndefined()
})
