import { array, assert, asyncProperty, constantFrom } from 'fast-check'
import { expect, test } from 'vitest'
import { type PendingRequest, PendingRequests } from '#http/pending-requests'
import { ManualWorld } from '#test/runtime/manual-world'

const deadlineMs = 1000

class RecordedRequest implements PendingRequest {
  hasBegun = false
  expiredAt: number | undefined
  waitsSince: number
  readonly #world: ManualWorld
  readonly #pending: PendingRequests

  constructor(world: ManualWorld, pending: PendingRequests) {
    this.#world = world
    this.#pending = pending
    this.waitsSince = world.monotonic()
    pending.add(this)
  }

  expire(): void {
    this.expiredAt = this.#world.monotonic()
    this.#pending.remove(this)
  }
}

test('each request expires its deadline after it was added or renewed, independent of the others', async () => {
  const steps = array(constantFrom('come', 'renew first', 'renew last', 'begin', 'remove', 'wait', 'wait long'), {
    maxLength: 40,
  })
  await assert(
    asyncProperty(steps, async (chosen) => {
      const world = new ManualWorld()
      const pending = new PendingRequests(world, deadlineMs)
      const requests: { request: RecordedRequest; dueAt: number | undefined }[] = []
      const alive = () => requests.filter(({ request }) => request.expiredAt === undefined)
      const due = () => world.monotonic() + deadlineMs
      for (const step of chosen) {
        if (step === 'come') requests.push({ request: new RecordedRequest(world, pending), dueAt: due() })
        else if (step === 'wait' || step === 'wait long') await world.advance(step === 'wait' ? 130 : 700)
        else {
          const one = step === 'renew first' ? alive()[0] : alive().at(-1)
          if (!one) continue
          if (step === 'begin') one.request.hasBegun = true
          else if (step === 'remove') pending.remove(one.request)
          else pending.renew(one.request)
          // A removed or begun request never expires, and renewing does not add it again.
          if (step === 'begin' || step === 'remove') one.dueAt = undefined
          else if (one.dueAt !== undefined) one.dueAt = due()
        }
      }
      await world.advance(2 * deadlineMs)
      expect(requests.map(({ request }) => request.expiredAt)).toEqual(requests.map(({ dueAt }) => dueAt))
    }),
  )
})
