import { expect, test, vi } from 'vitest'
import { realWorld } from '#app/world'
import { httpReceivers } from '#notifications/http-receivers'

const system = vi.hoisted(() => ({ addresses: [] as string[] }))

/** As that of Node: it knows the name servers of the system at the time when it was made. */
vi.mock('node:dns/promises', () => {
  class Resolver {
    readonly #addresses = system.addresses
    resolve4 = async () => this.#addresses
    resolve6 = async () => []
  }
  return { Resolver, lookup: () => Promise.reject(new Error('not used')) }
})

test('webhooks follow changes of the name servers', async () => {
  const receivers = httpReceivers({ world: realWorld, allowed: ['127.0.0.1'] })
  // Nothing listens on this port.
  const post = () => receivers.post({ url: 'http://hooks.example:1', headers: {}, body: '' })
  system.addresses = ['10.0.0.1']
  expect(await post()).toBe('address')
  system.addresses = ['127.0.0.1']
  expect(await post()).toBe('connection')
})
