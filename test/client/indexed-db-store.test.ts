import { IDBFactory } from 'fake-indexeddb'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { KeyPair, SessionStore, StoredSession } from '#client/options'
import { indexedDbStore } from '#client/session-store'

const session: StoredSession = { keys: { privateKey: {} } as KeyPair, accessToken: 'a', refreshToken: 'r' }

beforeEach(() => vi.stubGlobal('indexedDB', new IDBFactory()))
afterEach(() => vi.unstubAllGlobals())

function store(name = 'http://a/api/v1'): SessionStore {
  const created = indexedDbStore(name)
  if (!created) throw new Error('IndexedDB is missing')
  return created
}

test('the store keeps a session under its name', async () => {
  await store().write(session)
  expect(await store().read()).toEqual(session)
  expect(await store('http://b/api/v1').read()).toBeUndefined()
  await store().remove()
  expect(await store().read()).toBeUndefined()
})

test('the store ignores an invalid session', async () => {
  await store().write({ ...session, refreshToken: undefined as unknown as string })
  expect(await store().read()).toBeUndefined()
})

test('the store keeps a session in memory if nothing can be stored', async () => {
  const refuse = () => {
    throw new DOMException('not here', 'SecurityError')
  }
  vi.stubGlobal('indexedDB', { open: refuse })
  const sessions = store()
  await sessions.write(session)
  expect(await sessions.read()).toEqual(session)
  await sessions.remove()
  expect(await sessions.read()).toBeUndefined()
})

test('the store runs exclusive tasks one after the other with the locks of the browser, even if a task fails', async () => {
  const lockNames: string[] = []
  const request = (name: string, run: () => Promise<unknown>) => {
    lockNames.push(name)
    return run()
  }
  vi.stubGlobal('navigator', { locks: { request } })
  const sessions = store()
  const order: number[] = []
  const slow = sessions.exclusively(async () => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    order.push(1)
    throw new Error('failed')
  })
  const next = sessions.exclusively(async () => order.push(2))
  await expect(slow).rejects.toThrow('failed')
  await next
  expect(order).toEqual([1, 2])
  expect(lockNames).toEqual(Array(2).fill('device-data-backend http://a/api/v1'))
})

test('there is no store without IndexedDB', () => {
  vi.stubGlobal('indexedDB', undefined)
  expect(indexedDbStore('http://a')).toBeUndefined()
})
